//! Lists of names with a limit.

use std::borrow::Borrow;

/// Joins the first names and the number of the others: `a, b and 7 more nodes`, where `more` is
/// `more nodes`.
pub fn listed<S: Borrow<str>>(
    names: impl ExactSizeIterator<Item = S>,
    most: usize,
    more: &str,
) -> String {
    let rest = names.len().saturating_sub(most);
    let first = names.take(most).collect::<Vec<_>>().join(", ");
    if rest == 0 { first } else { format!("{first} and {rest} {more}") }
}

/// Returns the first names, and one entry with the number of the others: `7 more nodes`.
pub fn limited(
    names: impl ExactSizeIterator<Item = String>,
    most: usize,
    more: &str,
) -> Vec<String> {
    let rest = names.len().saturating_sub(most);
    let rest = (rest > 0).then(|| format!("{rest} {more}"));
    names.take(most).chain(rest).collect()
}
