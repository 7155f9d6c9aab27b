use std::ffi::OsString;

use clap::Args;

/// The arguments of `compat`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Tools: ibstat, ibstatus, ibv_devices, ibv_devinfo, ibdev2netdev, show_gids, beegfs-net,\n\
                  ibnetdiscover, ibhosts, ibswitches, sminfo, smpquery, perfquery, iblinkinfo,\n\
                  ibqueryerrors, ibroute, ibtracert, saquery.\n\
                  A symbolic link with one of these names to rdmactl behaves like the tool.\n\n\
                  Examples:\n  rdmactl compat ibstat\n  rdmactl compat --as 33 ibv_devinfo -v -d mlx5_0\n  \
                  rdmactl compat --from n17.ndjson ibstatus\n  rdmactl compat -H n1 show_gids\n  ln -s rdmactl /usr/local/bin/show_gids"
)]
pub struct CompatArgs {
    /// Print the output of this rdma-core release, 33 to 65
    ///
    /// Default: the installed release; 65 if rdma-core is not installed.
    #[arg(long = "as", value_name = "RELEASE", value_parser = clap::value_parser!(u32).range(33..=65))]
    pub release: Option<u32>,
    /// Name of the tool, and the options of the tool
    ///
    /// Write flags of rdmactl before the name of the tool: rdmactl compat -H n1 show_gids.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "TOOL"
    )]
    pub words: Vec<OsString>,
}
