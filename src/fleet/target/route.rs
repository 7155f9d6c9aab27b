//! Route to a host: direct, over jump hosts, or through a proxy command. `SshConfig` parses it.

use std::path::PathBuf;

use crate::fleet::{HostResult, SshCall};
use crate::model::{HostFailure, Reason};
use crate::names::shortened;

/// Route of the bytes to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SshRoute {
    /// TCP connection of this program.
    Direct,
    /// Connection through another host, which this call reaches (`ProxyJump`).
    Jump(SshCall),
    /// Shell command of the configuration (`ProxyCommand`).
    Command(String),
}

/// Refuses a name with characters that a shell interprets.
pub(super) fn check_for_shell(name: &str) -> HostResult<()> {
    let harmless = |c: char| c.is_alphanumeric() || "._-:@%+".contains(c);
    if name.chars().all(harmless) && !name.starts_with('-') {
        return Ok(());
    }
    let shown = shortened(name);
    let detail = format!("ProxyCommand cannot take the name `{}` safely", shown.escape_debug());
    Err(HostFailure::new(Reason::Transport, detail).fix(
        "use a name of letters, digits, dots and dashes, and set its HostName in ~/.ssh/config",
    ))
}

/// Parses `a,user@b:22`. The last host connects to the target; the others lead to it.
pub(super) fn jump(jumps: &str) -> SshCall {
    let (over, last) = jumps.rsplit_once(',').map_or((None, jumps), |(a, b)| (Some(a), b));
    let last = last.trim();
    let last = last.strip_prefix("ssh://").unwrap_or(last).trim_end_matches('/');
    let (user, host) = last.rsplit_once('@').map_or((None, last), |(a, b)| (Some(a), b));
    let (host, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        // A name with more than one colon is an address without a port.
        None if host.matches(':').count() > 1 => (host, None),
        None => host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
    };
    SshCall {
        program: PathBuf::from("ssh"),
        config: None,
        options: Vec::new(),
        jumps: over.map(str::to_owned),
        user: user.map(str::to_owned),
        port: port.and_then(|port| port.parse().ok()),
        host: host.to_owned(),
        agent: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::{Credentials, SshConfig};
    use crate::hosts::Host;

    #[test]
    fn proxy_jump_and_proxy_command_are_parsed_as_ssh_does() {
        let route = |line: &str| {
            let text = format!("hostname 10.0.0.7\nport 2222\nuser root\n{line}\n");
            SshConfig::parse(&text)
                .target(&Host::named("web"), Credentials::default())
                .map(|t| t.route)
        };
        for (jumps, over, user, port, host) in [
            ("proxyjump b", None, None, None, "b"),
            ("proxyjump u@b:7,v@c:8", Some("u@b:7"), Some("v"), Some(8), "c"),
            ("proxyjump ssh://u@[fe80::1]:9/", None, Some("u"), Some(9), "fe80::1"),
            ("proxyjump a,b,::1", Some("a,b"), None, None, "::1"),
        ] {
            let SshRoute::Jump(call) = route(jumps).unwrap() else { panic!("{jumps}") };
            assert_eq!((call.jumps.as_deref(), call.user.as_deref()), (over, user));
            assert_eq!((call.port, call.host.as_str()), (port, host));
        }
        assert_eq!(
            route("proxycommand nc -x %% %h %p %r %n").unwrap(),
            SshRoute::Command("nc -x % 10.0.0.7 2222 root web".into())
        );
        assert_eq!(route("proxycommand none").unwrap(), SshRoute::Direct);
    }

    #[test]
    fn a_name_that_a_shell_would_act_on_reaches_no_proxy_command() {
        for name in ["a;reboot", "$(x)", "-oX", "a b", "`x`"] {
            let text = format!("hostname {name}\nproxycommand nc %h %p\n");
            let failure =
                SshConfig::parse(&text).target(&Host::named("web"), Credentials::default());
            let failure = failure.unwrap_err();
            assert!(failure.detail.contains("ProxyCommand"), "{failure}");
        }
    }
}
