//! Starts an agent on a host, or its shell, from the name of the host.
//!
//! This module resolves the host, opens the access, starts the installed agent, and uploads the
//! program if it is missing. The commands that query many hosts use [`AgentStarter`].

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::access::fresh_nonce;
use super::agent::diagnosis::{LIST_STOPPED, STOPPED};
use super::programs::Programs;
use super::remote_command::{self, Privilege};
use super::time_limit::{self, CLEAN_UP, KILL, MORE_TIME, REMOVE, UPLOAD};
use super::{
    Access, Agent, CleanupFailure, Connector, Exit, HostReader, HostResult, Launcher, NoGreeting,
    Nonce, Pipe, Resolver, Shell, Uploaded,
};
use crate::clock::{self, Deadline};
use crate::hosts::Host;
use crate::model::{HostFailure, Reason, Via};

/// Condition for uploading the operator's own binary to a node without rdmactl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadPolicy {
    /// No upload.
    Never,
    /// Upload if the PATH of the node has no rdmactl of a usable version.
    WhereMissing,
}

/// Message to the operator while a host is being reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartNotice {
    /// The upload of the operator's own binary begins.
    Uploading {
        /// Size of the binary.
        bytes: usize,
        /// Reason why no installed program can be used.
        why: String,
    },
    /// The system's `ssh` program makes the connection.
    ByProgram {
        /// Feature that the built-in SSH lacks for this host.
        why: String,
    },
    /// The host has no program to check the SHA-256 of the uploaded file.
    Unchecked,
}

/// Agent or [`HostReader`] of a host, and how the host was reached.
pub struct ReachedHost<T> {
    /// Agent or [`HostReader`] of the host.
    pub what: T,
    /// Method that reached the host: installed agent, uploaded agent or shell.
    pub via: Via,
    /// Deadline for the reply of the host. The time of an upload is not counted.
    pub deadline: Deadline,
}

/// Function that shows a notice about a host to the operator. Any thread may call it.
pub type NoticeHandler = Box<dyn Fn(&Host, &StartNotice) + Send + Sync>;

/// Steps from the name of a host to an agent: SSH configuration, connection, installation,
/// upload.
pub struct AgentStarter {
    /// Reader of the SSH configuration.
    pub resolver: Resolver,
    /// Opener of SSH connections.
    pub connector: Connector,
    /// Condition for uploads.
    pub upload: UploadPolicy,
    /// Rights of the agent.
    pub privilege: Privilege,
    /// Time limit of one host, from the first packet to the reply.
    pub timeout: Duration,
    /// Launcher of the commands on hosts.
    pub launcher: Launcher,
    notify: NoticeHandler,
    programs: Programs,
}

impl AgentStarter {
    /// Returns an `AgentStarter` that uses SSH and has not been used yet.
    pub fn new(
        resolver: Resolver,
        connector: Connector,
        upload: UploadPolicy,
        privilege: Privilege,
        timeout: Duration,
        notify: NoticeHandler,
    ) -> Self {
        let (programs, launcher) = (Programs::default(), Launcher::Ssh);
        Self { resolver, connector, upload, privilege, timeout, launcher, notify, programs }
    }

    /// Starts an agent on the host, or on this machine if `host` is `None`.
    pub(super) fn agent(&self, host: Option<&Host>) -> HostResult<ReachedHost<Agent>> {
        if let Some(host) = host {
            return self.enter(host, |_, _, missing| Err(missing));
        }
        let nonce = fresh_nonce()?;
        let mut command = Command::new("/proc/self/exe");
        command.args(["agent", &nonce.to_string()]);
        let deadline = Deadline::after(self.timeout);
        let what = Agent::start_local(command, nonce, self.connector.watchdog(), deadline)?;
        Ok(ReachedHost { what, via: Via::Local, deadline })
    }

    /// Returns an agent on the host, or the shell of a host without an agent.
    ///
    /// # Errors
    /// The failure has the reason why neither started, and a fix.
    pub fn host_reader(&self, host: &Host) -> HostResult<ReachedHost<HostReader>> {
        let began = clock::now();
        let found = self.enter(host, |session, deadline, missing| {
            let nonce = fresh_nonce()?;
            let shell = Shell::start(session, nonce, self.privilege, deadline)?;
            let what = HostReader::Shell(Box::new(shell), missing);
            Ok(ReachedHost { what, via: Via::Shell, deadline })
        });
        found.map_err(|failure| self.suggest_time(failure, began.elapsed()))
    }

    /// Adds a longer time limit to the fix of a failure. The limit is at least twice the limit of
    /// this run, and twice the time that the host took.
    pub fn suggest_time(&self, failure: HostFailure, taken: Duration) -> HostFailure {
        time_limit::suggest(failure, self.timeout, taken)
    }

