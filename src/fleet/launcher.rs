//! Other engines than SSH that start commands on hosts: Slurm's `srun`, and any command of the
//! operator's.
//!
//! Each is an [`Access`](super::Access). Their streams are made for text, so that the agents there
//! speak in lines ([`trunk`]).

mod children;
mod exec;
mod slurm;
mod template;
mod trunk;

pub use exec::Exec;
pub use slurm::Slurm;
pub use template::TemplateError;

/// What starts commands on hosts.
#[derive(Debug)]
pub enum Launcher {
    /// SSH.
    Ssh,
    /// `srun`, within a job.
    Slurm(Slurm),
    /// A command of the operator's for each host.
    Exec(Exec),
}
