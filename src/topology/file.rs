//! Parses a file of either format. `builder` collects the leaf switches of its lines.

use super::builder::LeafSwitchesBuilder;
use super::error::{LineFault, ParseResult};
use super::lines::{LogicalLine, logical};
use super::{ExpandHosts, LeafSwitches, TopologyError, list, slurm};

/// Fix for a file of neither format.
const KINDS: &str =
    "write one line for each leaf switch: leaf leaf1 n[01-16], or SwitchName=leaf1 Nodes=n[01-16]";

pub(super) fn parse(text: &str, expand: ExpandHosts<'_>) -> Result<LeafSwitches, TopologyError> {
    let lines = logical(text);
    let missing = |what: &str| TopologyError { line: None, what: what.into(), fix: KINDS.into() };
    let Some(first) = lines.first() else { return Err(missing("no leaf switch")) };
    let read: fn(&mut LeafSwitchesBuilder<'_>, &LogicalLine) -> ParseResult<()> = match () {
        () if slurm::is_line(&first.text) => slurm::read,
        () if list::is_line(&first.text) => list::read,
        () => {
            let what = "neither a leaf line nor a line of Slurm's topology.conf";
            return Err(LineFault { what: what.into(), fix: KINDS.into() }.at(first.number));
        }
    };
    let mut draft = LeafSwitchesBuilder::new(expand);
    for line in &lines {
        read(&mut draft, line).map_err(|wrong| wrong.at(line.number))?;
    }
    draft.finish().ok_or_else(|| missing("no leaf switch has a host"))
}
