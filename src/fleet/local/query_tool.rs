//! Short queries of local tools: `ssh -G`, `ssh-add -l`, `getent`.

use std::io::Read as _;
use std::process::Command;

use super::spawn;
use crate::clock::Deadline;
use crate::fleet::{HostResult, Output, Watchdog, fault};
use crate::model::{HostFailure, Reason};

/// Limit of the output, in bytes. These tools print a few kB.
const ANSWER_LIMIT: u64 = 256 * 1024;

/// Runs a local query until its end. The query is killed at the deadline or when the run is
/// cancelled, which is safe because it changes nothing.
pub(in crate::fleet) fn query_tool(
    command: Command,
    deadline: Deadline,
    watchdog: &Watchdog,
) -> HostResult<Output> {
    let pipe = spawn(command)?;
    let broken =
        |error| HostFailure::new(Reason::Transport, format!("cannot watch the command: {error}"));
    let guard = watchdog.guard(pipe.stream(), deadline).map_err(broken)?;
    pipe.close_input();
    let mut stdout = Vec::new();
    let read = pipe.stream().take(ANSWER_LIMIT + 1).read_to_end(&mut stdout);
    if guard.is_expired() {
        pipe.kill();
        return Err(fault::incomplete(stdout.len()));
    }
    if stdout.len() as u64 > ANSWER_LIMIT {
        return Err(fault::too_big(ANSWER_LIMIT));
    }
    if let Err(error) = read {
        return Err(HostFailure::new(Reason::Lost, format!("cannot read the output: {error}")));
    }
    let exit = pipe.wait(deadline)?;
    Ok(Output { stdout, stderr: pipe.stderr(), exit })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shell(text: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", text]);
        command
    }

    fn seconds(seconds: u64) -> Deadline {
        Deadline::after(Duration::from_secs(seconds))
    }

    #[test]
    fn query_tool_returns_stdout_and_exit_status() {
        let watchdog = Watchdog::start().unwrap();
        let said = query_tool(shell("cat; echo it; exit 3"), seconds(20), &watchdog).unwrap();
        assert_eq!((&said.stdout[..], said.exit.status), (&b"it\n"[..], Some(3)));
    }

    #[test]
    fn one_that_hangs_is_killed_at_the_deadline_or_with_the_run() {
        let watchdog = Watchdog::start().unwrap();
        let soon = Deadline::after(Duration::from_millis(100));
        let failure = query_tool(shell("echo half; sleep 600"), soon, &watchdog).unwrap_err();
        assert_eq!(failure.reason, Reason::Timeout);
        assert!(failure.detail.contains("5 bytes"), "{failure}");
        watchdog.cancel();
        let later = seconds(600);
        query_tool(shell("sleep 600"), later, &watchdog).unwrap_err();
        assert!(!later.is_over());
    }

    #[test]
    fn query_tool_output_over_the_limit_is_an_error() {
        let watchdog = Watchdog::start().unwrap();
        let failure = query_tool(shell("yes"), seconds(20), &watchdog).unwrap_err();
        assert_eq!(failure.reason, Reason::TooBig);
    }
}
