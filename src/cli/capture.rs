use clap::Args;

use super::HostSets;

/// The arguments of `capture`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl capture --save n17.ndjson\n  rdmactl devices --from n17.ndjson\n  rdmactl capture -H n[01-64] --save cluster.ndjson\n  rdmactl capture --from cluster.ndjson --redact --save redacted.ndjson\n\nNotes: rdmactl never reads the command line of a process and never records its environment."
)]
pub struct CaptureArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    /// Replace names, addresses, GUIDs and serial numbers
    ///
    /// Host names, addresses, GUIDs, serial numbers, paths and program names become pseudonyms.
    /// Equal values get equal pseudonyms. The key is random and is not stored, so two runs give
    /// different pseudonyms.
    #[arg(long)]
    pub redact: bool,
}
