use clap::Args;

/// The arguments of `capture`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl capture --save n17.ndjson\n  rdmactl devices --from n17.ndjson\n  rdmactl capture -H n[01-64] --save cluster.ndjson\n  rdmactl capture --from cluster.ndjson --redact --save for-strangers.ndjson\n\nNo command line of any process is read, and no environment is recorded."
)]
pub struct CaptureArgs {
    /// Replace host names, addresses, GUIDs, serial numbers, paths and names of programs
    ///
    /// Equal ones get equal pseudonyms, so that what belongs together still does. The key is drawn at
    /// random and forgotten: two runs give different pseudonyms.
    #[arg(long)]
    pub redact: bool,
}
