//! Words for codes: the word of a code is the entry of a table at this index.

/// Returns the word of a code, or `unknown` if the table has none.
pub(super) fn word(
    code: impl TryInto<usize>,
    words: &[&'static str],
    unknown: &'static str,
) -> &'static str {
    code.try_into().ok().and_then(|code| words.get(code).copied()).unwrap_or(unknown)
}
