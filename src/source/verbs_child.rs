//! Runs the child process that queries libibverbs, and reads its reply. `live` uses it.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getppid, kill_process, pidfd_open,
    set_parent_process_death_signal, waitpid,
};

use super::{Answer, ReadError, answer_verbs};
use crate::clock::Deadline;
use crate::sys::{fork, poll, readable};

/// Limit of the child's reply in bytes.
const LIMIT: usize = 4 * 1024 * 1024;
/// Limit of the child's stderr in bytes, which explains a failure.
const STDERR_LIMIT: usize = 64 * 1024;
/// Time in which a child that closed its stdout must end.
const REAP: Duration = Duration::from_millis(500);

/// Child process that queries libibverbs, because the library prints and may hang.
#[derive(Debug, Clone)]
pub struct VerbsChild {
    /// Program to run; `None` for a copy of this process, or a new process of this program.
    program: Option<PathBuf>,
    limit: Duration,
    /// Counts from the creation of this value: reads before the query reduce the child's time.
    pub(super) deadline: Deadline,
}

impl VerbsChild {
    /// Returns a child that runs this program. It has `limit` to reply, from now on.
    pub fn own(limit: Duration) -> Self {
        Self { program: None, limit, deadline: Deadline::after(limit) }
    }

    /// Returns a child that runs another program, as `program agent verbs --parent PID`.
    pub fn new(program: PathBuf, limit: Duration) -> Self {
        Self { program: Some(program), ..Self::own(limit) }
    }

    pub(super) fn start(&self) -> Started {
        let failed = |error| ReadError::Process(format!("cannot start the verbs child: {error}"));
        self.run().map_err(failed)
    }

    /// Waits for a child and returns its stdout.
    pub(super) fn finish(&self, started: Started) -> Answer {
        let deadline = self.deadline;
        let mut running = started?;
        let outcome = running.heard.listen(deadline, self.limit);
        let status = if outcome.is_ok() {
            running.process.take().and_then(|process| process.end(deadline.remaining().max(REAP)))
        } else {
            // The deadline may be over: a child that is being killed is not waited for.
            running.kill();
            None
        };
        outcome?;
        match status {
            Some(status) if status.success() => Ok(std::mem::take(&mut running.heard.answer)),
            status => Err(running.heard.failure(status)),
        }
    }

