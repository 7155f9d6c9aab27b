use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration;

/// The arguments of `top`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl top\n  rdmactl top -H n[1-64]\n  rdmactl top ports -H @rack7 --every 5s -w 'state!=active'\n  rdmactl top --from rdmactl-top-20261122-080240Z.rec\n  rdmactl top --from matrix.json\n\nThe key ? lists all keys; q ends. Of a host that gives no answer the last one stays, with its age."
)]
pub struct TopArgs {
    /// The view to begin with
    #[arg(value_enum, value_name = "VIEW")]
    pub view: Option<ViewName>,
    /// How long from one picture to the next (1s)
    #[arg(long, value_name = "TIME", value_parser = duration::parse_interval)]
    pub every: Option<Duration>,
    /// Colours; auto takes those of the terminal, and none where no colour is wanted
    #[arg(long, value_enum, value_name = "THEME", default_value_t = ThemeName::Auto)]
    pub theme: ThemeName,
    /// Draw with ASCII only; else where the locale is not UTF-8
    #[arg(long)]
    pub ascii: bool,
    /// Follow the mouse, which then selects no text; the key m changes it
    #[arg(long)]
    pub mouse: bool,
}

/// The views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewName {
    /// One row for each host
    Hosts,
    /// One row for each port, with its traffic
    Ports,
    /// One row for each connection: RDMA or TCP
    Connections,
    /// Which hosts reach which
    Matrix,
    /// What is wrong, the worst first
    Problems,
    /// Who holds queue pairs and memory
    Resources,
}

/// The sets of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThemeName {
    /// Those of the terminal
    Auto,
    /// For a light background
    Light,
    /// For a dark background
    Dark,
    /// Told apart also by those who see red and green alike
    ColourBlind,
    /// None
    Mono,
}
