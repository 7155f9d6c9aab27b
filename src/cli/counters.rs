use clap::Args;

use super::HostSets;

/// The arguments of `counters`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl counters\n  rdmactl counters n[1-4] --errors\n  rdmactl counters n[1-4] --errors --watch 10 --count 1 -w 'delta>0'\n  rdmactl counters --all -f csv\n  rdmactl counters --watch=1 -w 'delta>0'\n\nNotes: the kernel caches the counters of group hardware, for 10 ms by default. The sysfs file lifespan holds this time in milliseconds. Two samples within this time show equal values."
)]
pub struct CountersArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    /// List counters that are zero, too
    #[arg(short, long)]
    pub all: bool,
    /// List only counters of errors: of links, receivers, lost packets and refused requests
    #[arg(long)]
    pub errors: bool,
    /// List the counters of every port of the InfiniBand subnet
    ///
    /// rdmactl sweeps the subnet and reads all ports at the same time. Traffic is in bytes. rdmactl
    /// reads 64-bit counters if the node has them. To list only counters above a threshold, run
    /// rdmactl fabric errors.
    #[arg(long)]
    pub fabric: bool,
}
