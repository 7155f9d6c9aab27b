//! Escapes text from other hosts, so that it cannot control a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Makes text from other machines safe for a terminal. Control characters become `\x1b`;
/// characters that reverse or hide the text around them become `\u{202e}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(acts_on_terminal) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        // Writing to a string cannot fail.
        let _ = match letter {
            _ if letter.is_control() => write!(safe, "\\x{:02x}", u32::from(letter)),
            _ if is_hidden(letter) => write!(safe, "\\u{{{:x}}}", u32::from(letter)),
            _ => safe.write_char(letter),
        };
    }
    Cow::Owned(safe)
}

/// Returns the same JSON without characters that act on a terminal: `\u009b`. JSON has them in
/// its strings only, and serde escapes all below a blank.
pub(super) fn escape_json(json: String) -> String {
    let acts = |letter: char| letter == '\x7f' || !letter.is_ascii() && acts_on_terminal(letter);
    if json.is_ascii() && !json.contains('\x7f') || !json.chars().any(acts) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if acts(letter) {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// True for a control character, and for a character that reverses or hides the text around it.
pub(super) fn acts_on_terminal(letter: char) -> bool {
    letter.is_control() || is_hidden(letter)
}

/// True for a character without a width, or one that changes the direction of its neighbors.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{fffd}' | '\u{e0000}'..='\u{e0fff}')
}

#[test]
fn json_is_the_same_with_escaped_characters() {
    let text = "\x1b[2J\n\"\\\x7f\u{9b}31m \u{202e}txt\u{e0001} \u{e4}\u{65e5}";
    let json = escape_json(serde_json::to_string(text).unwrap());
    assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    assert!(!json.chars().any(acts_on_terminal), "{json}");
    assert!(json.contains("\\u009b31m \\u202etxt\\udb40\\udc01 \u{e4}\u{65e5}"), "{json}");
    let pretty = "{\n  \"a\": 1\n}\n";
    assert_eq!(escape_json(pretty.to_owned()), pretty);
}

#[test]
fn nothing_reaches_a_terminal_unseen() {
    assert_eq!(escape("mlx5_0 äöü 日本"), "mlx5_0 äöü 日本");
    assert_eq!(escape("\x1b[2J\n\t\x7f\u{9b}"), "\\x1b[2J\\x0a\\x09\\x7f\\x9b");
    assert_eq!(escape("a\u{202e}b\u{200b}\u{feff}"), "a\\u{202e}b\\u{200b}\\u{feff}");
    assert_eq!(escape("\u{fffd}"), "\\u{fffd}");
}
