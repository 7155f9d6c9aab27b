//! SSH sessions of a run, each with the client that its host needs: the built-in SSH, the `ssh`
//! program, or an open connection of the operator.
//!
//! [`AgentStarter`](super::AgentStarter) connects through the [`Connector`]. An [`SshSession`] is
//! the [`Access`] to a host over SSH. It can open another session to the same host.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use parking_lot::Mutex;

use super::jump_hosts::JumpHosts;
use super::key_unlocker::KeyUnlocker;
use super::known_hosts::{AcceptedKeys, KnownHosts};
use super::ssh::{self, BuiltInSession, Login, LoginStage};
use super::ssh_program::{Master, NewMaster, PROGRAM_LOGIN, SocketDirectory};
use super::{
    Access, HostResult, Pipe, SshClient, SshTimeouts, Target, Watchdog, client_choice, fault,
};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};

/// Opens the connections of a run, each with the SSH client that its host needs.
#[derive(Debug, Clone)]
pub struct Connector {
    watchdog: Watchdog,
    limits: SshTimeouts,
    known_hosts: Arc<Mutex<HashMap<Vec<PathBuf>, Arc<KnownHosts>>>>,
    accepted: Arc<AcceptedKeys>,
    sockets: Arc<SocketDirectory>,
    jumps: Arc<JumpHosts>,
    /// `None` if no passphrase may be asked for.
    unlock: Option<Arc<KeyUnlocker>>,
}

impl Connector {
    /// Creates a connector. Cancelling the watchdog ends all connections.
    pub fn new(watchdog: Watchdog, limits: SshTimeouts) -> Self {
        let sockets = Arc::<SocketDirectory>::default();
        let jumps = JumpHosts::new(watchdog.clone(), limits, Arc::clone(&sockets));
        let unlock = Some(Arc::new(KeyUnlocker::new(Arc::clone(&sockets), watchdog.clone())));
        Self {
            watchdog,
            limits,
            known_hosts: Arc::default(),
            accepted: Arc::default(),
            unlock,
            sockets,
            jumps: Arc::new(jumps),
        }
    }

    /// Turns off passphrase prompts, because the terminal is used for other output.
    pub fn without_prompts(self) -> Self {
        Self { unlock: None, ..self }
    }

    /// Returns the watchdog of all connections.
    pub fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// Asks for a passphrase on the terminal if the host has only encrypted keys, once per key.
    /// Returns the time that this took, which does not count against the deadline of the host.
    pub fn unlock(&self, target: &mut Target) -> Duration {
        self.unlock.as_ref().map_or(Duration::ZERO, |unlock| unlock.prepare(target))
    }

    /// Opens a connection, verifies the host key, and authenticates. The connection is shut down
    /// at the deadline, unless `set_deadline` moves the deadline.
    ///
    /// # Errors
    /// The failure has the reason why there is no connection, and a fix.
    pub fn connect(&self, target: &Target, deadline: Deadline) -> HostResult<SshSession> {
        match &target.client {
            SshClient::BuiltIn => {}
            SshClient::Program(why) => return self.by_program(target, why, deadline),
            SshClient::Borrowed(socket) => {
                let call = target.call.clone().ok_or_else(no_program)?;
                let watchdog = self.watchdog.clone();
                let master = Master::borrowed(call, socket.clone(), watchdog, deadline);
                let why = format!("an open connection exists at ControlPath {}", socket.display());
                return Ok(self.session(target, Client::program(master, why)));
            }
        }
        let login = Login {
            target: target.clone(),
            known_hosts: self.known_hosts(&target.known_hosts)?,
            accepted: Arc::clone(&self.accepted),
            watchdog: self.watchdog.clone(),
            jumps: Arc::clone(&self.jumps),
            limits: self.limits,
            deadline,
            stage: LoginStage::default(),
        };
        let opened = ssh::open(login).map(|opened| self.session(target, Client::BuiltIn(opened)));
        opened.or_else(|refusal| {
            match client_choice::after_failure(&refusal, &target.other_logins) {
                Some(why) if target.call.is_some() => self.by_program(target, &why, deadline),
                _ => Err(refusal.failure),
            }
        })
    }

