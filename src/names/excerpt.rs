//! Shortens long texts, for error messages that repeat an argument.

use std::ops::Range;

/// Limit of an excerpt, in characters.
const MAX: usize = 80;
/// Number of characters of an expression between two gaps.
const WINDOW: usize = MAX - 2 * GAP.len();
const BEFORE_FAULT: usize = 40;
const GAP: &str = "...";

/// Returns the part of an expression around a fault, and position and width of the fault in it.
pub fn around(expression: &[char], fault: Range<usize>) -> (String, usize, usize) {
    let start = fault.start.min(expression.len());
    let from = if expression.len() <= WINDOW { 0 } else { start.saturating_sub(BEFORE_FAULT) };
    let to = from.saturating_add(WINDOW).min(expression.len());
    let shown: String = expression.get(from..to).unwrap_or_default().iter().collect();
    let lead = if from > 0 { GAP } else { "" };
    let tail = if to < expression.len() { GAP } else { "" };
    let width = fault.end.min(to.max(start + 1)).saturating_sub(start).max(1);
    (format!("{lead}{shown}{tail}"), lead.len() + start - from, width)
}

/// Shortens a text to 80 characters. Keeps start and end, so that a file name stays readable.
pub fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX {
        return text.to_owned();
    }
    let kept = (MAX - GAP.len()) / 2;
    let start = text.chars().take(kept);
    start.chain(GAP.chars()).chain(text.chars().skip(count - kept)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fault_is_within_the_excerpt() {
        let chars = |text: &str| text.chars().collect::<Vec<char>>();
        assert_eq!(around(&chars("a=b"), 2..3), ("a=b".into(), 2, 1));
        assert_eq!(around(&chars("a="), 2..2), ("a=".into(), 2, 1));
        for (length, fault) in
            [(10_000, 5_000..5_001), (10_000, 10_000..10_000), (81, 80..81), (200, 0..200)]
        {
            let text = "x".repeat(length);
            let (shown, at, width) = around(&chars(&text), fault.clone());
            assert!(shown.chars().count() <= MAX, "{shown}");
            assert!(at + width <= shown.len() + 1, "{fault:?}: {at} {width} in {}", shown.len());
        }
    }

    #[test]
    fn a_long_text_keeps_its_ends() {
        assert_eq!(shortened("state"), "state");
        let path = format!("/{}/capture.ndjson", "x".repeat(300));
        let short = shortened(&path);
        assert!(short.starts_with("/xxx") && short.ends_with("/capture.ndjson"), "{short}");
        assert!(short.chars().count() <= MAX);
        assert_eq!(shortened(&"\u{e4}".repeat(80)).chars().count(), 80);
    }
}
