use clap::Args;

/// The arguments of `ports`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl ports\n  rdmactl ports -H n[1-4] -w 'state!=active'\n  rdmactl ports -v\n  rdmactl ports -o help"
)]
pub struct PortsArgs {}
