use clap::Args;

/// The arguments of `counters`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl counters\n  rdmactl counters -H n[1-4] -w 'name~error or name~discard'\n  rdmactl counters --all -f csv\n  rdmactl counters --watch=1 -w 'delta>0'\n\nA driver's own counters (group hardware) are kept by the kernel for as long as the file lifespan beside them says, 10 ms unless it was changed: readings nearer than that seem to stand still."
)]
pub struct CountersArgs {
    /// Also those that have counted nothing
    #[arg(short, long)]
    pub all: bool,
}
