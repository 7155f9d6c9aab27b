//! Hosts that the built-in SSH client cannot reach alone: the `ssh` program, jump hosts and proxy
//! commands, with real sshd processes.

#![allow(clippy::unwrap_used, reason = "without its test bed a test must end")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::bed::tool;
use crate::sshd::{self, Setup, Sshd, connector, resolve, seconds};
use rdmactl::clock::Deadline;
use rdmactl::fleet::{
    Access as _, Connector, SshClient, SshSession, SshTimeouts, Target, Watchdog,
};
use rdmactl::hosts::Host;
use rdmactl::model::{HostFailure, Reason};
use rustix::process::{Pid, Signal, kill_process};

/// Returns the block of an ssh configuration that gives a server a name.
fn block(name: &str, server: &Sshd, more: &str) -> String {
    format!(
        "Host {name}\n  HostName {}\n  Port {}\n  IdentityFile {}\n  UserKnownHostsFile {}\n  {more}\n",
        server.address,
        server.port,
        server.path("user").display(),
        server.path("known_hosts").display(),
    )
}

fn target(server: &Sshd, config: &str, name: &str) -> Target {
    server.write_client_config(config);
    server.resolve(&Host::named(name)).unwrap()
}

fn open(target: &Target) -> Result<SshSession, HostFailure> {
    connector().connect(target, seconds(20))
}

fn by_program(server: &Sshd, more: &str) -> Target {
    target(server, &format!("{more}\nBindAddress 127.0.0.1\n"), &server.address)
}

/// Sends `hello` to `cat` on the host. Returns the output.
fn echo(session: &SshSession) -> Vec<u8> {
    session.exec("cat", seconds(10)).unwrap().exchange(b"hello", 100, seconds(10)).unwrap().stdout
}

#[test]
fn the_ssh_program_gives_the_same_pipes() {
    let server = Sshd::start();
    let session = open(&by_program(&server, "")).unwrap();
    let why = session.why_program().unwrap();
    assert_eq!(why, "BindAddress 127.0.0.1 is set in the SSH configuration");
    let pipe = session.exec("echo out; echo err >&2; exit 3", seconds(5)).unwrap();
    let output = pipe.exchange(b"", 1000, seconds(5)).unwrap();
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
    assert_eq!(output.exit.status, Some(3));
    let exit = session.run("exit 255", seconds(5)).unwrap();
    assert_eq!(exit.status, Some(255), "the command returns this status");
    let sent = vec![7; 3_000_000];
    let pipe = session.exec("cat", seconds(5)).unwrap();
    assert!(pipe.exchange(&sent, sent.len(), seconds(20)).unwrap().stdout == sent);
    // Two channels work at the same time, and they outlive the session.
    let (one, two) =
        (session.exec("cat", seconds(5)).unwrap(), session.exec("cat", seconds(5)).unwrap());
    drop(session);
    for pipe in [&one, &two] {
        assert_eq!(pipe.exchange(b"x", 10, seconds(5)).unwrap().stdout, b"x");
    }
}

#[test]
fn errors_of_the_ssh_program_have_the_reasons_of_the_library() {
    let server = Sshd::start();
    let target = by_program(&server, "");
    let failure = |target: &Target| open(target).unwrap_err();
    let check = |failure: HostFailure, reason, detail: &str, fix: &str| {
        assert_eq!(failure.reason, reason, "{failure}");
        assert!(failure.detail.contains(detail), "{failure}");
        assert!(failure.fix.as_deref().unwrap_or_default().contains(fix), "{failure:?}");
    };
    fs::rename(server.path("authorized_keys"), server.path("aside")).unwrap();
    check(failure(&target), Reason::Auth, "Permission denied", "test the login: ssh -F");
    fs::rename(server.path("aside"), server.path("authorized_keys")).unwrap();
    server.write_known_hosts("");
    check(
        failure(&target),
        Reason::HostkeyUnknown,
        "in no known_hosts file",
        "compare the fingerprint",
    );
    let other = Sshd::start();
    server.write_known_hosts(&format!("{} {}\n", server.name(), other.host_key("ed25519")));
    check(failure(&target), Reason::HostkeyChanged, "known_hosts:1", "ssh-keygen -f");
    server.write_known_hosts(&format!("@revoked * {}\n", server.host_key("ed25519")));
    check(failure(&target), Reason::HostkeyRevoked, "revoked", "do not connect");
    server.trust();
    // No process listens on the discard port.
    let nowhere = Host { port: Some(9), ..Host::named(&server.address) };
    let nowhere = server.resolve(&nowhere).unwrap();
    check(failure(&nowhere), Reason::Refused, "Connection refused", "test the login");
    let mut none = target.clone();
    none.call.as_mut().unwrap().program = "/no/ssh".into();
    check(failure(&none), Reason::Transport, "cannot start /no/ssh", "");
    assert!(open(&target).is_ok());
}

