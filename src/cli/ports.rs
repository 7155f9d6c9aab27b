use clap::Args;

/// The arguments of `ports`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl ports\n  rdmactl ports -H n[1-4] -w 'state!=active'\n  rdmactl ports -v\n  rdmactl ports --lossless\n  rdmactl ports -o device,port,cnp_sent,cnp_handled,ecn_marked\n  rdmactl ports -o help"
)]
pub struct PortsArgs {
    /// Say of each RoCE port whether its traffic travels in a class that loses nothing
    #[arg(long)]
    pub lossless: bool,
}
