//! A real sshd with keys, an address and a configuration of its own, and an ssh-agent.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::expect_used, clippy::panic, reason = "without its test bed a test must end")]

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rdmactl::clock::Deadline;
use rdmactl::fleet::{Connector, Resolver, SshSession, SshTimeouts, Target, Watchdog};
use rdmactl::hosts::Host;
use rdmactl::model::HostFailure;
use tempfile::TempDir;

use crate::bed::tool;

pub(crate) struct Sshd {
    pub(crate) directory: TempDir,
    pub(crate) address: String,
    pub(crate) port: u16,
    child: Child,
}

/// Differences between the server of a test and the default server.
#[derive(Default)]
pub(crate) struct Setup<'a> {
    /// Lines at the beginning of `sshd_config`.
    pub(crate) config: &'a str,
    /// Additional host key types; ed25519 always exists.
    pub(crate) more_keys: &'a [&'a str],
    /// True if the server listens on all addresses, so that each address is a host.
    pub(crate) is_many: bool,
}

impl Sshd {
    pub(crate) fn start() -> Self {
        Self::with(&Setup::default())
    }

    pub(crate) fn with(setup: &Setup<'_>) -> Self {
        let directory = TempDir::new().expect("a directory for the test");
        let at = |name: &str| directory.path().join(name);
        let mut host_keys = String::new();
        for kind in ["ed25519"].iter().chain(setup.more_keys) {
            let file = at(&format!("host_{kind}"));
            keygen(&file, kind);
            host_keys = format!("{host_keys}HostKey {}\n", file.display());
        }
        keygen(&at("user"), "ed25519");
        fs::copy(at("user.pub"), at("authorized_keys")).expect("the authorized keys");
        let server = Self::run(directory, &host_keys, setup);
        server.trust();
        server
    }

    /// Starts another sshd with the same keys. Its host key has a certificate of the key `ca`.
    pub(crate) fn with_host_certificate(&self, principals: &str, validity: &str) -> Self {
        let directory = TempDir::new().expect("a directory for the test");
        for entry in fs::read_dir(self.directory.path()).expect("the other directory").flatten() {
            fs::copy(entry.path(), directory.path().join(entry.file_name())).expect("a copy");
        }
        let at = |name: &str| directory.path().join(name);
        let mut sign = tool("ssh-keygen", "openssh-client");
        sign.args(["-q", "-h", "-I", "test", "-n", principals, "-V", validity, "-s"]);
        sign.arg(at("ca")).arg(at("host_ed25519.pub"));
        assert!(sign.status().expect("ssh-keygen").success(), "a host certificate");
        let key = at("host_ed25519");
        let certificate = at("host_ed25519-cert.pub");
        let keys =
            format!("HostKey {}\nHostCertificate {}\n", key.display(), certificate.display());
        Self::run(directory, &keys, &Setup::default())
    }

