//! Command line of `saquery`.
//!
//! Sends nothing. Used by `saquery`.

use crate::compat::diags::Usage;

/// Number of paths that requests all of them.
pub(super) const MAX_PATHS: u8 = 0x7f;

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
pub(super) fn request(option: &str) -> Option<(Operation, Option<Print>)> {
    let list = |print| Some((Operation::ListNodes, Some(print)));
    match option {
        "p" => Some((Operation::Paths, None)),
        "x" => Some((Operation::Links, None)),
        "c" => Some((Operation::ClassPortInfo, None)),
        "s" => Some((Operation::ManagerPorts, None)),
        "g" => Some((Operation::MulticastGroups, None)),
        "m" => Some((Operation::MulticastMembers, None)),
        "N" => Some((Operation::ListNodes, None)),
        "list" => list(Print::Names),
        "L" => list(Print::Lids),
        "l" => list(Print::FirstLid),
        "G" => list(Print::Guids),
        "O" => list(Print::NameOfLid),
        "U" => list(Print::NameOfGuid),
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

pub(super) fn query(name: &str) -> Option<&'static Query> {
    let is_named = |known: &str| known.eq_ignore_ascii_case(name);
    QUERIES.iter().find(|query| is_named(query.name) || is_named(query.alias))
}

const OPTIONS: &str = "\
--p, -p                      get PathRecord info
--N, -N                      get NodeRecord info
--L, -L                      return the Lids of the name specified
--l, -l                      return the unique Lid of the name specified
--G, -G                      return the Guids of the name specified
--O, -O                      return name for the Lid specified
--U, -U                      return name for the Guid specified
--s, -s                      return the PortInfoRecords with isSM or isSMdisabled capability mask \
                             bit on
--g, -g                      get multicast group info
--m, -m                      get multicast member info (if multicast group specified, list member \
                             GIDs only for group specified, for example 'saquery -m 0xC000')
--x, -x                      get LinkRecord info
--c, -c                      get the SA's class port info
--S, -S                      get ServiceRecord info
--I, -I                      get InformInfoRecord (subscription) info
--list, -D                   the node desc of the CA's
--src-to-dst <src:dst>       get a PathRecord for <src:dst> where src and dst are either node \
                             names or LIDs
--sgid-to-dgid <sgid-dgid>   get a PathRecord for <sgid-dgid> where sgid and dgid are addresses \
                             in IPv6 format
--node-name-map <file>       specify a node name map file
--smkey <val>                SA SM_Key value for the query. If non-numeric value (like 'x') is \
                             specified then saquery will prompt for a value.  Default (when not \
                             specified here or in ibdiag.conf) is to  use SM_Key == 0 (or \
                             \"untrusted\")
--slid <lid>                 Source LID (PathRecord)
--dlid <lid>                 Destination LID (PathRecord)
--mlid <lid>                 Multicast LID (MCMemberRecord)
--sgid <gid>                 Source GID (IPv6 format) (PathRecord)
--dgid <gid>                 Destination GID (IPv6 format) (PathRecord)
--gid <gid>                  Port GID (MCMemberRecord)
--mgid <gid>                 Multicast GID (MCMemberRecord)
--reversible, -r <val>       Reversible path (PathRecord)
--numb_path, -n <val>        Number of paths (PathRecord)
--pkey <val>                 P_Key (PathRecord, MCMemberRecord). If non-numeric value (like 'x') \
                             is specified then saquery will prompt for a value
--qos_class, -Q <val>        QoS Class (PathRecord)
--sl <val>                   Service level (PathRecord, MCMemberRecord)
--mtu, -M <val>              MTU and selector (PathRecord, MCMemberRecord)
--rate, -R <val>             Rate and selector (PathRecord, MCMemberRecord)
--pkt_lifetime <val>         Packet lifetime and selector (PathRecord, MCMemberRecord)
--qkey, -q <val>             Q_Key (MCMemberRecord). If non-numeric value (like 'x') is specified \
                             then saquery will prompt for a value
--tclass, -T <val>           Traffic Class (PathRecord, MCMemberRecord)
--flow_label, -F <val>       Flow Label (PathRecord, MCMemberRecord)
--hop_limit, -H <val>        Hop limit (PathRecord, MCMemberRecord)
--scope <val>                Scope (MCMemberRecord)
--join_state, -J <val>       Join state (MCMemberRecord)
--proxy_join, -X <val>       Proxy join (MCMemberRecord)
--service_id <val>           ServiceID (PathRecord)
";

pub(super) const USAGE: Usage = Usage {
    options: OPTIONS,
    refused: &[
        ("S I", "rdmactl fabric sm, for the subnet managers"),
        ("smkey", "remove it: rdmactl sends no key to subnet administration"),
        (
            "mlid gid mgid qos_class mtu rate pkt_lifetime qkey tclass flow_label hop_limit scope \
             join_state proxy_join service_id",
            "remove it: saquery then prints all records",
        ),
    ],
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
