use clap::Args;

use super::HostSets;

/// The arguments of `gids`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl gids\n  rdmactl gids -H n[1-4]\n  rdmactl gids -o device,index,gid,kind"
)]
pub struct GidsArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
}
