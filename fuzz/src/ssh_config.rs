//! Fuzz target for the SSH configuration of a host: any output of `ssh -G`, and configuration
//! files that OpenSSH reads.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rdmactl::fleet::{Credentials, SshConfig, SshRoute, Target};
use rdmactl::hosts::Host;
use rdmactl::render::escape;

use super::shown::is_harmless;

/// Option, function that reads its value from a target, and values: in a file and in a target.
type Setting = (&'static str, fn(&Target) -> String, &'static [(&'static str, &'static str)]);

/// Options for which ssh uses the first value.
const SETTINGS: [Setting; 13] = [
    (
        "HostName",
        |target| target.address.clone(),
        &[("10.0.0.7", "10.0.0.7"), ("fe80::1", "fe80::1"), ("db.example.org", "db.example.org")],
    ),
    ("Port", |target| target.port.to_string(), &[("7", "7"), ("22", "22"), ("65535", "65535")]),
    ("User", |target| target.user.clone(), &[("root", "root"), ("u-1", "u-1")]),
    (
        "AddressFamily",
        |target| format!("{:?}", target.family),
        &[("any", "Any"), ("inet", "Inet"), ("inet6", "Inet6")],
    ),
    (
        "IdentitiesOnly",
        |target| target.identities_only.to_string(),
        &[("yes", "true"), ("no", "false"), ("true", "true")],
    ),
    (
        "HashKnownHosts",
        |target| target.hash_known_hosts.to_string(),
        &[("yes", "true"), ("no", "false"), ("false", "false")],
    ),
    (
        "StrictHostKeyChecking",
        |target| format!("{:?}", target.host_keys),
        &[
            ("yes", "Strict"),
            ("ask", "Strict"),
            ("no", "Off"),
            ("off", "Off"),
            ("accept-new", "AcceptNew"),
        ],
    ),
    (
        "ConnectTimeout",
        |target| format!("{:?}", target.connect_timeout),
        &[("5", "Some(5s)"), ("1m", "Some(60s)"), ("none", "None"), ("0", "None")],
    ),
    (
        "HostKeyAlias",
        |target| target.host_key_alias.clone().unwrap_or_default(),
        &[("k1", "k1"), ("K.2", "k.2")],
    ),
    (
        "IdentityAgent",
        |target| format!("{:?}", target.agent),
        &[("none", "None"), ("/run/a", "Some(\"/run/a\")")],
    ),
    (
        "UserKnownHostsFile",
        |target| format!("{:?}", target.record_in),
        &[("none", "None"), ("/k/a", "Some(\"/k/a\")"), ("/k/b /k/c", "Some(\"/k/b\")")],
    ),
    (
        "GlobalKnownHostsFile",
        |target| format!("{:?}", target.known_hosts.last()),
        &[("/g/a", "Some(\"/g/a\")"), ("/g/b /g/c", "Some(\"/g/c\")")],
    ),
    (
        "ProxyJump",
        route,
        &[
            ("none", "Direct"),
            ("gw", "None None gw None"),
            ("10.0.0.1", "None None 10.0.0.1 None"),
            ("u@gw:7", "None Some(\"u\") gw Some(7)"),
            ("a,u@[fe80::1]:9", "Some(\"a\") Some(\"u\") fe80::1 Some(9)"),
        ],
    ),
];

/// Options that limit algorithms: option, value in a file, and part of the debug text of the
/// target's algorithms.
const ALGORITHMS: [(&str, &str, &str); 6] = [
    ("Ciphers", "aes128-ctr,aes256-ctr", "[\"aes128-ctr\", \"aes256-ctr\"]"),
    ("KexAlgorithms", "curve25519-sha256", "[\"curve25519-sha256\"]"),
    ("MACs", "hmac-sha2-256", "[\"hmac-sha2-256\"]"),
    ("HostKeyAlgorithms", "ssh-ed25519,rsa-sha2-512", "[\"ssh-ed25519\", \"rsa-sha2-512\"]"),
    ("CASignatureAlgorithms", "rsa-sha2-256", "ca_signatures: [\"rsa-sha2-256\"]"),
    ("RequiredRSASize", "2048", "min_rsa_bits: 2048"),
];

/// Values of the options `IdentityFile` and `CertificateFile`: in a file and in the output of
/// `ssh -G`.
const KEYS: [(&str, &str); 4] = [
    ("/keys/a", "/keys/a"),
    ("\"/keys/b c\"", "/keys/b c"),
    ("/keys/%r-%p%%", "/keys/%r-%p%%"),
    ("none", "none"),
];

/// Lines that begin a block, each with true if the block applies to the host `web`.
const BLOCKS: [(&str, bool); 7] = [
    ("Host other", false),
    ("Host web", true),
    ("Host * !web", false),
    ("Host w?b other", true),
    ("Match originalhost other", false),
    ("Match originalhost web", true),
    ("Match all", true),
];

/// Parses the bytes as output of `ssh -G`. If the first byte is zero, the function builds a
/// configuration file instead, and compares rdmactl with OpenSSH.
pub fn run(data: &[u8]) {
    match data.split_first() {
        Some((0, choices)) => compare(choices),
        _ => any_output(data),
    }
}

