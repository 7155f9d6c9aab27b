use std::sync::Arc;
use std::time::Duration;

use super::access::fresh_nonce;
use super::agent::fate::{LIST_STOPPED, STOPPED};
use super::programs::Programs;
use super::remote_command::{self, Privilege};
use super::time_limit::{self, MORE_TIME};
use super::{
    Access, Agent, Connector, Exit, Host, Launcher, Leftover, Nonce, Observer, Pipe, Resolver,
    Shell, Silent, Uploaded,
};
use crate::clock::{self, Deadline};
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
const CLEAN_UP: Duration = Duration::from_secs(4);

/// How long killing an agent that never greeted may take.
const KILL: Duration = Duration::from_secs(2);

/// How long removing an uploaded program may take.
const REMOVE: Duration = Duration::from_secs(2);

/// Time that a host may take after its deadline until its failure is known.
pub(in crate::fleet) const AFTER_DEADLINE: Duration =
    CLEAN_UP.saturating_add(KILL).saturating_add(REMOVE);

/// What the upload may take beyond the host's deadline.
const UPLOAD: Duration = Duration::from_secs(60);

/// What the operator is told on the way to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The operator's own binary is about to be sent.
    Sending {
        /// Its size.
        bytes: usize,
        /// Why no installed one will do.
        why: String,
    },
    /// The system's `ssh` program makes the connection.
    ByProgram {
        /// What the built-in SSH lacks for it.
        why: String,
    },
    /// The host has no program that could check the SHA-256 of what arrived.
    Unchecked,
}

/// What answered, and how.
pub struct Reached<T> {
    /// An agent, or what else tells of a host.
    pub what: T,
    /// Whether it was found there or brought.
    pub via: Via,
    /// By when the host must have given its answer. The time of an upload is not counted.
    pub deadline: Deadline,
}

