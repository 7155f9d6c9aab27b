//! Failed logins: each has a reason, a detail and a fix, and ends in time.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::bed::{tool, write_program};
use crate::hostile::{self, Kind};
use crate::sshd::{self, Setup, Sshd, connector, keygen, resolve, seconds};
use rdmactl::clock::{self, Deadline};
use rdmactl::fleet::{
    Access as _, Connector, HostKeyPolicy, Resolver, SshCall, SshClient, SshTimeouts, Target,
    Watchdog, fan_out,
};
use rdmactl::hosts::Host;
use rdmactl::model::{HostFailure, Reason};

fn failure(target: &Target) -> HostFailure {
    match connector().connect(target, seconds(10)) {
        Err(failure) => failure,
        Ok(session) => unreachable!("the login succeeds: {session:?}"),
    }
}

fn assert_says(failure: &HostFailure, reason: Reason, detail: &str, fix: &str) {
    let said = failure.fix.clone().unwrap_or_default();
    assert_eq!(failure.reason, reason, "{failure}");
    assert!(failure.detail.contains(detail), "{failure}");
    assert!(said.contains(fix), "{said}");
}

#[test]
fn an_unreachable_host_has_a_reason() {
    let server = Sshd::start();
    let free = TcpListener::bind((server.address.as_str(), 0)).unwrap();
    let refused = Target { port: free.local_addr().unwrap().port(), ..server.target() };
    drop(free);
    assert_says(&failure(&refused), Reason::Refused, "connection refused", "sshd");
    let nowhere = Target { address: "no-such-host.invalid".into(), ..server.target() };
    assert_says(&failure(&nowhere), Reason::Unresolved, "no-such-host", "getent");
    // A TCP connection to a broadcast address fails at once.
    let dead = Target { address: "255.255.255.255".into(), ..server.target() };
    assert_says(&failure(&dead), Reason::Unreachable, "unreachable", "route");
}

#[test]
fn a_full_backlog_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    // The test accepts no connection, so the first connections fill the queue of the socket.
    let mut held = Vec::new();
    while let Ok(stream) =
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200))
    {
        held.push(stream);
    }
    let server = Sshd::start();
    let target = Target { address: "127.0.0.1".into(), port: address.port(), ..server.target() };
    let failure = connector().connect(&target, Deadline::after(Duration::from_millis(700)));
    assert_says(
        &failure.err().unwrap(),
        Reason::Timeout,
        "no response to the TCP connection request",
        "firewall",
    );
}

#[test]
fn an_unknown_or_other_host_key_is_refused_with_the_commands_that_help() {
    let server = Sshd::start();
    server.write_known_hosts("other-host ssh-ed25519 AAAA\n");
    let target = server.target();
    let unknown = failure(&target);
    assert_says(&unknown, Reason::HostkeyUnknown, "SHA256:", "accept the key: ssh -F");
    let without_file = failure(&Target { call: None, ..server.target() });
    assert_says(&without_file, Reason::HostkeyUnknown, "SHA256:", "accept the key: ssh -p");
    let fingerprint = tool("ssh-keygen", "openssh-client")
        .args(["-l", "-f"])
        .arg(server.path("host_ed25519.pub"))
        .output()
        .unwrap();
    let fingerprint = String::from_utf8(fingerprint.stdout).unwrap();
    let fingerprint = fingerprint.split(' ').nth(1).unwrap();
    assert!(unknown.detail.contains(fingerprint), "{unknown} {fingerprint}");

    keygen(&server.path("another"), "ed25519");
    let another = fs::read_to_string(server.path("another.pub")).unwrap();
    server.write_known_hosts(&format!("# keys\n{} {another}", server.name()));
    let changed = failure(&target);
    assert_says(&changed, Reason::HostkeyChanged, "known_hosts:2", "ssh-keygen -f");

    let ours = server.host_key("ed25519");
    server.write_known_hosts(&format!("{0} {ours}\n@revoked {0} {ours}\n", server.name()));
    assert_says(&failure(&target), Reason::HostkeyRevoked, "known_hosts:2", "do not connect");

    fs::remove_file(server.path("known_hosts")).unwrap();
    fs::create_dir(server.path("known_hosts")).unwrap();
    assert_says(
        &failure(&target),
        Reason::HostkeyUnknown,
        "cannot read",
        "check the owner and mode",
    );
    let off = Target { host_keys: HostKeyPolicy::Off, known_hosts: Vec::new(), ..target };
    assert!(connector().connect(&off, seconds(10)).is_ok());
}

