//! Names of other machines as words of a shell command in fixes.

use std::borrow::Cow;

/// Longest name in a fix.
const MAX_LEN: usize = 256;

/// Returns the name as one shell word: in quotes if it has spaces or brackets. Returns the
/// placeholder for any other name, so that no fix contains a command of another machine.
pub(super) fn word<'a>(name: &'a str, placeholder: &'a str) -> Cow<'a, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    if name.is_empty() || name.len() > MAX_LEN {
        Cow::Borrowed(placeholder)
    } else if name.bytes().all(is_plain) {
        Cow::Borrowed(name)
    } else if name.bytes().all(|byte| is_plain(byte) || b" []".contains(&byte)) {
        Cow::Owned(format!("'{name}'"))
    } else {
        Cow::Borrowed(placeholder)
    }
}

#[test]
fn a_name_that_is_a_command_is_in_no_fix() {
    for (name, expected) in [
        ("10.9.0.1:/data", "10.9.0.1:/data"),
        ("nqn.2026-01.io:disk_1", "nqn.2026-01.io:disk_1"),
        ("two words", "'two words'"),
        ("[::1]:/", "'[::1]:/'"),
        ("a;reboot", "NAME"),
        ("$(reboot)", "NAME"),
        ("it's", "NAME"),
        ("two\nlines", "NAME"),
        ("", "NAME"),
        (&*"x".repeat(MAX_LEN + 1), "NAME"),
    ] {
        assert_eq!(word(name, "NAME"), expected);
    }
}
