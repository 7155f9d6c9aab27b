//! Connection to a host: a TCP connection, or a local process that makes the connection.
//!
//! It does not speak SSH. The login uses it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::tcp;
use crate::clock::Deadline;
use crate::fleet::jump_hosts::JumpHosts;
use crate::fleet::ssh_program::Master;
use crate::fleet::{HostResult, Pipe, SshRoute, Target, Watchdog, fault, local};
use crate::model::{HostFailure, Reason};

/// Time for a process to end and print its error, after its connection has closed.
const ERROR_TIMEOUT: Duration = Duration::from_millis(500);

/// Open connection. A process may still be connecting behind it.
pub(super) struct Connection {
    pub(super) socket: OwnedFd,
    pub(super) helper: Option<Helper>,
}

/// Local process between this program and the host. It ends when this is dropped.
pub(super) struct Helper {
    pipe: Pipe,
    jump: Option<(Arc<Master>, String)>,
}

/// Opens the connection. The failure of a process shows only when the host sends nothing.
pub(super) fn open(
    target: &Target,
    addresses: &[SocketAddr],
    watchdog: &Watchdog,
    jumps: &JumpHosts,
    by: Deadline,
    deadline: Deadline,
) -> HostResult<Connection> {
    let helper = match &target.route {
        SshRoute::Direct => {
            let socket = tcp::dial(target, addresses, watchdog, by)?.into();
            return Ok(Connection { socket, helper: None });
        }
        SshRoute::Command(command) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(format!("exec {command}"));
            Helper { pipe: local::spawn_leader(shell)?, jump: None }
        }
        SshRoute::Jump(call) => {
            let name = call.host.clone();
            let at = |failure: HostFailure| HostFailure {
                detail: format!("jump host {name}: {}", failure.detail),
                ..failure
            };
            let master = jumps.open(call, deadline).map_err(at)?;
            let pipe = master.forward(&format!("[{}]:{}", target.address, target.port))?;
            Helper { pipe, jump: Some((master, name)) }
        }
    };
    let socket = helper.pipe.stream().try_clone().map_err(fault::local)?;
    socket.set_nonblocking(true).map_err(fault::local)?;
    Ok(Connection { socket: socket.into(), helper: Some(helper) })
}

impl Helper {
    pub(super) fn behind(&self) -> String {
        match &self.jump {
            Some((_, name)) => format!(" through jump host {name}"),
            None => " through ProxyCommand".to_owned(),
        }
    }

    pub(super) fn why_closed(&self, target: &Target) -> HostFailure {
        let _ = self.pipe.wait(Deadline::after(ERROR_TIMEOUT));
        let Some((master, name)) = &self.jump else {
            let said = self.pipe.exit_and_last_line();
            let detail = format!("ProxyCommand ended before the SSH banner of the host{said}");
            return HostFailure::new(Reason::Refused, detail)
                .fix(format!("test the ProxyCommand: {}", target.manual_command()));
        };
        if let Some(failure) = master.failure(Duration::ZERO) {
            let detail = format!("jump host {name}: {}", failure.detail);
            return HostFailure { detail, ..failure };
        }
        let (address, port) = (&target.address, target.port);
        let fix = format!(
            "on {name}, check the path and AllowTcpForwarding: nc -zv {address} {port}; sudo sshd -T | grep -i \
             allowtcpforwarding"
        );
        let (reason, why) = match master.why_unreached() {
            Some((reason, why)) => (reason, format!(": {why}")),
            None => (Reason::Unreachable, String::new()),
        };
        HostFailure::new(reason, format!("jump host {name} cannot reach {address}:{port}{why}"))
            .fix(fix)
    }
}
