use clap::Args;

/// The arguments of `counters`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl counters\n  rdmactl counters -H n[1-4] -w 'name~error or name~discard'\n  rdmactl counters --all -f csv"
)]
pub struct CountersArgs {
    /// Also those that have counted nothing
    #[arg(short, long)]
    pub all: bool,
}
