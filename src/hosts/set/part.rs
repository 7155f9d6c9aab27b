//! Parts of a name with brackets: number of names, length limit, and all names. The parsers of
//! hosts and of groups use this module.

use std::ops::Range;

use super::error::HostSetFault;
use super::range::Numbers;

/// Length limit of a DNS name, in bytes.
const MAX_NAME: usize = 253;

/// Piece of a name: a text, or one of many numbers.
pub(super) enum Part {
    Text(String),
    Numbers(Vec<Numbers>),
}

/// Returns the number of names, saturated far above any limit.
pub(super) fn count(parts: &[Part]) -> usize {
    let count = parts.iter().fold(1_u64, |product, part| match part {
        Part::Text(_) => product,
        Part::Numbers(ranges) => product.saturating_mul(
            ranges.iter().fold(0, |sum: u64, range| sum.saturating_add(range.count())),
        ),
    });
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Rejects names that are too long, before they are built.
pub(super) fn refuse_length(parts: &[Part], span: &Range<usize>) -> Result<(), HostSetFault> {
    let longest = parts.iter().fold(0, |sum: usize, part| {
        sum.saturating_add(match part {
            Part::Text(text) => text.len(),
            Part::Numbers(ranges) => ranges.iter().map(Numbers::digits).max().unwrap_or(0),
        })
    });
    if longest > MAX_NAME {
        return Err(HostSetFault::new(span, "the name is longer than 253 characters"));
    }
    Ok(())
}

/// Returns all names. The last number varies fastest.
pub(super) fn combine(parts: &[Part]) -> Vec<String> {
    let mut names = vec![String::new()];
    for part in parts {
        names = match part {
            Part::Text(text) => names.into_iter().map(|name| name + text).collect(),
            Part::Numbers(ranges) => {
                let numbers: Vec<String> = ranges.iter().flat_map(Numbers::texts).collect();
                let with = |name: String| numbers.iter().map(move |number| name.clone() + number);
                names.into_iter().flat_map(with).collect()
            }
        };
    }
    names
}
