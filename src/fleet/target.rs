//! Connection parameters of a host, from the effective configuration that `ssh -G` prints.
//!
//! [`AgentStarter`](super::AgentStarter) resolves each host to a [`Target`] here.

mod config_cache;
mod from_config;
mod lines;
mod route;
mod tokens;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::local::query_tool;
use super::{Algorithms, HostResult, SshCall, SshConfig, Watchdog};
use crate::clock::Deadline;
use crate::hosts::Host;
use crate::model::{HostFailure, Reason};

pub use config_cache::SshConfigCache;
pub use route::SshRoute;

/// Timeout of `ssh -G` and `ssh -O check`. Neither command connects to the host. `ssh -G` may
/// wait for DNS (`CanonicalizeHostname`) and for commands of the configuration (`Match exec`).
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Handling of a host key that is in no `known_hosts` file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKeyPolicy {
    /// Refuse the key.
    Strict,
    /// Accept the key and record it. Refuse a changed key.
    AcceptNew,
    /// Accept the key, even a changed one (`StrictHostKeyChecking no`).
    Off,
}

/// Address families that may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFamily {
    /// IPv4 and IPv6.
    Any,
    /// IPv4 only.
    Inet,
    /// IPv6 only.
    Inet6,
}

/// Parameters of the connection to one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Host as the operator named it.
    pub host: Host,
    /// Name or address to connect to (`HostName`).
    pub address: String,
    /// TCP port.
    pub port: u16,
    /// Login name.
    pub user: String,
    /// Key files to offer. Files that do not exist are skipped.
    pub identity_files: Vec<PathBuf>,
    /// Certificates, in addition to the `-cert.pub` file of each key file.
    pub certificate_files: Vec<PathBuf>,
    /// Socket of the `ssh-agent` that may be used.
    pub agent: Option<PathBuf>,
    /// True if only the agent keys of `identity_files` are offered.
    pub identities_only: bool,
    /// The `known_hosts` files, the user's files before the system's.
    pub known_hosts: Vec<PathBuf>,
    /// File in which a new host is recorded: the first `known_hosts` file of the user, if any.
    pub record_in: Option<PathBuf>,
    /// Handling of an unknown host key.
    pub host_keys: HostKeyPolicy,
    /// True if the names of new hosts are recorded as hashes.
    pub hash_known_hosts: bool,
    /// Name to look up in the `known_hosts` files instead of the address.
    pub host_key_alias: Option<String>,
    /// Timeout of the TCP connection, from the configuration.
    pub connect_timeout: Option<Duration>,
    /// Address families that may be used.
    pub family: AddressFamily,
    /// Route to the host.
    pub route: SshRoute,
    /// SSH client for the host.
    pub client: SshClient,
    /// Options of the configuration for logins that only the `ssh` program supports.
    pub other_logins: Vec<&'static str>,
    /// Algorithms and key sizes that the configuration allows.
    pub algorithms: Algorithms,
    /// Arguments of the `ssh` program for the host. `None` on a machine without `ssh`.
    pub call: Option<SshCall>,
}

impl Target {
    /// Returns the `ssh` call for the host, as the operator would type it.
    pub fn manual_command(&self) -> String {
        self.call.as_ref().map_or_else(|| format!("ssh {}", self.host), SshCall::manual_command)
    }

    /// Returns the command that prints the effective configuration of the host, as the operator
    /// would type it.
    pub fn manual_configuration(&self) -> String {
        let call = self.call.as_ref();
        call.map_or_else(|| format!("ssh -G {}", self.host), SshCall::manual_configuration)
    }
}

/// SSH client for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SshClient {
    /// libssh2, which is linked into rdmactl. If the login fails because libssh2 lacks a feature,
    /// the `ssh` program logs in instead.
    BuiltIn,
    /// The `ssh` program, with the reason why libssh2 is not used.
    Program(String),
    /// Open connection of the operator's own `ssh`, with the socket of its `ControlPath`.
    Borrowed(PathBuf),
}

