//! Compares the parser of `known_hosts` lines with `ssh-keygen -F`.

#![allow(clippy::unwrap_used, reason = "without its test bed a test must end")]

use std::fs;
use std::path::Path;

use crate::bed::tool;
use crate::sshd::keygen;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rdmactl::fleet::known_hosts::{HostKey, HostKeyStatus, KnownHosts, KnownHostsName};

/// Time of the verification, at which all test certificates are valid.
const NOW: u64 = 1_790_000_000;

struct Keys {
    directory: tempfile::TempDir,
    ours: String,
    other: String,
    ecdsa: String,
}

impl Keys {
    fn new() -> Self {
        let directory = tempfile::TempDir::new().unwrap();
        let key = |name: &str, kind: &str| {
            let file = directory.path().join(name);
            keygen(&file, kind);
            let text = fs::read_to_string(file.with_extension("pub")).unwrap();
            text.split(' ').take(2).collect::<Vec<_>>().join(" ")
        };
        let (ours, other, ecdsa) =
            (key("ours", "ed25519"), key("other", "ed25519"), key("ecdsa", "ecdsa"));
        Self { directory, ours, other, ecdsa }
    }

    /// Replaces letters of a line with keys: `K` is the key of the host, `X` is another key of
    /// the same type, and `E` is a key of another type.
    fn spell(&self, line: &str) -> String {
        line.replace(" K", &format!(" {}", self.ours))
            .replace(" X", &format!(" {}", self.other))
            .replace(" E", &format!(" {}", self.ecdsa))
    }

    fn host_key(&self) -> HostKey {
        let blob = STANDARD.decode(self.ours.split(' ').nth(1).unwrap()).unwrap();
        HostKey::from_blob(&blob).unwrap()
    }

    fn verify(&self, text: &str, name: &str, port: u16) -> HostKeyStatus {
        let mut known = KnownHosts::default();
        known.add(Path::new("f"), &self.spell(text));
        known.of(&KnownHostsName::host(name, port)).verify(&self.host_key(), NOW)
    }

