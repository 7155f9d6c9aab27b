//! A command on this host: a child process behind the same [`Pipe`].

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

/// How long a child may live after its pipe was dropped.
const GRACE: Duration = Duration::from_secs(2);
/// How long one may live that was asked to end others: `srun` gives Slurm 32 s for it, and of one that is
/// killed before, Slurm keeps the step.
const OTHERS: Duration = Duration::from_secs(60);

/// How a command is ended that does not end with its pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// At once.
    Kill,
    /// Asked first, because it has others to end.
    Terminate,
}

/// Starts a command of this host; its stdin and stdout are the pipe itself.
///
/// A child that does not end by itself after its pipe was dropped is killed, with all that it started
/// in its process group: the child has one of its own, so that Ctrl-C is for this process, which ends
/// its children in good order.
///
/// # Errors
/// The program cannot be started.
pub fn spawn(command: Command) -> Result<Pipe, HostFailure> {
    spawn_to_end(command, Ending::Kill)
}

pub(super) fn spawn_to_end(mut command: Command, ending: Ending) -> Result<Pipe, HostFailure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let start = || -> io::Result<Pipe> {
        let waker = Arc::new(Waker::new()?);
        let (pipe, far, shared) = Pipe::pair(Arc::clone(&waker))?;
        far.set_nonblocking(false)?;
        let mut child = command
            .stdin(OwnedFd::from(far.try_clone()?))
            .stdout(OwnedFd::from(far))
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        // The command keeps copies of the child's descriptors until it is dropped.
        drop(command);
        let pid = Pid::from_child(&child);
        let ended = pidfd_open(pid, PidfdFlags::empty())?;
        let stderr = child.stderr.take();
        let attend = move || attend(child, stderr, &ended, &shared, &waker, ending);
        thread::Builder::new().name("local command".into()).stack_size(128 * 1024).spawn(attend)?;
        Ok(pipe)
    };
    start().map_err(|error| {
        HostFailure::new(Reason::Transport, format!("cannot start {program}: {error}"))
    })
}

/// Collects stderr and the exit status; kills a child that outlives its pipe.
fn attend(
    mut child: Child,
    mut stderr: Option<ChildStderr>,
    ended: &OwnedFd,
    shared: &Shared,
    waker: &Waker,
    ending: Ending,
) {
    let group = Pid::from_child(&child);
    // Fails only where all have ended by themselves, which the next round sees.
    let end_all = |signal| {
        let _ = kill_process_group(group, signal);
    };
    let mut killing: Option<Deadline> = None;
    let mut asked: Option<Deadline> = None;
    loop {
        if shared.is_abandoned() && killing.is_none() {
            killing = Some(Deadline::after(GRACE));
        }
        if shared.is_doomed() || killing.is_some_and(Deadline::is_over) {
            match (ending, asked) {
                (Ending::Terminate, None) => {
                    end_all(Signal::TERM);
                    asked = Some(Deadline::after(OTHERS));
                    killing = asked;
                }
                (Ending::Terminate, Some(at)) if !at.is_over() => {}
                _ => end_all(Signal::KILL),
            }
        }
        let mut fds = vec![PollFd::new(ended, PollFlags::IN), PollFd::new(waker, PollFlags::IN)];
        if let Some(stderr) = &stderr {
            fds.push(PollFd::new(stderr, PollFlags::IN));
        }
        let wait = killing.map(|at| at.remaining().max(Duration::from_millis(100)));
        if poll::wait(&mut fds, wait).is_err() {
            end_all(Signal::KILL);
        }
        let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
        let (over, woken, spoke) = (ready(0), ready(1), ready(2));
        if woken {
            waker.clear();
        }
        if spoke {
            read_stderr(&mut stderr, shared);
        } else if over {
            if shared.is_abandoned() || shared.is_doomed() {
                // What it left behind: as long as it is not waited for, its number is its group's.
                end_all(Signal::KILL);
            }
            // A grandchild may hold stderr open; what the child wrote has been read by here.
            shared.end(exit_of(&mut child));
            return;
        }
    }
}

fn read_stderr(stderr: &mut Option<ChildStderr>, shared: &Shared) {
    let mut buffer = [0; 4096];
    match stderr.as_mut().map(|stderr| stderr.read(&mut buffer)) {
        Some(Ok(count)) if count > 0 => shared.push_stderr(&buffer[..count]),
        Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
        _ => *stderr = None,
    }
}

fn exit_of(child: &mut Child) -> Result<Exit, HostFailure> {
    match child.wait() {
        Ok(status) => Ok(Exit {
            status: status.code(),
            signal: status.signal().map(|number| number.to_string()),
        }),
        Err(error) => Err(HostFailure::new(
            Reason::Lost,
            format!("the exit code of the command cannot be read: {error}"),
        )),
    }
}
