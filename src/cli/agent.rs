use clap::Args;

/// The arguments of the hidden `agent` command.
#[derive(Debug, Clone, Args)]
pub struct AgentArgs {
    /// `verbs`, `worker`, or the nonce of a session.
    pub role: String,
    /// Remove the program's own file before the first read.
    #[arg(long)]
    pub unlink: bool,
    /// Speak in lines of text, for carriers that part or label lines.
    #[arg(long)]
    pub lines: bool,
    /// The process that waits for the answer: without it there is nobody to answer.
    #[arg(long)]
    pub parent: Option<u32>,
}
