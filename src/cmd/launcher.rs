//! Selects the launcher that starts the agents: SSH, Slurm or a command template.

use std::env;

use crate::cli::{self, Global};
use crate::fleet::{Exec, Launcher, Slurm, Watchdog};
use crate::hosts::Host;

use super::Advice;

pub(super) fn of(global: &Global, hosts: &[Host], watchdog: &Watchdog) -> anyhow::Result<Launcher> {
    let launcher = match &global.launcher {
        cli::LauncherArg::Ssh => return Ok(Launcher::Ssh),
        cli::LauncherArg::Slurm => {
            let (id, nodes) = job()?;
            let slurm = Slurm::job(&id, &nodes, hosts, watchdog.clone(), global.timeout);
            Launcher::Slurm(slurm.map_err(|error| {
                let text = format!("invalid host set in SLURM_JOB_NODELIST:\n{error}");
                let fix = format!("compare it with the nodes of the job: scontrol show job {id}");
                Advice::error(text, fix)
            })?)
        }
        cli::LauncherArg::Exec(template) => {
            Launcher::Exec(Exec::parse(template).map_err(|error| {
                Advice::error(format!("invalid template of --launcher exec:\n{error}"), error.fix())
            })?)
        }
    };
    let of_ssh = [
        ("--login", global.login.is_some()),
        ("--ssh-config", global.ssh_config.is_some()),
        ("--ssh-option", !global.ssh_option.is_empty()),
    ];
    if let Some((flag, _)) = of_ssh.iter().find(|(_, is_given)| *is_given) {
        let fix = format!("omit {flag}, which is only for SSH, or use --launcher ssh");
        return Err(Advice::error(format!("{flag} contradicts --launcher"), fix));
    }
    Ok(launcher)
}

/// Returns the id and the nodes of the Slurm job; fails outside of a job.
pub(super) fn job() -> anyhow::Result<(String, String)> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let id = variable("SLURM_JOB_ID").or_else(|| variable("SLURM_JOBID"));
    match id.zip(variable("SLURM_JOB_NODELIST")) {
        Some((id, nodes)) if id.bytes().all(|byte| byte.is_ascii_digit()) => Ok((id, nodes)),
        _ => Err(Advice::error(
            "--launcher slurm works only within a Slurm job: SLURM_JOB_ID or SLURM_JOB_NODELIST is not set",
            "start a job: salloc -N 4 rdmactl devices --launcher slurm",
        )),
    }
}