/// Checks that the target is the requested host, and that the length of an error is bounded.
fn any_output(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let host = Host::named("web");
    match SshConfig::parse(&text).target(&host, Credentials::default()) {
        Ok(target) => {
            assert_eq!(target.host, host);
            let files = target.identity_files.len() + target.known_hosts.len();
            assert!(files <= text.len());
        }
        Err(failure) => {
            assert!(is_harmless(&escape(&failure.detail)));
            // An error quotes 80 characters of the input, escaped, and adds a sentence.
            assert!(failure.detail.len() <= 80 * "\\u{10ffff}".len() + 200, "{}", failure.detail);
        }
    }
}

/// Checks that a target has the values of a configuration file. Three bytes make a line: its
/// kind, its value and its form.
///
/// The function compares nothing if OpenSSH is not installed or rejects the file.
fn compare(choices: &[u8]) {
    let mut text = String::new();
    let (mut first, mut algorithms) = (BTreeMap::new(), BTreeMap::new());
    let (mut keys, mut certificates) = (Vec::new(), Vec::new());
    let mut is_active = true;
    for choice in choices.chunks_exact(3).take(64) {
        let [kind, value, form] = [choice[0], choice[1], choice[2]];
        let (kind, number, value) = (kind % 8, usize::from(kind / 8), usize::from(value));
        match kind {
            0 => {
                let (line, is_of_web) = BLOCKS[value % BLOCKS.len()];
                text.push_str(line);
                text.push('\n');
                is_active = is_of_web;
            }
            1 | 2 => {
                let (written, file) = KEYS[value % KEYS.len()];
                let (option, files) = match kind {
                    1 => ("IdentityFile", &mut keys),
                    _ => ("CertificateFile", &mut certificates),
                };
                text += &line(option, written, form & !QUOTED);
                if is_active && !files.contains(&file) {
                    files.push(file);
                }
            }
            3 => {
                let (option, written, kept) = ALGORITHMS[value % ALGORITHMS.len()];
                text += &line(option, written, form);
                if is_active {
                    algorithms.insert(option, kept);
                }
            }
            _ => {
                let (option, of, values) = SETTINGS[number % SETTINGS.len()];
                let (written, kept) = values[value % values.len()];
                // Quotes would join the words of a list, and `ProxyJump` does not remove quotes.
                let is_plain = written.contains(' ') || option == "ProxyJump";
                text += &line(option, written, if is_plain { form & !QUOTED } else { form });
                // ssh reads `ConnectTimeout none` as an option without a value.
                let is_set = option != "ConnectTimeout" || written != "none";
                if is_active && is_set {
                    first.entry(option).or_insert((of, kept));
                }
            }
        }
    }
    let Some(output) = effective(&text) else { return };
    let config = SshConfig::parse(&output);
    let target = config.target(&Host::named("web"), Credentials::default()).expect("a target");
    for (option, (of, kept)) in first {
        assert_eq!(of(&target), kept, "{option} of\n{text}\n{output}");
    }
    for (option, kept) in algorithms {
        let found = format!("{:?}", target.algorithms);
        assert!(found.contains(kept), "{option} of\n{text}\n{found}");
    }
    let expanded = |file: &&str| {
        let file = file.replace("%r", &target.user).replace("%p", &target.port.to_string());
        PathBuf::from(file.replace("%%", "%"))
    };
    for (named, found) in
        [(keys, &target.identity_files), (certificates, &target.certificate_files)]
    {
        // Without an option, the target has default files.
        let files: Vec<PathBuf> =
            named.iter().filter(|file| **file != "none").map(expanded).collect();
        assert!(named.is_empty() || *found == files, "{found:?} of\n{text}\n{output}");
    }
}

/// Bits of the form of a line.
const QUOTED: u8 = 1;
const WITH_SIGN: u8 = 2;
const UPPERCASE: u8 = 4;
const WITH_COMMENT: u8 = 8;

fn line(option: &str, value: &str, form: u8) -> String {
    let option = if form & UPPERCASE == 0 { option.to_owned() } else { option.to_uppercase() };
    let sign = if form & WITH_SIGN == 0 { " " } else { " = " };
    let mark = if form & QUOTED == 0 { "" } else { "\"" };
    let comment = if form & WITH_COMMENT == 0 { "" } else { "# Port 1\n\n\t" };
    format!("{comment}{option}{sign}{mark}{value}{mark}\n")
}

fn route(target: &Target) -> String {
    match &target.route {
        SshRoute::Jump(jump) => {
            format!("{:?} {:?} {} {:?}", jump.jumps, jump.user, jump.host, jump.port)
        }
        other => format!("{other:?}"),
    }
}

/// Returns the output of `ssh -G` for a file; `None` if OpenSSH is missing or rejects the file.
fn effective(config: &str) -> Option<String> {
    let ssh = Command::new("ssh")
        .args(["-G", "-F", "/dev/stdin", "web"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match ssh {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        started => started.expect("ssh starts"),
    };
    // ssh may reject its options before it reads stdin.
    let _ = child.stdin.take().expect("a pipe").write_all(config.as_bytes());
    let output = child.wait_with_output().expect("ssh ends");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
