//! Quotes host sets in printed commands.

/// Returns a host set as an argument of a shell command, in quotes if the shell would expand its
/// brackets.
pub fn in_shell(set: &str) -> String {
    if set.contains(['[', '*', '?', '!', '{']) { format!("'{set}'") } else { set.to_owned() }
}

#[test]
fn a_set_with_brackets_is_quoted() {
    assert_eq!([in_shell("n[1,4]"), in_shell("n1,n4")], ["'n[1,4]'", "n1,n4"]);
}
