use std::sync::Arc;

use super::remote_command::{self, Privilege};
use super::{Exit, Nonce, Pipe, Uploaded};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};

/// Access to a host: commands can be started there, whatever starts them.
///
/// Commands are those of [`remote_command`], for a shell.
pub trait Access: Send + Sync {
    /// Starts a command; several may run at once.
    ///
    /// # Errors
    /// It could not be started by the deadline, and why.
    fn exec(&self, command: &str, deadline: Deadline) -> Result<Pipe, HostFailure>;

    /// Moves the deadline at which all that was started is cut off; `None` leaves only a cancelled
    /// run to do so.
    fn set_deadline(&self, deadline: Option<Deadline>);

    /// Whether the run was cancelled, which cuts off all that was started.
    fn is_cancelled(&self) -> bool;

    /// What starts the commands, as a message names it.
    fn service(&self) -> &'static str;

    /// The host, as the operator named it.
    fn host(&self) -> &str;

    /// Returns what to type for a command on the host, after the words for its purpose.
    fn by_hand(&self, purpose: &str, command: &str) -> String;

    /// Opens another connection to the host, for commands that must run although this connection is
    /// over. `None` if each command has a connection of its own.
    fn reopen(&self, _deadline: Deadline) -> Option<Result<Arc<dyn Access>, HostFailure>> {
        None
    }

    /// True if the signal of an [`Exit`] ended the command on the host, and not a program of this
    /// machine that carries it.
    fn reports_signals(&self) -> bool {
        false
    }

    /// True if what starts the commands also ends every process that they leave.
    fn ends_processes(&self) -> bool {
        false
    }

    /// Starts the agent that is installed there; its streams, and what its greeting must hold.
    ///
    /// # Errors
    /// As for [`Access::exec`].
    fn installed_agent(
        &self,
        privilege: Privilege,
        deadline: Deadline,
    ) -> Result<(Pipe, Nonce), HostFailure> {
        let nonce = fresh_nonce()?;
        let pipe = self.exec(&remote_command::installed_agent(nonce, privilege), deadline)?;
        Ok((pipe, nonce))
    }

    /// Starts an agent that was uploaded.
    ///
    /// # Errors
    /// As for [`Access::exec`].
    fn uploaded_agent(
        &self,
        uploaded: &Uploaded,
        privilege: Privilege,
        deadline: Deadline,
    ) -> Result<Pipe, HostFailure> {
        self.exec(&remote_command::uploaded_agent(uploaded, privilege), deadline)
    }

    /// Runs a command without input; its output is not read.
    ///
    /// # Errors
    /// As for [`Access::exec`], or it did not end by the deadline.
    fn run(&self, command: &str, deadline: Deadline) -> Result<Exit, HostFailure> {
        let pipe = self.exec(command, deadline)?;
        pipe.close_input();
        pipe.wait(deadline)
    }
}

pub(super) fn fresh_nonce() -> Result<Nonce, HostFailure> {
    Nonce::new().map_err(|error| {
        let detail = format!("cannot read random numbers on this machine: {error}");
        HostFailure::new(Reason::Transport, detail)
    })
}