    fn run(&self) -> io::Result<Running> {
        if self.program.is_none()
            && let Some(copied) = start_copy()?
        {
            return Ok(copied);
        }
        let own = PathBuf::from("/proc/self/exe");
        let mut child = Command::new(self.program.as_ref().unwrap_or(&own))
            .args(["agent", "verbs", "--parent", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().map(OwnedFd::from);
        let heard = Heard::new(stdout, child.stderr.take().map(OwnedFd::from));
        Ok(Running { process: Some(Process::Program(child)), heard })
    }
}

pub(super) type Started = Result<Running, ReadError>;

/// Running child. Dropping it kills the child without waiting.
#[derive(Debug)]
pub(super) struct Running {
    /// `None` after the process has ended or was abandoned.
    process: Option<Process>,
    heard: Heard,
}

impl Running {
    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
            let _ = process.reap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Forks a copy of this process that replies; `None` if this process has other threads.
fn start_copy() -> io::Result<Option<Running>> {
    let (answer, stdout) = pipe_with(PipeFlags::CLOEXEC)?;
    let (talk, stderr) = pipe_with(PipeFlags::CLOEXEC)?;
    let parent = rustix::process::getpid();
    let copied = fork::copy(|| {
        // A child that outlives its parent has no reader for its reply.
        let dies = set_parent_process_death_signal(Some(Signal::KILL));
        let is_orphan = dies.is_ok() && getppid() != Some(parent);
        // Output of the library goes to the stderr pipe, so that it is not part of the reply.
        let talks = rustix::stdio::dup2_stdout(stderr.as_fd())
            .and_then(|()| rustix::stdio::dup2_stderr(stderr.as_fd()));
        if is_orphan || talks.is_err() {
            return 1;
        }
        let json = serde_json::to_vec(&answer_verbs());
        u8::from(json.map_or(true, |json| File::from(stdout).write_all(&json).is_err()))
    })?;
    let heard = Heard::new(Some(answer), Some(talk));
    Ok(copied.map(|pid| Running { process: Some(Process::Copy(pid)), heard }))
}

#[derive(Debug)]
enum Process {
    Program(Child),
    /// Fork of this process.
    Copy(Pid),
}

impl Process {
    /// Kills the process. An error means that it has already ended.
    fn kill(&mut self) {
        let _ = match self {
            Self::Program(child) => child.kill(),
            Self::Copy(pid) => kill_process(*pid, Signal::KILL).map_err(io::Error::from),
        };
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        match self {
            Self::Program(child) => child.wait().ok(),
            Self::Copy(pid) => {
                let ended = || waitpid(Some(*pid), WaitOptions::empty());
                let (_, status) = rustix::io::retry_on_intr(ended).ok().flatten()?;
                Some(ExitStatus::from_raw(status.as_raw()))
            }
        }
    }

    /// Waits for the end of the process; `None` if it does not end in time.
    fn end(mut self, timeout: Duration) -> Option<ExitStatus> {
        let pid = match &self {
            Self::Program(child) => Pid::from_child(child),
            Self::Copy(pid) => *pid,
        };
        let Ok(ended) = pidfd_open(pid, PidfdFlags::empty()) else {
            // Kernels before 5.3 have no pidfd_open.
            return self.reap().recv_timeout(timeout).ok().flatten();
        };
        if readable::until(ended.as_fd(), Deadline::after(timeout)) == Ok(true) {
            return self.wait();
        }
        let _ = self.reap();
        None
    }

    /// Waits for the end of the process in a separate thread, which sends the exit status. A
    /// process that hangs in a driver may never end; only that thread waits for it.
    fn reap(mut self) -> Receiver<Option<ExitStatus>> {
        let (sender, receiver) = mpsc::channel();
        // If no thread can start, the sender is dropped and the receiver gets an error at once.
        let _ = thread::Builder::new().name("reap".into()).spawn(move || sender.send(self.wait()));
        receiver
    }
}

/// Two pipes of the child, and the bytes read from them.
#[derive(Debug)]
struct Heard {
    stdout: Option<File>,
    stderr: Option<File>,
    answer: Vec<u8>,
    talk: Vec<u8>,
}

impl Heard {
    fn new(stdout: Option<OwnedFd>, stderr: Option<OwnedFd>) -> Self {
        let (stdout, stderr) = (stdout.map(File::from), stderr.map(File::from));
        Self { stdout, stderr, answer: Vec::new(), talk: Vec::new() }
    }

    /// Reads both pipes until stdout ends. A grandchild that holds stderr open is not waited for.
    fn listen(&mut self, deadline: Deadline, limit: Duration) -> Result<(), ReadError> {
        let failed = |error: io::Error| {
            ReadError::Process(format!("cannot read from the verbs child: {error}"))
        };
        let late = || {
            let seconds = limit.as_secs_f32();
            Err(ReadError::Process(format!(
                "libibverbs did not return within {seconds} s; its process was killed"
            )))
        };
        while let Some(stdout) = &self.stdout {
            let mut fds = vec![PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN)];
            if let Some(stderr) = &self.stderr {
                fds.push(PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::IN));
            }
            poll::wait(&mut fds, Some(deadline.remaining())).map_err(failed)?;
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            if ready.first() == Some(&true) {
                take(&mut self.stdout, &mut self.answer, LIMIT + 1).map_err(failed)?;
                if self.answer.len() > LIMIT {
                    return Err(ReadError::TooBig);
                }
            }
            if ready.get(1) == Some(&true) {
                take(&mut self.stderr, &mut self.talk, STDERR_LIMIT).map_err(failed)?;
            }
            if deadline.is_over() {
                return late();
            }
        }
        Ok(())
    }

    /// Returns the error for a child that failed, with the last line of its stderr.
    fn failure(&self, status: Option<ExitStatus>) -> ReadError {
        let ended =
            status.map_or_else(|| "did not end".into(), |status| format!("ended with {status}"));
        let talk = String::from_utf8_lossy(&self.talk);
        let last = talk.lines().rev().find(|line| !line.trim().is_empty());
        let said = last.map_or_else(String::new, |line| format!(": {line}"));
        ReadError::Process(format!("the verbs child {ended}{said}"))
    }
}

/// Reads once from a pipe. Keeps at most `limit` bytes, and closes the pipe at its end.
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

    fn ask(child: &VerbsChild) -> Answer {
        child.finish(child.start())
    }

    #[test]
    fn a_dropped_child_is_killed() {
        let (_folder, child) = child("echo $$; exec sleep 1000", Duration::from_secs(30));
        let mut started = child.start();
        let heard = &mut started.as_mut().unwrap().heard;
        take(&mut heard.stdout, &mut heard.answer, LIMIT).unwrap();
        let pid = String::from_utf8(heard.answer.clone()).unwrap().trim().parse().unwrap();
        let lives = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
        drop(started);
        let ended = readable::until(lives.as_fd(), Deadline::after(Duration::from_secs(10)));
        assert_eq!(ended, Ok(true), "it is still there");
    }

    #[test]
    fn its_stdout_is_the_answer_and_its_stderr_is_not() {
        let (_folder, child) = child("echo warning >&2; echo $1 $2", Duration::from_secs(30));
        assert_eq!(ask(&child), Ok(b"agent verbs\n".to_vec()));
    }

    #[test]
    fn a_child_that_hangs_is_killed_at_its_deadline() {
        let (_folder, child) = child("exec sleep 1000", Duration::from_millis(50));
        let error = ask(&child).unwrap_err().to_string();
        assert!(error.contains("did not return within 0.05 s"), "{error}");
    }

    #[test]
    fn a_child_that_fails_is_explained_by_its_last_words() {
        let (_folder, child) = child("echo out of paper >&2; exit 3", Duration::from_secs(30));
        let error = ask(&child).unwrap_err().to_string();
        assert_eq!(error, "the verbs child ended with exit status: 3: out of paper");
    }

    #[test]
    fn verbs_child_with_endless_output_is_refused() {
        let (_folder, child) = child("exec cat /dev/zero", Duration::from_secs(30));
        assert_eq!(ask(&child), Err(ReadError::TooBig));
    }

    #[test]
    fn a_missing_program_is_an_answer() {
        let child = VerbsChild::new("/nowhere/rdmactl".into(), Duration::from_secs(1));
        assert!(matches!(ask(&child), Err(ReadError::Process(_))));
    }
}
