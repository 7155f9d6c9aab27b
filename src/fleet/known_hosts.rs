//! Whether a host's key is the one on record: `known_hosts` files read as OpenSSH reads them.
//!
//! libssh2's own reader is not used: it accepts a `@revoked` key, knows no patterns and no
//! `@cert-authority`, and takes a second key type of a host for a changed key.

mod certificate;
mod key;
mod line;
mod note;
pub(super) mod pattern;
mod signature;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use key::HostKey;
pub(super) use key::{rsa_bits, type_of_blob};
use line::{Line, Marker};
pub use note::{Accepted, Taken};

/// All lines of all `known_hosts` files of a run, read once.
#[derive(Debug, Default)]
pub struct KnownHosts {
    lines: Vec<Line>,
}

/// Where a line stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<PathBuf>,
    /// The line, counted from 1.
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A `known_hosts` file that exists and cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", file.display())]
pub struct UnreadableFile {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// The name and port that a host is looked up by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lookup {
    /// `[host]:port`, or the plain name at port 22.
    exact: String,
    /// The plain name, tried after `exact` at any other port.
    plain: Option<String>,
    /// What the principals of a host certificate must match.
    name: String,
}

impl Lookup {
    /// A host at a port.
    #[must_use]
    pub fn host(name: &str, port: u16) -> Self {
        let name = name.to_lowercase();
        match port {
            22 => Self { exact: name.clone(), plain: None, name },
            port => Self { exact: format!("[{name}]:{port}"), plain: Some(name.clone()), name },
        }
    }

    /// A `HostKeyAlias`, which has no port.
    #[must_use]
    pub fn alias(name: &str) -> Self {
        Self::host(name, 22)
    }

    /// The host as `known_hosts` spells it, with its port where that is not 22.
    #[must_use]
    pub fn spelled(&self) -> &str {
        &self.exact
    }
}

/// What the record says about a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is this host's key, or signed by an authority for it.
    Known,
    /// There is no key of this type for the host.
    Unknown {
        /// Key types that are on record for the host.
        other_types: Vec<String>,
    },
    /// There is another key of this type for the host.
    Changed(Place),
    /// The key, or the authority that signed it, is marked as revoked for this host.
    Revoked(Place),
    /// A known authority signed the key, and the certificate does not hold for this host.
    BadCertificate(String),
}

impl KnownHosts {
    /// Reads files; one that does not exist is empty.
    ///
    /// # Errors
    /// One that exists and cannot be read: it may hold the line that matters.
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

    /// Adds the lines of a text; what is no line of a key is passed over, as OpenSSH does.
    pub fn add(&mut self, file: &Path, text: &str) {
        let file = Arc::new(file.to_owned());
        for (index, text) in text.lines().enumerate() {
            let place = Place { file: Arc::clone(&file), line: index + 1 };
            self.lines.extend(Line::parse(text, place));
        }
    }

    /// What the files say about one host.
    #[must_use]
    pub fn of<'a>(&'a self, lookup: &'a Lookup) -> Record<'a> {
        let about = |name: &str| self.lines.iter().filter(|line| line.names.holds(name)).collect();
        let plain = lookup.plain.as_deref().map(about).unwrap_or_default();
        Record { lookup, exact: about(&lookup.exact), plain }
    }
}

/// The lines about one host.
#[derive(Debug)]
pub struct Record<'a> {
    lookup: &'a Lookup,
    exact: Vec<&'a Line>,
    plain: Vec<&'a Line>,
}

impl Record<'_> {
    /// Judges a key that the host has shown, at a time in seconds since 1970.
    #[must_use]
    pub fn judge(&self, key: &HostKey, unix_s: u64) -> Verdict {
        self.judge_allowing(key, unix_s, &[])
    }

    /// Judges a key; `signatures` are the algorithms with which an authority may sign, empty for all.
    #[must_use]
    pub fn judge_allowing(&self, key: &HostKey, unix_s: u64, signatures: &[String]) -> Verdict {
        let terms = Terms { principal: &self.lookup.name, unix_s, signatures };
        let verdict = judge_by(&self.exact, key, &terms);
        if !matches!(verdict, Verdict::Unknown { .. }) {
            return verdict;
        }
        // As ssh does: the key of the host itself counts at any port, its absence does not.
        match judge_by(&self.plain, key, &terms) {
            found @ (Verdict::Known | Verdict::Revoked(_)) => found,
            _ => verdict,
        }
    }

    /// The order in which host key algorithms should be offered, so that the host shows a key
    /// that is on record; `supported` is what the SSH library can do.
    #[must_use]
    pub fn order_algorithms(&self, supported: &[&str]) -> String {
        let lines = || self.exact.iter().chain(&self.plain);
        let by_authority = lines().any(|line| line.marker == Marker::Authority);
        let recorded = |algorithm: &str| {
            lines().any(|line| {
                line.marker == Marker::None && key::type_of_algorithm(algorithm) == line.kind
            })
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

/// Conditions of a host certificate.
struct Terms<'a> {
    principal: &'a str,
    /// The time, in seconds since 1970.
    unix_s: u64,
    /// Algorithms of the authority's signature; empty for all.
    signatures: &'a [String],
}

fn judge_by(lines: &[&Line], key: &HostKey, terms: &Terms<'_>) -> Verdict {
    let with = |marker: Marker| lines.iter().filter(move |line| line.marker == marker);
    let authority = key.certificate().map(certificate::authority);
    for line in with(Marker::Revoked) {
        if line.key == key.plain() || authority.as_ref() == Some(&line.key) {
            return Verdict::Revoked(line.place.clone());
        }
    }
    if let (Some(certificate), Some(authority)) = (key.certificate(), &authority)
        && with(Marker::Authority).any(|line| line.key == *authority)
    {
        return match certificate::check(certificate, key.blob(), terms) {
            Ok(()) => Verdict::Known,
            Err(why) => Verdict::BadCertificate(why),
        };
    }
    let mut other_types = Vec::new();
    let mut changed = None;
    for line in with(Marker::None) {
        if line.key == key.plain() {
            return Verdict::Known;
        }
        if line.kind == key.kind() {
            changed.get_or_insert_with(|| line.place.clone());
        } else {
            other_types.push(line.kind.clone());
        }
    }
    changed.map_or(Verdict::Unknown { other_types }, Verdict::Changed)
}
