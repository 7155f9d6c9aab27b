//! Quotes names for POSIX shell commands in hints. The names may come from other machines.

use std::borrow::Cow;

pub(super) fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
    }
}

#[test]
fn a_name_that_is_a_command_stays_a_name() {
    for (word, expected) in [
        ("10.9.0.1:/data", "10.9.0.1:/data"),
        ("nqn.2026-01.io:disk_1", "nqn.2026-01.io:disk_1"),
        ("a;reboot", "'a;reboot'"),
        ("$(reboot)", "'$(reboot)'"),
        ("it's", r"'it'\''s'"),
        ("two words", "'two words'"),
        ("[::1]:/", "'[::1]:/'"),
        ("", "''"),
    ] {
        assert_eq!(quoted(word), expected);
    }
}
