//! Command line of `saquery`.
//!
//! Sends nothing. Used by `saquery`.

use crate::compat::diags::{OwnOption, Usage};

/// Letters of options that have only long names.
pub(super) const SOURCE_TO_DESTINATION: char = '\u{1}';
pub(super) const GIDS: char = '\u{2}';
pub(super) const NODE_NAME_MAP: char = '\u{3}';
pub(super) const FROM_LID: char = '\u{5}';
pub(super) const TO_LID: char = '\u{6}';
pub(super) const FROM_GID: char = '\u{e}';
pub(super) const TO_GID: char = '\u{f}';
pub(super) const P_KEY: char = '\u{12}';
pub(super) const SERVICE_LEVEL: char = '\u{13}';
/// Number of paths that requests all of them.
pub(super) const MAX_PATHS: u8 = 0x7f;

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// The query named by the first operand.
    Named,
    ClassPortInfo,
    Nodes,
    Ports,
    Links,
    Paths,
    Switches,
    Managers,
    /// All nodes; only matching nodes are printed.
    ListNodes,
    ManagerPorts,
    MulticastGroups,
    MulticastMembers,
}

/// Printed part of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Print {
    All,
    Lids,
    FirstLid,
    Guids,
    Names,
    NameOfLid,
    NameOfGuid,
}

/// Returns the request of an option without a value.
pub(super) fn of_letter(letter: char) -> Option<(Operation, Option<Print>)> {
    let list = |print| Some((Operation::ListNodes, Some(print)));
    match letter {
        'p' => Some((Operation::Paths, None)),
        'x' => Some((Operation::Links, None)),
        'c' => Some((Operation::ClassPortInfo, None)),
        's' => Some((Operation::ManagerPorts, None)),
        'g' => Some((Operation::MulticastGroups, None)),
        'm' => Some((Operation::MulticastMembers, None)),
        'N' => Some((Operation::ListNodes, None)),
        'D' => list(Print::Names),
        'L' => list(Print::Lids),
        'l' => list(Print::FirstLid),
        'G' => list(Print::Guids),
        'O' => list(Print::NameOfLid),
        'U' => list(Print::NameOfGuid),
        _ => None,
    }
}

/// A query by name: the request, or the alternative command of an unsupported query.
pub(super) struct Query {
    pub(super) name: &'static str,
    alias: &'static str,
    pub(super) operation: Result<Operation, Option<&'static str>>,
}

const fn offered(name: &'static str, alias: &'static str, operation: Operation) -> Query {
    Query { name, alias, operation: Ok(operation) }
}

const fn refused(name: &'static str, alias: &'static str, instead: &'static str) -> Query {
    Query { name, alias, operation: Err(Some(instead)) }
}

const QUERIES: [Query; 16] = [
    offered("ClassPortInfo", "CPI", Operation::ClassPortInfo),
    offered("NodeRecord", "NR", Operation::Nodes),
    offered("PortInfoRecord", "PIR", Operation::Ports),
    refused("SL2VLTableRecord", "SL2VL", "rdmactl compat smpquery SL2VLTable LID"),
    refused("PKeyTableRecord", "PKTR", "rdmactl compat smpquery PKeyTable LID"),
    refused("VLArbitrationTableRecord", "VLAR", "rdmactl compat smpquery VLArbitration LID PORT"),
    Query { name: "InformInfoRecord", alias: "IIR", operation: Err(None) },
    offered("LinkRecord", "LR", Operation::Links),
    Query { name: "ServiceRecord", alias: "SR", operation: Err(None) },
    offered("PathRecord", "PR", Operation::Paths),
    refused("MCMemberRecord", "MCMR", "rdmactl compat saquery -m"),
    refused("LFTRecord", "LFTR", "rdmactl compat ibroute LID"),
    refused("MFTRecord", "MFTR", "rdmactl compat ibroute -M LID"),
    refused("GUIDInfoRecord", "GIR", "rdmactl compat smpquery GUIDInfo LID"),
    offered("SwitchInfoRecord", "SWIR", Operation::Switches),
    offered("SMInfoRecord", "SMIR", Operation::Managers),
];

/// Returns the query with this name or alias.
pub(super) fn query(name: &str) -> Option<&'static Query> {
    let is_named = |known: &str| known.eq_ignore_ascii_case(name);
    QUERIES.iter().find(|query| is_named(query.name) || is_named(query.alias))
}

/// Alternatives for unsupported options.
const RECORDS: &str = "remove it: saquery then prints all records";
const KEYS: &str = "remove it: rdmactl sends no key to subnet administration";

