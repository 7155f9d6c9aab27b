//! The text of `rdmactl help CODE`: meaning and fixes of a verdict, from the table of `model`.

use std::fmt::Write as _;

use crate::model::ping::Code;

/// Returns the verdict of a code such as `roce.udp4791_blocked`.
pub(super) fn named(word: &str) -> Option<Code> {
    Code::ALL.iter().copied().find(|code| code.word() == word)
}

/// Formats a verdict: its code and meaning, then a line for each fix.
///
/// The places of a fix that a run fills in are words in capitals, as in the man page.
pub(super) fn text(code: Code) -> String {
    let mut text = format!("{}: {}\n", code.word(), code.meaning().replace('`', ""));
    for fix in code.fixes() {
        let _ = writeln!(text, "  fix: {}", with_words(fix));
    }
    text
}

/// Writes each `{place}` as `PLACE`.
fn with_words(fix: &str) -> String {
    let mut text = String::new();
    let mut rest = fix;
    while let Some((before, place)) = rest.split_once('{') {
        let (name, after) = place.split_once('}').unwrap_or((place, ""));
        text.push_str(before);
        text.push_str(&name.to_uppercase());
        rest = after;
    }
    text + rest
}

#[test]
fn every_verdict_has_a_text_without_open_places() {
    for code in Code::ALL {
        let text = text(*code);
        assert!(text.starts_with(code.word()) && !text.contains(['{', '}']), "{text}");
        assert_eq!(named(code.word()), Some(*code));
    }
    assert!(named("roce").is_none());
}
