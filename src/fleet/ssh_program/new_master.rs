//! New connection by the `ssh` program: start of its process, login, and wait for its end. The
//! connector and the jump hosts use it.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::call::log_of;
use super::failure::is_early_close;
use super::process::{EXIT_TIMEOUT, MasterProcess, read_log};
use super::socket_directory::SocketDirectory;
use super::{Master, SshCall};
use crate::clock::Deadline;
use crate::fleet::login_limits::{RETRIES, jitter};
use crate::fleet::pipe::Pipe;
use crate::fleet::watchdog::{Guard, Watchdog};
use crate::fleet::{Nonce, fault, local};
use crate::model::{HostFailure, Reason};
use crate::sys::child;

pub(in crate::fleet) const PROGRAM_LOGIN: &str = "login with the ssh program";
/// Limit of the output before the expected word, in bytes. A program above it is not `ssh`.
const MAX_OUTPUT: usize = 64 * 1024;

/// Parameters of a new connection.
pub(in crate::fleet) struct NewMaster {
    pub(in crate::fleet) call: SshCall,
    pub(in crate::fleet) watchdog: Watchdog,
    pub(in crate::fleet) sockets: Arc<SocketDirectory>,
    /// Timeout of the TCP connection.
    pub(in crate::fleet) connect: Duration,
    /// Deadline of the login.
    pub(in crate::fleet) by: Deadline,
    /// Deadline of the open connection, until it is moved. With `None`, only cancelling the run
    /// cuts the connection off.
    pub(in crate::fleet) until: Option<Deadline>,
}

impl NewMaster {
    /// Opens the connection on a new thread, and calls `opened` with the result.
    pub(in crate::fleet) fn start(
        self,
        opened: impl FnOnce(Result<Master, HostFailure>) + Send + 'static,
    ) -> Result<(), HostFailure> {
        let socket = self.sockets.new_path().map_err(|error| {
            let detail = format!("cannot create a directory for the sockets of ssh: {error}");
            HostFailure::new(Reason::Transport, detail)
                .fix("check the free space and the mode of /tmp: df /tmp; ls -ld /tmp")
        })?;
        let nonce = Nonce::new().map_err(|error| fault::local(&io::Error::other(error)))?;
        thread::Builder::new()
            .name(format!("ssh program {}", self.call.host))
            .stack_size(128 * 1024)
            // The thread stays until the process has ended, because the process gets the
            // parent-death signal of its thread.
            .spawn(move || self.serve(nonce, &socket, opened))
            .map_err(|error| fault::local(&error))?;
        Ok(())
    }

    fn serve(self, nonce: Nonce, socket: &Path, opened: impl FnOnce(Result<Master, HostFailure>)) {
        let mut retries = 0;
        let (pipe, guard) = loop {
            match self.attempt(nonce, socket) {
                Ok(await_ready) => break await_ready,
                Err(failure) => {
                    let pause = jitter();
                    let is_over = retries == RETRIES || self.by.remaining() < pause;
                    if is_over || !is_early_close(&failure) || self.watchdog.wait_cancelled(pause) {
                        return opened(Err(failure));
                    }
                    retries += 1;
                }
            }
        };
        let Self { call, watchdog, until, .. } = self;
        guard.set(until);
        let process = MasterProcess::new(Arc::clone(&guard), Arc::clone(&pipe), log_of(socket));
        let end = process.end();
        opened(Ok(Master::own(call.clone(), socket.to_owned(), watchdog, process)));
        drain(pipe.stream());
        let failure = if guard.is_expired() {
            fault::timeout(fault::USE, &call.manual_command())
        } else {
            let _ = pipe.wait(Deadline::after(EXIT_TIMEOUT));
            let said = call.failure(&read_log(&log_of(socket)), &pipe.stderr()).detail;
            HostFailure::new(
                Reason::Lost,
                format!("the connection of the ssh program ended; {said}"),
            )
        };
        end.set(failure);
        pipe.kill();
        let _ = pipe.wait(Deadline::after(EXIT_TIMEOUT));
    }

    /// Starts a process and waits until its connection is open.
    fn attempt(&self, nonce: Nonce, socket: &Path) -> Result<(Arc<Pipe>, Arc<Guard>), HostFailure> {
        let mut command = self.call.master(socket, &nonce.to_string(), self.connect);
        child::die_with_thread(&mut command);
        let pipe = local::spawn_leader(command)?;
        let guard = self.watchdog.guard(pipe.stream(), self.by);
        let guard = guard.map_err(|error| fault::local(&error))?;
        if !await_ready(pipe.stream(), nonce) {
            return Err(why_not(&pipe, &guard, &self.call, socket));
        }
        Ok((Arc::new(pipe), Arc::new(guard)))
    }
}

/// Waits for the word that reports the open connection. The watchdog ends the wait.
fn await_ready(mut stream: &UnixStream, nonce: Nonce) -> bool {
    let (word, mut seen) = (nonce.to_string(), Vec::<u8>::new());
    let mut buffer = [0; 512];
    loop {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 && seen.len() < MAX_OUTPUT => seen.extend(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return false,
        }
        if seen.windows(word.len()).any(|window| window == word.as_bytes()) {
            return true;
        }
    }
}

fn why_not(pipe: &Pipe, guard: &Guard, call: &SshCall, socket: &Path) -> HostFailure {
    if guard.is_cancelled() {
        pipe.kill();
        return fault::cancelled();
    }
    if guard.is_expired() {
        pipe.kill();
        return fault::timeout(PROGRAM_LOGIN, &call.manual_command());
    }
    // The process has closed its output and ends, or it printed too much.
    if pipe.wait(Deadline::after(EXIT_TIMEOUT)).is_err() {
        pipe.kill();
    }
    call.failure(&read_log(&log_of(socket)), &pipe.stderr())
}

fn drain(mut stream: &UnixStream) {
    let mut buffer = [0; 512];
    loop {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}