#[test]
fn a_hashed_record_and_a_second_key_type_are_known() {
    let server = Sshd::with(&Setup { more_keys: &["ecdsa"], ..Setup::default() });
    server.write_known_hosts(&format!("{} {}\n", server.name(), server.host_key("ecdsa")));
    assert!(server.connect().is_ok(), "rdmactl requests the key in known_hosts");
    let hash = tool("ssh-keygen", "openssh-client")
        .arg("-q")
        .arg("-H")
        .arg("-f")
        .arg(server.path("known_hosts"))
        .output();
    assert!(hash.unwrap().status.success());
    let text = fs::read_to_string(server.path("known_hosts")).unwrap();
    assert!(text.starts_with("|1|"), "{text}");
    assert!(server.connect().is_ok());
}

#[test]
fn a_host_certificate_is_checked_against_its_authority() {
    let server = Sshd::start();
    keygen(&server.path("ca"), "ecdsa");
    let authority = fs::read_to_string(server.path("ca.pub")).unwrap();
    for (principals, validity, line, reason) in [
        ("127.*", "+1d", "@cert-authority", None),
        ("127.*", "always:forever", "@cert-authority", None),
        ("elsewhere", "always:forever", "@cert-authority", Some(Reason::HostkeyUnknown)),
        ("elsewhere", "+1d", "@cert-authority", Some(Reason::HostkeyUnknown)),
        ("127.*", "20200101:20200102", "@cert-authority", Some(Reason::HostkeyUnknown)),
        ("127.*", "+1d", "@revoked", Some(Reason::HostkeyRevoked)),
    ] {
        let server = server.with_host_certificate(principals, validity);
        server.write_known_hosts(&format!("@cert-authority * {authority}{line} * {authority}"));
        let outcome = server.connect();
        let failed = outcome.err();
        assert_eq!(
            failed.as_ref().map(|f| f.reason),
            reason,
            "{principals} {validity} {line}: {failed:?}"
        );
    }
    // The certificate authority has an ECDSA key.
    let signed = server.with_host_certificate("127.*", "always:forever");
    let mut list = tool("ssh-keygen", "openssh-client");
    let listed = list.args(["-L", "-f"]).arg(signed.path("host_ed25519-cert.pub")).output();
    assert!(String::from_utf8_lossy(&listed.unwrap().stdout).contains("Valid: forever"));
    signed.write_known_hosts(&format!("@cert-authority * {authority}"));
    signed.write_client_config("CASignatureAlgorithms ssh-ed25519");
    let refused = failure(&signed.target());
    assert_says(&refused, Reason::HostkeyUnknown, "CASignatureAlgorithms", "");
    signed.write_client_config("CASignatureAlgorithms ssh-ed25519,ecdsa-sha2-nistp256");
    assert!(signed.connect().is_ok());
    // Without a line for the authority, rdmactl checks the plain key in the certificate.
    let server = server.with_host_certificate("elsewhere", "+1d");
    server.trust();
    assert!(server.connect().is_ok());
}

#[test]
fn login_refusal_lists_the_offered_keys() {
    let server = Sshd::start();
    let target = server.target();
    fs::write(server.path("authorized_keys"), "").unwrap();
    let refused = failure(&target);
    assert_says(
        &refused,
        Reason::Auth,
        &format!("permission denied for user {}; offered: ", target.user),
        "ssh-copy-id",
    );
    assert!(refused.detail.contains("/user"), "{refused}");

    let none = Target { identity_files: vec![server.path("missing")], ..target.clone() };
    assert_says(&failure(&none), Reason::Auth, "this machine has no key", "ssh-add");

    let encrypted = server.path("encrypted");
    let status = tool("ssh-keygen", "openssh-client")
        .args(["-q", "-N", "secret", "-t", "ed25519", "-f"])
        .arg(&encrypted)
        .status();
    assert!(status.unwrap().success());
    let locked = Target { identity_files: vec![encrypted], ..target.clone() };
    assert_says(&failure(&locked), Reason::Auth, "is encrypted", "ssh-add");

    let closed = Sshd::with(&Setup {
        config: "PubkeyAuthentication no\nPasswordAuthentication yes",
        ..Setup::default()
    });
    assert_says(&failure(&closed.target()), Reason::Auth, "only \"password\"", "allow public keys");
}

