//! Adds lines to `known_hosts` files, for `StrictHostKeyChecking accept-new`.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use parking_lot::Mutex;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use sha1::Sha1;

use super::{HostKey, HostKeyStatus, KnownHosts, KnownHostsName};
use crate::clock::Deadline;

/// Time that another program may hold the lock of the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(3);
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// Keys accepted during a run, by file and name. A different key within the run is a changed one.
#[derive(Debug, Default)]
pub struct AcceptedKeys {
    keys: Mutex<HashMap<(PathBuf, String), Vec<u8>>>,
}

/// Result of accepting a new key.
#[derive(Debug)]
pub enum Acceptance {
    /// The file contains the key.
    Recorded,
    /// The file, or this run, already has another key of this host.
    Changed,
}

impl AcceptedKeys {
    /// Accepts the key of a host without a recorded key, and writes it as OpenSSH does. The name
    /// is hashed if the configuration requires it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn accept(
        &self,
        file: &Path,
        lookup: &KnownHostsName,
        key: &HostKey,
        is_hashed: bool,
    ) -> io::Result<Acceptance> {
        let mut keys = self.keys.lock();
        let slot = (file.to_owned(), lookup.spelled().to_owned());
        match keys.get(&slot) {
            Some(taken) if *taken == key.plain => return Ok(Acceptance::Recorded),
            Some(_) => return Ok(Acceptance::Changed),
            None => {}
        }
        let taken = append(file, lookup, key, is_hashed)?;
        if matches!(taken, Acceptance::Recorded) {
            keys.insert(slot, key.plain.clone());
        }
        Ok(taken)
    }
}

fn line(lookup: &KnownHostsName, key: &HostKey, is_hashed: bool) -> io::Result<String> {
    let name = lookup.spelled();
    // These characters would change the meaning of the line.
    if name.is_empty() || name.contains([',', ' ', '\t', '\n', '#', '|', '*', '?', '!', '@']) {
        let why = "known_hosts cannot hold this host name";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let name = if is_hashed { hashed(name)? } else { name.to_owned() };
    Ok(format!("{name} {} {}\n", key.kind(), STANDARD.encode(&key.plain)))
}

fn hashed(name: &str) -> io::Result<String> {
    let mut salt = [0; 20];
    getrandom::fill(&mut salt).map_err(io::Error::other)?;
    let mac = Hmac::<Sha1>::new_from_slice(&salt).map_err(io::Error::other)?;
    let hash = mac.chain_update(name).finalize().into_bytes();
    Ok(format!("|1|{}|{}", STANDARD.encode(salt), STANDARD.encode(hash)))
}

/// Appends the key of a host under a lock of all rdmactl processes. A key written by one counts.
fn append(
    path: &Path,
    lookup: &KnownHostsName,
    key: &HostKey,
    is_hashed: bool,
) -> io::Result<Acceptance> {
    let line = line(lookup, key, is_hashed)?;
    if let Some(directory) = path.parent().filter(|directory| !directory.exists()) {
        DirBuilder::new().mode(0o700).create(directory)?;
    }
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    // `/dev/null` stores nothing, and any process may hold its lock.
    if !file.metadata()?.is_file() {
        return Ok(Acceptance::Recorded);
    }
    lock(&file)?;
    let known = KnownHosts::read(&[path.to_owned()]).map_err(io::Error::other)?;
    match known.of(lookup).verify(key, 0) {
        HostKeyStatus::Known => return Ok(Acceptance::Recorded),
        HostKeyStatus::Unknown { ref other_types } if other_types.is_empty() => {}
        _ => return Ok(Acceptance::Changed),
    }
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    // The last line of an edited file may have no newline.
    let begin = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{begin}{line}").as_bytes())?;
    Ok(Acceptance::Recorded)
}

fn lock(file: &File) -> io::Result<()> {
    let deadline = Deadline::after(LOCK_TIMEOUT);
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if !deadline.is_over() => thread::park_timeout(LOCK_INTERVAL),
            Err(Errno::WOULDBLOCK) => {
                return Err(io::Error::other("another program holds the lock"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::fleet::known_hosts::{HostKeyStatus, KnownHosts};

    fn key(last: u8) -> HostKey {
        let mut blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20".to_vec();
        blob.extend([last; 32]);
        HostKey::from_blob(&blob).unwrap()
    }

    #[test]
    fn a_new_key_is_on_record_afterwards_and_another_one_is_changed() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join(".ssh/known_hosts");
        let accepted = AcceptedKeys::default();
        let (plain, hashed) =
            (KnownHostsName::host("N1", 7), KnownHostsName::host("n2.example", 22));
        assert!(matches!(
            accepted.accept(&file, &plain, &key(1), false).unwrap(),
            Acceptance::Recorded
        ));
        assert!(matches!(
            accepted.accept(&file, &plain, &key(1), false).unwrap(),
            Acceptance::Recorded
        ));
        assert!(matches!(
            accepted.accept(&file, &plain, &key(2), false).unwrap(),
            Acceptance::Changed
        ));
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("[n1]:7 ssh-ed25519 AAAA") && text.lines().count() == 1);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        // A file without a final newline keeps its last line.
        fs::write(&file, text.trim_end()).unwrap();
        accepted.accept(&file, &hashed, &key(3), true).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.lines().nth(1).unwrap().starts_with("|1|") && !text.contains("n2.example"));
        let known = KnownHosts::read(&[file]).unwrap();
        assert_eq!(known.of(&plain).verify(&key(1), 0), HostKeyStatus::Known);
        assert_eq!(known.of(&hashed).verify(&key(3), 0), HostKeyStatus::Known);
        assert!(matches!(known.of(&hashed).verify(&key(1), 0), HostKeyStatus::Changed(_)));
    }

    #[test]
    fn key_recorded_by_another_program_is_not_recorded_again() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join("known_hosts");
        let lookup = KnownHostsName::host("n1", 22);
        let taken = |key| AcceptedKeys::default().accept(&file, &lookup, &key, false).unwrap();
        assert!(matches!(taken(key(1)), Acceptance::Recorded));
        assert!(matches!(taken(key(1)), Acceptance::Recorded));
        assert!(matches!(taken(key(2)), Acceptance::Changed));
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 1);
    }

    #[test]
    fn a_file_that_another_program_holds_is_an_error_and_one_that_keeps_nothing_is_none() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join("known_hosts");
        let held = File::create(&file).unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        let take = |file: &Path| {
            AcceptedKeys::default().accept(file, &KnownHostsName::host("n1", 22), &key(1), false)
        };
        assert!(take(&file).unwrap_err().to_string().contains("holds the lock"));
        assert!(matches!(take(Path::new("/dev/null")).unwrap(), Acceptance::Recorded));
    }

    #[test]
    fn a_name_that_would_be_another_line_is_not_written() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join("known_hosts");
        for name in ["a,b", "a b", "#a", "a|b", "*", "!a", "@revoked", ""] {
            let lookup = KnownHostsName::alias(name);
            assert!(
                AcceptedKeys::default().accept(&file, &lookup, &key(1), false).is_err(),
                "{name}"
            );
        }
        assert!(!file.exists());
    }
}
