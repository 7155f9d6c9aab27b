use std::ffi::OsString;

use clap::Args;

/// The arguments of `compat`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Tools: ibstat, ibstatus, ibv_devices, ibv_devinfo, ibdev2netdev, show_gids, beegfs-net,\nibnetdiscover, ibhosts, ibswitches, iblinkinfo, ibqueryerrors.\n\
                  A symbolic link with one of these names to rdmactl behaves like the tool.\n\n\
                  Examples:\n  rdmactl compat ibstat\n  rdmactl compat --as 33 ibv_devinfo -v -d mlx5_0\n  \
                  rdmactl compat --from n17.ndjson ibstatus\n  rdmactl compat -H n1 show_gids\n  ln -s rdmactl /usr/local/bin/show_gids"
)]
pub struct CompatArgs {
    /// rdma-core release whose output is printed, 33 to 65
    ///
    /// Default: the installed release, or the newest known one.
    #[arg(long = "as", value_name = "RELEASE", value_parser = clap::value_parser!(u32).range(33..=65))]
    pub release: Option<u32>,
    /// Tool to imitate, and the options of the tool
    ///
    /// Flags of rdmactl stand before the tool: rdmactl compat -H n1 show_gids.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "TOOL"
    )]
    pub words: Vec<OsString>,
}
