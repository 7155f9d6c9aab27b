//! How `ssh` itself would reach a host: the effective configuration, asked of `ssh -G`.

mod classes;
mod here;
mod lines;
mod route;
mod ssh_config;
mod tokens;

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::algorithms::Algorithms;
use super::local::look_up;
use super::{Host, SshCall, Watchdog};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};

pub use classes::Classes;
pub use here::Here;
pub use route::Route;
pub use ssh_config::SshConfig;

/// `ssh -G` works without the network; longer than this means that something hangs.
const ASK: Duration = Duration::from_secs(5);

/// What to do with a host key that is on no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKeyPolicy {
    /// Refuse it.
    Strict,
    /// Take it and write it down; refuse a changed one.
    AcceptNew,
    /// The configuration says `StrictHostKeyChecking no`: take it, and a changed one too.
    Off,
}

/// Which addresses of a name may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFamily {
    /// Both.
    Any,
    /// Only IPv4.
    Inet,
    /// Only IPv6.
    Inet6,
}

/// Everything that opening a connection to one host needs to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The host as the operator named it.
    pub host: Host,
    /// The name or address to connect to (`HostName`).
    pub address: String,
    /// The TCP port.
    pub port: u16,
    /// The login name.
    pub user: String,
    /// Key files to offer; those that do not exist are passed over.
    pub identity_files: Vec<PathBuf>,
    /// Certificates beside those that are called like a key file and `-cert.pub`.
    pub certificate_files: Vec<PathBuf>,
    /// The socket of the agent that may be asked.
    pub agent: Option<PathBuf>,
    /// Offer no key of the agent but those of `identity_files`.
    pub identities_only: bool,
    /// The `known_hosts` files, the user's before the system's.
    pub known_hosts: Vec<PathBuf>,
    /// Where a new host is written down: the first file of the user's; `None` where it wants none.
    pub note_in: Option<PathBuf>,
    /// What to do with an unknown host key.
    pub host_keys: HostKeyPolicy,
    /// Write the names of new hosts down as hashes only.
    pub hash_known_hosts: bool,
    /// The name to look up in the `known_hosts` files instead of the address.
    pub host_key_alias: Option<String>,
    /// The configuration's own limit for the TCP connection.
    pub connect_timeout: Option<Duration>,
    /// Which addresses may be used.
    pub family: AddressFamily,
    /// How the bytes get there.
    pub route: Route,
    /// Who speaks SSH with it.
    pub transport: Transport,
    /// Options of its configuration that ask for a login which only the `ssh` program can do.
    pub other_logins: Vec<&'static str>,
    /// The algorithms and key sizes that its configuration allows.
    pub algorithms: Algorithms,
    /// How the `ssh` program is called for it; `None` where there is none.
    pub call: Option<SshCall>,
}

impl Target {
    /// Returns the `ssh` call for the host, as the operator would type it.
    #[must_use]
    pub fn by_hand(&self) -> String {
        self.call.as_ref().map_or_else(|| format!("ssh {}", self.host), SshCall::by_hand)
    }
}

/// Who speaks SSH with a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// The library in this program; where it fails for a lack of its own, the `ssh` program.
    BuiltIn,
    /// The `ssh` program, and why.
    Program(String),
    /// The operator's own open connection, behind this `ControlPath`.
    Borrowed(PathBuf),
}

/// Finds the [`Target`] of each host.
///
/// It is asked once per host, from many threads, and asks `ssh` once for all hosts that the same
/// lines of the configuration are about.
#[derive(Debug, Clone, Default)]
pub struct Resolver {
    /// The login name of `-l`; a `user@` of the host set goes before it.
    pub user: Option<String>,
    /// The configuration file of `-F`.
    pub config: Option<PathBuf>,
    /// The `ssh` program; `None` is the one in `PATH`.
    pub program: Option<PathBuf>,
    /// `KEY=VALUE` of `--ssh-option`, before all that a file says.
    pub options: Vec<String>,
    /// What `ssh` has said of the hosts of this run.
    pub classes: Classes,
}

impl Resolver {
    /// The effective configuration for one host.
    ///
    /// Without an `ssh` program there is no configuration: port 22, the local user name and the
    /// usual files.
    ///
    /// # Errors
    /// `ssh` refused the configuration, the host needs what this transport lacks, or the watchdog's run
    /// was cancelled.
    pub fn resolve(&self, host: &Host, watchdog: &Watchdog) -> Result<Target, HostFailure> {
        let call = self.call(host);
        if !self.classes.has_program(|| exists(&call.program)) {
            return Ok(self.plain(host));
        }
        let ask = |call: &SshCall| Ok(SshConfig::parse(&ask_ssh(call, watchdog)?));
        let config = self.classes.config(&call, watchdog, ask)?;
        let has_master = |socket: &Path| has_master(&call, socket, watchdog);
        config.target_here(host, call.clone(), has_master)
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

    fn plain(&self, host: &Host) -> Target {
        let named = |name: &str| env::var(name).ok().filter(|user| !user.is_empty());
        let user = host.user.clone().or_else(|| self.user.clone());
        let ssh = |file: &str| tokens::home().join(".ssh").join(file);
        Target {
            host: host.clone(),
            address: host.name.clone(),
            port: host.port.unwrap_or(22),
            user: user.or_else(|| named("USER")).or_else(|| named("LOGNAME")).unwrap_or_default(),
            identity_files: ["id_rsa", "id_ecdsa", "id_ed25519"].map(ssh).to_vec(),
            certificate_files: Vec::new(),
            agent: env::var_os("SSH_AUTH_SOCK").map(PathBuf::from),
            identities_only: false,
            known_hosts: vec![
                ssh("known_hosts"),
                ssh("known_hosts2"),
                PathBuf::from("/etc/ssh/ssh_known_hosts"),
                PathBuf::from("/etc/ssh/ssh_known_hosts2"),
            ],
            note_in: Some(ssh("known_hosts")),
            host_keys: HostKeyPolicy::Strict,
            hash_known_hosts: false,
            host_key_alias: None,
            connect_timeout: None,
            family: AddressFamily::Any,
            route: Route::Direct,
            transport: Transport::BuiltIn,
            other_logins: Vec::new(),
            algorithms: Algorithms::default(),
            call: None,
        }
    }
}

/// The answer of `ssh -G`.
fn ask_ssh(call: &SshCall, watchdog: &Watchdog) -> Result<String, HostFailure> {
    let answer =
        look_up(call.configuration(), Deadline::after(ASK), watchdog).map_err(|failure| {
            HostFailure::new(failure.reason, format!("ssh -G: {}", failure.detail))
        })?;
    if answer.exit.is_success() {
        return Ok(String::from_utf8_lossy(&answer.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&answer.stderr);
    let detail = format!("ssh rejected the SSH configuration: {}", words.trim());
    let by_hand = call.by_hand().replacen("ssh", "ssh -G", 1);
    Err(HostFailure::new(Reason::Transport, detail)
        .fix(format!("correct the option or the line that ssh names, then test: {by_hand}")))
}

/// Whether the operator's own `ssh` holds a connection to this host open.
fn has_master(call: &SshCall, socket: &Path, watchdog: &Watchdog) -> bool {
    socket.exists()
        && look_up(call.check(socket), Deadline::after(ASK), watchdog)
            .is_ok_and(|answer| answer.exit.is_success())
}

fn exists(program: &PathBuf) -> bool {
    if program.components().count() > 1 {
        return program.exists();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