const OPTIONS: [OwnOption; 42] = [
    OwnOption::flag('p', "p", "get PathRecord info"),
    OwnOption::flag('N', "N", "get NodeRecord info"),
    OwnOption::flag('L', "L", "return the Lids of the name specified"),
    OwnOption::flag('l', "l", "return the unique Lid of the name specified"),
    OwnOption::flag('G', "G", "return the Guids of the name specified"),
    OwnOption::flag('O', "O", "return name for the Lid specified"),
    OwnOption::flag('U', "U", "return name for the Guid specified"),
    OwnOption::flag(
        's',
        "s",
        "return the PortInfoRecords with isSM or isSMdisabled capability mask bit on",
    ),
    OwnOption::flag('g', "g", "get multicast group info"),
    OwnOption::flag(
        'm',
        "m",
        "get multicast member info (if multicast group specified, list member GIDs only for group \
         specified, for example 'saquery -m 0xC000')",
    ),
    OwnOption::flag('x', "x", "get LinkRecord info"),
    OwnOption::flag('c', "c", "get the SA's class port info"),
    OwnOption::flag('S', "S", "get ServiceRecord info")
        .refused("rdmactl fabric sm, for the subnet managers"),
    OwnOption::flag('I', "I", "get InformInfoRecord (subscription) info")
        .refused("rdmactl fabric sm, for the subnet managers"),
    OwnOption::flag('D', "list", "the node desc of the CA's"),
    OwnOption::valued(
        SOURCE_TO_DESTINATION,
        "src-to-dst",
        "<src:dst>",
        "get a PathRecord for <src:dst> where src and dst are either node names or LIDs",
    ),
    OwnOption::valued(
        GIDS,
        "sgid-to-dgid",
        "<sgid-dgid>",
        "get a PathRecord for <sgid-dgid> where sgid and dgid are addresses in IPv6 format",
    ),
    OwnOption::valued(NODE_NAME_MAP, "node-name-map", "<file>", "specify a node name map file"),
    OwnOption::valued(
        '\u{4}',
        "smkey",
        "<val>",
        "SA SM_Key value for the query. If non-numeric value (like 'x') is specified then saquery \
         will prompt for a value.  Default (when not specified here or in ibdiag.conf) is to  use \
         SM_Key == 0 (or \"untrusted\")",
    )
    .refused(KEYS),
    OwnOption::valued(FROM_LID, "slid", "<lid>", "Source LID (PathRecord)"),
    OwnOption::valued(TO_LID, "dlid", "<lid>", "Destination LID (PathRecord)"),
    OwnOption::valued('\u{7}', "mlid", "<lid>", "Multicast LID (MCMemberRecord)").refused(RECORDS),
    OwnOption::valued(FROM_GID, "sgid", "<gid>", "Source GID (IPv6 format) (PathRecord)"),
    OwnOption::valued(TO_GID, "dgid", "<gid>", "Destination GID (IPv6 format) (PathRecord)"),
    OwnOption::valued('\u{10}', "gid", "<gid>", "Port GID (MCMemberRecord)").refused(RECORDS),
    OwnOption::valued('\u{11}', "mgid", "<gid>", "Multicast GID (MCMemberRecord)").refused(RECORDS),
    OwnOption::valued('r', "reversible", "<val>", "Reversible path (PathRecord)"),
    OwnOption::valued('n', "numb_path", "<val>", "Number of paths (PathRecord)"),
    OwnOption::valued(
        P_KEY,
        "pkey",
        "<val>",
        "P_Key (PathRecord, MCMemberRecord). If non-numeric value (like 'x') is specified then \
         saquery will prompt for a value",
    ),
    OwnOption::valued('Q', "qos_class", "<val>", "QoS Class (PathRecord)").refused(RECORDS),
    OwnOption::valued(SERVICE_LEVEL, "sl", "<val>", "Service level (PathRecord, MCMemberRecord)"),
    OwnOption::valued('M', "mtu", "<val>", "MTU and selector (PathRecord, MCMemberRecord)")
        .refused(RECORDS),
    OwnOption::valued('R', "rate", "<val>", "Rate and selector (PathRecord, MCMemberRecord)")
        .refused(RECORDS),
    OwnOption::valued(
        '\u{14}',
        "pkt_lifetime",
        "<val>",
        "Packet lifetime and selector (PathRecord, MCMemberRecord)",
    )
    .refused(RECORDS),
    OwnOption::valued(
        'q',
        "qkey",
        "<val>",
        "Q_Key (MCMemberRecord). If non-numeric value (like 'x') is specified then saquery will \
         prompt for a value",
    )
    .refused(RECORDS),
    OwnOption::valued('T', "tclass", "<val>", "Traffic Class (PathRecord, MCMemberRecord)")
        .refused(RECORDS),
    OwnOption::valued('F', "flow_label", "<val>", "Flow Label (PathRecord, MCMemberRecord)")
        .refused(RECORDS),
    OwnOption::valued('H', "hop_limit", "<val>", "Hop limit (PathRecord, MCMemberRecord)")
        .refused(RECORDS),
    OwnOption::valued('\u{15}', "scope", "<val>", "Scope (MCMemberRecord)").refused(RECORDS),
    OwnOption::valued('J', "join_state", "<val>", "Join state (MCMemberRecord)").refused(RECORDS),
    OwnOption::valued('X', "proxy_join", "<val>", "Proxy join (MCMemberRecord)").refused(RECORDS),
    OwnOption::valued('\u{16}', "service_id", "<val>", "ServiceID (PathRecord)").refused(RECORDS),
];

pub(super) const USAGE: Usage<'_> = Usage {
    own: &OPTIONS,
    without: "DGLsy",
    operands: "[query-name] [<name> | <lid> | <guid>]\n\
               \nSupported query names (and aliases):\n  \
               ClassPortInfo (CPI) \n  \
               NodeRecord (NR) [lid]\n  \
               PortInfoRecord (PIR) [[lid]/[port]/[options]]\n  \
               SL2VLTableRecord (SL2VL) [[lid]/[in_port]/[out_port]]\n  \
               PKeyTableRecord (PKTR) [[lid]/[port]/[block]]\n  \
               VLArbitrationTableRecord (VLAR) [[lid]/[port]/[block]]\n  \
               InformInfoRecord (IIR) [subscriber_gid]\n  \
               LinkRecord (LR) [[from_lid]/[from_port]] [[to_lid]/[to_port]]\n  \
               ServiceRecord (SR) \n  \
               PathRecord (PR) \n  \
               MCMemberRecord (MCMR) \n  \
               LFTRecord (LFTR) [[lid]/[block]]\n  \
               MFTRecord (MFTR) [[mlid]/[position]/[block]]\n  \
               GUIDInfoRecord (GIR) [[lid]/[block]]\n  \
               SwitchInfoRecord (SWIR) [lid]\n  \
               SMInfoRecord (SMIR) [lid]\n\
               \n  Queries node records by default.",
    examples: &[],
};
