use std::ffi::OsString;

use clap::Args;

/// The arguments of `compat`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Tools: ibstat, ibstatus, ibv_devices, ibv_devinfo, ibdev2netdev, show_gids, beegfs-net.\n\
                  A link of such a name to rdmactl is that tool.\n\n\
                  Examples:\n  rdmactl compat ibstat\n  rdmactl compat --as 33 ibv_devinfo -v -d mlx5_0\n  \
                  rdmactl compat --from n17.ndjson ibstatus\n  ln -s rdmactl /usr/local/bin/show_gids"
)]
pub struct CompatArgs {
    /// As this release of rdma-core prints: 33 to 65; without it, the one that is installed
    #[arg(long = "as", value_name = "RELEASE", value_parser = clap::value_parser!(u32).range(33..=65))]
    pub release: Option<u32>,
    /// The tool, and its own options behind it
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "TOOL"
    )]
    pub words: Vec<OsString>,
}
