//! Verifies host keys against `known_hosts` files, which it reads as OpenSSH does.
//!
//! libssh2's own reader is not used: it accepts a `@revoked` key, supports neither patterns nor
//! `@cert-authority`, and reports a second key type of a host as a changed key.

mod accept;
mod certificate;
mod key;
mod line;
pub(super) mod pattern;
mod signature;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

pub use accept::{Acceptance, AcceptedKeys};
pub use key::HostKey;
pub(super) use key::{rsa_bits, type_of_blob};
use line::{HostKeyLine, Marker};

/// Lines of all `known_hosts` files of a run, read once.
#[derive(Debug, Default)]
pub struct KnownHosts {
    lines: Vec<HostKeyLine>,
}

/// Place of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePosition {
    /// Path of the file.
    pub file: Arc<PathBuf>,
    /// Line number, from 1.
    pub line: usize,
}

impl std::fmt::Display for LinePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// Error: a `known_hosts` file exists and cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", file.display())]
pub struct UnreadableFile {
    /// Path of the file.
    pub file: PathBuf,
    /// Error of the system.
    pub source: io::Error,
}

/// Name and port by which a host is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownHostsName {
    /// `[host]:port`, or the plain name for port 22.
    exact: String,
    /// Plain name, tried after `exact` for any other port.
    plain: Option<String>,
    /// Name that the principals of a host certificate must match.
    name: String,
}

impl KnownHostsName {
    /// Returns the lookup of a host at a port.
    pub fn host(name: &str, port: u16) -> Self {
        let name = name.to_lowercase();
        match port {
            22 => Self { exact: name.clone(), plain: None, name },
            port => Self { exact: format!("[{name}]:{port}"), plain: Some(name.clone()), name },
        }
    }

    /// Returns the lookup of a `HostKeyAlias`, which has no port.
    pub fn alias(name: &str) -> Self {
        Self::host(name, 22)
    }

    /// Returns the host as `known_hosts` writes it, with its port if that is not 22.
    pub fn spelled(&self) -> &str {
        &self.exact
    }
}

/// Result of the verification of a host key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostKeyStatus {
    /// The key belongs to this host, or an authority for this host signed it.
    Known,
    /// The files have no key of this type for the host.
    Unknown {
        /// Key types that the files have for the host.
        other_types: Vec<String>,
    },
    /// The files have another key of this type for the host.
    Changed(LinePosition),
    /// The key, or the authority that signed it, is revoked for this host.
    Revoked(LinePosition),
    /// A known authority signed the key, but the certificate is not valid for this host.
    BadCertificate(String),
}

impl KnownHosts {
    /// Reads the files. A missing file counts as empty.
    ///
    /// # Errors
    /// A file exists and cannot be read. It may contain the decisive line.
    pub fn read(files: &[PathBuf]) -> Result<Self, UnreadableFile> {
        let mut known = Self::default();
        for file in files {
            match fs::read(file) {
                Ok(text) => known.add(file, &String::from_utf8_lossy(&text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(UnreadableFile { file: file.clone(), source }),
            }
        }
        Ok(known)
    }

    /// Adds the lines of a text. Lines without a valid key are skipped, as OpenSSH does.
    pub fn add(&mut self, file: &Path, text: &str) {
        let file = Arc::new(file.to_owned());
        for (index, text) in text.lines().enumerate() {
            let place = LinePosition { file: Arc::clone(&file), line: index + 1 };
            self.lines.extend(HostKeyLine::parse(text, place));
        }
    }

    /// Returns the lines about one host.
    pub fn of<'a>(&'a self, lookup: &'a KnownHostsName) -> HostLines<'a> {
        let about = |name: &str| self.lines.iter().filter(|line| line.names.holds(name)).collect();
        let plain = lookup.plain.as_deref().map(about).unwrap_or_default();
        HostLines { lookup, exact: about(&lookup.exact), plain }
    }
}

/// Lines about one host.
#[derive(Debug)]
pub struct HostLines<'a> {
    lookup: &'a KnownHostsName,
    exact: Vec<&'a HostKeyLine>,
    plain: Vec<&'a HostKeyLine>,
}

impl HostLines<'_> {
    /// Verifies a key that the host presented, at a time in seconds since 1970.
    pub fn verify(&self, key: &HostKey, unix_s: u64) -> HostKeyStatus {
        self.verify_with(key, unix_s, &[])
    }

    /// Verifies a key. An authority may sign with the algorithms `signatures`; empty for all.
    pub fn verify_with(&self, key: &HostKey, unix_s: u64, signatures: &[String]) -> HostKeyStatus {
        let terms = CertificateTerms { principal: &self.lookup.name, unix_s, signatures };
        let verdict = verify_by(&self.exact, key, &terms);
        if !matches!(verdict, HostKeyStatus::Unknown { .. }) {
            return verdict;
        }
        // As in OpenSSH, a key under the plain name is valid at any port; another proves nothing.
        match verify_by(&self.plain, key, &terms) {
            found @ (HostKeyStatus::Known | HostKeyStatus::Revoked(_)) => found,
            _ => verdict,
        }
    }

    /// Returns the order in which to offer host key algorithms, so that the host presents a
    /// recorded key. `supported` are the algorithms of libssh2.
    pub fn order_algorithms(&self, supported: &[&str]) -> String {
        let lines = || self.exact.iter().chain(&self.plain);
        let by_authority = lines().any(|line| line.marker == Marker::Authority);
        let recorded = |algorithm: &str| {
            let kind = key::type_of_algorithm(algorithm);
            lines().any(|line| line.marker == Marker::None && line.kind == kind)
        };
        let is_certificate = |algorithm: &str| algorithm.contains("-cert-v01@");
        let rank = |algorithm: &&str| match (is_certificate(algorithm), recorded(algorithm)) {
            (true, _) if by_authority => Some(0),
            (true, _) => None,
            (false, true) => Some(1),
            (false, false) => Some(2),
        };
        let mut ordered: Vec<(u8, &str)> =
            supported.iter().filter_map(|name| Some((rank(name)?, *name))).collect();
        ordered.sort_by_key(|(rank, _)| *rank);
        ordered.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(",")
    }
}

struct CertificateTerms<'a> {
    principal: &'a str,
    unix_s: u64,
    /// Allowed algorithms of the authority's signature; empty for all.
    signatures: &'a [String],
}

fn verify_by(lines: &[&HostKeyLine], key: &HostKey, terms: &CertificateTerms<'_>) -> HostKeyStatus {
    let with = |marker: Marker| lines.iter().filter(move |line| line.marker == marker);
    let authority = key.certificate.as_deref().map(certificate::authority);
    for line in with(Marker::Revoked) {
        if line.key == key.plain || authority.as_ref() == Some(&line.key) {
            return HostKeyStatus::Revoked(line.place.clone());
        }
    }
    if let (Some(certificate), Some(authority)) = (&key.certificate, &authority)
        && with(Marker::Authority).any(|line| line.key == *authority)
    {
        return match certificate::check(certificate, &key.blob, terms) {
            Ok(()) => HostKeyStatus::Known,
            Err(why) => HostKeyStatus::BadCertificate(why),
        };
    }
    let mut other_types = Vec::new();
    let mut changed = None;
    for line in with(Marker::None) {
        if line.key == key.plain {
            return HostKeyStatus::Known;
        }
        if line.kind == key.kind() {
            changed.get_or_insert_with(|| line.place.clone());
        } else {
            other_types.push(line.kind.clone());
        }
    }
    changed.map_or(HostKeyStatus::Unknown { other_types }, HostKeyStatus::Changed)
}
