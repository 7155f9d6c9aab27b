//! Writes the policy of `rdmactl check --learn` to a new file.
//!
//! The module replaces no file. `config` formats the policy.

use std::path::Path;

use anyhow::Context as _;

use crate::capture::{check_place, replace_file};
use crate::cmd::outcome::{note, say};
use crate::cmd::{Advice, Outcome};
use crate::config::write_policy;
use crate::input::free_path;
use crate::model::{ExpectedValue, HostReport};
use crate::names;
use crate::render::{Note, escape};
use crate::term::Term;

/// Checks that a policy can be written to a new file, before a host is read.
///
/// # Errors
/// The file exists, or its directory cannot be written.
pub(super) fn check_file(path: &Path) -> anyhow::Result<()> {
    refuse_existing(path)?;
    check_place(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a policy with the values of the majorities. After an incomplete read, prints a note and
/// writes nothing: the majority of all hosts may have another value.
///
/// # Errors
/// The file exists, or cannot be written.
pub(super) fn write(
    path: &Path,
    usual: &[ExpectedValue],
    hosts: &[HostReport],
    outcome: Outcome,
    term: Term,
) -> anyhow::Result<()> {
    if outcome != Outcome::Complete {
        say(term, &note_of_missing(path, hosts, outcome));
        return Ok(());
    }
    refuse_existing(path)?;
    let text = write_policy(usual);
    replace_file(path, &|out| out.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Refuses a regular file. A device or a pipe holds no policy.
fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let what = format!("--learn {}: the file exists, and --learn replaces no file", path.display());
    Err(Advice::error(what, format!("name a new file: --learn {}", free_path(path))))
}

/// Returns the note that the hosts were not read completely, so that no policy is written.
fn note_of_missing(path: &Path, hosts: &[HostReport], outcome: Outcome) -> Note {
    let is_missing = |report: &&HostReport| outcome == Outcome::Nothing || report.is_incomplete();
    let names = names::fold(hosts.iter().filter(is_missing).map(|report| &report.host));
    let text = format!("{} is not written: {names} was not read completely", path.display());
    let fix = format!("fix host.silent and unreadable on {names}, or check only the other hosts");
    Note { fix: Some(escape(&fix).into_owned()), ..note(&text) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::{HostFailure, Reason, Via};

    fn usual() -> Vec<ExpectedValue> {
        let [check, value] = ["kernel.differs", "6.1"].map(str::to_owned);
        vec![ExpectedValue { check, of: String::new(), value }]
    }

    #[test]
    fn a_policy_replaces_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my site.toml");
        let write = |path: &Path| write(path, &usual(), &[], Outcome::Complete, Term::default());
        check_file(&path).unwrap();
        write(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("kernel.differs"), "{text}");
        for refusal in [check_file(&path), write(&path)] {
            let error = refusal.unwrap_err();
            let what = format!(
                "--learn {}: the file exists, and --learn replaces no file",
                path.display()
            );
            assert_eq!(error.to_string(), what);
            let fix = &error.downcast_ref::<Advice>().unwrap().fix;
            let new = folder.path().join("my site.2.toml");
            assert_eq!(*fix, format!("name a new file: --learn '{}'", new.display()));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        write(Path::new("/dev/null")).unwrap();
    }

    #[test]
    fn an_incomplete_read_writes_no_policy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.toml");
        let silent = HostReport::failed("n3", HostFailure::new(Reason::Timeout, "no reply"));
        let hosts = [HostReport::empty("n1", Via::Agent), silent];
        write(&path, &usual(), &hosts, Outcome::Incomplete, Term::default()).unwrap();
        assert!(!path.exists());
        let note = note_of_missing(Path::new("site.toml"), &hosts, Outcome::Incomplete);
        assert_eq!(note.text, "site.toml is not written: n3 was not read completely");
        let fix = "fix host.silent and unreadable on n3, or check only the other hosts";
        assert_eq!(note.fix.as_deref(), Some(fix));
        let note = note_of_missing(Path::new("site.toml"), &hosts, Outcome::Nothing);
        assert!(note.text.contains(": n[1,3] was not read"), "{}", note.text);
    }
}
