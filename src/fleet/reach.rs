use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::remote_command::{self, Privilege};
use super::{Agent, Connector, Host, Nonce, Pipe, Program, Resolver, Session};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason, Via};

/// When the operator's own binary may be put on a node that has no rdmactl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadPolicy {
    /// Never.
    Never,
    /// Where no fitting rdmactl is in the PATH there.
    WhereMissing,
}

/// What a host may take, after its deadline, to have a silent agent killed.
const CLEAN_UP: Duration = Duration::from_secs(3);

/// What the upload may take beyond the host's deadline.
const UPLOAD: Duration = Duration::from_secs(60);

/// How long a session with a worker may last at most.
const LONGEST_RUN: Duration = Duration::from_secs(3_600);

/// The way from a host's name to an agent on it: configuration, SSH, the agent in its PATH, else
/// the uploaded one.
pub struct Reach {
    /// Tells how `ssh` would reach a host.
    pub resolver: Resolver,
    /// Opens SSH connections.
    pub connector: Connector,
    /// Whether to upload.
    pub upload: UploadPolicy,
    /// Login rights or root's.
    pub privilege: Privilege,
    /// How long a host may take from the first packet to its answer.
    pub timeout: Duration,
    own: OnceLock<Result<Arc<Program>, String>>,
}

impl Reach {
    /// A way that has been taken by nobody yet.
    #[must_use]
    pub fn new(
        resolver: Resolver,
        connector: Connector,
        upload: UploadPolicy,
        privilege: Privilege,
        timeout: Duration,
    ) -> Self {
        Self { resolver, connector, upload, privilege, timeout, own: OnceLock::new() }
    }

    /// An agent on the host, greeted; by the deadline of this host.
    ///
    /// # Errors
    /// The one reason why there is none, and what to do about it.
    pub fn agent(&self, host: &Host) -> Result<(Agent, Via), HostFailure> {
        let deadline = Deadline::after(self.timeout);
        let target = self.resolver.resolve(host)?;
        let session = self.connector.connect(&target, deadline)?;
        session.set_deadline(Deadline::after(deadline.remaining() + CLEAN_UP));
        let missing = match self.installed(&session, deadline) {
            Ok(agent) => return Ok((agent, Via::Agent)),
            Err(failure) => failure,
        };
        let may_help = matches!(missing.reason, Reason::NoAgent | Reason::AgentVersion);
        if self.upload == UploadPolicy::Never || !may_help {
            return Err(missing);
        }
        Ok((self.uploaded(&session, deadline)?, Via::Upload))
    }

    /// Lets an agent's session last for a whole run instead of one answer.
    pub fn prolong(agent: &Agent) {
        agent.set_deadline(Deadline::after(LONGEST_RUN));
    }

    fn installed(&self, session: &Session, deadline: Deadline) -> Result<Agent, HostFailure> {
        let nonce = fresh_nonce()?;
        let pipe =
            session.exec(&remote_command::installed_agent(nonce, self.privilege), deadline)?;
        greet(pipe, session, nonce, deadline)
    }

    fn uploaded(&self, session: &Session, deadline: Deadline) -> Result<Agent, HostFailure> {
        let own = self
            .own
            .get_or_init(|| Program::own().map(Arc::new).map_err(|error| error.to_string()));
        let program = own.as_ref().map_err(|error| {
            HostFailure::new(Reason::Transport, format!("cannot read this program: {error}"))
        })?;
        // The host's own deadline is for answers: a thin line may need longer for the program.
        let deadline = Deadline::after(deadline.remaining() + UPLOAD);
        session.set_deadline(Deadline::after(deadline.remaining() + CLEAN_UP));
        let nonce = fresh_nonce()?;
        let uploaded = program.upload(session, nonce, deadline)?;
        let command = remote_command::uploaded_agent(&uploaded, self.privilege);
        let pipe = session.exec(&command, deadline)?;
        greet(pipe, session, nonce, deadline)
    }
}

/// Waits for the greeting; an agent that was started and does not greet is killed.
fn greet(
    pipe: Pipe,
    session: &Session,
    nonce: Nonce,
    deadline: Deadline,
) -> Result<Agent, HostFailure> {
    let failure = match Agent::greet(pipe, Some(session.clone()), nonce, deadline) {
        Err(failure) if failure.reason == Reason::Timeout => failure,
        other => return other,
    };
    let limit = Deadline::after(CLEAN_UP);
    let killed = session.exec(&remote_command::kill_unseen(nonce), limit).and_then(|pipe| {
        pipe.close_input();
        pipe.wait(limit)
    });
    match killed {
        Ok(exit) if exit.is_success() => {
            let detail = "the agent was started and did not run, though the SSH service did; it \
                          has been killed";
            Err(HostFailure::new(Reason::Hung, detail)
                .fix("look for stopped or swapped-out processes there: ps -o stat,wchan"))
        }
        _ => Err(failure),
    }
}

fn fresh_nonce() -> Result<Nonce, HostFailure> {
    Nonce::new().map_err(|error| {
        HostFailure::new(Reason::Transport, format!("no random numbers on this host: {error}"))
    })
}
