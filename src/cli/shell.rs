use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The arguments of `completions`.
#[derive(Debug, Clone, Args)]
pub struct CompletionsArgs {
    /// Shell to print the script for
    pub shell: Shell,
}

/// Shells with a completion script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

/// The arguments of `man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// Existing directory to write the pages to
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}
