//! Command lines of the `ssh` program. They start no process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Arguments of the `ssh` program that reach a host as the operator requested.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SshCall {
    /// Name or path of the program.
    pub program: PathBuf,
    /// Configuration file of `-F`.
    pub config: Option<PathBuf>,
    /// `KEY=VALUE`, as after `-o`.
    pub options: Vec<String>,
    /// Jump hosts: the value of `-J`.
    pub jumps: Option<String>,
    /// Login name, if one is requested.
    pub user: Option<String>,
    /// Port, if one is requested.
    pub port: Option<u16>,
    /// Name of the host.
    pub host: String,
    /// Socket of the `ssh-agent` of this run, with unlocked keys.
    pub agent: Option<PathBuf>,
}

/// Options of every connection that this program opens. They replace the configuration: no
/// prompt, and no traffic except the commands of this program.
const OURS: [&str; 13] = [
    // Failures are classified by the text of the messages.
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
    // The connection to a vanished host ends after 15 s, because it may be a jump host.
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
];

pub(super) fn log_of(socket: &Path) -> PathBuf {
    socket.with_extension("log")
}

pub(in crate::fleet) fn key(option: &str) -> &str {
    option.split_once('=').map_or(option, |(key, _)| key)
}

impl SshCall {
    /// Returns the command that prints the effective configuration.
    pub fn configuration(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-G");
        self.address(&mut command);
        command
    }

    /// Returns the command that opens a connection for the commands of [`SshCall::on`], and then
    /// prints `word`. `ssh` writes messages to a file, because a host can write to stderr.
    pub(super) fn master(&self, socket: &Path, word: &str, limit: Duration) -> Command {
        let mut command = self.quiet();
        command.args(["-N", "-T", "-x", "-a"]);
        command.arg("-E").arg(log_of(socket));
        for option in OURS {
            command.args(["-o", option]);
        }
        // `ssh` takes whole seconds, and 0 means no limit.
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

    /// Returns a command that uses an open connection, without any configuration.
    pub(super) fn on(&self, socket: &Path, what: &[&str]) -> Command {
        let mut command = self.quiet();
        command.args(["-F", "none", "-T", "-x", "-a"]);
        // Without these options, a client whose master has ended would open a new connection.
        command.args(["-o", "ControlMaster=no", "-o", "ProxyCommand=false", "-o", "BatchMode=yes"]);
        command.args(["-o", "LogLevel=ERROR"]);
        command.arg("-S").arg(socket).args(what);
        command
    }

    /// Returns the command that checks if the operator's connection of `ControlPath` is usable.
    pub(in crate::fleet) fn check(&self, socket: &Path) -> Command {
        let mut command = self.on(socket, &["-O", "check", "--"]);
        command.arg(&self.host);
        command
    }

    /// Returns the call as the operator would type it, without values that may be secrets.
    pub fn manual_command(&self) -> String {
        self.typed("ssh")
    }

    /// Returns the command that prints the effective configuration, in the form of
    /// [`SshCall::manual_command`].
    pub fn manual_configuration(&self) -> String {
        self.typed("ssh -G")
    }

    fn typed(&self, program: &str) -> String {
        let mut words = vec![program.to_owned()];
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

#[test]
fn both_typed_commands_have_the_same_arguments() {
    let call = SshCall {
        program: "/opt/ssh/bin/ssh".into(),
        config: Some("/etc/ssh.conf".into()),
        options: vec!["User=x".into()],
        jumps: Some("ssh1".into()),
        user: Some("u".into()),
        port: Some(7),
        host: "n1".into(),
        agent: None,
    };
    let arguments = "-F /etc/ssh.conf -o User=VALUE -J ssh1 -p 7 u@n1";
    assert_eq!(call.manual_command(), format!("ssh {arguments}"));
    assert_eq!(call.manual_configuration(), format!("ssh -G {arguments}"));
}
