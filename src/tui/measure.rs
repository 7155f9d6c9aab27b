//! Measures the width of text on a terminal, and cuts or wraps text to a width.

use std::borrow::Cow;

use ratatui::text::Span;

use super::glyphs::Glyphs;

/// Returns the number of columns of a text.
pub(super) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// Cuts a text to `room` columns; an ellipsis marks the cut.
pub(super) fn fit(text: &str, room: usize, glyphs: Glyphs) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let sign: String = glyphs.ellipsis().chars().take(room).collect();
    let room = room - width(&sign);
    let mut short = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let wide = width(letter.encode_utf8(&mut [0; 4]));
        if used + wide > room {
            break;
        }
        used += wide;
        short.push(letter);
    }
    short + &sign
}

/// Returns a text of ASCII with the same width; each column of another letter becomes `_`.
pub(super) fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            plain.push(letter);
        } else {
            plain.extend(std::iter::repeat_n('_', width(letter.encode_utf8(&mut [0; 4]))));
        }
    }
    Cow::Owned(plain)
}

/// Wraps a text to lines of `room` columns, between words if possible.
pub(super) fn wrap(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word.to_owned();
        loop {
            let last = lines.last().map_or(0, |line| width(line));
            let gap = usize::from(last > 0);
            if last + gap + width(&word) <= room {
                if let Some(line) = lines.last_mut() {
                    line.push_str(if gap > 0 { " " } else { "" });
                    line.push_str(&word);
                }
                break;
            }
            if last > 0 {
                lines.push(String::new());
                continue;
            }
            // The word is longer than a line.
            let mut head = String::new();
            while let Some(letter) = word.chars().next() {
                if !head.is_empty() && width(&head) + width(letter.encode_utf8(&mut [0; 4])) > room
                {
                    break;
                }
                head.push(letter);
                word.remove(0);
            }
            if let Some(line) = lines.last_mut() {
                *line = head;
            }
            if word.is_empty() {
                break;
            }
            lines.push(String::new());
        }
    }
    lines
}

#[test]
fn text_is_cut_by_columns() {
    assert_eq!(fit("mlx5_0", 6, Glyphs::Ascii), "mlx5_0");
    assert_eq!(fit("mlx5_0", 5, Glyphs::Ascii), "mlx..");
    assert_eq!(fit("mlx5_0", 1, Glyphs::Ascii), ".");
    assert_eq!(fit("mlx5_0", 5, Glyphs::Utf8), "mlx5…");
    assert_eq!(fit("日本語", 4, Glyphs::Utf8), "日…");
    assert_eq!(fit("mlx5_0", 0, Glyphs::Utf8), "");
}

#[test]
fn long_words_are_broken_and_others_are_not() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("abcdefgh i", 3), ["abc", "def", "gh", "i"]);
    assert_eq!(wrap("", 3), [""]);
    assert_eq!(wrap("日本", 1), ["日", "本"]);
}

#[test]
fn other_letters_become_as_wide_ascii() {
    assert_eq!(ascii("/mnt/é日e\u{301}"), "/mnt/___e");
    assert!(matches!(ascii("/mnt"), Cow::Borrowed("/mnt")));
}
