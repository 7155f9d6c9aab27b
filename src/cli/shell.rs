use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The arguments of `completions`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl completions bash > ~/.local/share/bash-completion/completions/rdmactl\n  rdmactl completions zsh > ~/.zfunc/_rdmactl\n  rdmactl completions fish > ~/.config/fish/completions/rdmactl.fish\n\nNotes: create the directory first. For zsh, write fpath+=(~/.zfunc) before compinit in ~/.zshrc. The script takes effect in a new shell. For all users, the directories are /usr/share/bash-completion/completions, /usr/share/zsh/site-functions and /usr/share/fish/vendor_completions.d."
)]
pub struct CompletionsArgs {
    /// Name of the shell
    pub shell: CompletionShell,
}

/// Shells with a completion script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompletionShell {
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
