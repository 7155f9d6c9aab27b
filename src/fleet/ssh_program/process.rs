//! The process that is a connection: started, and attended until its end.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::call::log_of;
use super::complaint::{agreed, is_early_close, unreached};
use super::sockets::Sockets;
use super::{Master, SshCall};
use crate::clock::Deadline;
use crate::fleet::pipe::Pipe;
use crate::fleet::ssh::{RETRIES, fault, jitter};
use crate::fleet::watchdog::{Guard, Watchdog};
use crate::fleet::{Nonce, local};
use crate::model::{HostFailure, Reason};
use crate::sys::child;

/// The process needs a moment to die; nobody waits longer for its last words.
pub(super) const END: Duration = Duration::from_millis(500);
/// The step that a login by the program is, as a message names it.
pub(in crate::fleet) const PROGRAM_LOGIN: &str = "login with the ssh program";
/// Bytes of a log that are read, from its end.
const LOG: u64 = 64 * 1024;
/// Time between two looks at a log.
const LOOK: Duration = Duration::from_millis(10);
/// More on stdout before our word is no `ssh`.
const NOISE: usize = 64 * 1024;

/// The process behind a connection that is our own.
#[derive(Debug)]
pub(super) struct Process {
    guard: Arc<Guard>,
    pipe: Arc<Pipe>,
    log: PathBuf,
    end: Arc<End>,
    /// How many addresses could not be reached over it.
    unreached: AtomicUsize,
}

/// Why the process ended.
#[derive(Debug, Default)]
struct End {
    failure: Mutex<Option<HostFailure>>,
    told: Condvar,
}

impl Process {
    /// Why it ended, if it does within a while.
    pub(super) fn failure(&self, wait: Duration) -> Option<HostFailure> {
        let failure = self.end.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let (failure, _) = self
            .end
            .told
            .wait_timeout_while(failure, wait, |failure| failure.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        failure.clone()
    }

    /// Why no address could be reached over it, as far as all complaints agree; the complaint about the
    /// last one may still be on its way.
    pub(super) fn why_unreached(&self) -> Option<(Reason, String)> {
        let count = self.unreached.fetch_add(1, Ordering::Relaxed) + 1;
        let by = Deadline::after(END);
        loop {
            let whys = unreached(&read_log(&self.log));
            if whys.len() >= count || by.is_over() {
                return agreed(&whys);
            }
            thread::park_timeout(LOOK);
        }
    }

    pub(super) fn set_deadline(&self, deadline: Option<Deadline>) {
        self.guard.set(deadline);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // This ends the wait of its thread, which ends the process.
        let _ = self.pipe.stream().shutdown(Shutdown::Both);
    }
}

/// How a connection is opened.
pub(in crate::fleet) struct Opening {
    pub(in crate::fleet) call: SshCall,
    pub(in crate::fleet) watchdog: Watchdog,
    pub(in crate::fleet) sockets: Arc<Sockets>,
    /// How long the TCP connection may take.
    pub(in crate::fleet) connect: Duration,
    /// By when it must stand.
    pub(in crate::fleet) by: Deadline,
    /// When it is cut, unless that is moved; `None` leaves only a cancelled run to do so.
    pub(in crate::fleet) until: Option<Deadline>,
}

impl Opening {
    /// Opens the connection on a thread of its own, which says what came of it.
    pub(in crate::fleet) fn start(
        self,
        opened: impl FnOnce(Result<Master, HostFailure>) + Send + 'static,
    ) -> Result<(), HostFailure> {
        let socket = self.sockets.fresh().map_err(|error| {
            let detail = format!("cannot create a directory for the sockets of ssh: {error}");
            HostFailure::new(Reason::Transport, detail)
                .fix("check the free space and the mode of /tmp: df /tmp; ls -ld /tmp")
        })?;
        let nonce = Nonce::new().map_err(|error| fault::local(&io::Error::other(error)))?;
        thread::Builder::new()
            .name(format!("ssh program {}", self.call.host))
            .stack_size(128 * 1024)
            // It stays until the process is gone, which dies with it.
            .spawn(move || self.serve(nonce, &socket, opened))
            .map_err(|error| fault::local(&error))?;
        Ok(())
    }

    fn serve(self, nonce: Nonce, socket: &Path, opened: impl FnOnce(Result<Master, HostFailure>)) {
        let mut retries = 0;
        let (pipe, guard) = loop {
            match self.attempt(nonce, socket) {
                Ok(stands) => break stands,
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
        let end = Arc::new(End::default());
        let process = Process {
            guard: Arc::clone(&guard),
            pipe: Arc::clone(&pipe),
            log: log_of(socket),
            end: Arc::clone(&end),
            unreached: AtomicUsize::new(0),
        };
        opened(Ok(Master::own(call.clone(), socket.to_owned(), watchdog, process)));
        drain(pipe.stream());
        let failure = if guard.is_expired() {
            fault::timeout(fault::USE, &call.by_hand())
        } else {
            let _ = pipe.wait(Deadline::after(END));
            let said = call.failure(&read_log(&log_of(socket)), &pipe.stderr()).detail;
            HostFailure::new(
                Reason::Lost,
                format!("the connection of the ssh program ended; {said}"),
            )
        };
        *end.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        end.told.notify_all();
        pipe.kill();
        let _ = pipe.wait(Deadline::after(END));
    }
}

impl Opening {
    /// A process whose connection stands.
    fn attempt(&self, nonce: Nonce, socket: &Path) -> Result<(Arc<Pipe>, Arc<Guard>), HostFailure> {
        let mut command = self.call.master(socket, &nonce.to_string(), self.connect);
        child::die_with_thread(&mut command);
        let pipe = local::spawn_leader(command)?;
        let guard = self.watchdog.guard(pipe.stream(), self.by);
        let guard = guard.map_err(|error| fault::local(&error))?;
        if !stands(pipe.stream(), nonce) {
            return Err(why_not(&pipe, &guard, &self.call, socket));
        }
        Ok((Arc::new(pipe), Arc::new(guard)))
    }
}

/// Waits for the word that the connection stands; the watchdog ends the wait.
fn stands(mut stream: &UnixStream, nonce: Nonce) -> bool {
    let (word, mut seen) = (nonce.to_string(), Vec::<u8>::new());
    let mut buffer = [0; 512];
    loop {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 && seen.len() < NOISE => seen.extend(&buffer[..count]),
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
        return fault::timeout(PROGRAM_LOGIN, &call.by_hand());
    }
    // Its output is over, and so is it, or it said far too much.
    if pipe.wait(Deadline::after(END)).is_err() {
        pipe.kill();
    }
    call.failure(&read_log(&log_of(socket)), &pipe.stderr())
}

/// Returns the end of a log; nothing of a log that cannot be read, because stderr tells why.
fn read_log(log: &Path) -> Vec<u8> {
    let read = || {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG)))?;
        let mut bytes = Vec::new();
        file.take(LOG).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    read().unwrap_or_default()
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
