//! Runs programs with a simulated tree in place of /sys, also without root privileges.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::tree::Tree;

/// Output and exit code of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) code: i32,
}

/// User that runs a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// Root of a namespace, who can read each file.
    Root,
    /// User without capabilities, whom the mode of a file can refuse access.
    Nobody,
}

/// Returns the path of the program under test.
pub(super) fn rdmactl() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_rdmactl"))
}

/// Returns the path of an installed program.
///
/// # Panics
/// Panics if the program is not installed. The message names the package to install.
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

/// Returns the arguments of `unshare` that create a mount namespace on this machine.
///
/// An ordinary user also needs a user namespace, which a chroot forbids. In a chroot, root
/// creates the mount namespace alone. The last arguments are for a chroot whose mount propagation
/// cannot be changed: they are used only if no mount is shared with the machine.
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

/// Replaces the process id in messages: `ibwarn: [123]` becomes `ibwarn: [PID]`.
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

/// Formats the differences between two outputs; `None` if the outputs are equal.
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