#[test]
fn root_that_sshd_refuses_is_an_auth_failure() {
    let server = Sshd::with(&Setup { config: "DenyUsers *", ..Setup::default() });
    assert_says(&failure(&server.target()), Reason::Auth, "permission denied for user", "-l");
}

#[test]
fn a_user_certificate_opens_what_its_key_does_not() {
    let directory = tempfile::TempDir::new().unwrap();
    keygen(&directory.path().join("ca"), "ed25519");
    let config = format!("TrustedUserCAKeys {}", directory.path().join("ca.pub").display());
    let server = Sshd::with(&Setup { config: &config, ..Setup::default() });
    fs::write(server.path("authorized_keys"), "").unwrap();
    assert_eq!(failure(&server.target()).reason, Reason::Auth);
    let user = server.target().user;
    let status = tool("ssh-keygen", "openssh-client")
        .args(["-q", "-I", "test", "-n", &user, "-V", "+1d", "-s"])
        .arg(directory.path().join("ca"))
        .arg(server.path("user.pub"))
        .status();
    assert!(status.unwrap().success());
    assert!(server.connect().is_ok());
}

#[test]
fn an_agent_gives_its_key_before_files_are_tried() {
    let server = Sshd::start();
    let agent = sshd::Agent::start(&server.path("agent"));
    agent.add(&server.path("user"));
    fs::rename(server.path("user"), server.path("elsewhere")).unwrap();
    let target = Target { agent: Some(server.path("agent")), ..server.target() };
    assert!(connector().connect(&target, seconds(10)).is_ok());
    let others = Target { identities_only: true, identity_files: Vec::new(), ..target };
    assert_eq!(failure(&others).reason, Reason::Auth);
}

#[test]
fn an_agent_that_does_not_answer_ends_at_the_deadline() {
    let server = Sshd::start();
    let _deaf = std::os::unix::net::UnixListener::bind(server.path("deaf")).unwrap();
    let target = Target { agent: Some(server.path("deaf")), ..server.target() };
    let began = clock::now();
    let failure = connector().connect(&target, Deadline::after(Duration::from_secs(1)));
    assert_says(&failure.err().unwrap(), Reason::Timeout, "ssh-agent", "--timeout");
    // Without the deadline, the limit of a login ends the wait after 10 s.
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_configuration_decides() {
    let server = Sshd::start();
    let address = server.address.clone();
    server.write_client_config(&format!("Host web\n  HostName {address}\n  HostKeyAlias other\n"));
    let target = server.resolve(&Host::named("web")).unwrap();
    assert_eq!((target.address.as_str(), target.port), (address.as_str(), server.port));
    server.write_known_hosts(&format!("other {}\n", server.host_key("ed25519")));
    assert!(connector().connect(&target, seconds(10)).is_ok());
    fs::write(server.path("ssh_config"), "Nonsense yes\n").unwrap();
    let refused = server.resolve(&Host::named("web")).unwrap_err();
    assert_says(&refused, Reason::Transport, "ssh rejected the SSH configuration", "ssh -G");
    let without = Resolver { program: Some("/no/ssh".into()), ..server.resolver() };
    let plain = resolve(&without, &Host { port: Some(7), ..Host::named("web") }).unwrap();
    assert_eq!((plain.address.as_str(), plain.port), ("web", 7));
}

#[test]
fn accept_new_takes_a_new_key_once_and_never_a_changed_one() {
    let server = Sshd::start();
    server.write_known_hosts("");
    server.write_client_config("StrictHostKeyChecking accept-new\nHashKnownHosts no\n");
    let target = server.target();
    let connector = connector();
    assert!(connector.connect(&target, seconds(10)).is_ok());
    assert!(connector.connect(&target, seconds(10)).is_ok(), "it reads its record only once");
    let text = fs::read_to_string(server.path("known_hosts")).unwrap();
    assert_eq!(text, format!("{} {}\n", server.name(), server.host_key("ed25519")));
    // OpenSSH finds the new line.
    let mut find = tool("ssh-keygen", "openssh-client");
    find.args(["-F", &server.name(), "-f"]).arg(server.path("known_hosts"));
    assert!(find.output().unwrap().status.success());
    server.write_client_config("StrictHostKeyChecking yes\n");
    assert!(server.connect().is_ok());
    let other = Sshd::start();
    server.write_known_hosts(&format!("{} {}\n", server.name(), other.host_key("ed25519")));
    server.write_client_config("StrictHostKeyChecking accept-new\n");
    assert_says(&failure(&server.target()), Reason::HostkeyChanged, "not the one", "ssh-keygen");
    // If the known_hosts file cannot be written, the login fails.
    let unwritable = Some("/proc/known_hosts".into());
    let target = Target { known_hosts: Vec::new(), record_in: unwritable, ..server.target() };
    assert_says(
        &failure(&target),
        Reason::HostkeyUnknown,
        "cannot be written",
        "check the owner and mode",
    );
}

#[test]
fn hosts_with_equal_ssh_options_share_one_run_of_ssh() {
    let server = Sshd::start();
    let (log, program) = (server.path("log"), server.path("ssh"));
    write_program(&program, &format!("echo >>{}\nexec ssh \"$@\"", log.display()));
    let hosts: Vec<Host> = (1..=20)
        .map(|number| Host::named(format!("node{number}")))
        .chain((1..=20).map(|number| Host::named(format!("gpu{number}"))))
        .chain([Host::named("login"), Host { user: Some("u".into()), ..Host::named("node1") }])
        .chain([Host { port: Some(7), ..Host::named("node2") }, Host::named("NODE3")])
        .collect();
    let shared =
        "Host gpu* !gpu7\n  HostName %h.cluster\n  User g\nHost login node9\n  HostName 10.0.0.1\n";
    for (config, calls) in [
        // Equal hosts share a run: node* and gpu7; gpu*; login and node9; u@node1; node2:7;
        // NODE3.
        (shared.to_owned(), 6),
        (format!("{shared}Match host node5\n  User m\n"), hosts.len()),
    ] {
        server.write_client_config(&config);
        let asked = Resolver { program: Some(program.clone()), ..server.resolver() };
        let alone = || Resolver { program: Some(program.clone()), ..server.resolver() };
        fs::write(&log, "").unwrap();
        let targets: Vec<Target> =
            hosts.iter().map(|host| resolve(&asked, host).unwrap()).collect();
        assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), calls, "{config}");
        for (host, target) in hosts.iter().zip(&targets) {
            assert_eq!(*target, resolve(&alone(), host).unwrap(), "{host}");
        }
    }
    // Many threads at once also share a run.
    server.write_client_config("");
    let asked = Resolver { program: Some(program), ..server.resolver() };
    fs::write(&log, "").unwrap();
    let watchdog = Watchdog::start().unwrap();
    let address = |host: &Host| resolve(&asked, host).map(|target| target.address);
    let each = |index: usize, address: Result<String, HostFailure>| {
        assert_eq!(address.unwrap(), hosts[index].name);
    };
    fan_out(&hosts[..40], 16, &watchdog, address, each).unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 1);
}

