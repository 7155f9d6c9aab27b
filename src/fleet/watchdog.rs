//! Deadlines that do not depend on a library: at the deadline, the socket is shut down.
//!
//! The timeouts of libssh2 are no deadlines: a server that sends an endless line keeps one call
//! busy forever. A shutdown ends every call on the socket, blocking or not. All connections of
//! `fleet` use the watchdog.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use parking_lot::{Condvar, Mutex, MutexGuard};
use rustix::net::{Shutdown, shutdown};

use crate::clock::{self, Deadline};

/// Handle of the thread that watches all sockets of a run and can cancel the run. Clones share
/// the thread. The thread ends when the last clone and the last guard are dropped.
#[derive(Debug, Clone)]
pub struct Watchdog {
    handle: Arc<Handle>,
}

/// Socket that the watchdog watches until this is dropped.
#[derive(Debug)]
pub struct Guard {
    handle: Arc<Handle>,
    id: u64,
    expired: Arc<AtomicBool>,
}

/// Callback for a cancelled run. Dropping this removes the callback.
#[derive(Debug)]
pub struct CancelCallback {
    handle: Arc<Handle>,
    id: u64,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    watched: HashMap<u64, Watched>,
    deadlines: BTreeSet<(Instant, u64)>,
    callbacks: HashMap<u64, Callback>,
    cancelled: bool,
    over: bool,
}

#[derive(Debug)]
struct Watched {
    socket: OwnedFd,
    /// `None` means no deadline. Only cancelling the run shuts the socket down.
    at: Option<Instant>,
    expired: Arc<AtomicBool>,
}

struct Callback(Box<dyn FnOnce() + Send>);

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a call")
    }
}

#[derive(Debug)]
struct Handle(Arc<Inner>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.state.lock().over = true;
        self.0.changed.notify_all();
    }
}

impl Watchdog {
    /// Starts the thread.
    ///
    /// # Errors
    /// This machine has no thread left.
    pub fn start() -> io::Result<Self> {
        let inner = Arc::new(Inner::default());
        let watching = Arc::clone(&inner);
        let thread = thread::Builder::new().name("watchdog".into()).stack_size(64 * 1024);
        thread.spawn(move || watching.watch())?;
        Ok(Self { handle: Arc::new(Handle(inner)) })
    }

    /// Shuts a socket down at the deadline, unless the guard is dropped before. Without a deadline,
    /// only the end of the run shuts the socket down.
    ///
    /// # Errors
    /// This machine has no descriptor left.
    pub fn guard(
        &self,
        socket: &impl AsFd,
        deadline: impl Into<Option<Deadline>>,
    ) -> io::Result<Guard> {
        let deadline = deadline.into().map(Deadline::instant);
        // The number of the caller's descriptor may be closed and used again.
        let socket = socket.as_fd().try_clone_to_owned()?;
        let expired = Arc::new(AtomicBool::new(false));
        let mut state = self.handle.0.state.lock();
        let id = state.new_id();
        let at = if state.cancelled { Some(clock::now()) } else { deadline };
        state.watched.insert(id, Watched { socket, at, expired: Arc::clone(&expired) });
        state.deadlines.extend(at.map(|at| (at, id)));
        self.handle.0.wake_for(state, id);
        Ok(Guard { handle: Arc::clone(&self.handle), id, expired })
    }

    /// Cancels the run: shuts down all current and future sockets and calls the callbacks.
    pub fn cancel(&self) {
        let mut state = self.handle.0.state.lock();
        state.cancelled = true;
        let ids: Vec<u64> = state.watched.keys().copied().collect();
        for id in ids {
            state.expire(id);
        }
        let callbacks = std::mem::take(&mut state.callbacks);
        drop(state);
        self.handle.0.changed.notify_all();
        for Callback(call) in callbacks.into_values() {
            call();
        }
    }

    /// Calls `call` once when the run is cancelled, or immediately if it already is.
    pub fn when_cancelled(&self, call: impl FnOnce() + Send + 'static) -> CancelCallback {
        let mut state = self.handle.0.state.lock();
        let id = state.new_id();
        if state.cancelled {
            drop(state);
            call();
        } else {
            state.callbacks.insert(id, Callback(Box::new(call)));
        }
        CancelCallback { handle: Arc::clone(&self.handle), id }
    }

    /// True if the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.handle.0.state.lock().cancelled
    }

    /// Waits for `wait`, or until the run is cancelled. Returns true if the run is cancelled.
    pub fn wait_cancelled(&self, wait: Duration) -> bool {
        let inner = &self.handle.0;
        let mut state = inner.state.lock();
        inner.changed.wait_while_for(&mut state, |state| !state.cancelled, wait);
        state.cancelled
    }
}

