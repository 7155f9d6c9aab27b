//! The bytes' way to a host: a TCP connection, or a process that makes one elsewhere.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::{connect, fault};
use crate::clock::Deadline;
use crate::fleet::jumps::Jumps;
use crate::fleet::last_words::last_words;
use crate::fleet::ssh_program::Master;
use crate::fleet::target::{Route, Target};
use crate::fleet::watchdog::Watchdog;
use crate::fleet::{Pipe, local};
use crate::model::{HostFailure, Reason};

/// What a process needs to end and say why, once its connection is closed.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A way that stands, or begins to.
pub(super) struct Road {
    pub(super) socket: OwnedFd,
    pub(super) helper: Option<Helper>,
}

/// A process between us and the host; it ends when this is dropped.
pub(super) struct Helper {
    pipe: Pipe,
    /// The connection to the jump host, and how the operator calls it.
    jump: Option<(Arc<Master>, String)>,
}

/// Opens the way; what a process makes of it shows only when the host speaks.
pub(super) fn open(
    target: &Target,
    addresses: &[SocketAddr],
    watchdog: &Watchdog,
    jumps: &Jumps,
    by: Deadline,
    deadline: Deadline,
) -> Result<Road, HostFailure> {
    let helper = match &target.route {
        Route::Direct => {
            let socket = connect::dial(addresses, watchdog, by)?.into();
            return Ok(Road { socket, helper: None });
        }
        Route::Command(command) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(format!("exec {command}"));
            let pipe = local::spawn_leader(shell)?;
            Helper { pipe, jump: None }
        }
        Route::Jump(call) => {
            let name = call.host.clone();
            let at = |failure: HostFailure| HostFailure {
                detail: format!("jump host {name}: {}", failure.detail),
                ..failure
            };
            let master = jumps.open(call, deadline).map_err(at)?;
            let to = format!("[{}]:{}", target.address, target.port);
            let pipe = master.forward(&to)?;
            Helper { pipe, jump: Some((master, name)) }
        }
    };
    let ours = helper.pipe.stream();
    let socket = ours.try_clone().map_err(|error| fault::local(&error))?;
    socket.set_nonblocking(true).map_err(|error| fault::local(&error))?;
    Ok(Road { socket: socket.into(), helper: Some(helper) })
}

impl Helper {
    /// Behind whom the host is, as the tail of a sentence.
    pub(super) fn behind(&self) -> String {
        match &self.jump {
            Some((_, name)) => format!(", by jump host {name}"),
            None => ", by its ProxyCommand".to_owned(),
        }
    }

    /// Why the host's first word never came, when the way closed before it.
    pub(super) fn why_closed(&self, target: &Target) -> HostFailure {
        let _ = self.pipe.wait(Deadline::after(LAST_WORDS));
        let to = format!("{}:{}", target.address, target.port);
        let Some((master, name)) = &self.jump else {
            let said = last_words(&self.pipe.stderr());
            let detail = format!("its ProxyCommand ended before the host spoke SSH{said}");
            return HostFailure::new(Reason::Refused, detail)
                .fix(format!("try `ssh {}`", target.host));
        };
        if let Some(failure) = master.failure(Duration::ZERO) {
            let detail = format!("jump host {name}: {}", failure.detail);
            return HostFailure::new(failure.reason, detail);
        }
        let fix = format!("see there whether sshd of {to} answers, and AllowTcpForwarding of sshd");
        let (reason, why) = match master.why_unreached() {
            Some((reason, why)) => (reason, format!(": {why}")),
            None => (Reason::Unreachable, String::new()),
        };
        HostFailure::new(reason, format!("jump host {name} cannot reach {to}{why}")).fix(fix)
    }
}
