//! Selects the launcher that starts the agents: SSH, Slurm or a command template.

use std::env;

use crate::cli::{self, Global};
use crate::fleet::{Exec, Launcher, Slurm, Watchdog};
use crate::hosts::Host;
use crate::names;

use super::Advice;

/// Returns the launcher of `--launcher`; fails if a flag for SSH is given with another launcher.
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
    let ssh_flags = [
        ("--login", global.login.is_some()),
        ("--ssh-config", global.ssh_config.is_some()),
        ("--ssh-option", !global.ssh_option.is_empty()),
    ];
    if let Some((flag, _)) = ssh_flags.iter().find(|(_, is_given)| *is_given) {
        let fix = format!("omit {flag}, which is only for SSH, or use --launcher ssh");
        return Err(Advice::error(format!("{flag} contradicts --launcher"), fix));
    }
    Ok(launcher)
}

/// Returns the job ID and the host set of the Slurm job; fails outside of a job.
pub(super) fn job() -> anyhow::Result<(String, String)> {
    job_of(&|name| env::var(name).ok())
}

/// Returns the job ID and the host set from the environment variables of a Slurm job.
fn job_of(variables: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<(String, String)> {
    const NODES: &str = "SLURM_JOB_NODELIST";
    let variable = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
    let not_set = |name: &str| {
        Advice::error(
            format!("--launcher slurm works only within a Slurm job: {name} is not set"),
            "start a job: salloc -N 4 rdmactl devices --launcher slurm",
        )
    };
    // Slurm also sets the older name SLURM_JOBID (sbatch(1)).
    let found = ["SLURM_JOB_ID", "SLURM_JOBID"]
        .into_iter()
        .find_map(|name| variable(name).map(|value| (name, value)));
    let (name, id) = found.ok_or_else(|| not_set("SLURM_JOB_ID"))?;
    if !id.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = format!("{name} is not the number of a Slurm job: {}", names::shortened(&id));
        return Err(Advice::error(text, "list the numbers of your jobs: squeue --me"));
    }
    let nodes = variable(NODES).ok_or_else(|| not_set(NODES))?;
    Ok((id, nodes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the job of these variables, or the error.
    fn job(set: &[(&str, &str)]) -> Result<(String, String), String> {
        let value = |name: &str| set.iter().find(|(known, _)| *known == name);
        job_of(&|name| value(name).map(|(_, value)| (*value).to_owned()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_job_has_a_number_and_nodes() {
        let expected = Ok(("12".to_owned(), "n[1-3]".to_owned()));
        for name in ["SLURM_JOB_ID", "SLURM_JOBID"] {
            assert_eq!(job(&[(name, "12"), ("SLURM_JOB_NODELIST", "n[1-3]")]), expected, "{name}");
        }
    }

    #[test]
    fn the_variable_that_is_not_set_is_named() {
        for set in [&[("SLURM_JOB_NODELIST", "n1")][..], &[("SLURM_JOB_ID", " ")], &[]] {
            let error = job(set).unwrap_err();
            assert!(error.ends_with("within a Slurm job: SLURM_JOB_ID is not set"), "{error}");
        }
        let error = job(&[("SLURM_JOB_ID", "12")]).unwrap_err();
        assert!(error.ends_with(": SLURM_JOB_NODELIST is not set"), "{error}");
    }

    #[test]
    fn an_invalid_job_number_is_no_missing_variable() {
        let nodes = ("SLURM_JOB_NODELIST", "n1");
        let error = job(&[("SLURM_JOB_ID", "12_3"), nodes]).unwrap_err();
        assert_eq!(error, "SLURM_JOB_ID is not the number of a Slurm job: 12_3");
        let error = job(&[("SLURM_JOBID", "-1"), nodes]).unwrap_err();
        assert_eq!(error, "SLURM_JOBID is not the number of a Slurm job: -1");
    }
}
