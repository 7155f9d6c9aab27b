//! Imports fabrics from files of other tools: the output of ibnetdiscover, and opensm-subnet.lst
//! of opensm. Imports names of nodes from node name maps.
//!
//! A line of another form is an error with its number.

mod ibnetdiscover;
mod node_names;
mod opensm;

use crate::model::Fabric;

pub use node_names::parse_node_names;

/// Line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ImportError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Reason why the line cannot be read.
    pub what: String,
}

impl ImportError {
    fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// Reads a fabric from the text of a file; `None` if the text has neither form. `file` becomes
/// the name of the fabric.
///
/// # Errors
/// A line cannot be read.
pub fn import_fabric(file: &str, text: &str) -> Option<Result<Fabric, ImportError>> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.find(|line| !line.starts_with('#'))?;
    if opensm::is_line(first) {
        return Some(opensm::read(file, text));
    }
    let starts = ["vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid="];
    let is_ibnetdiscover = starts.iter().any(|start| first.starts_with(start));
    is_ibnetdiscover.then(|| ibnetdiscover::read(file, text))
}

/// Returns the code of a link with this number of lanes.
fn width(lanes: &str) -> Option<u8> {
    Some(match lanes {
        "1" => 1,
        "2" => 16,
        "4" => 2,
        "8" => 4,
        "12" => 8,
        _ => return None,
    })
}
