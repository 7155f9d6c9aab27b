//! Runs commands that list hosts. Each command has limits of time and output, and all commands
//! share a deadline. The group sources use it.

use std::cell::OnceCell;
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::text::{MAX_BYTES, plain};
use crate::clock::Deadline;
use crate::hosts::set::LookupError;
use crate::input::Tail;
use crate::sys::poll;

const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);

const BY_HAND: &str = "run the command by hand, or write the hosts";

/// Runs commands until their common deadline, which begins with the first command.
#[derive(Debug, Default)]
pub(super) struct Commands {
    deadline: OnceCell<Deadline>,
}

pub(super) struct Ended {
    pub(super) text: String,
    pub(super) is_success: bool,
    /// Last line of stderr, or the exit status if stderr is empty.
    pub(super) last_line: String,
}

impl Commands {
    /// Runs a command. `name` is its name in errors.
    pub(super) fn run(&self, mut command: Command, name: &str) -> Result<Ended, LookupError> {
        let all = *self.deadline.get_or_init(|| Deadline::after(TOTAL_TIMEOUT));
        let deadline = all.earlier(Deadline::after(COMMAND_TIMEOUT));
        // With its own process group, a whole pipeline can be killed.
        let started = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = started.map_err(|error| {
            LookupError::new(format!("cannot run {name}: {}", plain(&error))).fix(BY_HAND)
        })?;
        let mut tail = Tail::default();
        let heard = listen(&mut child, &mut tail, deadline);
        if heard.is_err() {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        }
        let status = child.wait();
        let killed =
            |why: &str| LookupError::new(format!("{name} {why} and was killed")).fix(BY_HAND);
        let bytes = heard.map_err(|stop| match stop {
            Stop::Late => killed("did not end in time"),
            Stop::Long => killed("printed more than 4 MiB"),
            Stop::Broken(error) => {
                LookupError::new(format!("cannot read the output of {name}: {}", plain(&error)))
            }
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            LookupError::new(format!("the output of {name} is not UTF-8 text: {error}"))
        })?;
        let said = tail.bytes();
        let said = String::from_utf8_lossy(&said);
        let said = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let ended = status.as_ref().map_or_else(ToString::to_string, ToString::to_string);
        Ok(Ended {
            text,
            is_success: status.is_ok_and(|status| status.success()),
            last_line: said.map_or(ended, |line| line.chars().take(200).collect()),
        })
    }
}

enum Stop {
    Late,
    Long,
    Broken(io::Error),
}

/// Reads stdout to its end, and waits until the process ends, but not until stderr is closed.
fn listen(child: &mut Child, tail: &mut Tail, deadline: Deadline) -> Result<Vec<u8>, Stop> {
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let mut text = Vec::new();
    let mut buffer = [0; 16 * 1024];
    while let Some(out) = &mut stdout {
        let mut fds = vec![PollFd::new(out, PollFlags::IN)];
        fds.extend(stderr.as_ref().map(|stderr| PollFd::new(stderr, PollFlags::IN)));
        poll::wait(&mut fds, Some(deadline.remaining())).map_err(Stop::Broken)?;
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        if deadline.is_over() {
            return Err(Stop::Late);
        }
        if ready.get(1) == Some(&true)
            && let Some(open) = &mut stderr
        {
            match open.read(&mut buffer) {
                Ok(count @ 1..) => tail.push(&buffer[..count]),
                _ => stderr = None,
            }
        }
        if ready.first() == Some(&true) {
            match out.read(&mut buffer) {
                Ok(0) => stdout = None,
                Ok(count) => text.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Broken(error)),
            }
            if text.len() > MAX_BYTES {
                return Err(Stop::Long);
            }
        }
    }
    // Kernels before 5.3 have no pidfd_open; there, the caller waits without a deadline.
    if let Ok(ended) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) {
        let mut fds = [PollFd::new(&ended, PollFlags::IN)];
        poll::wait(&mut fds, Some(deadline.remaining())).map_err(Stop::Broken)?;
        if fds.iter().all(|fd| fd.revents().is_empty()) {
            return Err(Stop::Late);
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, limit: Duration) -> Result<Ended, LookupError> {
        let commands = Commands { deadline: OnceCell::from(Deadline::after(limit)) };
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        commands.run(command, "it")
    }

    #[test]
    fn command_result_has_stdout_and_the_last_line() {
        let long = Duration::from_secs(30);
        let ended = run("echo n1; echo why >&2; exit 3", long).unwrap();
        assert_eq!((ended.text.as_str(), ended.is_success), ("n1\n", false));
        let ended = run("exit 3", long).unwrap();
        assert_eq!(ended.last_line, "exit status: 3");
    }

    #[test]
    fn a_command_that_never_ends_is_ended_with_its_children() {
        let error = run("sleep 1000 | cat", Duration::from_millis(50)).err().unwrap();
        assert_eq!(error.message, "it did not end in time and was killed");
        let error = run("exec >&-; sleep 1000", Duration::from_millis(300)).err().unwrap();
        assert_eq!(error.message, "it did not end in time and was killed");
        let error = run("cat /dev/zero", Duration::from_secs(30)).err().unwrap();
        assert_eq!(error.message, "it printed more than 4 MiB and was killed");
    }
}