    /// Returns an agent on the host. `otherwise` is called for a host without an agent.
    fn enter<T: From<Agent>>(
        &self,
        host: &Host,
        otherwise: impl Fn(&Arc<dyn Access>, Deadline, HostFailure) -> HostResult<ReachedHost<T>>,
    ) -> HostResult<ReachedHost<T>> {
        let mut deadline = Deadline::after(self.timeout);
        let session = self.access(host, &mut deadline)?;
        session.set_deadline(Some(Deadline::after(deadline.remaining() + CLEAN_UP)));
        let started = session.installed_agent(self.privilege, deadline);
        let greeted = started
            .and_then(|(pipe, nonce)| greet(&session, pipe, nonce, self.privilege, deadline));
        let missing = match greeted {
            Ok(agent) => return Ok(ReachedHost { what: agent.into(), via: Via::Agent, deadline }),
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
        let nonce = uploaded.nonce;
        let started = session.uploaded_agent(&uploaded, self.privilege, deadline);
        match started.and_then(|pipe| greet(&session, pipe, nonce, self.privilege, deadline)) {
            Ok(agent) => Ok(ReachedHost { what: agent.into(), via: Via::Upload, deadline }),
            // An agent removes its file before its greeting. Without one, the file may exist.
            Err(failure) => Err(match uploaded.remove(&*session, Deadline::after(REMOVE)) {
                Ok(()) => failure,
                Err(left) => left.add_to(failure),
            }),
        }
    }

    /// Opens an access to the host. Waiting for input of the operator extends the deadline.
    fn access(&self, host: &Host, deadline: &mut Deadline) -> HostResult<Arc<dyn Access>> {
        match &self.launcher {
            Launcher::Ssh => {
                let mut target = self.resolver.resolve(host, self.connector.watchdog())?;
                let asked = self.connector.unlock(&mut target);
                *deadline = Deadline::after(deadline.remaining() + asked);
                let session = self.connector.connect(&target, *deadline)?;
                if let Some(why) = session.why_program() {
                    (self.notify)(host, &StartNotice::ByProgram { why: why.to_owned() });
                }
                Ok(Arc::new(session))
            }
            Launcher::Slurm(job) => job.access(host),
            Launcher::Exec(template) => template.access(host, self.connector.watchdog()),
        }
    }

    /// Uploads the program of this release that matches the machine type of the host.
    fn bring(
        &self,
        host: &Host,
        session: &dyn Access,
        left: Duration,
        missing: HostFailure,
    ) -> HostResult<Uploaded> {
        let program = self.programs.of(session, fresh_nonce()?, Deadline::after(left))?;
        (self.notify)(host, &StartNotice::Uploading { bytes: program.size(), why: missing.detail });
        // The deadline of the host is for replies. An upload over a slow connection takes longer.
        let deadline = Deadline::after(left + UPLOAD);
        session.set_deadline(Some(Deadline::after(deadline.remaining() + CLEAN_UP)));
        let uploaded = program.upload(session, fresh_nonce()?, deadline)?;
        if uploaded.is_hash_unchecked {
            (self.notify)(host, &StartNotice::Unchecked);
        }
        Ok(uploaded)
    }

    /// Removes the sockets and the `ssh-agent` of this run. No host can be reached afterward. A
    /// drop does so, too, but a thread that owns this may end with the process before.
    pub fn end(&self) {
        self.connector.end();
    }
}

impl Drop for AgentStarter {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the greeting of an agent that was started, and kills an agent that sends none. A
/// login shell that did not run the command would not run a kill command either. The kill command
/// would stay there as a second process.
fn greet(
    session: &Arc<dyn Access>,
    pipe: Pipe,
    nonce: Nonce,
    privilege: Privilege,
    deadline: Deadline,
) -> HostResult<Agent> {
    let greeted = Agent::await_greeting(session, pipe, nonce, privilege, deadline);
    let NoGreeting { failure, running } = match greeted {
        Ok(agent) => return Ok(agent),
        Err(silent) => silent,
    };
    let Some(started) = running else { return Err(failure) };
    let kill = remote_command::kill_unseen(nonce, started.leader(), privilege);
    match session.run(&kill, Deadline::after(KILL)) {
        Ok(exit) if exit.is_success() && failure.reason != Reason::Timeout => Err(failure),
        Ok(exit) if exit.is_success() => {
            let service = session.service();
            let detail =
                format!("{}; {service} responds, and rdmactl killed the agent", failure.detail);
            let fix = session.manual_command(STOPPED, LIST_STOPPED);
            Err(HostFailure::new(Reason::Hung, detail).fix(format!("{fix}; or {MORE_TIME}")))
        }
        // The agent ended by itself.
        Ok(Exit { status: Some(3), .. }) => Err(failure),
        outcome => {
            let doubt = outcome.map_or_else(|failure| failure.detail, |exit| exit.to_string());
            let doubt = format!("the kill command failed: {doubt}");
            let access = Some((&**session, privilege));
            Err(CleanupFailure::agent(access, Some(started.pid), Some(&doubt)).add_to(failure))
        }
    }
}
