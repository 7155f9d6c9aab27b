//! `rdmactl agent`: the parts of the program that run in a process of their own.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::agent::{Supervisor, work};
use crate::cli::AgentArgs;
use crate::collect::host_report;
use crate::model::{HostReport, Parts, Via};
use crate::source::{Live, VerbsChild, answer_verbs};
use crate::term::Term;

use super::{Advice, Outcome};

/// Plays the role that the parent process names.
pub(super) fn run(args: &AgentArgs, term: Term) -> anyhow::Result<Outcome> {
    match args.role.as_str() {
        "verbs" => {
            // A child that outlives its parent has nobody to answer. It is a courtesy: where the
            // kernel refuses, the parent's deadline still holds.
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            if has_no_reader(rustix::stdio::stdout()) {
                // The parent died before that call, and no signal will come.
                return Ok(Outcome::Complete);
            }
            term.answer(serde_json::to_vec(&answer_verbs())?)?;
        }
        "worker" => work(own(rustix::stdio::stdin())?, own(rustix::stdio::stdout())?)?,
        nonce if nonce.len() == 32 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            let supervisor = Supervisor { nonce: nonce.to_owned(), unlink: args.unlink, inventory };
            supervisor.run(own(rustix::stdio::stdin())?, own(rustix::stdio::stdout())?)?;
        }
        role => {
            return Err(Advice::error(
                format!("there is no agent role {role}"),
                "leave this command to rdmactl itself",
            ));
        }
    }
    Ok(Outcome::Complete)
}

fn inventory(parts: Parts, limit: Duration) -> HostReport {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    host_report(&Live::new(VerbsChild::own(limit)), parts, host, Via::Agent)
}

/// Whether it is a pipe whose other end is closed.
fn has_no_reader(pipe: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(pipe, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok()
        && fds[0].revents().contains(PollFlags::ERR)
}

/// A standard stream without the buffer and the lock of the one in the standard library.
fn own(stream: BorrowedFd<'_>) -> anyhow::Result<File> {
    let owned = stream.as_fd().try_clone_to_owned().context("cannot use the agent's streams")?;
    Ok(File::from(owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_whose_reader_has_gone_is_noticed() {
        let (reader, writer) = std::io::pipe().unwrap();
        assert!(!has_no_reader(writer.as_fd()));
        drop(reader);
        assert!(has_no_reader(writer.as_fd()));
    }
}
