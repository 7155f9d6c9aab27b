use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Answer, ReadError};
use crate::clock::Deadline;

/// The most bytes of the child's answer.
const LIMIT: usize = 4 * 1024 * 1024;
/// How much of the child's stderr is kept to explain a failure.
const STDERR_LIMIT: usize = 64 * 1024;
/// How long a child that closed its stdout may take to end.
const REAP: Duration = Duration::from_millis(500);

/// The child process that asks libibverbs, because the library prints and may hang.
#[derive(Debug, Clone)]
pub struct VerbsChild {
    program: PathBuf,
    limit: Duration,
    /// Since the child was described: what else is read first takes from its time.
    deadline: Deadline,
}

impl VerbsChild {
    /// This very program, which has until `limit` to answer.
    #[must_use]
    pub fn own(limit: Duration) -> Self {
        Self::new(PathBuf::from("/proc/self/exe"), limit)
    }

    /// Another program, which is called as `program agent verbs --parent PID`.
    #[must_use]
    pub fn new(program: PathBuf, limit: Duration) -> Self {
        Self { program, limit, deadline: Deadline::after(limit) }
    }

    /// The point by which it must have answered.
    pub(super) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Runs the child and returns what it wrote to stdout.
    pub(super) fn ask(&self) -> Answer {
        let deadline = self.deadline;
        let mut child = Command::new(&self.program)
            .args(["agent", "verbs", "--parent", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                ReadError::Process(format!("cannot start the verbs child: {error}"))
            })?;
        let mut heard = Heard {
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            answer: Vec::new(),
            talk: Vec::new(),
        };
        let outcome = heard.listen(deadline);
        if outcome.is_err() {
            // Fails only for a child that has ended by itself.
            let _ = child.kill();
        }
        let status = reap(child);
        // The limit is over then: a child that is being killed is not waited for.
        outcome.map_err(|stop| stop.explain(self.limit))?;
        match status.recv_timeout(deadline.remaining().max(REAP)).ok().flatten() {
            Some(status) if status.success() => Ok(heard.answer),
            status => Err(heard.failure(status)),
        }
    }
}

/// Why listening stopped early.
enum Stop {
    Deadline,
    TooBig,
    Failed(io::Error),
}

impl Stop {
    fn explain(self, limit: Duration) -> ReadError {
        match self {
            Self::Deadline => ReadError::Process(format!(
                "libibverbs gave no answer within {} s, and was killed",
                limit.as_secs_f32()
            )),
            Self::TooBig => ReadError::TooBig,
            Self::Failed(error) => {
                ReadError::Process(format!("cannot read from the verbs child: {error}"))
            }
        }
    }
}

/// The child's two pipes and what came through them.
struct Heard {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    answer: Vec<u8>,
    talk: Vec<u8>,
}

impl Heard {
    /// Reads both pipes until stdout ends; what a grandchild holds open is not waited for.
    fn listen(&mut self, deadline: Deadline) -> Result<(), Stop> {
        while let Some(stdout) = &self.stdout {
            let mut fds = vec![PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN)];
            if let Some(stderr) = &self.stderr {
                fds.push(PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::IN));
            }
            let left = Timespec::try_from(deadline.remaining()).ok();
            match poll(&mut fds, left.as_ref()) {
                Ok(0) => return Err(Stop::Deadline),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Stop::Failed(errno.into())),
            }
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            if ready.first() == Some(&true) {
                take(&mut self.stdout, &mut self.answer, LIMIT + 1).map_err(Stop::Failed)?;
                if self.answer.len() > LIMIT {
                    return Err(Stop::TooBig);
                }
            }
            if ready.get(1) == Some(&true) {
                take(&mut self.stderr, &mut self.talk, STDERR_LIMIT).map_err(Stop::Failed)?;
            }
            if deadline.is_over() {
                return Err(Stop::Deadline);
            }
        }
        Ok(())
    }

    /// What to say of a child that ended badly.
    fn failure(&self, status: Option<ExitStatus>) -> ReadError {
        let ended =
            status.map_or_else(|| "did not end".into(), |status| format!("ended with {status}"));
        let talk = String::from_utf8_lossy(&self.talk);
        let last = talk.lines().rev().find(|line| !line.trim().is_empty());
        let said = last.map_or_else(String::new, |line| format!(": {line}"));
        ReadError::Process(format!("the verbs child {ended}{said}"))
    }
}

/// One read; keeps what fits within `limit`, and drops the pipe at its end.
fn take(pipe: &mut Option<impl Read>, into: &mut Vec<u8>, limit: usize) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    let Some(open) = pipe else { return Ok(()) };
    match open.read(&mut buffer) {
        Ok(0) => *pipe = None,
        Ok(count) => {
            let fits = count.min(limit.saturating_sub(into.len()));
            into.extend_from_slice(&buffer[..fits]);
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Tells when the child has ended, from a thread of its own: a process that sits in a driver may
/// never end, and is then left to that thread.
fn reap(mut child: Child) -> Receiver<Option<ExitStatus>> {
    let (tell, told) = mpsc::channel();
    // Without a thread nothing is told, which the receiver sees at once.
    let _ = thread::Builder::new().name("reap".into()).spawn(move || tell.send(child.wait().ok()));
    told
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn child(script: &str, deadline: Duration) -> (tempfile::TempDir, VerbsChild) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("child");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, VerbsChild::new(path, deadline))
    }

    #[test]
    fn its_stdout_is_the_answer_and_its_stderr_is_not() {
        let (_folder, child) = child("echo warning >&2; echo $1 $2", Duration::from_secs(30));
        assert_eq!(child.ask(), Ok(b"agent verbs\n".to_vec()));
    }

    #[test]
    fn a_child_that_hangs_is_killed_at_its_deadline() {
        let (_folder, child) = child("exec sleep 1000", Duration::from_millis(50));
        let error = child.ask().unwrap_err().to_string();
        assert!(error.contains("no answer within 0.05 s"), "{error}");
    }

    #[test]
    fn a_child_that_fails_is_explained_by_its_last_words() {
        let (_folder, child) = child("echo out of paper >&2; exit 3", Duration::from_secs(30));
        let error = child.ask().unwrap_err().to_string();
        assert_eq!(error, "the verbs child ended with exit status: 3: out of paper");
    }

    #[test]
    fn a_child_that_never_stops_talking_is_stopped() {
        let (_folder, child) = child("exec cat /dev/zero", Duration::from_secs(30));
        assert_eq!(child.ask(), Err(ReadError::TooBig));
    }

    #[test]
    fn a_missing_program_is_an_answer() {
        let child = VerbsChild::new("/nowhere/rdmactl".into(), Duration::from_secs(1));
        assert!(matches!(child.ask(), Err(ReadError::Process(_))));
    }
}
