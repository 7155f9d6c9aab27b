//! Command line of `srun`. The steps of the Slurm launcher use it.

use std::env;
use std::process::Command;

/// Variables that select the Slurm cluster. All others are options that would change the command.
const KEPT: [&str; 5] =
    ["SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_WORKING_CLUSTER", "SLURM_JWT"];

/// Returns an `srun` that runs a shell command once on each node, and takes no resources from
/// other steps of the job. It continues if a task ends or a node fails.
pub(super) fn command(job: &str, nodes: &[String], command: &str) -> Command {
    let count = nodes.len();
    let mut srun = Command::new("srun");
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if (name.starts_with("SLURM_") || name.starts_with("SLURMD_")) && !KEPT.contains(&&*name) {
            srun.env_remove(&*name);
        }
    }
    srun.arg(format!("--jobid={job}"))
        .arg(format!("--nodelist={}", nodes.join(",")))
        .args([format!("--nodes={count}"), format!("--ntasks={count}")])
        .args(["--ntasks-per-node=1", "--overlap", "--no-kill", "--kill-on-bad-exit=0"])
        .args(["--wait=0", "--mpi=none", "--cpu-bind=none", "--chdir=/", "--job-name=rdmactl"])
        .args(["--input=all", "--output=all", "--error=all"]);
    if count > 1 {
        srun.arg("--label");
    }
    srun.args(["/bin/sh", "-c", command]);
    srun
}
