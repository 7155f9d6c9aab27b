//! One connection by the `ssh` program, over which several commands can run at the same time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::SshCall;
use super::process::{EXIT_TIMEOUT, MasterProcess};
use crate::clock::Deadline;
use crate::fleet::{Exit, Guard, HostResult, Pipe, Watchdog, fault, local};
use crate::model::{HostFailure, Reason};

const SOON: Duration = Duration::from_secs(60);

/// Exit status of `ssh` after a failure of `ssh` itself. A command may also exit with it.
const FAILED: i32 = 255;

/// Authenticated connection, which ends when this is dropped.
#[derive(Debug)]
pub(in crate::fleet) struct Master {
    call: SshCall,
    socket: PathBuf,
    watchdog: Watchdog,
    owner: Owner,
}

#[derive(Debug)]
enum Owner {
    /// Process of this program. A deadline cuts off the whole connection.
    Own(MasterProcess),
    /// Process of the operator. A deadline cuts off only the commands of this program.
    Operator(Mutex<Borrowed>),
}

#[derive(Debug)]
struct Borrowed {
    until: Option<Deadline>,
    guards: Vec<Guard>,
}

impl Master {
    pub(super) fn own(
        call: SshCall,
        socket: PathBuf,
        watchdog: Watchdog,
        process: MasterProcess,
    ) -> Self {
        Self { call, socket, watchdog, owner: Owner::Own(process) }
    }

    /// Uses the operator's open connection of `ControlPath`, which this program never ends.
    pub(in crate::fleet) fn borrowed(
        call: SshCall,
        socket: PathBuf,
        watchdog: Watchdog,
        until: Deadline,
    ) -> Self {
        let borrowed = Borrowed { until: Some(until), guards: Vec::new() };
        Self { call, socket, watchdog, owner: Owner::Operator(Mutex::new(borrowed)) }
    }

    pub(in crate::fleet) fn exec(self: &Arc<Self>, command: &str) -> HostResult<Pipe> {
        let mut client = self.call.on(&self.socket, &["--"]);
        client.arg(&self.call.host).arg(command);
        let master = Arc::downgrade(self);
        let judge = move |exit, stderr: &[u8]| match master.upgrade() {
            Some(master) => master.judge(exit, stderr),
            // The connection was dropped, so that no caller waits for the result.
            None => Ok(exit),
        };
        let pipe = local::spawn_judged(client, Box::new(judge))?;
        if let Owner::Operator(borrowed) = &self.owner {
            let mut borrowed = borrowed.lock();
            let guard = self.watchdog.guard(pipe.stream(), Deadline::after(SOON));
            let guard = guard.map_err(fault::local)?;
            guard.set(borrowed.until);
            borrowed.guards.push(guard);
        }
        Ok(pipe.keep(Arc::clone(self) as _))
    }

    pub(in crate::fleet) fn forward(self: &Arc<Self>, to: &str) -> HostResult<Pipe> {
        let mut client = self.call.on(&self.socket, &["-W", to, "--"]);
        client.arg(&self.call.host);
        Ok(local::spawn_leader(client)?.keep(Arc::clone(self) as _))
    }

    /// Distinguishes the end of the connection from the end of the command.
    fn judge(&self, exit: Exit, stderr: &[u8]) -> HostResult<Exit> {
        if exit.status != Some(FAILED) && exit.signal.is_none() {
            return Ok(exit);
        }
        if let Some(failure) = self.failure(EXIT_TIMEOUT) {
            return Err(failure);
        }
        let said = String::from_utf8_lossy(stderr);
        if said.contains("open refused by peer") || said.contains("session request failed") {
            return Err(fault::channel_refused());
        }
        Ok(exit)
    }

    /// Returns the reason why the connection ended. Waits for the end for at most `wait`.
    pub(in crate::fleet) fn failure(&self, wait: Duration) -> Option<HostFailure> {
        match &self.owner {
            Owner::Own(process) => process.failure(wait),
            Owner::Operator(_) => None,
        }
    }

    /// Returns the reason why an address was not reached over the connection, if it is known.
    pub(in crate::fleet) fn why_unreached(&self) -> Option<(Reason, String)> {
        match &self.owner {
            Owner::Own(process) => process.why_unreached(),
            Owner::Operator(_) => None,
        }
    }

    pub(in crate::fleet) fn set_deadline(&self, deadline: Option<Deadline>) {
        match &self.owner {
            Owner::Own(process) => process.guard.set(deadline),
            Owner::Operator(borrowed) => {
                let mut borrowed = borrowed.lock();
                borrowed.until = deadline;
                borrowed.guards.iter().for_each(|guard| guard.set(deadline));
            }
        }
    }
}
