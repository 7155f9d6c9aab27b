//! Private keys of the operator, with properties that are readable without a passphrase.

use std::fs;
use std::path::{Path, PathBuf};

use ssh_key::{Certificate, PrivateKey, PublicKey};

use crate::fleet::Target;

/// Private key file that exists, or the public key of a private key in an agent.
#[derive(Debug)]
pub(in crate::fleet) struct Identity {
    pub(in crate::fleet) file: PathBuf,
    /// Certificates for this key, which are offered before the plain key.
    pub(in crate::fleet) certificates: Vec<PathBuf>,
    /// Public key in wire format, to find the key in an agent.
    pub(in crate::fleet) public: Option<Vec<u8>>,
    /// File with the public half. To derive it takes libssh2 a tenth of the local cost of a login.
    pub(in crate::fleet) public_file: Option<PathBuf>,
    /// True if the key needs a passphrase, or if only its public half is in a file.
    pub(in crate::fleet) is_locked: bool,
    pub(in crate::fleet) is_encrypted: bool,
    /// True for a security key (FIDO), which libssh2 cannot sign with.
    pub(in crate::fleet) is_security_key: bool,
}

pub(in crate::fleet) fn read_all(target: &Target) -> Vec<Identity> {
    target.identity_files.iter().filter_map(|file| Identity::read(file, target)).collect()
}

impl Identity {
    /// Reads a key file. `None` if neither the key nor its public half exists.
    fn read(file: &Path, target: &Target) -> Option<Self> {
        let beside = with_suffix(file, ".pub");
        let public_beside = || PublicKey::from_openssh(&fs::read_to_string(&beside).ok()?).ok();
        let text = fs::read_to_string(file).ok();
        let private = text.as_deref().and_then(|text| PrivateKey::from_openssh(text).ok());
        let public = private
            .as_ref()
            .map(|key| key.public_key().clone())
            .or_else(|| text.as_deref().and_then(|text| PublicKey::from_openssh(text).ok()))
            .or_else(public_beside);
        let is_private = text.as_deref().is_some_and(|text| text.contains("PRIVATE KEY-----"));
        if !is_private && public.is_none() {
            return None;
        }
        let is_encrypted = match &private {
            Some(key) => key.is_encrypted(),
            // Older formats have this in their header.
            None => text.as_deref().is_some_and(|text| text.contains("ENCRYPTED")),
        };
        let is_beside = private.as_ref().is_some_and(|private| {
            let key = private.public_key().key_data();
            public_beside().is_some_and(|public| public.key_data() == key)
        });
        let mut identity = Self {
            certificates: Vec::new(),
            public_file: is_beside.then_some(beside),
            public: public.as_ref().and_then(|key| key.to_bytes().ok()),
            is_locked: is_encrypted || !is_private,
            is_encrypted,
            is_security_key: public
                .as_ref()
                .is_some_and(|key| key.algorithm().as_str().starts_with("sk-")),
            file: file.to_owned(),
        };
        let own = with_suffix(file, "-cert.pub");
        identity.certificates = [&own]
            .into_iter()
            .chain(&target.certificate_files)
            .filter(|certificate| identity.is_certified_by(certificate))
            .cloned()
            .collect();
        Some(identity)
    }

    pub(in crate::fleet) fn is_usable(&self) -> bool {
        !self.is_locked && !self.is_security_key
    }

    fn is_certified_by(&self, file: &Path) -> bool {
        let certificate = fs::read_to_string(file).ok();
        let certificate = certificate.and_then(|text| Certificate::from_openssh(text.trim()).ok());
        let Some(certificate) = certificate else { return false };
        let certified = PublicKey::new(certificate.public_key().clone(), "").to_bytes().ok();
        certified.is_some() && certified == self.public
    }
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
