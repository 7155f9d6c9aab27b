//! Login to a host: from a target to an authenticated session.

use std::net::SocketAddr;
use std::sync::Arc;

use super::attempt::{self, AttemptError, LoginStage};
use super::connection::Helper;
use super::pre_banner::PreBanner;
use super::session_io::SessionIo;
use super::{auth, connection, libssh2_error, tcp, verify};
use crate::clock::Deadline;
use crate::fleet::client_choice::{LoginFailure, MissingFeature};
use crate::fleet::jump_hosts::JumpHosts;
use crate::fleet::known_hosts::{AcceptedKeys, KnownHosts};
use crate::fleet::login_limits::{RETRIES, SshTimeouts, jitter};
use crate::fleet::quote::quote;
use crate::fleet::{SshRoute, Target, Watchdog, fault};
use crate::hosts::Host;
use crate::model::{HostFailure, Reason};

pub(in crate::fleet) struct Login {
    pub(in crate::fleet) target: Target,
    pub(in crate::fleet) known_hosts: Arc<KnownHosts>,
    pub(in crate::fleet) accepted: Arc<AcceptedKeys>,
    pub(in crate::fleet) watchdog: Watchdog,
    pub(in crate::fleet) jumps: Arc<JumpHosts>,
    pub(in crate::fleet) limits: SshTimeouts,
    pub(in crate::fleet) deadline: Deadline,
    pub(in crate::fleet) stage: LoginStage,
}

impl Login {
    pub(super) fn run(&self) -> Result<SessionIo, LoginFailure> {
        let addresses = match self.target.route {
            SshRoute::Direct => tcp::resolve(&self.target)?,
            // The jump host or the proxy command resolves the name.
            _ => Vec::new(),
        };
        let mut done = 0;
        loop {
            match self.attempt(&addresses) {
                Ok(io) => return Ok(io),
                Err(AttemptError::Final(refusal)) => return Err(refusal),
                Err(AttemptError::Closed { refusal, retries }) => {
                    let pause = jitter();
                    if done >= retries || self.deadline.remaining() < pause {
                        return Err(refusal);
                    }
                    done += 1;
                    if self.watchdog.wait_cancelled(pause) {
                        return Err(fault::cancelled().into());
                    }
                }
            }
        }
    }

    fn attempt(&self, addresses: &[SocketAddr]) -> Result<SessionIo, AttemptError> {
        self.stage.at("TCP connection");
        let limit = self.target.connect_timeout.unwrap_or(self.limits.connect);
        let by = Deadline::after(limit).earlier(self.deadline);
        let connection = connection::open(
            &self.target,
            addresses,
            &self.watchdog,
            &self.jumps,
            by,
            self.deadline,
        )
        .map_err(|failure| self.unless_cancelled(failure))?;
        let by = Deadline::after(self.limits.login).earlier(self.deadline);
        let guard = self.watchdog.guard(&connection.socket, by).map_err(fault::local)?;
        let mut io = SessionIo::new(connection, guard).map_err(fault::local)?;
        self.handshake(&mut io)?;
        auth::authenticate(&mut io, &self.target, &self.stage).map_err(|ended| match ended {
            AttemptError::Closed { .. } if !io.is_expired() => ended,
            AttemptError::Final(refusal) | AttemptError::Closed { refusal, .. } => {
                let failure = self.in_time(&io, refusal.failure);
                AttemptError::Final(LoginFailure { failure, ..refusal })
            }
        })?;
        io.guard.set(self.deadline);
        Ok(io)
    }

    fn handshake(&self, io: &mut SessionIo) -> Result<(), AttemptError> {
        self.stage.at("SSH handshake");
        let lookup = verify::lookup(&self.target);
        let record = self.known_hosts.of(&lookup);
        if let Err(option) = verify::offer(io, &self.target.algorithms, &record) {
            let detail = format!("the built-in SSH has nothing of {option} in the configuration");
            let failure = HostFailure::new(Reason::Transport, detail)
                .fix(format!("test the login: {}", self.target.manual_command()));
            let missing = vec![MissingFeature::Algorithm];
            return Err(AttemptError::Final(LoginFailure { failure, missing }));
        }
        if let Err(error) = io.drive(ssh2::Session::handshake) {
            let greeting = &io.greeting;
            if greeting.is_garbage() {
                return Err(garbage(greeting, &self.target).into());
            }
            if libssh2_error::is_closed(&error) && !io.is_expired() && !greeting.speaks_ssh {
                return Err(match &io.helper {
                    // The jump host reports its own error.
                    Some(helper) if greeting.words().is_empty() => {
                        helper.why_closed(&self.target).into()
                    }
                    _ => {
                        let refusal = closed(greeting, &self.target.host).into();
                        AttemptError::Closed { refusal, retries: RETRIES }
                    }
                });
            }
            let lack = libssh2_error::is_no_algorithm(&error).then_some(MissingFeature::Algorithm);
            let missing = lack.into_iter().collect();
            if io.is_ended && !io.is_expired() {
                let when = "during the SSH handshake";
                let failure = attempt::closed_during_login(Reason::Transport, when, &self.target);
                return Err(AttemptError::closed_after_banner(LoginFailure { failure, missing }));
            }
            let failure =
                self.in_time(io, libssh2_error::handshake(&error, &self.target.manual_command()));
            return Err(AttemptError::Final(LoginFailure { failure, missing }));
        }
        Ok(verify::check(io, &self.target, &lookup, &record, &self.accepted)?)
    }

    /// Returns the failure, or a timeout if the watchdog ended the step.
    fn in_time(&self, io: &SessionIo, failure: HostFailure) -> HostFailure {
        if io.is_expired() {
            let behind = io.helper.as_ref().map_or_else(String::new, Helper::behind);
            let step = format!("{}{behind}", self.stage.name());
            return self.unless_cancelled(fault::timeout(&step, &self.target.manual_command()));
        }
        failure
    }

    fn unless_cancelled(&self, failure: HostFailure) -> HostFailure {
        if self.watchdog.is_cancelled() { fault::cancelled() } else { failure }
    }
}

fn closed(greeting: &PreBanner, host: &Host) -> HostFailure {
    let words = greeting.words();
    let detail = match words.as_str() {
        "" => "the host closed the connection before its SSH banner".to_owned(),
        words => format!("the host closed the connection with the message {}", quote(words)),
    };
    HostFailure::new(Reason::Refused, detail)
        .fix(format!(
            "on {host}, check the log of sshd for MaxStartups and PerSourcePenalties: journalctl -u ssh -u sshd"
        ))
}

fn garbage(greeting: &PreBanner, target: &Target) -> HostFailure {
    let Target { host, port, .. } = target;
    let words = quote(&greeting.words());
    let detail = format!("no SSH server on port {port}; its output begins with {words}");
    HostFailure::new(Reason::Garbage, detail).fix(format!(
        "on {host}, list the program that listens on the port: ss -ltnp sport = :{port}"
    ))
}
