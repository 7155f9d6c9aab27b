//! Errors of `sudo -n` on a host. The agent and the shell use them.

use super::quote::quote;
use crate::model::{HostFailure, Reason};

/// Fix for a host whose sudo denies the agent, an uploaded agent or the shell. A rule without
/// arguments would allow every command of rdmactl, which can run programs of the user's choice.
const ALLOW: &str = "install rdmactl on the host, and allow only its agent, with visudo: `USER ALL=(root) NOPASSWD: \
                     /usr/bin/rdmactl ^agent [0-9a-f]{32}( --lines)?$` (replace USER and the path; \
                     sudo before 1.9.10: `/usr/bin/rdmactl agent [0-9a-f]*`); or omit --sudo";

/// Messages of sudo in English, which `remote_command` requests, and of `env`.
const ASKS: [&str; 4] =
    ["password is required", "terminal is required", "must have a tty", "no askpass program"];
const FORBIDS: [&str; 4] =
    ["is not allowed to", "is not in the sudoers", "may not run sudo", "not allowed to run sudo"];

/// Returns the failure of sudo. `None` if sudo is not the cause.
pub(super) fn refusal(stderr: &[u8]) -> Option<HostFailure> {
    let text = String::from_utf8_lossy(stderr);
    let has = |words: &[&str]| {
        text.lines().map(str::trim).find(|line| words.iter().any(|word| line.contains(word)))
    };
    let failure = |detail: String| HostFailure::new(Reason::Auth, detail);
    if has(&ASKS).is_some_and(|line| line.starts_with("sudo:")) {
        return Some(failure("sudo requires a password".to_owned()).fix(ALLOW));
    }
    let is_missing = |line: &&str| {
        line.starts_with("env:") && line.contains("sudo") || line.contains("sudo: not found")
    };
    if text.lines().find(is_missing).is_some() {
        let failure = failure("sudo is not installed on the host".to_owned());
        return Some(failure.fix("log in as root: -l root; or omit --sudo"));
    }
    if let Some(line) = has(&FORBIDS) {
        return Some(failure(format!("sudo denied the agent: {}", quote(line))).fix(ALLOW));
    }
    let other = text.lines().map(str::trim).find(|line| line.starts_with("sudo:"))?;
    Some(failure(format!("sudo failed: {}", quote(other))).fix(ALLOW))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_by_sudo_has_a_detail_and_a_fix() {
        for (said, detail) in [
            ("motd\nsudo: a password is required\n", "sudo requires a password"),
            ("sudo: sorry, you must have a tty to run sudo\n", "sudo requires a password"),
            (
                "Sorry, user u is not allowed to execute '/usr/bin/rdmactl agent 0' as root on n1.\n",
                "sudo denied the agent: \"Sorry, user u is not allowed to execute '/usr/bin/rdmactl agent 0' as root on n1.\"",
            ),
            (
                "u is not in the sudoers file.\n",
                "sudo denied the agent: \"u is not in the sudoers file.\"",
            ),
            ("env: 'sudo': No such file or directory\n", "sudo is not installed on the host"),
            (
                "env: can't execute 'sudo': No such file or directory\n",
                "sudo is not installed on the host",
            ),
            ("sudo: \x1b]0;x\n", r#"sudo failed: "sudo: \u{1b}]0;x""#),
        ] {
            let failure = refusal(said.as_bytes()).unwrap();
            assert_eq!((failure.reason, failure.detail.as_str()), (Reason::Auth, detail));
            assert!(failure.fix.is_some());
        }
        assert!(refusal(b"bash: rdmactl: not found\n").is_none());
    }
}
