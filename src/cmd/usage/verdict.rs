//! Formats the text of `rdmactl help CODE`: meaning and fixes of a verdict, from the tables of
//! `model`.

use std::fmt::Write as _;

use crate::analyse::verdict::with_placeholders;
use crate::model::ConnectionVerdict;
use crate::model::ping::{Code, WarningCode};

/// Returns the text of a code: a verdict or warning of `ping` (`roce.udp4791_blocked`, or without
/// the part before the dot), or a verdict of `connections` (`fallback_confirmed`).
pub(super) fn text_of(word: &str) -> Option<String> {
    let is_short = |code: &&str| code.split_once('.').is_some_and(|(_, short)| short == word);
    text_of_code(word)
        .or_else(|| text_of_code(Code::WORDS.into_iter().chain(WarningCode::WORDS).find(is_short)?))
}

fn text_of_code(word: &str) -> Option<String> {
    let mut codes = Code::ALL.into_iter().filter(|code| *code != Code::Ok);
    if let Some(code) = codes.find(|code| code.word() == word) {
        let mut text = format!("{word}: {}\n", code.meaning().replace('`', ""));
        for fix in code.fixes() {
            let _ = writeln!(text, "  fix: {}", with_placeholders(fix));
        }
        return Some(text);
    }
    let mut warnings = WarningCode::ALL.into_iter();
    if let Some(code) = warnings.find(|code| code.word() == word) {
        let fix = "the run prints the command with names: rdmactl ping";
        return Some(format!("{word}: {}\n  fix: {fix}\n", code.meaning()));
    }
    let mut verdicts = ConnectionVerdict::ALL.into_iter();
    let verdict = verdicts.find(|verdict| verdict.word() == word)?;
    let mut text = format!("{word}: {}\n", verdict.meaning());
    if verdict.needs_attention() {
        text += "  fix: print the reason and the command for each connection: rdmactl connections -o +code,why,fix\n";
    }
    let mut others = ConnectionVerdict::WORDS.to_vec();
    others.retain(|other| *other != word);
    let _ = writeln!(text, "Other verdicts of a connection: {}", others.join(", "));
    Some(text)
}

#[test]
fn every_verdict_has_a_text_without_open_places() {
    let codes = Code::WORDS.into_iter().filter(|word| *word != Code::Ok.word());
    for word in codes.chain(WarningCode::WORDS).chain(ConnectionVerdict::WORDS) {
        let text = text_of(word).unwrap_or_default();
        assert!(text.starts_with(word) && !text.contains(['{', '}']), "{word}: {text}");
    }
    let text = text_of("fallback_confirmed").unwrap_or_default();
    assert!(
        text.contains("rdmactl connections -o +code,why,fix") && text.contains("mixed"),
        "{text}"
    );
    assert!(text_of("roce").is_none());
    assert_eq!(text_of("link_down"), text_of("local.link_down"));
}
