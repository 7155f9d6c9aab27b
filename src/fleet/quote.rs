//! Quotes the output of hosts and other programs in messages.

use crate::model::words;

/// Length limit of a quoted line, in characters. A host may write a line of many thousands.
const QUOTE: usize = 200;

/// Returns the last line that a command wrote, as the tail of a message. Empty without output.
pub(super) fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map_or_else(String::new, |line| format!("; last output: \"{}\"", quote(line)))
}

/// Returns a line without control characters, cut at 200 characters, with a quoted `fix:`.
pub(super) fn quote(line: &str) -> String {
    let end = line.char_indices().nth(QUOTE).map_or(line.len(), |(at, _)| at);
    let more = if end < line.len() { "…" } else { "" };
    let harmless = |c: char| match c {
        // These characters are harmless on a terminal, and an escaped one could not be copied.
        '"' | '\'' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    words::of_host(&line[..end]).chars().map(harmless).collect::<String>() + more
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
    fn a_line_without_an_end_is_cut() {
        let quoted = last_line("ä".repeat(70_000).as_bytes());
        assert_eq!(quoted, format!("; last output: \"{}…\"", "ä".repeat(200)));
    }
}
