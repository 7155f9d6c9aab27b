//! New connection by the `ssh` program: start of its process, login, and wait for its end.

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
use crate::fleet::{Guard, HostResult, Nonce, Pipe, Watchdog, fault, local};
use crate::model::{HostFailure, Reason};
use crate::sys::child;

pub(in crate::fleet) const PROGRAM_LOGIN: &str = "login with the ssh program";
/// Limit of the output before the expected word, in bytes. A program above it is not `ssh`.
const MAX_OUTPUT: usize = 64 * 1024;

pub(in crate::fleet) struct NewMaster {
    pub(in crate::fleet) call: SshCall,
    pub(in crate::fleet) watchdog: Watchdog,
    pub(in crate::fleet) sockets: Arc<SocketDirectory>,
    pub(in crate::fleet) connect_timeout: Duration,
    pub(in crate::fleet) login_deadline: Deadline,
    /// Deadline of the open connection. With `None`, only cancelling the run cuts it off.
    pub(in crate::fleet) until: Option<Deadline>,
}

impl NewMaster {
    /// Opens the connection on a new thread, and calls `opened` with the result.
    pub(in crate::fleet) fn start(
        self,
        opened: impl FnOnce(HostResult<Master>) + Send + 'static,
    ) -> HostResult<()> {
        let socket = self.sockets.new_path().map_err(|error| {
            let detail = format!("cannot create a directory for the sockets of ssh: {error}");
            HostFailure::new(Reason::Transport, detail)
                .fix("check the free space and the mode of /tmp: df /tmp; ls -ld /tmp")
        })?;
        let nonce = Nonce::new().map_err(|error| fault::local(io::Error::other(error)))?;
        let name = format!("ssh program {}", self.call.host);
        let thread = thread::Builder::new().name(name).stack_size(128 * 1024);
        // The thread outlives the process, because its end kills the process.
        let started = thread.spawn(move || self.serve(nonce, &socket, opened));
        started.map(drop).map_err(fault::local)
    }

    fn serve(self, nonce: Nonce, socket: &Path, opened: impl FnOnce(HostResult<Master>)) {
        let mut retries = 0;
        let (pipe, guard) = loop {
            match self.attempt(nonce, socket) {
                Ok(await_ready) => break await_ready,
                Err(failure) => {
                    let pause = jitter();
                    let is_over = retries == RETRIES || self.login_deadline.remaining() < pause;
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
        let end = Arc::clone(&process.end);
        opened(Ok(Master::own(call.clone(), socket.to_owned(), watchdog, process)));
        let _ = io::copy(&mut pipe.stream(), &mut io::sink());
        let failure = if guard.is_expired() {
            fault::timeout(fault::USE, &call.manual_command())
        } else {
            let _ = pipe.wait(Deadline::after(EXIT_TIMEOUT));
            let said = call.failure(&read_log(&log_of(socket)), &pipe.stderr()).detail;
            let detail = format!("the connection of the ssh program ended; {said}");
            HostFailure::new(Reason::Lost, detail)
        };
        end.set(failure);
        pipe.kill();
        let _ = pipe.wait(Deadline::after(EXIT_TIMEOUT));
    }

    fn attempt(&self, nonce: Nonce, socket: &Path) -> HostResult<(Arc<Pipe>, Arc<Guard>)> {
        let mut command = self.call.master(socket, &nonce.to_string(), self.connect_timeout);
        child::die_with_thread(&mut command);
        let pipe = local::spawn_leader(command)?;
        let guard =
            self.watchdog.guard(pipe.stream(), self.login_deadline).map_err(fault::local)?;
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
