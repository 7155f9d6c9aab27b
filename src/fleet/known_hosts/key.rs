//! The key that a host has shown.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest as _, Sha256};
use ssh_key::Certificate;
use ssh_key::public::KeyData;

use ssh_key::PublicKey;

/// A host's key as it came over the wire: a plain key, or a certificate around one.
#[derive(Debug, Clone)]
pub struct HostKey {
    blob: Vec<u8>,
    plain: Vec<u8>,
    certificate: Option<Box<Certificate>>,
}

impl HostKey {
    /// Reads the wire form; `None` when it is a certificate that cannot be read, or no key.
    #[must_use]
    pub fn from_blob(blob: &[u8]) -> Option<Self> {
        if !type_of_blob(blob)?.contains("-cert-v01@") {
            return Some(Self { blob: blob.to_vec(), plain: blob.to_vec(), certificate: None });
        }
        let certificate = Certificate::from_bytes(blob).ok()?;
        let plain = wire_form(certificate.public_key())?;
        Some(Self { blob: blob.to_vec(), plain, certificate: Some(Box::new(certificate)) })
    }

    /// The type of the plain key, as in `ssh-ed25519`.
    #[must_use]
    pub fn kind(&self) -> &str {
        type_of_blob(&self.plain).unwrap_or_default()
    }

    /// The fingerprint of the plain key as `ssh-keygen -l` shows it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&self.plain)))
    }

    pub(super) fn blob(&self) -> &[u8] {
        &self.blob
    }

    pub(super) fn plain(&self) -> &[u8] {
        &self.plain
    }

    pub(super) fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_deref()
    }
}

pub(super) fn wire_form(key: &KeyData) -> Option<Vec<u8>> {
    PublicKey::new(key.clone(), "").to_bytes().ok()
}

/// The type that the wire form of a key begins with.
pub(in crate::fleet) fn type_of_blob(blob: &[u8]) -> Option<&str> {
    let (length, rest) = blob.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    std::str::from_utf8(rest.get(..length)?).ok()
}

/// The key type behind a signature algorithm: RSA keys sign in three ways.
pub(super) fn type_of_algorithm(algorithm: &str) -> &str {
    match algorithm {
        "rsa-sha2-256" | "rsa-sha2-512" => "ssh-rsa",
        other => other,
    }
}
