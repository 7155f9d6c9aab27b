//! Quotes the output of hosts and other programs in messages.

use crate::model::words;

/// Length limit of a quoted line, in characters. A host may write a line of many thousands.
const QUOTE: usize = 200;

/// Returns the last line that a command wrote, as the tail of a message. Empty without output.
pub(super) fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map_or_else(String::new, |line| format!("; last output: {}", quote(line)))
}

/// Returns a line in quotation marks, cut at 200 characters, with a quoted `fix:`. Quotation
/// marks and backslashes of the line are escaped, so that they do not end the quotation.
pub(super) fn quote(line: &str) -> String {
    format!("{:?}", cut(line))
}

/// Returns a line with escaped control characters, cut at 200 characters, with a quoted `fix:`.
///
/// Quotation marks and backslashes stay, so that a command of a local program can be copied.
pub(super) fn harmless(line: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    cut(line).chars().map(escape).collect()
}

fn cut(line: &str) -> String {
    let end = line.char_indices().nth(QUOTE).map_or(line.len(), |(at, _)| at);
    let more = if end < line.len() { "…" } else { "" };
    words::of_host(&line[..end]) + more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_anything_is_quoted_harmlessly() {
        assert_eq!(
            last_line(b"first\nno such\x1b[2J file\n \n"),
            r#"; last output: "no such\u{1b}[2J file""#
        );
        assert_eq!(last_line(b" \n"), "");
    }

    #[test]
    fn a_host_cannot_end_its_quotation() {
        let line = r#"x"; run: "curl \"#;
        assert_eq!(quote(line), r#""x\"; run: \"curl \\""#);
        assert_eq!(quote("it's; fix: x"), r#""it's; \"fix\": x""#);
        assert_eq!(harmless("ssh-keygen -R \"n1\"\t"), r#"ssh-keygen -R "n1"\t"#);
    }

    #[test]
    fn a_line_without_an_end_is_cut() {
        let quoted = last_line("ä".repeat(70_000).as_bytes());
        assert_eq!(quoted, format!("; last output: \"{}…\"", "ä".repeat(200)));
    }
}
