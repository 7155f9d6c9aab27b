//! Programs of this release, by the machine type of a host, for the upload of `AgentStarter`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::quote::{last_line, quote};
use super::remote_command::{ANSWER_LIMIT, MACHINE, TEST_SHELL, answer, machine};
use super::{Access, HostResult, Nonce, Program};
use crate::clock::Deadline;
use crate::model::{HostFailure, Reason};

/// Machine types that releases are built for, as `uname -m` prints them.
const MACHINES: [&str; 2] = ["x86_64", "aarch64"];

#[derive(Default)]
pub(super) struct Programs {
    read: Mutex<HashMap<&'static str, HostResult<Arc<Program>>>>,
}

impl Programs {
    /// Returns the program for the machine type of a host.
    pub(super) fn of(
        &self,
        session: &dyn Access,
        nonce: Nonce,
        deadline: Deadline,
    ) -> HostResult<Arc<Program>> {
        let output =
            session.exec(&machine(nonce), deadline)?.exchange(b"", ANSWER_LIMIT, deadline)?;
        let Some(word) = answer(&output.stdout, MACHINE, nonce) else {
            let (exit, said) = (&output.exit, last_line(&output.stderr));
            let detail = format!("the host did not report its machine type; {exit}{said}");
            return Err(HostFailure::new(Reason::Garbage, detail).fix(TEST_SHELL));
        };
        let Some(machine) = MACHINES.into_iter().find(|known| *known == word.trim()) else {
            let detail = format!("no rdmactl is built for machine type {}", quote(word.trim()));
            let fix = "build rdmactl on the host and install it in the PATH: cargo build --release";
            return Err(HostFailure::new(Reason::NoAgent, detail).fix(fix));
        };
        let mut read = self.read.lock();
        read.entry(machine).or_insert_with(|| find(machine).map(Arc::new)).clone()
    }
}

fn find(machine: &str) -> HostResult<Program> {
    if machine == std::env::consts::ARCH {
        return Program::own().map_err(|error| {
            let detail = format!("cannot read this program (/proc/self/exe): {error}");
            HostFailure::new(Reason::Transport, detail)
        });
    }
    let path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let places = path.parent().map(|directory| places(directory, machine)).unwrap_or_default();
    if let Some(program) = places.iter().find_map(|place| Program::read(place).ok()) {
        return Ok(program);
    }
    let own = std::env::consts::ARCH;
    let detail = format!("the machine type of the host is {machine}; this program is for {own}");
    let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    Err(HostFailure::new(Reason::NoAgent, detail).fix(format!(
        "copy the release binary for {machine} to {}, or install rdmactl on the host",
        places.join(" or ")
    )))
}

/// Returns the paths of another machine's program: beside this directory, or below the prefix.
fn places(directory: &Path, machine: &str) -> Vec<PathBuf> {
    let Some(above) = directory.parent() else { return Vec::new() };
    let of_machine = |parent: PathBuf| parent.join(machine).join("rdmactl");
    vec![of_machine(above.into()), of_machine(above.join("libexec/rdmactl"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_other_machines_lie_beside_or_below_the_prefix() {
        let released = places(Path::new("/src/target/portable/x86_64"), "aarch64");
        assert_eq!(released[0], Path::new("/src/target/portable/aarch64/rdmactl"));
        let installed = places(Path::new("/usr/local/bin"), "aarch64");
        assert_eq!(installed[1], Path::new("/usr/local/libexec/rdmactl/aarch64/rdmactl"));
        assert!(places(Path::new("/"), "aarch64").is_empty());
    }

    #[test]
    fn a_program_that_is_not_there_is_asked_for_by_its_place() {
        let other = if std::env::consts::ARCH == "x86_64" { "aarch64" } else { "x86_64" };
        let failure = find(other).unwrap_err();
        assert_eq!(failure.reason, Reason::NoAgent);
        assert!(failure.detail.contains(other), "{failure}");
        assert!(failure.fix.unwrap().contains(&format!("libexec/rdmactl/{other}/rdmactl")));
    }
}
