//! Local commands: child processes behind a [`Pipe`], each served by a thread.
//!
//! The `ssh` program, the launchers and the queries of local tools use it.

mod query_tool;

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::pipe::{Exit, Pipe, Shared, Waker};
use super::poll;
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};
use crate::sys::child;

pub(super) use query_tool::query_tool;

/// Time that a child may live after its pipe was dropped.
const PIPE_GRACE: Duration = Duration::from_secs(2);
/// Time that a child may take to end its own processes after SIGTERM. `srun` gives Slurm 32 s for
/// it. If `srun` is killed earlier, Slurm keeps the step.
const TERM_GRACE: Duration = Duration::from_secs(60);

/// Signal for a command that does not end with its pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// SIGKILL.
    Kill,
    /// SIGTERM first, for a command that must end other processes, then SIGKILL.
    Terminate,
}

/// Function that decides the result of a command from its exit and the end of its stderr.
pub(super) type ExitJudge = Box<dyn FnOnce(Exit, &[u8]) -> Result<Exit, HostFailure> + Send>;

/// Starts a local command with the pipe as its stdin and stdout.
///
/// A child that does not end after its pipe was dropped is killed, with its process group. The
/// child has its own process group, so that Ctrl-C reaches only this process, which then ends its
/// children.
///
/// # Errors
/// The program cannot be started.
pub fn spawn(command: Command) -> Result<Pipe, HostFailure> {
    spawn_with_ending(command, Ending::Kill)
}

/// Starts a command as [`spawn`] does, with the given ending.
pub(super) fn spawn_with_ending(mut command: Command, ending: Ending) -> Result<Pipe, HostFailure> {
    command.process_group(0);
    start(command, ending, accept_exit())
}

/// Starts a command as [`spawn`] does, in a session of its own. The command has no terminal for
/// prompts.
pub(super) fn spawn_leader(command: Command) -> Result<Pipe, HostFailure> {
    spawn_judged(command, accept_exit())
}

/// Starts a command as [`spawn_leader`] does. `judge` decides its result.
pub(super) fn spawn_judged(mut command: Command, judge: ExitJudge) -> Result<Pipe, HostFailure> {
    child::lead_session(&mut command);
    start(command, Ending::Kill, judge)
}

fn accept_exit() -> ExitJudge {
    Box::new(|exit, _| Ok(exit))
}

/// Starts a command, which must lead its process group.
fn start(mut command: Command, ending: Ending, judge: ExitJudge) -> Result<Pipe, HostFailure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = || -> io::Result<Pipe> {
        let waker = Arc::new(Waker::new()?);
        let (pipe, far, shared) = Pipe::pair(Arc::clone(&waker))?;
        far.set_nonblocking(false)?;
        let mut child = command
            .stdin(OwnedFd::from(far.try_clone()?))
            .stdout(OwnedFd::from(far))
            .stderr(Stdio::piped())
            .spawn()?;
        // The command keeps copies of the child's descriptors until it is dropped.
        drop(command);
        let pid = Pid::from_child(&child);
        let ended = pidfd_open(pid, PidfdFlags::empty())?;
        let stderr = child.stderr.take();
        let supervise = move || {
            let mut child_process = SupervisedChild { child, ending, asked: None, stderr };
            child_process.supervise(&ended, &shared, &waker);
            shared.end(child_process.exit().and_then(|exit| judge(exit, &shared.stderr())));
        };
        thread::Builder::new()
            .name("local command".into())
            .stack_size(128 * 1024)
            .spawn(supervise)?;
        Ok(pipe)
    };
    start().map_err(|error| {
        HostFailure::new(Reason::Transport, format!("cannot start {program}: {error}"))
    })
}

/// Child process that a thread serves until its end.
struct SupervisedChild {
    child: Child,
    ending: Ending,
    /// Deadline for ending other processes, after the child got SIGTERM.
    asked: Option<Deadline>,
    stderr: Option<ChildStderr>,
}

impl SupervisedChild {
    /// Collects stderr until the child has ended. Ends a child that outlives its pipe.
    fn supervise(&mut self, ended: &OwnedFd, shared: &Shared, waker: &Waker) {
        let mut ending: Option<Deadline> = None;
        loop {
            if shared.is_abandoned() && ending.is_none() {
                ending = Some(Deadline::after(PIPE_GRACE));
            }
            if shared.is_kill_requested() || ending.is_some_and(Deadline::is_over) {
                self.end();
                ending = self.asked.or(ending);
            }
            let mut fds =
                vec![PollFd::new(ended, PollFlags::IN), PollFd::new(waker, PollFlags::IN)];
            if let Some(stderr) = &self.stderr {
                fds.push(PollFd::new(stderr, PollFlags::IN));
            }
            let wait = ending.map(|at| at.remaining().max(Duration::from_millis(100)));
            let waited = poll::wait(&mut fds, wait);
            let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
            let (over, woken, spoke) = (ready(0), ready(1), ready(2));
            drop(fds);
            if waited.is_err() {
                self.signal(Signal::KILL);
            }
            if woken {
                waker.clear();
            }
            if spoke {
                self.read_stderr(shared);
            } else if over {
                // A grandchild may keep stderr open, but the output of the child has been read by
                // now.
                return;
            }
        }
    }

    fn end(&mut self) {
        match (self.ending, self.asked) {
            (Ending::Terminate, None) => {
                self.asked = Some(Deadline::after(TERM_GRACE));
                self.signal(Signal::TERM);
            }
            (Ending::Terminate, Some(until)) if !until.is_over() => {}
            _ => self.signal(Signal::KILL),
        }
    }

    /// Sends a signal to the process group. The kernel does not reuse the number before the child
    /// is waited for. The call fails only if all processes of the group have ended.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(Pid::from_child(&self.child), signal);
    }

    fn read_stderr(&mut self, shared: &Shared) {
        let mut buffer = [0; 4096];
        match self.stderr.as_mut().map(|stderr| stderr.read(&mut buffer)) {
            Some(Ok(count)) if count > 0 => shared.push_stderr(&buffer[..count]),
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => self.stderr = None,
        }
    }

    fn exit(&mut self) -> Result<Exit, HostFailure> {
        // Kills the processes that the child left behind.
        self.signal(Signal::KILL);
        match self.child.wait() {
            Ok(status) => Ok(Exit {
                status: status.code(),
                signal: status.signal().map(|number| number.to_string()),
            }),
            Err(error) => Err(HostFailure::new(
                Reason::Lost,
                format!("cannot read the exit status of the command: {error}"),
            )),
        }
    }
}
