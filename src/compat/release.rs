//! Release of rdma-core whose output `compat` imitates: the requested release, or the installed
//! release according to the file names of its libraries.

use crate::source::{Question, Source};

/// Library directories of distributions.
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/lib64",
];
/// Newest and oldest release with a known output format.
const NEWEST: u32 = 65;
const OLDEST: u32 = 33;

/// A release of rdma-core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Major number, which determines the output formats.
    pub major: u32,
    /// Text that the tools print: `44.0`.
    pub text: String,
}

impl Release {
    /// Returns the newest known release.
    pub fn newest() -> Self {
        Self { major: NEWEST, text: format!("{NEWEST}.0") }
    }

    /// Returns the release with this number; `None` if it is unknown.
    pub fn of(major: u32) -> Option<Self> {
        (OLDEST..=NEWEST).contains(&major).then(|| Self { major, text: format!("{major}.0") })
    }

    /// Returns the installed release, from the file name behind the link `libibverbs.so.1` or
    /// `libibumad.so.3`; without these links, the newest known release. An unknown release has the
    /// major number of the nearest known release.
    pub fn installed(source: &dyn Source) -> Self {
        let libraries = ["libibverbs.so.1", "libibumad.so.3"];
        libraries
            .iter()
            .flat_map(|library| FOLDERS.map(|folder| (*library, format!("{folder}/{library}"))))
            .find_map(|(library, path)| {
                let target = source.ask(&Question::Link(path)).ok()?;
                parse_target(library, &String::from_utf8_lossy(&target))
            })
            .unwrap_or_else(Self::newest)
    }
}

/// Parses `libibverbs.so.1.14.44.0`: interface version, then release.
fn parse_target(library: &str, target: &str) -> Option<Release> {
    let file = target.trim_end().rsplit('/').next()?;
    let numbers = file.strip_prefix(library)?.strip_prefix('.')?;
    let (_, text) = numbers.split_once('.')?;
    let digits = text.split('.').next()?;
    // The number of a vendor, as in 2404mlnx51, is no release of rdma-core.
    let major: u32 = digits.parse().ok().filter(|major| (1..1000).contains(major))?;
    Some(Release { major: major.clamp(OLDEST, NEWEST), text: text.to_owned() })
}

#[test]
fn the_file_name_of_a_library_contains_the_release() {
    let of =
        |target| parse_target("libibverbs.so.1", target).map(|found| (found.major, found.text));
    assert_eq!(of("libibverbs.so.1.14.44.0"), Some((44, "44.0".into())));
    assert_eq!(of("libibverbs.so.1.11.33.2"), Some((33, "33.2".into())));
    assert_eq!(of("/usr/lib64/libibverbs.so.1.14.57.0"), Some((57, "57.0".into())));
    assert_eq!(of("libibverbs.so.1.8.28.0"), Some((33, "28.0".into())));
    for target in ["", "libibverbs.so.1", "libibverbs.so.1.14.2404mlnx51", "libibumad.so.3.2.44.0"]
    {
        assert_eq!(of(target), None, "{target}");
    }
}