#[test]
fn a_banner_is_no_message_of_the_program() {
    let banner = "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n  \
                  ssh-keygen -R x; curl x | sh\nHost key verification failed.\n";
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(banner.as_bytes()).unwrap();
    let config = format!("Banner {}", file.path().display());
    let server = Sshd::with(&Setup { config: &config, ..Setup::default() });
    let target = by_program(&server, "");
    assert!(open(&target).is_ok());
    fs::rename(server.path("authorized_keys"), server.path("aside")).unwrap();
    let failure = open(&target).unwrap_err();
    assert_eq!(failure.reason, Reason::Auth, "{failure}");
    assert!(!format!("{failure:?}").contains("curl"), "{failure:?}");
}

#[test]
fn the_ssh_program_ends_at_the_deadline_of_an_unresponsive_host() {
    let server = Sshd::start();
    let silent = TcpListener::bind((server.address.as_str(), 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let host = Host { port: Some(port), ..Host::named(&server.address) };
    by_program(&server, "");
    let target = server.resolve(&host).unwrap();
    let failure = connector().connect(&target, Deadline::after(Duration::from_secs(1)));
    assert_eq!(failure.unwrap_err().reason, Reason::Timeout);

    let connector = connector();
    let session = connector.connect(&by_program(&server, ""), seconds(60)).unwrap();
    let pipe = session.exec("echo $PPID; read go; kill -STOP $PPID; cat", seconds(5)).unwrap();
    let mut line = String::new();
    BufReader::new(pipe.stream()).read_line(&mut line).unwrap();
    let frozen = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
    pipe.stream().write_all(b"go\n").unwrap();
    session.set_deadline(Some(Deadline::after(Duration::from_millis(500))));
    let failure = pipe.exchange(b"more", 1000, seconds(30)).unwrap_err();
    kill_process(frozen, Signal::KILL).unwrap();
    assert_eq!(failure.reason, Reason::Timeout, "{failure}");
}

#[test]
fn a_connection_of_the_program_that_breaks_is_lost_and_not_an_exit() {
    let server = Sshd::start();
    let session = open(&by_program(&server, "")).unwrap();
    let pipe = session.exec("kill -9 $PPID; cat", seconds(5)).unwrap();
    let failure = pipe.exchange(b"", 1000, seconds(20)).unwrap_err();
    assert_eq!(failure.reason, Reason::Lost, "{failure}");
}

#[test]
fn a_channel_too_many_is_refused_by_the_program_too() {
    let server = Sshd::with(&Setup { config: "MaxSessions 1", ..Setup::default() });
    let session = open(&by_program(&server, "")).unwrap();
    let held = session.exec("cat", seconds(5)).unwrap();
    held.stream().write_all(b"x").unwrap();
    let mut byte = [0];
    held.stream().read_exact(&mut byte).unwrap();
    let failure = session.exec("cat", seconds(5)).unwrap().wait(seconds(10)).unwrap_err();
    assert_eq!(failure.reason, Reason::Refused, "{failure}");
    assert!(failure.fix.unwrap().contains("MaxSessions"));
    assert_eq!(held.exchange(b"alive", 100, seconds(5)).unwrap().stdout, b"alive");
}

#[test]
fn a_host_that_closes_at_first_is_tried_again_by_the_program_too() {
    let server = Sshd::start();
    let (port, keeper) = server.busy_door();
    server.write_known_hosts(&format!("* {}\n", server.host_key("ed25519")));
    by_program(&server, "");
    let host = Host { port: Some(port), ..Host::named(&server.address) };
    let session = open(&server.resolve(&host).unwrap()).unwrap();
    assert_eq!(echo(&session), b"hello");
    drop(session);
    keeper.join().unwrap();
}

#[test]
fn a_cancelled_run_ends_the_program_at_once() {
    let server = Sshd::start();
    let watchdog = Watchdog::start().unwrap();
    let connector = Connector::new(watchdog.clone(), SshTimeouts::default());
    let session = connector.connect(&by_program(&server, ""), seconds(60)).unwrap();
    let pipe = session.exec("sleep 60", seconds(5)).unwrap();
    watchdog.cancel();
    assert!(session.is_cancelled());
    assert!(pipe.exchange(b"", 100, seconds(60)).is_err());
    let late = connector.connect(&by_program(&server, ""), seconds(60)).unwrap_err();
    assert_eq!(late.reason, Reason::Cancelled, "{late}");
}

#[test]
fn an_rsa_certificate_of_the_agent_goes_by_the_program() {
    let directory = tempfile::TempDir::new().unwrap();
    let ca = directory.path().join("ca");
    sshd::keygen(&ca, "ed25519");
    let config = format!("TrustedUserCAKeys {}", directory.path().join("ca.pub").display());
    let server = Sshd::with(&Setup { config: &config, ..Setup::default() });
    fs::write(server.path("authorized_keys"), "").unwrap();
    let agent = sshd::Agent::start(&server.path("agent"));
    let key = server.path("rsa");
    sshd::keygen(&key, "rsa");
    let user = server.target().user;
    let mut sign = tool("ssh-keygen", "openssh-client");
    sign.args(["-q", "-I", "test", "-n", &user, "-V", "+1d", "-s"]).arg(&ca);
    assert!(sign.arg(server.path("rsa.pub")).status().unwrap().success());
    agent.add(&key);
    fs::remove_file(&key).unwrap();
    fs::remove_file(server.path("rsa-cert.pub")).unwrap();
    let socket = server.path("agent");
    let target = target(&server, &format!("IdentityAgent {}\n", socket.display()), &server.address);
    assert_eq!(target.client, SshClient::BuiltIn);
    let session = open(&target).unwrap();
    assert_eq!(session.why_program(), Some("ssh-agent holds an RSA certificate"));
    assert_eq!(echo(&session), b"hello");
}

#[test]
fn a_host_with_other_algorithms_goes_by_the_program() {
    let config = "KexAlgorithms sntrup761x25519-sha512@openssh.com";
    let server = Sshd::with(&Setup { config, ..Setup::default() });
    let session = server.connect().unwrap();
    assert!(session.why_program().unwrap().contains("no common algorithm"));
    assert_eq!(echo(&session), b"hello");
    let alone = Target { call: None, ..server.target() };
    let failure = open(&alone).unwrap_err();
    assert_eq!(failure.reason, Reason::Transport, "{failure}");
}

#[test]
fn the_algorithms_of_the_configuration_are_the_only_ones() {
    // Setting of the host, setting of the client, and option that the failure names.
    for (offered, allowed, setting) in [
        ("Ciphers aes128-ctr", "Ciphers aes256-ctr", "Ciphers"),
        ("KexAlgorithms curve25519-sha256", "KexAlgorithms ecdh-sha2-nistp256", "KexAlgorithms"),
        (
            "Ciphers aes128-ctr\nMACs hmac-sha2-256",
            "Ciphers aes128-ctr\nMACs hmac-sha2-512",
            "MACs",
        ),
        ("", "HostKeyAlgorithms rsa-sha2-512", "HostKeyAlgorithms"),
    ] {
        let server = Sshd::with(&Setup { config: offered, ..Setup::default() });
        let refused = target(&server, allowed, &server.address);
        assert_eq!(refused.client, SshClient::BuiltIn, "{allowed}");
        let failure = open(&refused).unwrap_err();
        assert_eq!(failure.reason, Reason::Transport, "{failure}");
        assert!(failure.detail.contains(&format!("; {setting} of the SSH")), "{failure}");
        assert!(failure.fix.unwrap().contains(&format!("grep -i ^{setting}")));
        if !offered.is_empty() {
            let session = open(&target(&server, offered, &server.address)).unwrap();
            assert_eq!((session.why_program(), echo(&session)), (None, b"hello".to_vec()));
        }
    }
    let server = Sshd::start();
    let none = "Ciphers aes128-ctr\nMACs umac-64@openssh.com";
    let session = open(&target(&server, none, &server.address)).unwrap();
    let why = session.why_program().unwrap();
    assert_eq!(why, "MACs umac-64@openssh.com is set in the SSH configuration");
    assert_eq!(echo(&session), b"hello");
}

#[test]
fn a_small_rsa_key_is_refused_by_its_setting() {
    let server = Sshd::with(&Setup { more_keys: &["rsa"], ..Setup::default() });
    server.write_known_hosts(&format!("{} {}\n", server.name(), server.host_key("rsa")));
    for (least, is_ok) in [(3072, true), (4096, false)] {
        let config = format!("HostKeyAlgorithms rsa-sha2-512\nRequiredRSASize {least}");
        let outcome = open(&target(&server, &config, &server.address));
        assert_eq!(outcome.is_ok(), is_ok, "{outcome:?}");
        let Err(failure) = outcome else { continue };
        let said = "has 3072 bits, and RequiredRSASize of the SSH configuration is 4096";
        assert!(failure.detail.contains(said), "{failure}");
        assert_eq!(failure.reason, Reason::Transport);
    }
}

#[test]
fn an_open_connection_of_the_operator_is_used_and_left_open() {
    let server = Sshd::start();
    let socket = server.path("cm");
    let config = format!("ControlPath {}\n", socket.display());
    let host = server.address.clone();
    assert_eq!(target(&server, &config, &host).client, SshClient::BuiltIn);
    // The socket file exists, but no process listens on it.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert_eq!(target(&server, &config, &host).client, SshClient::BuiltIn);
    fs::remove_file(&socket).unwrap();
    let ssh = |arguments: &[&str]| {
        let mut command = tool("ssh", "openssh-client");
        command.arg("-F").arg(server.path("ssh_config")).args(arguments).arg(&host);
        assert!(command.status().unwrap().success());
    };
    ssh(&["-f", "-N", "-M"]);
    // A new login would fail, so rdmactl must use the existing connection.
    fs::write(server.path("authorized_keys"), "").unwrap();
    let target = target(&server, &config, &host);
    assert_eq!(target.client, SshClient::Borrowed(socket.clone()));
    let session = open(&target).unwrap();
    assert!(session.why_program().unwrap().contains("ControlPath"));
    assert_eq!(echo(&session), b"hello");
    let pipe = session.exec("sleep 60", seconds(5)).unwrap();
    session.set_deadline(Some(Deadline::after(Duration::from_millis(100))));
    pipe.stream().set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(pipe.stream().read(&mut [0]).unwrap(), 0, "the deadline ends the command");
    drop((pipe, session));
    ssh(&["-O", "check"]);
    ssh(&["-O", "exit"]);
}

#[test]
fn one_and_two_jump_hosts_lead_to_a_host() {
    let (inner, first, second) = (Sshd::start(), Sshd::start(), Sshd::start());
    let config = [
        block("near", &inner, "ProxyJump first"),
        block("far", &inner, "ProxyJump first,second"),
        block("chain", &inner, "ProxyJump third"),
        block("first", &first, ""),
        block("second", &second, ""),
        block("third", &second, "ProxyJump first"),
    ]
    .concat();
    let connector = connector();
    for name in ["near", "far", "chain"] {
        let session = connector.connect(&target(&inner, &config, name), seconds(30)).unwrap();
        assert_eq!(session.why_program(), None, "ssh only forwards the connection");
        assert_eq!(echo(&session), b"hello", "{name}");
    }
}

#[test]
fn many_hosts_share_the_connection_to_their_jump_host() {
    // The jump host refuses a second login.
    let jump = Sshd::with(&Setup { config: "MaxStartups 1:100:1", ..Setup::default() });
    let inner = Sshd::start();
    let config = [block("h*", &inner, "ProxyJump jump"), block("jump", &jump, "")].concat();
    inner.write_client_config(&config);
    let hosts: Vec<Host> = (0..12).map(|number| Host::named(format!("h{number}"))).collect();
    let (connector, resolver) = (connector(), inner.resolver());
    let reach = |host: &Host| {
        let session = connector.connect(&resolve(&resolver, host)?, seconds(30))?;
        session.exec("echo in", seconds(10))?.exchange(b"", 10, seconds(10))
    };
    let each = |index: usize, result: Result<rdmactl::fleet::Output, HostFailure>| {
        assert_eq!(result.unwrap().stdout, b"in\n", "{index}");
    };
    rdmactl::fleet::fan_out(&hosts, 12, connector.watchdog(), reach, each).unwrap();
}

#[test]
fn failure_of_a_jump_host_names_the_jump_host() {
    let (inner, jump) = (Sshd::start(), Sshd::start());
    let dead = {
        let listener = TcpListener::bind((inner.address.as_str(), 0)).unwrap();
        listener.local_addr().unwrap().port()
    };
    let plain = [block("in", &inner, "ProxyJump jump"), block("jump", &jump, "")].concat();
    let failure = |config: &str| open(&target(&inner, config, "in")).unwrap_err();
    let check = |failure: HostFailure, reason, words: &str| {
        assert_eq!(failure.reason, reason, "{failure}");
        assert!(failure.detail.contains(words), "{failure}");
    };
    // A changed key of the target is a failure of the target, not of the jump host.
    inner.write_known_hosts(&format!("{} {}\n", inner.name(), jump.host_key("ed25519")));
    check(failure(&plain), Reason::HostkeyChanged, "not the one on record");
    inner.trust();
    // No process listens on the port of the target.
    let no_target = format!("Host in\n  Port {dead}\n{plain}");
    let detail =
        format!("jump host jump cannot reach {}:{dead}: \"Connection refused\"", inner.address);
    check(failure(&no_target), Reason::Refused, &detail);
    // No process listens on the port of the jump host.
    let no_jump = format!("Host jump\n  Port {dead}\n{plain}");
    check(failure(&no_jump), Reason::Refused, "jump host jump: ssh: ");
    jump.write_known_hosts("");
    check(failure(&plain), Reason::HostkeyUnknown, "jump host jump: ");
    jump.write_known_hosts(&format!("{} {}\n", jump.name(), inner.host_key("ed25519")));
    check(failure(&plain), Reason::HostkeyChanged, "jump host jump: ");
    jump.trust();
    fs::rename(jump.path("authorized_keys"), jump.path("aside")).unwrap();
    check(failure(&plain), Reason::Auth, "jump host jump: ");
    fs::rename(jump.path("aside"), jump.path("authorized_keys")).unwrap();
    assert!(open(&target(&inner, &plain, "in")).is_ok());
    let forbids = Sshd::with(&Setup { config: "AllowTcpForwarding no", ..Setup::default() });
    let forbidden = [block("in", &inner, "ProxyJump jump"), block("jump", &forbids, "")].concat();
    check(failure(&forbidden), Reason::Refused, "administratively prohibited");
    // The failure names the second of two jump hosts.
    let two = [
        block("in", &inner, "ProxyJump jump,second"),
        block("jump", &jump, ""),
        format!("Host second\n  HostName {}\n  Port {dead}\n", inner.address),
    ];
    let refused = failure(&two.concat());
    assert!(refused.detail.starts_with("jump host second: "), "{refused}");
}

#[test]
fn an_unresponsive_jump_host_fails_at_the_deadline() {
    let inner = Sshd::start();
    let silent = TcpListener::bind((inner.address.as_str(), 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let config = [
        block("in", &inner, "ProxyJump jump"),
        format!("Host jump\n  HostName {}\n  Port {port}\n", inner.address),
    ];
    let target = target(&inner, &config.concat(), "in");
    let failure = connector().connect(&target, Deadline::after(Duration::from_secs(1)));
    let failure = failure.unwrap_err();
    assert_eq!(failure.reason, Reason::Timeout, "{failure}");
    assert!(failure.detail.contains("jump host"), "{failure}");
}

#[test]
fn a_proxy_command_reaches_a_host_or_has_a_reason() {
    let server = Sshd::start();
    let to = |command: &str| {
        let config = format!("Host in\n  HostName {}\n  ProxyCommand {command}\n", server.address);
        target(&server, &config, "in")
    };
    let by_ssh = format!("ssh -F {} -W [%h]:%p {}", server.path("plain").display(), server.address);
    server.write_client_config("");
    fs::copy(server.path("ssh_config"), server.path("plain")).unwrap();
    assert_eq!(echo(&open(&to(&by_ssh)).unwrap()), b"hello");
    let failure = open(&to("sh -c 'echo no way to %h >&2'")).unwrap_err();
    assert_eq!(failure.reason, Reason::Refused, "{failure}");
    let words = format!(
        "ProxyCommand ended before the SSH banner of the host; exit status 0; last output: \"no way to {}\"",
        server.address
    );
    assert_eq!(failure.detail, words);
    // A ProxyCommand that hangs is killed together with its child process.
    let pid = server.path("pid");
    let hangs = format!("sh -c 'sleep 1000 & echo $! >{}; wait'", pid.display());
    let failure = connector().connect(&to(&hangs), Deadline::after(Duration::from_secs(1)));
    let failure = failure.unwrap_err();
    assert_eq!(failure.reason, Reason::Timeout, "{failure}");
    assert!(failure.detail.contains("through ProxyCommand"), "{failure}");
    let pid: i32 = fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    let deadline = seconds(10);
    while std::path::Path::new(&format!("/proc/{pid}/cwd")).exists() {
        assert!(!deadline.is_over(), "the child of the ProxyCommand stays");
        thread::yield_now();
    }
}