    fn run(directory: TempDir, host_keys: &str, setup: &Setup<'_>) -> Self {
        let at = |name: &str| directory.path().join(name);
        let (address, port) = if setup.is_many { every_address() } else { free_address() };
        // sshd uses the last MaxStartups. Of the other options it uses the first.
        let startups = if setup.config.contains("MaxStartups") { "" } else { "MaxStartups 2000\n" };
        let config = format!(
            "{}\nListenAddress {address}\nPort {port}\n{host_keys}\
             AuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nUseDNS no\n\
             # with it bash reads no .bashrc, which may take long and say anything\n\
             SetEnv SHLVL=2 RDMACTL_PATH=/nonexistent\nPidFile none\nPrintMotd no\n{startups}",
            setup.config,
            at("authorized_keys").display(),
        );
        fs::write(at("sshd_config"), config).expect("sshd_config");
        let child = spawn(&at("sshd_config"));
        let server = Self { directory, address, port, child };
        server.write_client_config("");
        server
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes an ssh configuration with the keys and the known hosts of this test. ssh then reads
    /// no file of the user.
    pub(crate) fn write_client_config(&self, more: &str) {
        let text = format!(
            "{more}\nHost *\n  Port {}\n  IdentityFile {}\n  IdentityAgent none\n\
             \x20 UserKnownHostsFile {}\n  GlobalKnownHostsFile none\n",
            self.port,
            self.path("user").display(),
            self.path("known_hosts").display(),
        );
        fs::write(self.path("ssh_config"), text).expect("ssh_config");
    }

    /// Returns the name of this server in `known_hosts`.
    pub(crate) fn name(&self) -> String {
        format!("[{}]:{}", self.address, self.port)
    }

    pub(crate) fn host_key(&self, kind: &str) -> String {
        let text = fs::read_to_string(self.path(&format!("host_{kind}.pub"))).expect("a host key");
        text.split(' ').take(2).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn write_known_hosts(&self, text: &str) {
        fs::write(self.path("known_hosts"), text).expect("known_hosts");
    }

    pub(crate) fn trust(&self) {
        self.write_known_hosts(&format!("{} {}\n", self.name(), self.host_key("ed25519")));
    }

    pub(crate) fn resolver(&self) -> Resolver {
        Resolver { config: Some(self.path("ssh_config")), ..Resolver::default() }
    }

    pub(crate) fn resolve(&self, host: &Host) -> Result<Target, HostFailure> {
        resolve(&self.resolver(), host)
    }

    pub(crate) fn target(&self) -> Target {
        self.resolve(&Host::named(&self.address)).expect("ssh -G knows the target")
    }

    /// Starts a relay that behaves like an sshd at its `MaxStartups` limit. It closes the first
    /// two connections at once and forwards the third to this server. Returns the port and the
    /// thread, which ends with the third connection.
    pub(crate) fn busy_door(&self) -> (u16, JoinHandle<()>) {
        let relay = TcpListener::bind((self.address.as_str(), 0)).expect("a free port");
        let port = relay.local_addr().expect("its number").port();
        let behind = (self.address.clone(), self.port);
        let keep = move || {
            drop(relay.accept());
            drop(relay.accept());
            let (mut client, _) = relay.accept().expect("a client");
            let mut host = TcpStream::connect(behind).expect("the server");
            let (mut from_client, mut to_host) =
                (client.try_clone().expect("a copy"), host.try_clone().expect("a copy"));
            thread::spawn(move || {
                let _ = io::copy(&mut from_client, &mut to_host);
                to_host.shutdown(Shutdown::Both)
            });
            let _ = io::copy(&mut host, &mut client);
        };
        (port, thread::spawn(keep))
    }

    pub(crate) fn connect(&self) -> Result<SshSession, HostFailure> {
        connector().connect(&self.target(), seconds(60))
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Separate ssh-agent.
pub(crate) struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    pub(crate) fn start(socket: &Path) -> Self {
        let child = tool("ssh-agent", "openssh-client")
            .args(["-D", "-a"])
            .arg(socket)
            .stdout(Stdio::null())
            .spawn()
            .expect("ssh-agent starts");
        let agent = Self { child, socket: socket.to_owned() };
        let deadline = seconds(5);
        while std::os::unix::net::UnixStream::connect(&agent.socket).is_err() {
            assert!(!deadline.is_over(), "no agent at its socket");
            thread::yield_now();
        }
        agent
    }

    pub(crate) fn add(&self, key: &Path) {
        let mut command = tool("ssh-add", "openssh-client");
        command.env("SSH_AUTH_SOCK", &self.socket).arg("-q").arg(key);
        assert!(command.status().expect("ssh-add").success(), "ssh-add");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Resolves a host in a run that is never cancelled.
pub(crate) fn resolve(resolver: &Resolver, host: &Host) -> Result<Target, HostFailure> {
    resolver.resolve(host, &Watchdog::start().expect("a thread"))
}

pub(crate) fn connector() -> Connector {
    Connector::new(Watchdog::start().expect("a thread"), SshTimeouts::default())
}

pub(crate) fn seconds(count: u64) -> Deadline {
    Deadline::after(Duration::from_secs(count))
}

pub(crate) fn keygen(file: &Path, kind: &str) {
    let mut command = tool("ssh-keygen", "openssh-client");
    command.args(["-q", "-N", "", "-t", kind, "-f"]).arg(file);
    assert!(command.status().expect("ssh-keygen").success(), "ssh-keygen -t {kind}");
}

/// Returns an address and a free port that no other test uses, so that tests can run in parallel.
pub(crate) fn free_address() -> (String, u16) {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let address = format!("127.{}.{low}.{}", high | 1, NEXT.fetch_add(1, Ordering::Relaxed));
    let probe = TcpListener::bind((address.as_str(), 0)).expect("a free port");
    let port = probe.local_addr().expect("its number").port();
    (address, port)
}

/// Returns the wildcard address, and a port that is free on all addresses.
pub(crate) fn every_address() -> (String, u16) {
    let probe = TcpListener::bind(("0.0.0.0", 0)).expect("a free port");
    ("0.0.0.0".into(), probe.local_addr().expect("its number").port())
}

fn spawn(config: &Path) -> Child {
    if rustix::process::getuid().is_root() {
        fs::create_dir_all("/run/sshd").expect("sshd's directory for privilege separation");
    }
    let mut child = tool("sshd", "openssh-server")
        .args(["-D", "-e", "-f"])
        .arg(config)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sshd starts");
    let mut log = BufReader::new(child.stderr.take().expect("its stderr"));
    let mut said = String::new();
    while !said.contains("Server listening") {
        let count = log.read_line(&mut said).expect("its log");
        assert!(count > 0, "sshd ended: {said}");
    }
    // The thread reads the rest of the log, so that sshd does not block.
    thread::spawn(move || io::copy(&mut log, &mut io::sink()));
    child
}