/// Finds the [`Target`] of each host. Many threads use one resolver, each for other hosts. One
/// `ssh -G` serves all hosts that match the same `Host` lines of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Resolver {
    /// Login name of `-l`. A `user@` of the host set takes precedence.
    pub user: Option<String>,
    /// Configuration file of `-F`.
    pub config: Option<PathBuf>,
    /// The `ssh` program. `None` means the one in `PATH`.
    pub program: Option<PathBuf>,
    /// Values `KEY=VALUE` of `--ssh-option`, which take precedence over the configuration files.
    pub options: Vec<String>,
    /// Replies of `ssh -G` in this run.
    pub config_cache: SshConfigCache,
}

impl Resolver {
    /// Returns the target of one host. On a machine without `ssh`, the target has port 22, the
    /// local user and the default files of OpenSSH.
    ///
    /// # Errors
    /// `ssh` rejected the configuration or did not end in time, the host name is unsafe in the
    /// configured `ProxyCommand`, or the run was cancelled.
    pub fn resolve(&self, host: &Host, watchdog: &Watchdog) -> HostResult<Target> {
        let call = self.call(host);
        if !self.config_cache.has_program(|| exists(&call.program)) {
            return Ok(self.default_target(host));
        }
        let read = |call: &SshCall| Ok(SshConfig::parse(&read_config(call, watchdog)?));
        let config = self.config_cache.config(&call, watchdog, read)?;
        let has_master = |socket: &Path| has_master(&call, socket, watchdog);
        config.on_this_machine(host, call.clone(), has_master)
    }

    fn call(&self, host: &Host) -> SshCall {
        SshCall {
            program: self.program.clone().unwrap_or_else(|| PathBuf::from("ssh")),
            config: self.config.clone(),
            options: self.options.clone(),
            jumps: None,
            user: host.user.clone().or_else(|| self.user.clone()),
            port: host.port,
            host: host.name.clone(),
            agent: None,
        }
    }

    /// Returns the target of a host on a machine without `ssh`.
    fn default_target(&self, host: &Host) -> Target {
        let local_user = |variable: &str| env::var(variable).ok().filter(|user| !user.is_empty());
        let user = host.user.clone().or_else(|| self.user.clone());
        let user = user.or_else(|| local_user("USER")).or_else(|| local_user("LOGNAME"));
        let in_dot_ssh = |file: &str| tokens::home().join(".ssh").join(file);
        Target {
            user: user.unwrap_or_default(),
            identity_files: ["id_rsa", "id_ecdsa", "id_ed25519"].map(in_dot_ssh).to_vec(),
            agent: env::var_os("SSH_AUTH_SOCK").map(PathBuf::from),
            known_hosts: vec![
                in_dot_ssh("known_hosts"),
                in_dot_ssh("known_hosts2"),
                PathBuf::from("/etc/ssh/ssh_known_hosts"),
                PathBuf::from("/etc/ssh/ssh_known_hosts2"),
            ],
            record_in: Some(in_dot_ssh("known_hosts")),
            ..SshConfig::default().plain(host)
        }
    }
}

/// Returns the output of `ssh -G`.
fn read_config(call: &SshCall, watchdog: &Watchdog) -> HostResult<String> {
    let result = query_tool(call.configuration(), Deadline::after(QUERY_TIMEOUT), watchdog);
    let output = result.map_err(|failure| {
        HostFailure::new(failure.reason, format!("ssh -G: {}", failure.detail))
    })?;
    if output.exit.is_success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let detail = format!("ssh rejected the SSH configuration: {}", message.trim());
    let test = call.manual_configuration();
    Err(HostFailure::new(Reason::Transport, detail)
        .fix(format!("correct the option or the line that ssh names, then test: {test}")))
}

/// True if the operator's own `ssh` has an open connection to this host.
fn has_master(call: &SshCall, socket: &Path, watchdog: &Watchdog) -> bool {
    socket.exists()
        && query_tool(call.check(socket), Deadline::after(QUERY_TIMEOUT), watchdog)
            .is_ok_and(|output| output.exit.is_success())
}

/// True if the program exists: a path as it is, a name in a directory of `PATH`.
fn exists(program: &PathBuf) -> bool {
    if program.components().count() > 1 {
        return program.exists();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
