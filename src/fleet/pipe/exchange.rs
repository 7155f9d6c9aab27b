//! Runs a command to its end by a deadline: sends all input and collects all output.

use std::io;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::{Exit, Pipe};
use crate::clock::Deadline;
use crate::fleet::{HostResult, fault};
use crate::model::{HostFailure, Reason};
use crate::sys::poll;

/// Output and exit of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Complete stdout.
    pub stdout: Vec<u8>,
    /// Last 64 KiB of stderr.
    pub stderr: Vec<u8>,
    /// Exit of the command.
    pub exit: Exit,
}

impl Pipe {
    /// Writes all of `input`, closes the command's stdin, and reads its stdout to the end.
    ///
    /// # Errors
    /// The connection broke, the deadline passed, or more than `limit` bytes came.
    pub fn exchange(&self, input: &[u8], limit: usize, deadline: Deadline) -> HostResult<Output> {
        let mut stdout = Vec::new();
        let mut rest = Some(input);
        loop {
            let mut blocked = true;
            if let Some(bytes) = rest {
                rest = self.send_some(bytes, &mut blocked)?;
                if rest.is_none() {
                    self.close_input();
                }
            }
            if self.receive_some(&mut stdout, &mut blocked)? {
                let exit = self.wait(deadline)?;
                return Ok(Output { stdout, stderr: self.stderr(), exit });
            }
            if stdout.len() > limit {
                return Err(fault::too_big(limit));
            }
            if blocked {
                self.wait_ready(rest.is_some(), deadline, stdout.len())?;
            }
        }
    }

    /// Sends as much as fits. `None` if no input is left or the command reads no more.
    fn send_some<'a>(&self, bytes: &'a [u8], blocked: &mut bool) -> HostResult<Option<&'a [u8]>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        match send(self.stream(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => {
                *blocked = false;
                Ok(bytes.get(sent..).filter(|rest| !rest.is_empty()))
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Some(bytes)),
            // A command may end without reading its input. Its exit has the reason.
            Err(Errno::PIPE | Errno::CONNRESET) => Ok(None),
            Err(errno) => Err(broken(&errno.into())),
        }
    }

    fn receive_some(&self, stdout: &mut Vec<u8>, blocked: &mut bool) -> HostResult<bool> {
        let mut buffer = [0; 16 * 1024];
        match recv(self.stream(), &mut buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(Errno::CONNRESET) => Ok(true),
            Ok((count, _)) => {
                *blocked = false;
                stdout.extend_from_slice(&buffer[..count]);
                Ok(false)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(errno) => Err(broken(&errno.into())),
        }
    }

    fn wait_ready(&self, writes: bool, deadline: Deadline, received: usize) -> HostResult<()> {
        let wait = deadline.remaining();
        if wait.is_zero() {
            return Err(self.shared.failure().unwrap_or_else(|| fault::incomplete(received)));
        }
        let interest = if writes { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        poll::wait(&mut [PollFd::new(self.stream(), interest)], Some(wait))
            .map_err(|error| broken(&error))
    }
}

fn broken(error: &io::Error) -> HostFailure {
    HostFailure::new(Reason::Lost, format!("the pipe to the command broke: {error}"))
}
