//! Shared parts of the tools of infiniband-diags: options, destinations, requests, discovery,
//! fields.
//!
//! Contains no code of a single tool. Formats are those of rdma-core 44. Used by the tools of the
//! fabric.

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
pub(super) use options::{Common, DestinationKind, OwnOption, Parsed, Usage, parse, show_usage};
pub(super) use session::{Session, fail};
pub(super) use values::{ValueFormat, human_readable, value};

use super::CompatError;

/// Reason why a tool ends before its last line.
#[derive(Debug)]
pub(super) enum ToolError {
    /// The transcript contains the reason, as the original prints it.
    Said,
    /// Output like that of the original is not possible.
    Refused(CompatError),
}

impl From<CompatError> for ToolError {
    fn from(error: CompatError) -> Self {
        Self::Refused(error)
    }
}

/// Converts the end of a tool to the result of the run.
pub(super) fn ended(result: Result<(), ToolError>) -> Result<(), CompatError> {
    match result {
        Ok(()) | Err(ToolError::Said) => Ok(()),
        Err(ToolError::Refused(error)) => Err(error),
    }
}
