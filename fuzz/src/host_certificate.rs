//! Fuzz target for host certificates: signs any fields with a known authority, and compares the
//! verdict with OpenSSH.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::pkey::{Id, PKey, Private};
use openssl::sign::Signer;
use rdmactl::fleet::known_hosts::{HostKey, HostKeyStatus, KnownHosts, KnownHostsName};

/// Time of the verification, in seconds since 1970.
const NOW: u64 = 1_700_000_000;
/// [`NOW`] in UTC, in the format of `ssh-keygen -L`.
const NOW_TEXT: &str = "2023-11-14T22:13:20";

/// Signs the fields of a certificate, from its type to its extensions, and verifies the result.
///
/// If rdmactl accepts a certificate, `ssh-keygen -L` lists it as valid for this host and this
/// time.
pub fn run(fields: &[u8]) {
    let authority = authority();
    let blob = sign(fields, &authority);
    let Some(key) = HostKey::from_blob(&blob) else { return };
    let mut known = KnownHosts::default();
    let line = format!("@cert-authority web ssh-ed25519 {}", STANDARD.encode(public(&authority)));
    known.add(Path::new("fuzzed"), &line);
    let verdict = known.of(&KnownHostsName::host("web", 22)).verify(&key, NOW);
    if verdict != HostKeyStatus::Known {
        assert!(
            !matches!(verdict, HostKeyStatus::Changed(_) | HostKeyStatus::Revoked(_)),
            "{verdict:?}"
        );
        return;
    }
    let listed = list(&blob);
    let field = |name: &str| {
        let line = listed.lines().map(str::trim).find_map(|line| line.strip_prefix(name));
        line.map(str::trim).expect("a field that ssh-keygen prints for every certificate")
    };
    assert!(field("Type:").ends_with(" host certificate"), "{listed}");
    assert_eq!(field("Critical Options:"), "(none)", "{listed}");
    assert!(field("Public key:").ends_with(&key.fingerprint()), "{listed}");
    let (_, principals) = listed.split_once("Principals:").expect("principals");
    let (principals, _) = principals.split_once("Critical Options:").expect("options");
    // A principal may be a pattern.
    let is_web = |name: &str| name.eq_ignore_ascii_case("web") || name.contains(['*', '?']);
    assert!(principals.lines().map(str::trim).any(is_web), "{listed}");
    let valid = field("Valid:");
    // For a time that `struct tm` cannot hold, ssh-keygen prints a text of another length.
    let time = |word: &str| {
        let (_, rest) = valid.split_once(word)?;
        rest.split(' ').next().filter(|time| time.len() == NOW_TEXT.len())
    };
    assert!(time("from ").is_none_or(|from| from <= NOW_TEXT), "{listed}");
    assert!(time("after ").is_none_or(|from| from <= NOW_TEXT), "{listed}");
    assert!(time("to ").is_none_or(|to| to > NOW_TEXT), "{listed}");
    assert!(time("before ").is_none_or(|to| to > NOW_TEXT), "{listed}");
}

fn authority() -> PKey<Private> {
    PKey::private_key_from_raw_bytes(&[7; 32], Id::ED25519).expect("a private key")
}

/// Returns the public key in wire form.
fn public(authority: &PKey<Private>) -> Vec<u8> {
    let key = authority.raw_public_key().expect("a public key");
    [string(b"ssh-ed25519"), string(&key)].concat()
}

/// Appends an empty reserved field, the key of the authority and its signature.
fn sign(fields: &[u8], authority: &PKey<Private>) -> Vec<u8> {
    let body = [fields.to_vec(), string(b""), string(&public(authority))].concat();
    let mut signer = Signer::new_without_digest(authority).expect("a signer");
    let signature = signer.sign_oneshot_to_vec(&body).expect("a signature");
    let signature = [string(b"ssh-ed25519"), string(&signature)].concat();
    [body, string(&signature)].concat()
}

/// Encodes bytes as an SSH string: the length, then the bytes.
fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("an input is short");
    [&length.to_be_bytes(), bytes].concat()
}

/// Returns the output of `ssh-keygen -L` for a certificate.
fn list(blob: &[u8]) -> String {
    let length = blob.first_chunk::<4>().map_or(0, |length| u32::from_be_bytes(*length));
    let kind = blob.get(4..4 + length as usize).expect("a type");
    let line = format!("{} {}\n", String::from_utf8_lossy(kind), STANDARD.encode(blob));
    let mut child = Command::new("ssh-keygen")
        .args(["-L", "-f", "-"])
        .env("TZ", "UTC")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ssh-keygen is installed");
    child.stdin.take().expect("a pipe").write_all(line.as_bytes()).expect("ssh-keygen reads");
    let output = child.wait_with_output().expect("ssh-keygen ends");
    assert!(output.status.success(), "OpenSSH rejects {line}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
