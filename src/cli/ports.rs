use clap::Args;

use super::{FabricFile, HostSets};

/// The arguments of `ports`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl ports\n  rdmactl ports -H n[1-4] -w 'state!=active'\n  rdmactl ports -v\n  rdmactl ports --lossless\n  rdmactl ports -o device,port,cnp_sent,cnp_handled,ecn_marked\n  rdmactl ports -o help"
)]
pub struct PortsArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    #[command(flatten)]
    /// Saved fabric.
    pub fabric: FabricFile,
    /// Check that RoCE uses a lossless traffic class
    ///
    /// rdmactl prints for each RoCE port the traffic class of RoCE packets, whether PFC protects
    /// this class, and the command that fixes the configuration.
    #[arg(long)]
    pub lossless: bool,
}
