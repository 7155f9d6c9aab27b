use clap::Args;

/// The arguments of the hidden `agent` command.
#[derive(Debug, Clone, Args)]
pub struct AgentArgs {
    /// `verbs`, `worker`, or the nonce of a session.
    pub role: String,
    /// Remove the own program file before anything is read.
    #[arg(long)]
    pub unlink: bool,
    /// Use lines of text, for launchers that split or label lines.
    #[arg(long)]
    pub lines: bool,
    /// Process that waits for the reply; the agent ends without it.
    #[arg(long)]
    pub parent: Option<u32>,
}