#[test]
fn host_at_max_startups_refuses_until_a_login_slot_is_free() {
    let server = Sshd::with(&Setup { config: "MaxStartups 2:100:2", ..Setup::default() });
    let held: Vec<_> = (0..2)
        .map(|_| {
            let stream = TcpStream::connect((server.address.as_str(), server.port)).unwrap();
            // sshd sends its banner after it has counted the connection.
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            assert!(line.starts_with("SSH-2.0"), "{line}");
            stream
        })
        .collect();
    assert_says(&failure(&server.target()), Reason::Refused, "closed", "MaxStartups");
    let by_program = Target { client: SshClient::Program("test".into()), ..server.target() };
    let refused = failure(&by_program);
    assert_eq!(refused.reason, Reason::Refused, "{refused}");
    drop(held);
    let deadline = seconds(20);
    while let Err(failure) = server.connect() {
        assert!(!deadline.is_over(), "{failure}");
    }
}

fn expected(kind: Kind) -> Reason {
    match kind {
        Kind::ClosesAtOnce | Kind::SaysNotAllowed | Kind::SaysMaxStartups => Reason::Refused,
        Kind::EndlessLines | Kind::EndlessLine => Reason::Garbage,
        Kind::HugePacket => Reason::Transport,
        _ => Reason::Timeout,
    }
}