impl Guard {
    /// Moves or removes the deadline. This has no effect on a socket that is already shut down.
    pub fn set(&self, deadline: impl Into<Option<Deadline>>) {
        let at = deadline.into().map(Deadline::instant);
        let mut state = self.handle.0.state.lock();
        if state.cancelled {
            return;
        }
        let id = self.id;
        if let Some(watched) = state.watched.get_mut(&id) {
            let before = std::mem::replace(&mut watched.at, at);
            state.deadlines.extend(at.map(|at| (at, id)));
            if let Some(before) = before.filter(|before| Some(*before) != at) {
                state.deadlines.remove(&(before, id));
            }
        }
        self.handle.0.wake_for(state, id);
    }

    /// True if the deadline or a cancelled run shut the socket down.
    pub fn is_expired(&self) -> bool {
        self.expired.load(Ordering::Acquire)
    }

    /// True if the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.handle.0.state.lock().cancelled
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut state = self.handle.0.state.lock();
        if let Some(at) = state.watched.remove(&self.id).and_then(|watched| watched.at) {
            state.deadlines.remove(&(at, self.id));
        }
    }
}

impl Drop for CancelCallback {
    fn drop(&mut self) {
        let call = self.handle.0.state.lock().callbacks.remove(&self.id);
        // The callback may own an object that locks the watchdog when it is dropped.
        drop(call);
    }
}

impl Inner {
    /// Wakes the thread if the deadline of `id` is now the next one. A wakeup is expensive.
    fn wake_for(&self, state: MutexGuard<'_, State>, id: u64) {
        let is_next = state.deadlines.first().is_some_and(|(_, next)| *next == id);
        drop(state);
        if is_next {
            self.changed.notify_all();
        }
    }

    fn watch(&self) {
        let mut state = self.state.lock();
        while !state.over {
            let now = clock::now();
            while let Some((_, id)) = state.deadlines.first().copied().filter(|(at, _)| *at <= now)
            {
                state.expire(id);
            }
            match state.deadlines.first().map(|(at, _)| at.saturating_duration_since(now)) {
                Some(wait) => _ = self.changed.wait_for(&mut state, wait),
                None => self.changed.wait(&mut state),
            }
        }
    }
}

impl State {
    fn new_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// Shuts a socket down. The entry stays until its guard is dropped.
    fn expire(&mut self, id: u64) {
        let Some(watched) = self.watched.get(&id) else { return };
        if let Some(at) = watched.at {
            self.deadlines.remove(&(at, id));
        }
        // The flag is set first, because the owner of a failed socket reads the flag.
        watched.expired.store(true, Ordering::Release);
        // Fails only if the socket is no longer connected.
        let _ = shutdown(&watched.socket, Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_without_a_deadline_ends_when_the_run_is_cancelled() {
        let watchdog = Watchdog::start().unwrap();
        let (mut near, far) = UnixStream::pair().unwrap();
        let guard = watchdog.guard(&far, Deadline::after(Duration::from_secs(1))).unwrap();
        guard.set(None);
        near.set_read_timeout(Some(Duration::from_millis(1_300))).unwrap();
        assert!(near.read(&mut [0]).is_err(), "it is open after its first deadline");
        assert!(!guard.is_expired());
        watchdog.cancel();
        assert_eq!(near.read(&mut [0]).unwrap(), 0);
        assert!(guard.is_expired() && guard.is_cancelled());
    }

    #[test]
    fn a_cancelled_run_calls_back_once_whoever_asked_for_it() {
        let watchdog = Watchdog::start().unwrap();
        let (told, heard) = std::sync::mpsc::channel();
        let say = |word: &'static str| {
            let told = told.clone();
            move || told.send(word).unwrap()
        };
        let _early = watchdog.when_cancelled(say("early"));
        drop(watchdog.when_cancelled(say("gone")));
        watchdog.cancel();
        watchdog.cancel();
        let _late = watchdog.when_cancelled(say("late"));
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["early", "late"]);
    }

    #[test]
    fn a_deadline_that_is_set_again_holds() {
        let watchdog = Watchdog::start().unwrap();
        let (mut near, far) = UnixStream::pair().unwrap();
        let guard = watchdog.guard(&far, Deadline::after(Duration::from_secs(60))).unwrap();
        guard.set(None);
        guard.set(Deadline::after(Duration::from_millis(20)));
        near.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert_eq!(near.read(&mut [0]).unwrap(), 0);
        assert!(guard.is_expired() && !guard.is_cancelled());
    }
}
