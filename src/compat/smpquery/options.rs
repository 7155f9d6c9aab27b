//! Command line of `smpquery`.
//!
//! Sends nothing. Used by `smpquery`.

use super::{Query, attributes, tables};
use crate::compat::ToolError;
use crate::compat::diags::Usage;

pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) alias: &'static str,
    pub(super) run: fn(&mut Query<'_>) -> Result<(), ToolError>,
}

pub(super) const OPERATIONS: [Operation; 10] = [
    Operation { name: "NodeInfo", alias: "NI", run: attributes::node_info },
    Operation { name: "NodeDesc", alias: "ND", run: attributes::node_description },
    Operation { name: "PortInfo", alias: "PI", run: attributes::port_info },
    Operation { name: "PortInfoExtended", alias: "PIE", run: attributes::port_info_extended },
    Operation { name: "SwitchInfo", alias: "SI", run: attributes::switch_info },
    Operation { name: "PKeyTable", alias: "PKeys", run: tables::partition_keys },
    Operation { name: "SL2VLTable", alias: "SL2VL", run: tables::virtual_lanes },
    Operation { name: "VLArbitration", alias: "VLArb", run: tables::arbitration },
    Operation { name: "GUIDInfo", alias: "GI", run: tables::guids },
    Operation { name: "MlnxExtPortInfo", alias: "MEPI", run: attributes::mellanox_port_info },
];

pub(super) const USAGE: Usage = Usage {
    options: "\
--combined, -c          use Combined route address argument
--node-name-map <file>  node name map file
--extended, -x          use extended speeds
",
    refused: &[("combined", "write the whole route from this port: smpquery -D OPERATION 0,1,12")],
    without: "",
    operands: "<op> <dest dr_path|lid|guid> [op params]\n\
               \nSupported ops (and aliases, case insensitive):\n  \
               NodeInfo (NI) <addr>\n  \
               NodeDesc (ND) <addr>\n  \
               PortInfo (PI) <addr> [<portnum>]\n  \
               PortInfoExtended (PIE) <addr> [<portnum>]\n  \
               SwitchInfo (SI) <addr>\n  \
               PKeyTable (PKeys) <addr> [<portnum>]\n  \
               SL2VLTable (SL2VL) <addr> [<portnum>]\n  \
               VLArbitration (VLArb) <addr> [<portnum>]\n  \
               GUIDInfo (GI) <addr>\n  \
               MlnxExtPortInfo (MEPI) <addr> [<portnum>]\n",
    examples: &[
        "portinfo 3 1\t\t\t\t# portinfo by lid, with port modifier",
        "-G switchinfo 0x2C9000100D051 1\t# switchinfo by guid",
        "-D nodeinfo 0\t\t\t\t# nodeinfo by direct route",
        "-c nodeinfo 6 0,12\t\t\t# nodeinfo by combined route",
    ],
};