    fn session(&self, target: &Target, client: Client) -> SshSession {
        // A prompt for a passphrase would disturb the output of the run.
        let connector = self.clone().without_prompts();
        let (host, target) = (target.host.to_string(), target.clone());
        SshSession { client, host, connector, target }
    }

    /// Removes the directory of the sockets and ends the `ssh-agent`. No connection works then.
    pub(super) fn end(&self) {
        if let Some(unlock) = &self.unlock {
            unlock.end();
        }
        self.sockets.remove();
    }

    fn by_program(&self, target: &Target, why: &str, deadline: Deadline) -> HostResult<SshSession> {
        let connect_timeout = target.connect_timeout.unwrap_or(self.limits.connect);
        let opening = NewMaster {
            call: target.call.clone().ok_or_else(no_program)?,
            watchdog: self.watchdog.clone(),
            sockets: Arc::clone(&self.sockets),
            connect_timeout,
            login_deadline: Deadline::after(connect_timeout + self.limits.login).earlier(deadline),
            until: Some(deadline),
        };
        let (opened, answer) = mpsc::sync_channel(1);
        opening.start(move |result| {
            // The receiver is gone only if this call was given up.
            let _ = opened.send(result);
        })?;
        // The watchdog ends the login, so that a reply always arrives.
        let master = answer
            .recv()
            .map_err(|_gone| fault::timeout(PROGRAM_LOGIN, &target.manual_command()))?;
        let master = master.map_err(|failure| {
            client_choice::with_setting(failure, &target.manual_configuration())
        })?;
        Ok(self.session(target, Client::program(master, why.to_owned())))
    }

    fn known_hosts(&self, files: &[PathBuf]) -> HostResult<Arc<KnownHosts>> {
        let mut read = self.known_hosts.lock();
        if let Some(known) = read.get(files) {
            return Ok(Arc::clone(known));
        }
        let known = KnownHosts::read(files).map(Arc::new).map_err(|error| {
            let file = error.file.display();
            let fix = format!(
                "check the owner and mode of the file, which may hold the key of the host: ls -l {file}"
            );
            HostFailure::new(Reason::HostkeyUnknown, error.to_string()).fix(fix)
        })?;
        read.insert(files.to_vec(), Arc::clone(&known));
        Ok(known)
    }
}

fn no_program() -> HostFailure {
    let detail = "the host needs the ssh program, which is not in the PATH of this machine";
    HostFailure::new(Reason::Transport, detail)
        .fix("install OpenSSH: apt install openssh-client; dnf install openssh-clients")
}

/// Authenticated connection to a host, which stays open while this or one of its pipes exists.
#[derive(Debug)]
pub struct SshSession {
    client: Client,
    host: String,
    connector: Connector,
    target: Target,
}

#[derive(Debug)]
enum Client {
    BuiltIn(BuiltInSession),
    Program { master: Arc<Master>, why: String },
}

impl Client {
    fn program(master: Master, why: String) -> Self {
        Self::Program { master: Arc::new(master), why }
    }
}

impl SshSession {
    /// Returns the reason why the `ssh` program makes the connection, if it does.
    pub fn why_program(&self) -> Option<&str> {
        let Client::Program { why, .. } = &self.client else { return None };
        Some(why)
    }
}

impl Access for SshSession {
    fn exec(&self, command: &str, deadline: Deadline) -> HostResult<Pipe> {
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
        self.connector.watchdog.is_cancelled()
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

    fn reopen(&self, deadline: Deadline) -> Option<HostResult<Arc<dyn Access>>> {
        let session = self.connector.connect(&self.target, deadline);
        Some(session.map(|session| Arc::new(session) as Arc<dyn Access>))
    }

    fn manual_command(&self, purpose: &str, command: &str) -> String {
        // The local shell must not interpret text that is for the shell of the host.
        let is_plain =
            command.chars().all(|c| c.is_ascii_alphanumeric() || " ,.:/=_@%+-".contains(c));
        let quoted = shlex::try_quote(command).ok().filter(|_| !is_plain);
        let call = self.target.manual_command();
        format!("{purpose}: {call} {}", quoted.as_deref().unwrap_or(command))
    }
}
