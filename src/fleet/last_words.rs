/// The last line that a command wrote to stderr, as the tail of a sentence; empty without one.
pub(super) fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.map_or_else(String::new, |line| format!("; it said: {}", line.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_anything_is_quoted_harmlessly() {
        assert_eq!(
            last_words(b"first\nno such\x1b[2J file\n \n"),
            r"; it said: no such\u{1b}[2J file"
        );
        assert_eq!(last_words(b" \n"), "");
    }
}
