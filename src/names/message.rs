//! Writes names into messages and printed commands, and replaces them there.

use std::borrow::Borrow;

/// Joins the first names and the number of the others (`more`): `a, b and 7 more nodes`.
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

/// Returns a host set as a shell argument, in quotes if the shell would expand its brackets.
pub fn in_shell(set: &str) -> String {
    if set.contains(['[', '*', '?', '!', '{']) { format!("'{set}'") } else { set.to_owned() }
}

/// Returns the text with each whole occurrence of a name replaced by `by`. The name `n1` occurs
/// in `on n1:`, but not in `n12`, `gn1` or `n1.a`.
pub fn replace(text: &str, name: &str, by: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while !name.is_empty()
        && let Some(at) = rest.find(name)
    {
        let (before, found) = rest.split_at(at);
        let after = &found[name.len()..];
        replaced.push_str(before);
        let last = replaced.chars().next_back();
        let is_part = last.is_some_and(|letter| is_of_name(letter) || letter == '.');
        replaced.push_str(if is_part || begins_in_name(after) { name } else { by });
        rest = after;
    }
    replaced + rest
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || "-_".contains(letter)
}

/// True for a dot in `n1.cluster`, but not at the end of a sentence.
fn begins_in_name(text: &str) -> bool {
    let mut letters = text.chars();
    match letters.next() {
        Some('.') => letters.next().is_some_and(is_of_name),
        first => first.is_some_and(is_of_name),
    }
}

#[test]
fn a_set_with_brackets_is_quoted() {
    assert_eq!([in_shell("n[1,4]"), in_shell("n1,n4")], ["'n[1,4]'", "n1,n4"]);
}

#[test]
fn only_whole_names_are_replaced() {
    for (text, name, replaced) in [
        ("no address for n1: unknown", "n1", "no address for #: unknown"),
        ("n1 n12 gn1 n1-a n1.cluster n1. n1", "n1", "# n12 gn1 n1-a n1.cluster #. #"),
        ("a cat and a dog", "a", "# cat and # dog"),
        ("n1n1 (n1)", "n1", "n1n1 (#)"),
        ("ssh-copy-id root@n1", "n1", "ssh-copy-id root@#"),
        ("n1 and n17, n1.site and n1.", "n1", "# and n17, n1.site and #."),
        ("another answer", "an", "another answer"),
        ("aaaa", "aa", "aaaa"),
        ("nothing", "", "nothing"),
        ("", "n1", ""),
        ("\u{e9}n1 n1\u{e9} n1", "n1", "\u{e9}n1 n1\u{e9} #"),
    ] {
        assert_eq!(replace(text, name, "#"), replaced, "{text}");
    }
}
