//! Shared parts of the tools of infiniband-diags: options, destinations, requests, fields.
//!
//! Contains no code of a single tool. Formats are those of rdma-core 44. Fabric tools use it.

mod destination;
mod discovery;
mod fields;
mod link;
mod names;
mod options;
mod session;
mod values;

pub(super) use destination::PortId;
pub(super) use discovery::{DiscoveredSubnet, Node, Port, discover};
pub(super) use fields::{Field, dump, dump_port_info, dump_values, tables};
pub(super) use link::{DOWN, far_text, link_text};
pub(super) use names::{NodeNames, clean};
pub(super) use options::{Common, DestinationKind, Parsed, Usage, parse, show_usage, show_version};
pub(super) use session::Session;
pub(super) use values::{ValueFormat, human_readable, value};

use super::{Job, ToolError, Transcript};

/// Types of nodes.
pub(super) const CA: u8 = 1;
pub(super) const SWITCH: u8 = 2;
pub(super) const ROUTER: u8 = 3;

/// Attribute of Mellanox devices that distinguishes FDR10 from QDR.
pub(super) const MELLANOX_PORT_INFO: u16 = 0xff90;

/// Ends a tool with a message and exit code 255, like `ibexit`.
pub(super) fn fail(job: &Job<'_>, out: &mut Transcript, message: &str) -> ToolError {
    out.print(format!("{}: iberror: failed: {message}\n", job.call.program));
    out.end(255, "")
}
