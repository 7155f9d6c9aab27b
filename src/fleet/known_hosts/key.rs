//! Host key as the host presented it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest as _, Sha256};
use ssh_key::public::KeyData;
use ssh_key::{Certificate, PublicKey};

/// Size in bytes of the two times of a certificate.
const TIMES: usize = 16;

/// Host key in wire format: a plain key, or a certificate with one.
#[derive(Debug, Clone)]
pub struct HostKey {
    pub(super) blob: Vec<u8>,
    pub(super) plain: Vec<u8>,
    pub(super) certificate: Option<Box<Certificate>>,
}

impl HostKey {
    /// Parses the wire format; `None` for an unreadable certificate or invalid data.
    pub fn from_blob(blob: &[u8]) -> Option<Self> {
        let kind = type_of_blob(blob)?;
        if !kind.contains("-cert-v01@") {
            return Some(Self { blob: blob.to_vec(), plain: blob.to_vec(), certificate: None });
        }
        // `ssh_key` accepts any vendor, OpenSSH only its own.
        kind.strip_suffix("-cert-v01@openssh.com")?;
        require_whole_options(blob)?;
        let certificate = Certificate::from_bytes(&with_readable_times(blob)?).ok()?;
        // OpenSSH rejects names with a NUL byte, `ssh_key` does not.
        let options = certificate.critical_options().keys().chain(certificate.extensions().keys());
        let mut names = options.chain(certificate.valid_principals());
        if certificate.key_id().contains('\0') || names.any(|name| name.contains('\0')) {
            return None;
        }
        // OpenSSH rejects RSA keys with a negative number, `ssh_key` does not.
        if let KeyData::Rsa(key) = certificate.public_key() {
            key.n.as_positive_bytes().and(key.e.as_positive_bytes())?;
        }
        let plain = wire_form(certificate.public_key())?;
        // `ssh_key` accepts keys with more bytes than their type has. It then reads the rest of the
        // certificate at another place than OpenSSH, which rejects such keys.
        let (_, fields) = take_string(&plain)?;
        (blob.get(key_start(blob)?..key_end(blob)?)? == fields).then_some(())?;
        Some(Self { blob: blob.to_vec(), plain, certificate: Some(Box::new(certificate)) })
    }

    /// Returns the type of the plain key, for example `ssh-ed25519`.
    pub fn kind(&self) -> &str {
        type_of_blob(&self.plain).unwrap_or_default()
    }

    /// Returns the fingerprint of the plain key in the format of `ssh-keygen -l`.
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&self.plain)))
    }

    /// Returns the size of an RSA key in bits; `None` for other types.
    pub fn rsa_bits(&self) -> Option<usize> {
        rsa_bits(&self.plain)
    }
}

/// Returns a copy of a certificate with times that `ssh_key` can parse. `ssh_key` rejects seconds
/// above `i64::MAX`, while `ssh-keygen` writes `u64::MAX` for "forever". The copy is only parsed.
/// The signature is verified over the original.
fn with_readable_times(blob: &[u8]) -> Option<Vec<u8>> {
    let times = times_start(blob)?;
    let mut copy = blob.to_vec();
    for time in copy.get_mut(times..times + TIMES)?.chunks_exact_mut(8) {
        // Numbers above `i64::MAX` have the first bit set.
        if time.first().is_some_and(|byte| byte & 0x80 != 0) {
            time.copy_from_slice(&i64::MAX.to_be_bytes());
        }
    }
    Some(copy)
}

/// Returns `None` if an item of the critical options or extensions lacks a name or a value.
/// OpenSSH rejects such lists, `ssh_key` accepts a value that is longer than its list.
fn require_whole_options(certificate: &[u8]) -> Option<()> {
    let options = certificate.get(times_start(certificate)? + TIMES..)?;
    let (critical_options, rest) = take_string(options)?;
    let (extensions, _) = take_string(rest)?;
    for list in [critical_options, extensions] {
        let mut at = 0;
        while at < list.len() {
            at = after_strings(list, at, 2)?;
        }
    }
    Some(())
}

/// Returns the place of the times in a certificate: the start and the end of its validity.
fn times_start(certificate: &[u8]) -> Option<usize> {
    const SERIAL_AND_TYPE: usize = 8 + 4;
    // The key id and the principals stand before the times.
    after_strings(certificate, key_end(certificate)? + SERIAL_AND_TYPE, 2)
}

/// Returns the place of the public key in a certificate, which starts with its type and a nonce.
fn key_start(certificate: &[u8]) -> Option<usize> {
    after_strings(certificate, 0, 2)
}

/// Returns the place after the public key of a certificate.
fn key_end(certificate: &[u8]) -> Option<usize> {
    let fields = match type_of_blob(certificate)? {
        kind if kind.starts_with("ssh-ed25519-") => 1,
        kind if kind.starts_with("sk-ecdsa-") => 3,
        kind if kind.starts_with("ssh-dss-") => 4,
        // RSA: exponent, modulus. ECDSA: curve, point. Security keys: key, application.
        _ => 2,
    };
    after_strings(certificate, key_start(certificate)?, fields)
}

/// Returns the place after a number of strings.
fn after_strings(bytes: &[u8], start: usize, count: usize) -> Option<usize> {
    let after_string = |at, _| Some(bytes.len() - take_string(bytes.get(at..)?)?.1.len());
    (0..count).try_fold(start, after_string)
}

/// Returns the size in bits of an RSA key in wire format (type, exponent, modulus).
pub(in crate::fleet) fn rsa_bits(blob: &[u8]) -> Option<usize> {
    // A certificate has a nonce before the key.
    let before = match type_of_blob(blob)? {
        "ssh-rsa" => 2,
        kind if kind.starts_with("ssh-rsa-cert-") || kind.starts_with("rsa-sha2-") => 3,
        _ => return None,
    };
    let rest = blob.get(after_strings(blob, 0, before)?..)?;
    let (modulus, _) = take_string(rest)?;
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    let first = modulus.get(zeros)?;
    Some((modulus.len() - zeros) * 8 - usize::try_from(first.leading_zeros()).ok()?)
}

pub(super) fn wire_form(key: &KeyData) -> Option<Vec<u8>> {
    PublicKey::new(key.clone(), "").to_bytes().ok()
}

pub(in crate::fleet) fn type_of_blob(blob: &[u8]) -> Option<&str> {
    std::str::from_utf8(take_string(blob)?.0).ok()
}

/// Splits a length-prefixed string off the front.
pub(super) fn take_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// Returns the key type of a signature algorithm. RSA keys have three algorithms.
pub(super) fn type_of_algorithm(algorithm: &str) -> &str {
    match algorithm {
        "rsa-sha2-256" | "rsa-sha2-512" => "ssh-rsa",
        other => other,
    }
}
