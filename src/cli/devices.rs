use clap::Args;

use super::{FabricFile, HostSets};

/// The arguments of `devices`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl devices\n  rdmactl devices -o +pci,numa\n  rdmactl devices -v --json\n  rdmactl devices -o help"
)]
pub struct DevicesArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    #[command(flatten)]
    /// Saved fabric.
    pub fabric: FabricFile,
}