    /// Returns the lines that `ssh-keygen -F` finds for a host.
    fn found_by_ssh(&self, text: &str, name: &str) -> String {
        let file = self.directory.path().join("known_hosts");
        fs::write(&file, self.spell(text)).unwrap();
        let mut find = tool("ssh-keygen", "openssh-client");
        let output = find.args(["-F", name, "-f"]).arg(&file).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

fn word(verdict: &HostKeyStatus) -> &'static str {
    match verdict {
        HostKeyStatus::Known => "known",
        HostKeyStatus::Unknown { .. } => "unknown",
        HostKeyStatus::Changed(_) => "changed",
        HostKeyStatus::Revoked(_) => "revoked",
        HostKeyStatus::BadCertificate(_) => "bad certificate",
    }
}

#[test]
fn lines_have_the_meaning_of_openssh() {
    let keys = Keys::new();
    for (text, name, port, expected) in [
        ("node1 K", "node1", 22, "known"),
        ("node1,node2 K", "node2", 22, "known"),
        ("fe80::1 K", "fe80::1", 22, "known"),
        ("10.0.0.1 K comment # here", "10.0.0.1", 22, "known"),
        ("  node1 K", "node1", 22, "known"),
        ("*.cluster K", "node1.cluster", 22, "known"),
        ("node? K", "node1", 22, "known"),
        ("[node*]:2224 K", "node1", 2224, "known"),
        ("node*,!node5 K", "node5", 22, "unknown"),
        ("NODE1 K", "node1", 22, "known"),
        ("node1 K", "NODE1", 22, "known"),
        ("@revoked node1 K\nnode1 K", "node1", 22, "revoked"),
        ("@revoked * K\nnode1 K", "node1", 22, "revoked"),
        ("@revoked node2 K\nnode1 K", "node1", 22, "known"),
        ("@cert-authority node1 K", "node1", 22, "unknown"),
        ("@unheard-of node1 K", "node1", 22, "unknown"),
        ("node1 E", "node1", 22, "unknown"),
        ("node1 E\nnode1 K", "node1", 22, "known"),
        ("node1 X", "node1", 22, "changed"),
        ("node1 X\nnode1 K", "node1", 22, "known"),
        ("node1 K", "node1", 2224, "known"),
        ("node1 X", "node1", 2224, "unknown"),
        ("[node1]:2224 X\nnode1 K", "node1", 2224, "changed"),
        ("[node1]:2224 K", "node1", 22, "unknown"),
        ("# node1 K", "node1", 22, "unknown"),
        ("node1 ssh-ed25519 AAAA", "node1", 22, "unknown"),
        ("node1 ssh-rsa K", "node1", 22, "unknown"),
        ("node1", "node1", 22, "unknown"),
        ("|1|AAAA|AAAA K", "node1", 22, "unknown"),
        ("|1| K", "node1", 22, "unknown"),
    ] {
        let verdict = keys.verify(text, name, port);
        assert_eq!(word(&verdict), expected, "{text} / {name}:{port}");
        // ssh-keygen -F does not check markers and key types, and it ignores the port.
        let plain = !text.contains('@') && !text.contains("ssh-rsa") && port == 22;
        if plain {
            let found = keys.found_by_ssh(text, name).contains(&keys.ours);
            assert_eq!(found, expected == "known", "ssh-keygen -F: {text} / {name}");
        }
    }
    let HostKeyStatus::Changed(place) = keys.verify("#\n\nnode1 X", "node1", 22) else {
        unreachable!()
    };
    assert_eq!(place.to_string(), "f:3");
    let HostKeyStatus::Unknown { other_types } = keys.verify("node1 E", "node1", 22) else {
        unreachable!()
    };
    assert_eq!(other_types, ["ecdsa-sha2-nistp256"]);
}

#[test]
fn hashed_names_are_found_as_ssh_hashes_them() {
    let keys = Keys::new();
    let file = keys.directory.path().join("known_hosts");
    fs::write(&file, keys.spell("node1 K\n[node2]:2224 K\n")).unwrap();
    let output =
        tool("ssh-keygen", "openssh-client").arg("-H").arg("-f").arg(&file).output().unwrap();
    assert!(output.status.success());
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.lines().all(|line| line.starts_with("|1|")));
    for (name, port, expected) in [
        ("node1", 22, "known"),
        ("Node1", 22, "known"),
        ("node1", 2224, "known"),
        ("node2", 2224, "known"),
        ("node2", 22, "unknown"),
        ("node3", 22, "unknown"),
    ] {
        assert_eq!(word(&keys.verify(&text, name, port)), expected, "{name}:{port}");
    }
}

#[test]
fn algorithms_are_requested_in_the_order_of_known_hosts() {
    let keys = Keys::new();
    let supported =
        ["ecdsa-sha2-nistp256", "ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519", "rsa-sha2-512"];
    for (text, expected) in [
        ("", "ecdsa-sha2-nistp256,ssh-ed25519,rsa-sha2-512"),
        ("node1 K", "ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512"),
        (
            "node1 E\n@cert-authority * X",
            "ssh-ed25519-cert-v01@openssh.com,ecdsa-sha2-nistp256,ssh-ed25519,rsa-sha2-512",
        ),
    ] {
        let mut known = KnownHosts::default();
        known.add(Path::new("f"), &keys.spell(text));
        let lookup = KnownHostsName::host("node1", 22);
        assert_eq!(known.of(&lookup).order_algorithms(&supported), expected, "{text}");
    }
}

#[test]
fn random_patterns_match_like_ssh_keygen() {
    let keys = Keys::new();
    let mut runner =
        TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
    let patterns = proptest::collection::vec("!?[ab*?.]{1,5}", 1..3);
    let cases = (patterns, "[ab.]{1,4}");
    let outcome = runner.run(&cases, |(patterns, name)| {
        let text = format!("{} K", patterns.join(","));
        let ours = keys.verify(&text, &name, 22) == HostKeyStatus::Known;
        prop_assert_eq!(
            ours,
            keys.found_by_ssh(&text, &name).contains(&keys.ours),
            "{} {}",
            text,
            name
        );
        Ok(())
    });
    outcome.unwrap();
}

proptest! {
    #[test]
    fn arbitrary_files_and_keys_never_panic(text in "[\\x00-\\x7f]{0,200}", blob in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut known = KnownHosts::default();
        known.add(Path::new("f"), &text);
        if let Some(key) = HostKey::from_blob(&blob) {
            let _ = known.of(&KnownHostsName::host("a", 1)).verify(&key, NOW);
        }
    }
}
