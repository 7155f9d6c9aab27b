//! Runs on other hosts: agents, deltas, logins, uploads and launchers, against real sshd and
//! Slurm processes on this machine.

mod agent;
mod bed;
mod delta;
mod exec;
mod hostile;
mod known_hosts;
mod login;
mod programs;
mod run;
mod shell;
mod slurm;
mod slurm_cluster;
mod ssh;
mod sshd;
mod transport;
mod upload;
