//! One connection by the `ssh` program (`ControlMaster`), over which several commands can run at
//! the same time. The built-in SSH reaches hosts behind a jump host over a `Master`.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

use super::SshCall;
use super::process::{EXIT_TIMEOUT, MasterProcess};
use crate::clock::Deadline;
use crate::fleet::{Exit, Guard, HostResult, Pipe, Watchdog, fault, local};
use crate::model::{HostFailure, Reason};

/// Exit status of `ssh` after a failure of `ssh` itself. A command may also exit with 255.
const FAILED: i32 = 255;

/// Authenticated connection. Dropping the value ends the connection, unless the operator owns it.
#[derive(Debug)]
pub(in crate::fleet) struct Master {
    call: SshCall,
    socket: PathBuf,
    watchdog: Watchdog,
    owner: Owner,
}

/// Owner of the `ssh` process that holds the connection.
#[derive(Debug)]
enum Owner {
    /// Process that rdmactl started. A deadline shuts down the whole connection.
    Own(MasterProcess),
    /// Process of the operator. A deadline ends only the commands of rdmactl.
    Operator(Mutex<Borrowed>),
}

/// Commands over a connection of the operator, and their deadline.
#[derive(Debug)]
struct Borrowed {
    deadline: Option<Deadline>,
    /// Guards of the commands. The pipe of a command owns its guard.
    guards: Vec<Weak<Guard>>,
}

impl Borrowed {
    /// Watches the socket of a command until the guard is dropped.
    fn guard(&mut self, watchdog: &Watchdog, pipe: &Pipe) -> io::Result<Arc<Guard>> {
        let guard = Arc::new(watchdog.guard(pipe.stream(), self.deadline)?);
        self.guards.retain(|guard| guard.strong_count() > 0);
        self.guards.push(Arc::downgrade(&guard));
        Ok(guard)
    }

    fn set_deadline(&mut self, deadline: Option<Deadline>) {
        self.deadline = deadline;
        self.guards.iter().filter_map(Weak::upgrade).for_each(|guard| guard.set(deadline));
    }
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

    /// Uses an open connection of the operator, whose `ControlPath` is `socket`. rdmactl never
    /// ends this connection.
    pub(in crate::fleet) fn borrowed(
        call: SshCall,
        socket: PathBuf,
        watchdog: Watchdog,
        deadline: Deadline,
    ) -> Self {
        let borrowed = Borrowed { deadline: Some(deadline), guards: Vec::new() };
        Self { call, socket, watchdog, owner: Owner::Operator(Mutex::new(borrowed)) }
    }

    /// Starts a command on the host.
    pub(in crate::fleet) fn exec(self: &Arc<Self>, command: &str) -> HostResult<Pipe> {
        let mut client = self.call.on(&self.socket, &["--"]);
        client.arg(&self.call.host).arg(command);
        let master = Arc::downgrade(self);
        let judge = move |exit, stderr: &[u8]| match master.upgrade() {
            Some(master) => master.judge(exit, stderr),
            // All users dropped the connection, so no caller waits for the result.
            None => Ok(exit),
        };
        let pipe = local::spawn_judged(client, Box::new(judge))?;
        let guard = match &self.owner {
            Owner::Own(_) => None,
            Owner::Operator(borrowed) => {
                let guard = borrowed.lock().guard(&self.watchdog, &pipe);
                Some(guard.map_err(fault::local)?)
            }
        };
        Ok(pipe.keep(Arc::new((Arc::clone(self), guard))))
    }

    /// Opens a TCP connection from the host to an address, for a jump host (`ssh -W`).
    pub(in crate::fleet) fn forward(self: &Arc<Self>, address: &str) -> HostResult<Pipe> {
        let mut client = self.call.on(&self.socket, &["-W", address, "--"]);
        client.arg(&self.call.host);
        Ok(local::spawn_leader(client)?.keep(Arc::clone(self) as _))
    }

    /// Decides the result of a command: its exit, or a failure if the connection ended or refused
    /// the command.
    fn judge(&self, exit: Exit, stderr: &[u8]) -> HostResult<Exit> {
        if exit.status != Some(FAILED) && exit.signal.is_none() {
            return Ok(exit);
        }
        if let Some(failure) = self.failure(EXIT_TIMEOUT) {
            return Err(failure);
        }
        let message = String::from_utf8_lossy(stderr);
        if message.contains("open refused by peer") || message.contains("session request failed") {
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

    /// Returns the reason why an address was not reached over the connection, if the reason is
    /// known.
    pub(in crate::fleet) fn why_unreached(&self) -> Option<(Reason, String)> {
        match &self.owner {
            Owner::Own(process) => process.why_unreached(),
            Owner::Operator(_) => None,
        }
    }

    pub(in crate::fleet) fn set_deadline(&self, deadline: Option<Deadline>) {
        match &self.owner {
            Owner::Own(process) => process.guard.set(deadline),
            Owner::Operator(borrowed) => borrowed.lock().set_deadline(deadline),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn pipe() -> (Pipe, UnixStream) {
        let waker = Arc::new(crate::fleet::pipe::Waker::new().unwrap());
        let (pipe, far, _) = Pipe::pair(waker).unwrap();
        far.set_nonblocking(false).unwrap();
        (pipe, far)
    }

    #[test]
    fn a_command_is_watched_only_as_long_as_its_pipe() {
        let watchdog = Watchdog::start().unwrap();
        let mut borrowed = Borrowed { deadline: None, guards: Vec::new() };
        let (first, mut end_of_first) = pipe();
        let guard_of_first = borrowed.guard(&watchdog, &first).unwrap();
        for _ in 0..10 {
            let (next, _end) = pipe();
            let guard = borrowed.guard(&watchdog, &next).unwrap();
            drop(next.keep(guard));
        }
        let watched = borrowed.guards.iter().filter(|guard| guard.strong_count() > 0).count();
        assert_eq!((watched, borrowed.guards.len()), (1, 2), "the last command has ended");
        // A deadline reaches each command that runs.
        let first = first.keep(guard_of_first);
        borrowed.set_deadline(Some(Deadline::after(Duration::ZERO)));
        end_of_first.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert_eq!(end_of_first.read(&mut [0]).unwrap(), 0);
        drop(first);
    }

    #[test]
    fn each_command_over_a_connection_of_the_operator_keeps_its_guard() {
        let call = SshCall {
            program: "true".into(),
            config: None,
            options: Vec::new(),
            jumps: None,
            user: None,
            port: None,
            host: "n1".into(),
            agent: None,
        };
        let deadline = Deadline::after(Duration::from_secs(60));
        let watchdog = Watchdog::start().unwrap();
        let master = Arc::new(Master::borrowed(call, "none".into(), watchdog, deadline));
        let watched = || {
            let Owner::Operator(borrowed) = &master.owner else { return 0 };
            borrowed.lock().guards.iter().filter_map(Weak::upgrade).count()
        };
        let [first, second] = ["first", "second"].map(|command| master.exec(command).unwrap());
        assert_eq!(watched(), 2);
        drop(first);
        assert_eq!(watched(), 1);
        drop(second);
        assert_eq!(watched(), 0);
    }
}
