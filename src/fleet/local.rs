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
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::HostResult;
use super::pipe::{Exit, Pipe, Shared, Waker};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};
use crate::sys::{child, poll};

pub(super) use query_tool::query_tool;

/// Time that a child may live after its pipe was dropped.
const PIPE_GRACE: Duration = Duration::from_secs(2);
/// Time that a child may take to end its own processes after SIGTERM. `srun` gives Slurm 32 s,
/// and if `srun` is killed earlier, Slurm keeps the step.
const TERM_GRACE: Duration = Duration::from_secs(60);

/// Signal for a command that does not end with its pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Kill,
    /// SIGTERM first, for a command that must end other processes, then SIGKILL.
    Terminate,
}

/// Function that decides the result of a command from its exit and the end of its stderr.
pub(super) type ExitJudge = Box<dyn FnOnce(Exit, &[u8]) -> HostResult<Exit> + Send>;

/// Starts a local command with the pipe as its stdin and stdout. A child that outlives its pipe
/// is killed, with its process group. The child has its own group, so that Ctrl-C reaches only
/// this process, which then ends its children.
///
/// # Errors
/// The program cannot be started.
pub fn spawn(command: Command) -> HostResult<Pipe> {
    spawn_with_ending(command, Ending::Kill)
}

pub(super) fn spawn_with_ending(mut command: Command, ending: Ending) -> HostResult<Pipe> {
    command.process_group(0);
    start(command, ending, accept_exit())
}

/// Starts a command as [`spawn`] does, in a session without a terminal for prompts.
pub(super) fn spawn_leader(command: Command) -> HostResult<Pipe> {
    spawn_judged(command, accept_exit())
}

/// Starts a command as [`spawn_leader`] does. `judge` decides its result.
pub(super) fn spawn_judged(mut command: Command, judge: ExitJudge) -> HostResult<Pipe> {
    child::lead_session(&mut command);
    start(command, Ending::Kill, judge)
}

fn accept_exit() -> ExitJudge {
    Box::new(|exit, _| Ok(exit))
}

fn start(mut command: Command, ending: Ending, judge: ExitJudge) -> HostResult<Pipe> {
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
        let stderr = child.stderr.take();
        let mut child_process = SupervisedChild { child, ending, asked: None, stderr };
        let pid = Pid::from_child(&child_process.child);
        let ended = pidfd_open(pid, PidfdFlags::empty())?;
        let supervise = move || {
            child_process.supervise(&ended, &shared, &waker);
            shared.end(child_process.exit().and_then(|exit| judge(exit, &shared.stderr())));
        };
        let thread = thread::Builder::new().name("local command".into()).stack_size(128 * 1024);
        thread.spawn(supervise)?;
        Ok(pipe)
    };
    start().map_err(|error| {
        HostFailure::new(Reason::Transport, format!("cannot start {program}: {error}"))
    })
}

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
            if over {
                self.read_rest(shared);
                return;
            }
            if spoke {
                self.read_stderr(shared);
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

    fn read_stderr(&mut self, shared: &Shared) -> usize {
        let mut buffer = [0; 4096];
        match self.stderr.as_mut().map(|stderr| stderr.read(&mut buffer)) {
            Some(Ok(count)) if count > 0 => {
                shared.push_stderr(&buffer[..count]);
                return count;
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => self.stderr = None,
        }
        0
    }

    /// Reads the bytes that are in stderr at the end of the child. A grandchild may keep stderr
    /// open and write without end, but the output of the child is before its bytes.
    fn read_rest(&mut self, shared: &Shared) {
        let waiting = self.stderr.as_ref().and_then(|stderr| ioctl_fionread(stderr).ok());
        let mut rest = waiting.unwrap_or(0);
        while rest > 0 && self.stderr.is_some() {
            rest = rest.saturating_sub(self.read_stderr(shared) as u64);
        }
    }

    /// Kills what is left of the process group, and waits for the child.
    fn exit(&mut self) -> HostResult<Exit> {
        self.signal(Signal::KILL);
        let status = self.child.wait().map_err(|error| {
            let detail = format!("cannot read the exit status of the command: {error}");
            HostFailure::new(Reason::Lost, detail)
        })?;
        let signal = status.signal().map(|number| number.to_string());
        Ok(Exit { status: status.code(), signal })
    }
}

/// Ends the child if no thread could supervise it. After [`SupervisedChild::exit`], the status is
/// known, and nothing is left to do.
impl Drop for SupervisedChild {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.exit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(script: &str) -> (Exit, String) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let pipe = spawn(command).unwrap();
        let exit = pipe.wait(Deadline::after(Duration::from_secs(20))).unwrap();
        (exit, String::from_utf8(pipe.stderr()).unwrap())
    }

    #[test]
    fn an_stderr_without_end_does_not_hide_the_end_of_the_child() {
        let mut command = Command::new("/bin/sh");
        let child = command.args(["-c", "exit 3"]).process_group(0).spawn().unwrap();
        let ended = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        let waker = Arc::new(Waker::new().unwrap());
        let (_pipe, _far, shared) = Pipe::pair(Arc::clone(&waker)).unwrap();
        // A file that always has data stands for grandchildren that always fill the pipe.
        let endless = OwnedFd::from(std::fs::File::open("/dev/zero").unwrap());
        let stderr = Some(ChildStderr::from(endless));
        let (of_thread, ending) = (Arc::clone(&shared), Ending::Kill);
        thread::spawn(move || {
            let mut child = SupervisedChild { child, ending, asked: None, stderr };
            child.supervise(&ended, &of_thread, &waker);
            of_thread.end(child.exit());
        });
        let exit = shared.wait(Deadline::after(Duration::from_secs(20))).unwrap();
        assert_eq!(exit.status, Some(3));
    }

    #[test]
    fn a_grandchild_that_floods_stderr_ends_with_the_child() {
        let (exit, stderr) = ending("yes flood >&2 & exit 3");
        assert_eq!(exit.status, Some(3));
        assert!(stderr.is_empty() || stderr.contains("flood"), "{stderr}");
    }

    #[test]
    fn a_child_that_floods_stderr_ends_with_its_pipe() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "yes flood >&2"]);
        let pipe = spawn(command).unwrap();
        let shared = Arc::clone(&pipe.shared);
        drop(pipe);
        let exit = shared.wait(Deadline::after(Duration::from_secs(20))).unwrap();
        assert_eq!(exit.signal.as_deref(), Some("9"));
    }

    #[test]
    fn the_last_output_of_a_child_is_read() {
        let (exit, stderr) = ending("yes words | head -c 40000 >&2; echo last >&2; exit 4");
        assert_eq!((exit.status, stderr.len()), (Some(4), 40_005));
        assert!(stderr.ends_with("last\n"));
    }
}
