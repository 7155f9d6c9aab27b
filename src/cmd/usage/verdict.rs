//! Formats the text of `rdmactl help CODE`: meaning and fixes of a verdict or a warning, from the
//! tables of `model`. `usage` prints the text.

use std::fmt::Write as _;

use crate::analyse::verdict::with_placeholders;
use crate::model::ConnectionVerdict;
use crate::model::ping::{Code, WarningCode};

/// Returns the text of a code: a verdict or warning of `ping` (`roce.udp4791_blocked`, or only
/// `udp4791_blocked`), or a verdict of `connections` (`fallback_confirmed`). Several codes may
/// have one short form (`duplicate`); the text then explains each of them.
pub(super) fn text_of(word: &str) -> Option<String> {
    let is_short = |code: &&str| code.split_once('.').is_some_and(|(_, short)| short == word);
    text_of_code(word).or_else(|| {
        let codes = Code::WORDS.into_iter().chain(WarningCode::WORDS).filter(is_short);
        let texts: Vec<String> = codes.filter_map(text_of_code).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    })
}

fn text_of_code(word: &str) -> Option<String> {
    text_of_ping_verdict(word)
        .or_else(|| text_of_ping_warning(word))
        .or_else(|| text_of_connection_verdict(word))
}

fn text_of_ping_verdict(word: &str) -> Option<String> {
    let mut codes = Code::ALL.into_iter().filter(|code| *code != Code::Ok);
    let code = codes.find(|code| code.word() == word)?;
    let mut text = format!("{word}: {}\n", code.meaning().replace('`', ""));
    for fix in code.fixes() {
        let _ = writeln!(text, "  fix: {}", with_placeholders(fix));
    }
    Some(text)
}

fn text_of_ping_warning(word: &str) -> Option<String> {
    let code = WarningCode::ALL.into_iter().find(|code| code.word() == word)?;
    let fix = "the run prints the command with names: rdmactl ping";
    Some(format!("{word}: {}\n  fix: {fix}\n", code.meaning()))
}

fn text_of_connection_verdict(word: &str) -> Option<String> {
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
fn every_code_has_a_text_without_placeholders_in_braces() {
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
    for (short, count) in [("duplicate", 4), ("no_answer", 2)] {
        let codes = Code::WORDS.into_iter().chain(WarningCode::WORDS);
        let codes: Vec<&str> = codes.filter(|code| code.ends_with(&format!(".{short}"))).collect();
        assert_eq!(codes.len(), count, "{codes:?}");
        let text = text_of(short).unwrap_or_default();
        for code in codes {
            assert!(text.contains(&text_of(code).unwrap_or_default()), "{code}: {text}");
        }
    }
}
