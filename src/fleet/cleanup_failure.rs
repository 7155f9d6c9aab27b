//! Processes and directories that a run left on a host, with the commands that remove them.

use std::fmt;

use super::remote_command::{Privilege, upload_directories};
use super::{Access, Nonce};
use crate::model::HostFailure;

/// A process or a directory that stays on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupFailure {
    /// Process or directory that stays, and its host.
    pub detail: String,
    /// Command that removes the process or the directory.
    pub fix: String,
}

impl fmt::Display for CleanupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.detail, self.fix)
    }
}

impl CleanupFailure {
    /// Describes an agent. `doubt` is the reason why the end of the agent could not be confirmed.
    /// Without an access, the agent runs on this host.
    pub(super) fn agent(
        access: Option<(&dyn Access, Privilege)>,
        pid: Option<u32>,
        doubt: Option<&str>,
    ) -> Self {
        let host = access.map_or("this host", |(access, _)| access.host());
        let detail = match (pid, doubt) {
            (Some(pid), None) => format!("agent still running on {host} (pid {pid})"),
            (Some(pid), Some(why)) => {
                format!("agent may still be running on {host} (pid {pid}): {why}")
            }
            (None, _) => format!("agent may still be running on {host}; it sent no process id"),
        };
        let sudo = if matches!(access, Some((_, Privilege::Sudo))) { "sudo " } else { "" };
        let (purpose, command) = match pid {
            Some(pid) => ("end it", format!("{sudo}kill {pid}")),
            None => ("look for it", "pgrep -a rdmactl".to_owned()),
        };
        let fix = match access {
            Some((access, _)) => access.manual_command(purpose, &command),
            None => format!("{purpose}: {command}"),
        };
        Self { detail, fix }
    }

    /// Describes the shell of a host without an agent. `doubt` is the reason why its end could
    /// not be confirmed.
    pub(super) fn shell(access: &dyn Access, privilege: Privilege, pid: u32, doubt: &str) -> Self {
        let host = access.host();
        let sudo = if privilege == Privilege::Sudo { "sudo " } else { "" };
        Self {
            detail: format!("shell may still be running on {host} (pid {pid}): {doubt}"),
            fix: access.manual_command("end it", &format!("{sudo}kill -9 {pid}")),
        }
    }

    pub(super) fn upload(access: &dyn Access, directory: &str) -> Self {
        let host = access.host();
        Self {
            detail: format!("uploaded rdmactl still on {host} in {directory}"),
            fix: access.manual_command("remove it", &format!("rm -r \"{directory}\"")),
        }
    }

    /// Describes an upload that ended without a result. Its directory is not known.
    pub(super) fn part_of_upload(access: &dyn Access, nonce: Nonce) -> Self {
        let directories = upload_directories(nonce);
        Self {
            detail: format!("a part of the uploaded rdmactl may still be on {}", access.host()),
            fix: access.manual_command("remove it", &format!("rm -rf {directories}")),
        }
    }

    pub(super) fn add_to(self, failure: HostFailure) -> HostFailure {
        let Self { detail, fix } = self;
        let fix = match failure.fix {
            Some(other) => format!("{fix}; {other}"),
            None => fix,
        };
        HostFailure { detail: format!("{}; {detail}", failure.detail), fix: Some(fix), ..failure }
    }
}