/// Tells the operator something about a host, from any thread.
pub type Tell = Box<dyn Fn(&Host, &Notice) + Send + Sync>;

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
    /// What starts commands on hosts.
    pub launcher: Launcher,
    tell: Tell,
    programs: Programs,
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
        tell: Tell,
    ) -> Self {
        let (programs, launcher) = (Programs::default(), Launcher::Ssh);
        Self { resolver, connector, upload, privilege, timeout, launcher, tell, programs }
    }

    /// The same by another launcher than SSH.
    #[must_use]
    pub fn by(mut self, launcher: Launcher) -> Self {
        self.launcher = launcher;
        self
    }

    /// An agent on the host, greeted; by the deadline of this host.
    ///
    /// # Errors
    /// The one reason why there is none, and what to do about it.
    pub fn agent(&self, host: &Host) -> Result<Reached<Agent>, HostFailure> {
        let began = clock::now();
        let found = self.enter(host, |_, _, missing| Err(missing));
        found.map_err(|failure| self.suggest_time(failure, began.elapsed()))
    }

    /// What tells of the host: an agent, or where there is none its shell.
    ///
    /// # Errors
    /// The one reason why there is neither, and what to do about it.
    pub fn observer(&self, host: &Host) -> Result<Reached<Observer>, HostFailure> {
        let began = clock::now();
        let found = self.enter(host, |session, deadline, missing| {
            let nonce = fresh_nonce()?;
            let shell = Shell::start(session, nonce, self.privilege, deadline)?;
            let what = Observer::Shell(Box::new(shell), missing);
            Ok(Reached { what, via: Via::Shell, deadline })
        });
        found.map_err(|failure| self.suggest_time(failure, began.elapsed()))
    }

    /// Returns a failure of a host with a time limit in its fix that is at least twice the limit of
    /// this run, and twice the time that the host took.
    #[must_use]
    pub fn suggest_time(&self, failure: HostFailure, taken: Duration) -> HostFailure {
        time_limit::suggest(failure, self.timeout, taken)
    }

    /// An agent on the host, or what `otherwise` makes of a host that has none.
    fn enter<T: From<Agent>>(
        &self,
        host: &Host,
        otherwise: impl Fn(&Arc<dyn Access>, Deadline, HostFailure) -> Result<Reached<T>, HostFailure>,
    ) -> Result<Reached<T>, HostFailure> {
        let mut deadline = Deadline::after(self.timeout);
        let session = self.access(host, &mut deadline)?;
        session.set_deadline(Some(Deadline::after(deadline.remaining() + CLEAN_UP)));
        let missing = match self.installed(&session, deadline) {
            Ok(agent) => return Ok(Reached { what: agent.into(), via: Via::Agent, deadline }),
            Err(failure) => failure,
        };
        if !matches!(missing.reason, Reason::NoAgent | Reason::AgentVersion) {
            return Err(missing);
        }
        if self.upload == UploadPolicy::Never {
            return otherwise(&session, deadline, missing);
        }
        let left = deadline.remaining();
        let uploaded = self.bring(host, &*session, left, missing)?;
        let deadline = Deadline::after(left);
        session.set_deadline(Some(Deadline::after(left + CLEAN_UP)));
        let nonce = uploaded.nonce();
        let started = session.uploaded_agent(&uploaded, self.privilege, deadline);
        match started.and_then(|pipe| greet(&session, pipe, nonce, self.privilege, deadline)) {
            Ok(agent) => Ok(Reached { what: agent.into(), via: Via::Upload, deadline }),
            // It removes itself before it greets: one that did not may lie there still.
            Err(failure) => Err(match uploaded.remove(&*session, Deadline::after(REMOVE)) {
                Ok(()) => failure,
                Err(left) => left.add_to(failure),
            }),
        }
    }

    /// What starts commands on the host; the time of a question to the operator is not the host's.
    fn access(&self, host: &Host, deadline: &mut Deadline) -> Result<Arc<dyn Access>, HostFailure> {
        match &self.launcher {
            Launcher::Ssh => {
                let mut target = self.resolver.resolve(host, self.connector.watchdog())?;
                let asked = self.connector.unlock(&mut target);
                *deadline = Deadline::after(deadline.remaining() + asked);
                let session = self.connector.connect(&target, *deadline)?;
                if let Some(why) = session.why_program() {
                    (self.tell)(host, &Notice::ByProgram { why: why.to_owned() });
                }
                Ok(Arc::new(session))
            }
            Launcher::Slurm(job) => job.access(host),
            Launcher::Exec(template) => template.access(host, self.connector.watchdog()),
        }
    }

    fn installed(
        &self,
        session: &Arc<dyn Access>,
        deadline: Deadline,
    ) -> Result<Agent, HostFailure> {
        let (pipe, nonce) = session.installed_agent(self.privilege, deadline)?;
        greet(session, pipe, nonce, self.privilege, deadline)
    }

    /// Puts the program of this release on the host that its machine can run.
    fn bring(
        &self,
        host: &Host,
        session: &dyn Access,
        left: Duration,
        missing: HostFailure,
    ) -> Result<Uploaded, HostFailure> {
        let program = self.programs.of(session, fresh_nonce()?, Deadline::after(left))?;
        (self.tell)(host, &Notice::Sending { bytes: program.size(), why: missing.detail });
        // The host's own deadline is for answers: a thin line may need longer for the program.
        let deadline = Deadline::after(left + UPLOAD);
        session.set_deadline(Some(Deadline::after(deadline.remaining() + CLEAN_UP)));
        let uploaded = program.upload(session, fresh_nonce()?, deadline)?;
        if uploaded.is_hash_unchecked {
            (self.tell)(host, &Notice::Unchecked);
        }
        Ok(uploaded)
    }

    /// Removes what it has on this machine: nobody is to be reached any more.
    ///
    /// Dropping it does so, too. But where threads have it, the last of them may be cut off by the end
    /// of this process.
    pub fn end(&self) {
        self.connector.end();
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the greeting of an agent that was started; what still runs without a greeting is
/// killed.
///
/// A login shell that did not run the command runs no kill command either, and would be left there
/// twice.
fn greet(
    session: &Arc<dyn Access>,
    pipe: Pipe,
    nonce: Nonce,
    privilege: Privilege,
    deadline: Deadline,
) -> Result<Agent, HostFailure> {
    let silent = match Agent::there(session, pipe, nonce, privilege, deadline) {
        Ok(agent) => return Ok(agent),
        Err(silent) => silent,
    };
    let Silent { failure, running } = silent;
    let Some(started) = running else { return Err(failure) };
    let kill = remote_command::kill_unseen(nonce, started.leader(), privilege);
    match session.run(&kill, Deadline::after(KILL)) {
        Ok(exit) if exit.is_success() && failure.reason != Reason::Timeout => Err(failure),
        Ok(exit) if exit.is_success() => {
            let service = session.service();
            let detail =
                format!("{}; {service} responds, and rdmactl killed the agent", failure.detail);
            let fix = session.by_hand(STOPPED, LIST_STOPPED);
            Err(HostFailure::new(Reason::Hung, detail).fix(format!("{fix}; or {MORE_TIME}")))
        }
        // It ended by itself.
        Ok(Exit { status: Some(3), .. }) => Err(failure),
        outcome => {
            let doubt = outcome.map_or_else(|failure| failure.detail, |exit| exit.to_string());
            let doubt = format!("the kill command failed: {doubt}");
            let access = Some((&**session, privilege));
            Err(Leftover::agent(access, Some(started.pid), Some(&doubt)).add_to(failure))
        }
    }
}