#[test]
fn hostile_servers_end_by_their_deadline_and_disturb_no_other_host() {
    let good = Sshd::start();
    let limit = Duration::from_secs(3);
    let mut targets: Vec<(Option<Kind>, Target)> = Vec::new();
    for kind in hostile::ALL {
        let port = hostile::start(kind, &good.address);
        // If rdmactl runs the ssh program instead, ssh must connect to the same server.
        let call = good.target().call.map(|call| SshCall { port: Some(port), ..call });
        targets.push((Some(kind), Target { port, call, ..good.target() }));
        targets.extend((0..3).map(|_| (None, good.target())));
    }
    let connector = connector();
    let work = |(kind, target): &(Option<Kind>, Target)| {
        let began = clock::now();
        let outcome = connector.connect(target, Deadline::after(limit)).and_then(|session| {
            session.exec("echo alive", seconds(5))?.exchange(b"", 100, seconds(5))
        });
        (*kind, outcome, began.elapsed())
    };
    let mut count = 0;
    let each =
        |_: usize, (kind, outcome, took): (Option<Kind>, Result<_, HostFailure>, Duration)| {
            count += 1;
            assert!(took < limit + Duration::from_millis(500), "{kind:?} took {took:?}");
            match kind {
                None => {
                    let output: rdmactl::fleet::Output = outcome.unwrap();
                    assert_eq!(output.stdout, b"alive\n");
                }
                Some(kind) => {
                    let failure = outcome.unwrap_err();
                    assert_eq!(failure.reason, expected(kind), "{kind:?}: {failure}");
                    if kind == Kind::SaysMaxStartups {
                        assert!(failure.detail.contains("Exceeded MaxStartups"), "{failure}");
                    }
                }
            }
        };
    fan_out(&targets, 64, &Watchdog::start().unwrap(), work, each).unwrap();
    assert_eq!(count, targets.len());
}

#[test]
fn a_cancelled_run_ends_at_once() {
    let server = Sshd::start();
    let port = hostile::start(Kind::Silent, &server.address);
    let watchdog = Watchdog::start().unwrap();
    let connector = Connector::new(watchdog.clone(), SshTimeouts::default());
    let session = connector.connect(&server.target(), seconds(60)).unwrap();
    let pipe = session.exec("sleep 60", seconds(5)).unwrap();
    let silent = Target { port, ..server.target() };
    let began = clock::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| connector.connect(&silent, seconds(60)));
        let reading = scope.spawn(|| pipe.exchange(b"", 100, seconds(60)));
        // The threads may start before or after the cancellation.
        watchdog.cancel();
        assert_eq!(waiting.join().unwrap().err().unwrap().reason, Reason::Cancelled);
        assert!(reading.join().unwrap().is_err());
    });
    assert!(began.elapsed() < Duration::from_secs(2));
}

/// Returns a target behind a relay. The relay ends its first `connections` connections after
/// `bytes` bytes.
fn behind_relay(server: &Sshd, connections: usize, bytes: usize) -> Target {
    let target = server.target();
    let to = (target.address.clone(), target.port);
    let port = hostile::start_relay(to, (connections, bytes), &server.address);
    // known_hosts has the key for the port of the server. rdmactl must not use the ssh program.
    Target { port, call: None, host_key_alias: Some(server.name()), ..target }
}

/// Number of bytes after which each login is complete. A connection that ends later ends an open
/// session.
const LOGIN_BYTES: usize = 4000;

#[test]
fn a_connection_that_ends_during_the_login_is_never_a_refused_key() {
    let server = Sshd::start();
    let targets: Vec<(usize, Target)> = (0..LOGIN_BYTES)
        .step_by(100)
        .map(|bytes| (bytes, behind_relay(&server, usize::MAX, bytes)))
        .collect();
    let connector = connector();
    let work = |(bytes, target): &(usize, Target)| {
        (*bytes, connector.connect(target, seconds(20)).map(drop))
    };
    let mut details = Vec::new();
    let each = |_: usize, (bytes, outcome): (usize, Result<(), HostFailure>)| {
        let detail = outcome.map_or_else(|failure| failure.to_string(), |()| "ok".to_owned());
        assert!(!detail.contains("denied"), "after {bytes} bytes: {detail}");
        assert!(detail == "ok" || detail.contains("closed the connection"), "{bytes}: {detail}");
        details.push(detail);
    };
    fan_out(&targets, 16, &Watchdog::start().unwrap(), work, each).unwrap();
    for step in ["before its SSH banner", "during the SSH handshake", "was offered", "ok"] {
        assert!(details.iter().any(|detail| detail.contains(step)), "{step}: {details:?}");
    }
}

#[test]
fn a_connection_that_ends_once_during_the_login_costs_no_host() {
    let server = Sshd::start();
    let connector = connector();
    for bytes in (0..LOGIN_BYTES).step_by(400) {
        let target = behind_relay(&server, 1, bytes);
        let session = connector.connect(&target, seconds(20));
        assert!(session.is_ok(), "after {bytes} bytes: {session:?}");
    }
}
