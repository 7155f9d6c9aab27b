//! SSH session of a host, over the built-in SSH or the `ssh` program. It implements [`Access`];
//! the connector opens it.

use std::sync::Arc;

use super::ssh::BuiltInSession;
use super::ssh_program::Master;
use super::target::Target;
use super::{Access, Connector, Pipe};
use crate::clock::Deadline;
use crate::model::HostFailure;

/// One authenticated connection to a host.
///
/// It stays open while an `SshSession` or one of its pipes exists.
#[derive(Debug, Clone)]
pub struct SshSession {
    client: Client,
    /// Host, as the operator named it.
    host: Arc<str>,
    /// Call of `ssh` for the host, as the operator would type it.
    call: Arc<str>,
    /// Connector and target for another connection to the host.
    again: Arc<(Connector, Target)>,
}

#[derive(Debug, Clone)]
enum Client {
    BuiltIn(BuiltInSession),
    Program { master: Arc<Master>, why: Arc<str> },
}

impl SshSession {
    pub(super) fn built_in(
        connector: &Connector,
        target: &Target,
        session: BuiltInSession,
    ) -> Self {
        Self::new(connector, target, Client::BuiltIn(session))
    }

    pub(super) fn program(
        connector: &Connector,
        target: &Target,
        master: Master,
        why: &str,
    ) -> Self {
        let client = Client::Program { master: Arc::new(master), why: why.into() };
        Self::new(connector, target, client)
    }

    fn new(connector: &Connector, target: &Target, client: Client) -> Self {
        // A prompt for a passphrase would disturb the output of the run.
        let again = Arc::new((connector.clone().without_prompts(), target.clone()));
        let (host, call) = (target.host.to_string().into(), target.manual_command().into());
        Self { client, host, call, again }
    }

    /// Returns the reason why the `ssh` program makes the connection. `None` for the built-in
    /// SSH.
    #[must_use]
    pub fn why_program(&self) -> Option<&str> {
        match &self.client {
            Client::BuiltIn(_) => None,
            Client::Program { why, .. } => Some(why),
        }
    }
}

impl Access for SshSession {
    fn exec(&self, command: &str, deadline: Deadline) -> Result<Pipe, HostFailure> {
        match &self.client {
            Client::BuiltIn(session) => session.exec(command, deadline),
            Client::Program { master, .. } => master.exec(command),
        }
    }

    fn set_deadline(&self, deadline: Option<Deadline>) {
        match &self.client {
            Client::BuiltIn(session) => session.set_deadline(deadline),
            Client::Program { master, .. } => master.set_deadline(deadline),
        }
    }

    fn is_cancelled(&self) -> bool {
        match &self.client {
            Client::BuiltIn(session) => session.is_cancelled(),
            Client::Program { master, .. } => master.is_cancelled(),
        }
    }

    fn service(&self) -> &'static str {
        "SSH"
    }

    fn host(&self) -> &str {
        &self.host
    }

    fn reports_signals(&self) -> bool {
        matches!(self.client, Client::BuiltIn(_))
    }

    fn reopen(&self, deadline: Deadline) -> Option<Result<Arc<dyn Access>, HostFailure>> {
        let (connector, target) = &*self.again;
        let session = connector.connect(target, deadline);
        Some(session.map(|session| Arc::new(session) as Arc<dyn Access>))
    }

    fn manual_command(&self, purpose: &str, command: &str) -> String {
        // The local shell must not interpret text that is for the shell of the host.
        let is_plain =
            command.chars().all(|c| c.is_ascii_alphanumeric() || " ,.:/=_@%+-".contains(c));
        let quoted = shlex::try_quote(command).ok().filter(|_| !is_plain);
        format!("{purpose}: {} {}", self.call, quoted.as_deref().unwrap_or(command))
    }
}
