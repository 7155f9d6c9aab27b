//! Interface that starts commands on a host, independent of the launcher.
//!
//! SSH sessions, Slurm and command templates implement [`Access`]. `fleet` starts agents and
//! uploads through [`Access`].

use std::sync::Arc;

use super::remote_command::{self, Privilege};
use super::{Exit, HostResult, Nonce, Pipe, Uploaded};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};

/// Access to a host. Starts commands of [`remote_command`], which a shell of the host runs.
pub trait Access: Send + Sync {
    /// Starts a command. Several commands may run at the same time.
    ///
    /// # Errors
    /// The command did not start by the deadline, or the launcher failed. The failure has the
    /// reason.
    fn exec(&self, command: &str, deadline: Deadline) -> HostResult<Pipe>;

    /// Sets the deadline that ends all commands. With `None`, only cancelling the run ends them.
    fn set_deadline(&self, deadline: Option<Deadline>);

    /// True if the run was cancelled, which ends all commands.
    fn is_cancelled(&self) -> bool;

    /// Name of the launcher in messages.
    fn service(&self) -> &'static str;

    /// Name of the host as the operator wrote it.
    fn host(&self) -> &str;

    /// Returns a hint: the words of `purpose`, then the command line with which the operator runs
    /// `command` on the host.
    fn manual_command(&self, purpose: &str, command: &str) -> String;

    /// Opens another connection to the host, for commands that must run after this connection has
    /// ended. Returns `None` if the launcher makes a connection for each command.
    fn reopen(&self, _deadline: Deadline) -> Option<HostResult<Arc<dyn Access>>> {
        None
    }

    /// True if the signal in an [`Exit`] is the signal that ended the command on the host. False
    /// if the signal ended a local process of the launcher.
    fn reports_signals(&self) -> bool {
        false
    }

    /// True if the launcher also ends every process that a command left on the host.
    fn ends_processes(&self) -> bool {
        false
    }

    /// Starts the installed agent. Returns its pipe, and the nonce that its greeting must carry.
    ///
    /// # Errors
    /// As for [`Access::exec`].
    fn installed_agent(
        &self,
        privilege: Privilege,
        deadline: Deadline,
    ) -> HostResult<(Pipe, Nonce)> {
        let nonce = fresh_nonce()?;
        Ok((self.exec(&remote_command::installed_agent(nonce, privilege), deadline)?, nonce))
    }

    /// Starts an uploaded agent.
    ///
    /// # Errors
    /// As for [`Access::exec`].
    fn uploaded_agent(
        &self,
        uploaded: &Uploaded,
        privilege: Privilege,
        deadline: Deadline,
    ) -> HostResult<Pipe> {
        self.exec(&remote_command::uploaded_agent(uploaded, privilege), deadline)
    }

    /// Runs a command without input and does not read its output.
    ///
    /// # Errors
    /// As for [`Access::exec`], or the command did not end by the deadline.
    fn run(&self, command: &str, deadline: Deadline) -> HostResult<Exit> {
        let pipe = self.exec(command, deadline)?;
        pipe.close_input();
        pipe.wait(deadline)
    }
}

pub(super) fn fresh_nonce() -> HostResult<Nonce> {
    Nonce::new().map_err(|error| {
        let detail = format!("cannot read random numbers on this machine: {error}");
        HostFailure::new(Reason::Transport, detail)
    })
}
