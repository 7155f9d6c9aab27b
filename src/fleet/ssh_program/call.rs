//! Command lines of the `ssh` program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How the `ssh` program is called so that it reaches a host as the operator means it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SshCall {
    /// The program, by name or path.
    pub program: PathBuf,
    /// The configuration file of `-F`.
    pub config: Option<PathBuf>,
    /// `KEY=VALUE`, as after `-o`.
    pub options: Vec<String>,
    /// Where the way to it leads over other hosts: the value of `-J`.
    pub jumps: Option<String>,
    /// The login name, where one is asked for.
    pub user: Option<String>,
    /// The port, where one is asked for.
    pub port: Option<u16>,
    /// The name.
    pub host: String,
    /// The agent of this run, with keys that were opened for it.
    pub agent: Option<PathBuf>,
}

/// What every connection of ours has, whatever the configuration says: nobody is asked for anything,
/// and nothing goes through it but our own commands.
const OURS: [&str; 13] = [
    // What goes wrong is told by its words.
    "LogLevel=INFO",
    "BatchMode=yes",
    "ControlMaster=yes",
    "ControlPersist=no",
    "PermitLocalCommand=yes",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "Tunnel=no",
    "RemoteCommand=none",
    "AddKeysToAgent=no",
    // A host that vanishes ends it in 15 s: others may come to use it.
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
];

/// Returns the path of the log of the connection with a socket.
pub(super) fn log_of(socket: &Path) -> PathBuf {
    socket.with_extension("log")
}

/// The name of an option, of `KEY=VALUE`.
pub(in crate::fleet) fn key(option: &str) -> &str {
    option.split_once('=').map_or(option, |(key, _)| key)
}

impl SshCall {
    /// Asks for the effective configuration.
    #[must_use]
    pub fn configuration(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-G");
        self.address(&mut command);
        command
    }

    /// Opens a connection that carries the commands of [`SshCall::on`], and says a word when it
    /// stands.
    ///
    /// The messages of `ssh` itself go to a file beside the socket: a host can write to stderr.
    pub(super) fn master(&self, socket: &Path, word: &str, limit: Duration) -> Command {
        let mut command = self.quiet();
        command.args(["-N", "-T", "-x", "-a"]);
        command.arg("-E").arg(log_of(socket));
        for option in OURS {
            command.args(["-o", option]);
        }
        // Whole seconds, and 0 would mean no limit.
        let limit = limit.as_secs().max(1);
        command.arg("-o").arg(format!("ConnectTimeout={limit}"));
        command.arg("-o").arg(format!("LocalCommand=echo {word}"));
        if let Some(agent) = &self.agent {
            command.arg("-o").arg(format!("IdentityAgent={}", agent.display()));
        }
        command.arg("-S").arg(socket);
        self.address(&mut command);
        command
    }

    /// Does something over an open connection, which needs no configuration; without that connection
    /// it fails.
    pub(super) fn on(&self, socket: &Path, what: &[&str]) -> Command {
        let mut command = self.quiet();
        command.args(["-F", "none", "-T", "-x", "-a"]);
        // Else a client whose master is gone would make a connection of its own.
        command.args(["-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o", "BatchMode=yes"]);
        command.args(["-o", "LogLevel=ERROR"]);
        command.arg("-S").arg(socket).args(what);
        command
    }

    /// Whether the operator's own connection of `ControlPath` is there to be used.
    pub(in crate::fleet) fn check(&self, socket: &Path) -> Command {
        let mut command = self.on(socket, &["-O", "check", "--"]);
        command.arg(&self.host);
        command
    }

    /// Returns the call as the operator would type it. Values of options may be secrets and are left out.
    #[must_use]
    pub fn by_hand(&self) -> String {
        let mut words = vec!["ssh".to_owned()];
        words.extend(self.config.iter().map(|file| format!("-F {}", file.display())));
        words.extend(self.options.iter().map(|option| format!("-o {}=VALUE", key(option))));
        words.extend(self.jumps.iter().map(|jumps| format!("-J {jumps}")));
        words.extend(self.port.iter().map(|port| format!("-p {port}")));
        let at = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        words.push(format!("{at}{}", self.host));
        words.join(" ")
    }

    fn quiet(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("SSH_ASKPASS_REQUIRE", "never");
        command
    }

    fn address(&self, command: &mut Command) {
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        for option in &self.options {
            command.arg("-o").arg(option);
        }
        if let Some(jumps) = &self.jumps {
            command.arg("-J").arg(jumps);
        }
        if let Some(user) = &self.user {
            command.arg("-l").arg(user);
        }
        if let Some(port) = self.port {
            command.arg("-p").arg(port.to_string());
        }
        command.arg("--").arg(&self.host);
    }
}
