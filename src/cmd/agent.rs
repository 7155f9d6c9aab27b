//! Runs `rdmactl agent`: the parts of the program that run in a separate process.
//!
//! A sudo rule may allow this command to a user who is not root. Therefore it accepts only
//! arguments of the agent, reads no configuration, and drops the environment of its caller.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::agent::{Supervisor, work};
use crate::cli::AgentArgs;
use crate::collect::host_report;
use crate::model::{HostReport, Parts, Via};
use crate::render::escape;
use crate::source::{Live, Recorder, Recording, VerbsChild, answer_verbs};
use crate::term::Term;
use crate::wire::{LineReader, LineWriter, Recipient};

use super::{Advice, Outcome, local};

const ENVIRONMENT_UNDER_SUDO: [(&str, &str); 2] =
    [("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C")];

/// Fix for a user who runs `rdmactl agent`.
const DO_NOT_RUN: &str = "do not run this command; rdmactl starts it on the hosts";

/// Prepares a process whose first argument is `agent`; call it before any input is read.
///
/// # Errors
/// An argument does not belong to the agent. Other flags of rdmactl run programs and read files.
pub(super) fn isolate(arguments: &[OsString]) -> anyhow::Result<()> {
    if let Some(other) = arguments.iter().skip(1).find(|argument| !is_of_agent(argument)) {
        let what = format!("rdmactl agent does not accept {}", escape(&other.to_string_lossy()));
        return Err(Advice::error(what, DO_NOT_RUN));
    }
    if rustix::process::geteuid().is_root() && env::var_os("SUDO_UID").is_some() {
        let mut again = Command::new("/proc/self/exe");
        let error =
            again.arg0("rdmactl").args(arguments).env_clear().envs(ENVIRONMENT_UNDER_SUDO).exec();
        return Err(error).context("cannot start the agent again without the caller's environment");
    }
    Ok(())
}

fn is_of_agent(argument: &OsString) -> bool {
    argument.to_str().is_some_and(|argument| {
        matches!(argument, "verbs" | "worker" | "--unlink" | "--lines" | "--parent")
            || argument.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

pub(super) fn run(args: &AgentArgs, term: Term) -> anyhow::Result<Outcome> {
    // Without this, `ps` and `rdma resource show` would show the name "exe" of "/proc/self/exe".
    let _ = fs::write("/proc/self/comm", "rdmactl");
    match args.role.as_str() {
        "verbs" => {
            // A child without its parent has no reader. The deadline of the parent also applies.
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            if args.parent.is_some_and(|parent| !is_parent(parent)) {
                // The parent died before that call, so no signal will come.
                return Ok(Outcome::Complete);
            }
            term.write_stdout(serde_json::to_vec(&answer_verbs())?)?;
        }
        "worker" => work(own(rustix::stdio::stdin())?, own(rustix::stdio::stdout())?)?,
        nonce if nonce.len() == 32 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            let (nonce, unlink) = (nonce.to_owned(), args.unlink);
            let supervisor = Supervisor { nonce, unlink, inventory, recording };
            serve(&supervisor, args.lines)?;
        }
        role => return Err(Advice::error(format!("invalid agent role {role}"), DO_NOT_RUN)),
    }
    Ok(Outcome::Complete)
}

fn serve(supervisor: &Supervisor, lines: bool) -> anyhow::Result<()> {
    let (input, output) = (own(rustix::stdio::stdin())?, own(rustix::stdio::stdout())?);
    let nonce = &supervisor.nonce;
    if lines {
        let input = LineReader::new(input, nonce, Recipient::Agent);
        supervisor.run(input, LineWriter::new(output, nonce, Recipient::Operator))?;
    } else {
        supervisor.run(input, output)?;
    }
    Ok(())
}

fn inventory(parts: &Parts, limit: Duration) -> HostReport {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    host_report(&Live::new(VerbsChild::own(limit)), parts, host, Via::Agent)
}

fn recording(parts: &Parts, limit: Duration) -> Recording {
    let recorder = Recorder::new(Live::new(VerbsChild::own(limit)));
    // Decoding decides which data is read next, so the data is decoded here, too.
    let _ = local::ask(&recorder, parts, "", Via::Agent);
    recorder.into_recording()
}

/// Returns true if `pid` is the parent of this process: an orphan has another parent.
fn is_parent(pid: u32) -> bool {
    getppid().is_some_and(|parent| u32::try_from(parent.as_raw_nonzero().get()) == Ok(pid))
}

/// Returns a standard stream without the buffer and the lock of `std`.
fn own(stream: BorrowedFd<'_>) -> anyhow::Result<File> {
    let owned = stream.as_fd().try_clone_to_owned().context("cannot use the agent's streams")?;
    Ok(File::from(owned))
}

#[test]
fn an_agent_accepts_no_flag_of_rdmactl() {
    let isolate = |words: &str| {
        let words: Vec<OsString> = words.split(' ').map(Into::into).collect();
        isolate(&words).map_err(|error| error.to_string())
    };
    for words in ["agent 0123abcd --lines", "agent verbs --parent 17", "agent 0123abcd --unlink"] {
        assert_eq!(isolate(words), Ok(()), "{words}");
    }
    for words in [
        "agent 0123abcd --launcher x",
        "agent --launcher=exec 0123abcd",
        "agent 0123abcd --save /etc/passwd",
        "agent 0123abcd -H n1",
        "agent 0123abcd --lines=x",
        "agent 0123abcd -F x",
        "agent 0123abcd --",
        "agent --help",
    ] {
        let error = isolate(words).unwrap_err();
        assert!(error.starts_with("rdmactl agent does not accept"), "{error}");
    }
}

#[test]
fn is_parent_is_true_for_the_parent_process_only() {
    let parent = getppid().map(|parent| u32::try_from(parent.as_raw_nonzero().get()).unwrap());
    assert!(is_parent(parent.unwrap()) && !is_parent(std::process::id()));
}
