//! Problems: values of a report that exist but could not be read.
//!
//! `collect` adds problems. `query` marks their cells; `render` and `analyse` report them.

use std::cmp::Ordering;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fix::{self, Fix, KnownFix};
use super::key::{self, is_within};
use super::words;

/// Value that exists but could not be read. A problem affects one cell, never a whole row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Key of the missing value: `mlx5_0/1/state`; the key of the device or host if all its
    /// values are missing.
    #[serde(deserialize_with = "words::read")]
    pub key: String,
    /// Source of the value: a path, or the name of a library.
    #[serde(deserialize_with = "words::read")]
    pub source: String,
    /// Name of the error number: `EACCES`; `None` if the text of the source is invalid.
    pub errno: Option<String>,
    /// Observation, in one sentence.
    #[serde(deserialize_with = "words::read")]
    pub detail: String,
    /// Command or setting that repairs it.
    #[serde(default, deserialize_with = "fix::read")]
    #[schemars(with = "Option<String>")]
    pub fix: Option<Fix>,
    /// True if a capture does not hold the value, or if a root directory cannot provide it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_recorded: bool,
}

/// End of the detail of a problem whose value only rdmactl on the host can read.
pub const NEEDS_PROGRAM: &str = "rdmactl is needed on the host";

/// End of the detail of a problem whose value `capture --redact` removed.
pub const REDACTED: &str = "removed by --redact";

/// Directory of the RDMA device files.
const DEVICE_FILES: &str = "/dev/infiniband/";

impl Problem {
    /// Returns the problem of a device file that cannot be opened. `errno` is the name of the
    /// error number; `reason` is its name and text.
    pub fn of_device_file(device: &str, path: &str, errno: &str, reason: &str) -> Self {
        let fix = match errno {
            "EACCES" => KnownFix::AllowDeviceFiles,
            "ENOENT" => KnownFix::CreateDeviceFiles,
            _ => KnownFix::ListDeviceFiles,
        };
        Self {
            key: key::device(device, "verbs"),
            source: path.to_owned(),
            errno: Some(errno.to_owned()),
            detail: format!("cannot open {path}: {reason}"),
            fix: Some(fix.into()),
            not_recorded: false,
        }
    }

    /// Returns true if the problem is an RDMA device file that cannot be opened.
    pub fn is_of_device_file(&self) -> bool {
        self.errno.is_some() && self.source.starts_with(DEVICE_FILES)
    }

    /// Returns true if only rdmactl on the host can read the value, not the shell of the host.
    pub fn needs_program(&self) -> bool {
        self.detail.ends_with(NEEDS_PROGRAM)
    }

    /// Returns true if `capture --redact` removed the value.
    pub fn is_redacted(&self) -> bool {
        self.not_recorded && self.detail.ends_with(REDACTED)
    }
}

/// Problems of a report, sorted by key. The problems of an item stand before the problems of its
/// parts. A binary search finds a problem.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(from = "Vec<Problem>")]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        let at = self.0.partition_point(|one| order(&one.key, &problem.key).is_le());
        self.0.insert(at, problem);
    }

    /// Keeps only the problems for which `is_wanted` returns true.
    pub fn retain(&mut self, is_wanted: impl FnMut(&Problem) -> bool) {
        self.0.retain(is_wanted);
    }

    /// Returns the problems with this key, and the problems of all parts of the key.
    pub fn within(&self, key: &str) -> &[Problem] {
        let start = self.0.partition_point(|one| order(&one.key, key).is_lt());
        let rest = &self.0[start..];
        &rest[..rest.partition_point(|one| is_within(&one.key, key))]
    }

    /// Returns true if a problem has exactly this key.
    pub fn has(&self, key: &str) -> bool {
        self.of(key).is_some()
    }

    /// Returns true if a problem affects the value of a key.
    pub fn affects(&self, key: &str) -> bool {
        self.affecting(key).is_some()
    }

    /// Returns the first problem that affects the value of a key: a problem of a container of the
    /// key (`mlx5_0` contains `mlx5_0/1/state`), of the key itself, or of a part of the key.
    pub fn affecting(&self, key: &str) -> Option<&Problem> {
        let mut containers = key.match_indices('/').map(|(end, _)| &key[..end]);
        let of_container = containers.find_map(|container| self.of(container));
        of_container.or_else(|| self.within(key).first())
    }

    /// Returns the first problem with exactly this key.
    fn of(&self, key: &str) -> Option<&Problem> {
        let at = self.0.partition_point(|one| order(&one.key, key).is_lt());
        self.0.get(at).filter(|one| one.key == key)
    }
}

