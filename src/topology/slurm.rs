//! Parses Slurm's `topology.conf` for the plugin topology/tree (`man topology.conf`).
//!
//! A line is a list of `KEY=VALUE`. Keys ignore case, and a value can be quoted. A switch with
//! `Nodes=` is a leaf switch. A switch with `Switches=` is above other switches, which form a
//! pod.

use super::builder::LeafSwitchesBuilder;
use super::error::{ParseResult, wrong};
use super::lines::LogicalLine;

const LINE_FIX: &str =
    "write: SwitchName=leaf1 Nodes=n[01-16], or SwitchName=spine1 Switches=leaf[1-4]";

const FIX_OF_BLOCKS: &str =
    "list the leaf switches in another file, one per line: leaf leaf1 n[01-16]";

pub(super) fn is_line(text: &str) -> bool {
    let text = text.trim_start();
    let key = key(text);
    !key.is_empty() && text[key.len()..].trim_start().starts_with('=') || is_include(text)
}

pub(super) fn read(draft: &mut LeafSwitchesBuilder<'_>, line: &LogicalLine) -> ParseResult<()> {
    if is_include(&line.text) {
        let fix = "name the included file, or copy its lines to this file";
        return wrong("Include lines are not supported", fix);
    }
    let (mut name, mut nodes, mut switches) = (None, None, None);
    for (key, value) in fields(&line.text)? {
        let slot = match key.to_ascii_lowercase().as_str() {
            "switchname" => &mut name,
            "nodes" => &mut nodes,
            "switches" => &mut switches,
            // Slurm ignores it too.
            "linkspeed" => continue,
            "blockname" | "blocksizes" => {
                return wrong(format!("{key}: block topology has no leaf switches"), FIX_OF_BLOCKS);
            }
            _ => return wrong(format!("unknown key {key}"), LINE_FIX),
        };
        if slot.replace(value).is_some() {
            return wrong(format!("{key} is given twice"), LINE_FIX);
        }
    }
    let Some(name) = name else { return wrong("no SwitchName", LINE_FIX) };
    match (nodes, switches) {
        (Some(_), Some(_)) => wrong(
            format!("switch {name} has Nodes and Switches"),
            "give a leaf switch Nodes only, and a switch above others Switches only",
        ),
        (Some(_), None) if draft.knows(name) => wrong(
            format!("switch {name} is defined twice"),
            "write all nodes of a switch in one line",
        ),
        (Some(nodes), None) => draft.add(name, nodes, line.number),
        (None, Some(switches)) => draft.join(switches),
        // A switch without nodes is allowed since Slurm 23.
        (None, None) => Ok(()),
    }
}

fn is_include(text: &str) -> bool {
    text.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("include"))
}

/// Returns the key at the start of a text; empty if the text does not start with a key.
fn key(text: &str) -> &str {
    let is_of_key = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let end = text.find(|letter| !is_of_key(letter)).unwrap_or(text.len());
    &text[..end]
}

/// Allows spaces around `=`.
fn fields(text: &str) -> ParseResult<Vec<(&str, &str)>> {
    let mut fields = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let key = key(rest);
        let after = rest[key.len()..].trim_start();
        let Some(value) = after.strip_prefix('=').filter(|_| !key.is_empty()) else {
            let word = rest.split_whitespace().next().unwrap_or(rest);
            return wrong(format!("{word} is not KEY=VALUE"), LINE_FIX);
        };
        let value = value.trim_start();
        let unquoted = || value.split_at(value.find(char::is_whitespace).unwrap_or(value.len()));
        let quoted = value.strip_prefix('"').map(|quoted| quoted.split_once('"'));
        let Some((value, after)) = quoted.unwrap_or_else(|| Some(unquoted())) else {
            return wrong(format!("the quote of {key} does not end"), LINE_FIX);
        };
        if value.is_empty() {
            return wrong(format!("{key} has no value"), LINE_FIX);
        }
        fields.push((key, value));
        rest = after.trim_start();
    }
    Ok(fields)
}
