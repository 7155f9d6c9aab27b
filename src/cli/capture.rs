use clap::Args;

/// The arguments of `capture`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl capture --save n17.ndjson\n  rdmactl devices --from n17.ndjson\n  rdmactl capture -H n[01-64] --save cluster.ndjson"
)]
pub struct CaptureArgs {}