/// Compares keys name by name, so that `/` sorts before every other character. A comparison of
/// the texts would sort `a-b` and `a.0` between `a` and `a/b`.
fn order(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| if byte == b'/' { None } else { Some(byte) };
    a.bytes().map(rank).cmp(b.bytes().map(rank))
}

impl Deref for Problems {
    type Target = [Problem];

    fn deref(&self) -> &[Problem] {
        &self.0
    }
}

impl From<Vec<Problem>> for Problems {
    fn from(mut problems: Vec<Problem>) -> Self {
        problems.sort_by(|a, b| order(&a.key, &b.key));
        Self(problems)
    }
}

impl FromIterator<Problem> for Problems {
    fn from_iter<I: IntoIterator<Item = Problem>>(problems: I) -> Self {
        problems.into_iter().collect::<Vec<_>>().into()
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(problems);
        *self = all.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(keys: &[&str]) -> Problems {
        let problem = |key: &&str| Problem {
            key: (*key).to_owned(),
            source: String::new(),
            errno: None,
            detail: String::new(),
            fix: None,
            not_recorded: false,
        };
        keys.iter().map(problem).collect()
    }

    #[test]
    fn a_problem_affects_keys_by_whole_names() {
        let known = problems(&["mlx5_0/1/state", "mlx5_0-a", "rxe0/1", "siw0/1/gids/3"]);
        for key in ["mlx5_0/1/state", "mlx5_0/1", "mlx5_0", "rxe0/1/gids/7", "siw0/1/gids"] {
            assert!(known.affects(key), "{key}");
        }
        for key in ["mlx5_0/10", "mlx5_0/1/stat", "rxe0/10/gids", "rxe0/2", "siw0/1/gids/30", ""] {
            assert!(!known.affects(key), "{key}");
        }
    }

    #[test]
    fn a_problem_of_a_container_comes_before_one_of_the_key_and_of_its_parts() {
        let known = problems(&["rxe0/1/gids/3", "mlx5_0/1/gids/0", "mlx5_0/1/gids", "mlx5_0"]);
        let key = |key: &str| known.affecting(key).map(|problem| problem.key.as_str());
        assert_eq!(key("mlx5_0/1/gids"), Some("mlx5_0"), "container");
        assert_eq!(key("rxe0/1/gids/3"), Some("rxe0/1/gids/3"), "the key itself");
        assert_eq!(key("rxe0/1"), Some("rxe0/1/gids/3"), "part");
        assert_eq!((key("rxe0/1/state"), key("")), (None, None));
        assert_eq!(Problems::default().affecting("mlx5_0"), None);
    }

    #[test]
    fn within_returns_the_problems_below_a_key() {
        let known = problems(&["a/b", "a-b/c", "a", "a.0/x", "a/b/c", "ab"]);
        let keys = |key: &str| known.within(key).iter().map(|one| one.key.clone()).collect();
        let within: Vec<String> = keys("a");
        assert_eq!(within, ["a", "a/b", "a/b/c"]);
        assert!(known.has("a/b") && !known.has("a/b/d") && !known.has("a/"));
    }

    #[test]
    fn problems_stay_sorted_after_push_and_extend() {
        let mut known = problems(&["b", "d"]);
        known.push(problems(&["c/1"])[0].clone());
        known.extend(problems(&["a"]).iter().cloned());
        assert_eq!(known.iter().map(|one| &*one.key).collect::<Vec<_>>(), ["a", "b", "c/1", "d"]);
        assert!(known.affects("c/1/x"));
    }
}
