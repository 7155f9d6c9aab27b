//! Launchers other than SSH, which start commands on hosts: Slurm's `srun`, and a template.
//!
//! Each is an [`Access`](super::Access). Their streams are made for text, so that agents use the
//! line protocol ([`line_mux`]).

mod children;
mod exec;
mod line_mux;
mod slurm;
mod template;

pub use exec::Exec;
pub use slurm::Slurm;
pub use template::TemplateError;

/// Launcher of the commands on hosts.
#[derive(Debug)]
pub enum Launcher {
    /// SSH connections.
    Ssh,
    /// `srun`, within a job.
    Slurm(Slurm),
    /// Command template of the operator, for each host.
    Exec(Exec),
}
