//! Runs programs where /sys is a made-up tree, without privilege.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::tree::Tree;

/// What a program said and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) code: i32,
}

/// Who runs it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// Root of a namespace, as far as files go: reads everything.
    Root,
    /// Somebody whom the mode of a file can keep out.
    Nobody,
}

/// The program under test.
pub(super) fn rdmactl() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_rdmactl"))
}

/// Where a program is installed.
///
/// # Panics
/// It is not; the message says what brings it.
pub(super) fn installed(program: &str, package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let found = folders.map(|folder| folder.join(program)).find(|path| path.exists());
    found
        .unwrap_or_else(|| panic!("{program} is missing; apt-get install {package}, or make setup"))
}

/// Runs a program with the tree in place of /sys.
pub(super) fn run(
    tree: &Tree,
    user: User,
    program: &Path,
    args: &[&str],
    env: &[(&str, &str)],
) -> Said {
    let drop = match user {
        User::Root => "",
        User::Nobody => "setpriv --bounding-set=-all --inh-caps=-all",
    };
    let script = format!("mount --bind \"$1\" /sys || exit 199; shift; exec {drop} \"$@\"");
    let output = Command::new(installed("unshare", "util-linux"))
        .args(namespace())
        .args(["sh", "-c", &script, "sh"])
        .arg(tree.sys())
        .arg(program)
        .args(args)
        .envs(env.iter().copied())
        .env("LC_ALL", "C")
        .current_dir("/")
        .output()
        .expect("unshare starts");
    let said = said(&output);
    assert_ne!(said.code, 199, "nothing can be mounted over /sys: {}", said.stderr);
    said
}

/// How a mount namespace of one's own is had here: users need one of theirs around it, which a
/// chroot forbids; there root must do, where no mount of it can be seen outside.
fn namespace() -> &'static [&'static str] {
    static FOUND: OnceLock<&[&str]> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let ways: [(&[&str], bool); 3] = [
            (&["-mr"], true),
            (&["-m"], true),
            (&["-m", "--propagation", "unchanged"], !mounts.contains(" shared:")),
        ];
        let works = |way: &[&str]| {
            let output = Command::new("unshare").args(way).arg("true").output();
            output.is_ok_and(|output| output.status.success())
        };
        let found = ways.into_iter().find(|(way, is_safe)| *is_safe && works(way));
        let Some((way, _)) = found else {
            panic!("unshare -m fails: sysctl -w kernel.unprivileged_userns_clone=1, or be root");
        };
        way
    })
}

fn said(output: &Output) -> Said {
    Said {
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: without_pids(&String::from_utf8_lossy(&output.stderr)),
        code: output.status.code().expect("it ends by itself"),
    }
}

/// Messages name the process: `ibwarn: [123]`.
fn without_pids(text: &str) -> String {
    let mut parts = text.split(": [");
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        made.push_str(": [");
        made.push_str(if rest.starts_with(']') && rest.len() < part.len() { "PID" } else { "" });
        made.push_str(if rest.starts_with(']') { rest } else { part });
    }
    made
}

/// What to say of two that should be the same.
pub(super) fn difference(what: &str, original: &Said, ours: &Said) -> Option<String> {
    if original == ours {
        return None;
    }
    let texts =
        [("stdout", &original.stdout, &ours.stdout), ("stderr", &original.stderr, &ours.stderr)];
    let mut lines = vec![format!("{what}: exit {} and {}", original.code, ours.code)];
    for (stream, theirs, ours) in texts {
        let old = theirs.lines().map(Some).chain(std::iter::repeat(None));
        let both = old.zip(ours.lines().map(Some).chain(std::iter::repeat(None)));
        let differing = both.take(theirs.lines().count().max(ours.lines().count()) + 1);
        for (old, new) in differing.filter(|(old, new)| old != new).take(4) {
            lines.push(format!("  {stream}\n  - {old:?}\n  + {new:?}"));
        }
    }
    Some(lines.join("\n"))
}
