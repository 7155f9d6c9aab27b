//! Finds a port by a name, a GUID or a LID from the command line.

use super::{lids_of, ports, titles};
use crate::model::{Fabric, FabricEnd, Guid};

/// Reason why a word names no port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// No node has the name, GUID or LID.
    #[error("no node is called {0}, and none has this GUID or LID")]
    Unknown(String),
    /// Several nodes match.
    #[error("{word} fits {count} nodes: {names}")]
    Several {
        /// Searched word.
        word: String,
        /// Number of matching nodes.
        count: usize,
        /// Some of the matching nodes.
        names: String,
    },
}

/// Returns the port that a word names: a node description, its first word, a GUID as `0x…` or in
/// groups, or a LID. The port of a switch is port 0.
///
/// # Errors
/// No node matches, or several do.
pub fn find_port(fabric: &Fabric, word: &str) -> Result<FabricEnd, SearchError> {
    let endpoints =
        || ports(fabric).filter(|(end, _)| end.port == 0 || !fabric.nodes[end.node].is_switch());
    if let Ok(lid) = word.parse::<u16>()
        && let Some((end, _)) = endpoints().find(|(_, port)| lids_of(port).any(|one| one == lid))
    {
        return Ok(end);
    }
    let digits: String = word.strip_prefix("0x").unwrap_or(word).replace(':', "");
    let guid = Some(digits).filter(|digits| digits.len() >= 8);
    if let Some(guid) = guid.and_then(|digits| u64::from_str_radix(&digits, 16).ok()) {
        let mut ends = endpoints().filter(|(end, port)| {
            port.guid == Some(Guid(guid)) || fabric.nodes[end.node].guid == Guid(guid)
        });
        if let Some((end, _)) = ends.next() {
            return Ok(end);
        }
    }
    let named = |fits: &dyn Fn(&str) -> bool| -> Vec<FabricEnd> {
        let is_named = |end: &FabricEnd| fabric.nodes[end.node].name.as_deref().is_some_and(fits);
        let mut ends: Vec<_> = endpoints().map(|(end, _)| end).filter(is_named).collect();
        ends.dedup_by_key(|end| end.node);
        ends
    };
    let lower = word.to_lowercase();
    let first = |name: &str| name.split_whitespace().next().is_some_and(|first| first == word);
    let ways: [&dyn Fn(&str) -> bool; 3] =
        [&|name| name == word, &first, &|name| name.to_lowercase().contains(&lower)];
    for fits in ways {
        match named(fits)[..] {
            [] => {}
            [end] => return Ok(end),
            ref ends => {
                let count = ends.len();
                let some = titles(fabric, &ends[..count.min(4)]);
                return Err(SearchError::Several { word: word.to_owned(), count, names: some });
            }
        }
    }
    Err(SearchError::Unknown(word.to_owned()))
}
