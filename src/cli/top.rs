use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{WordOrSet, duration};

/// The arguments of `top`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl top\n  rdmactl top -H n[1-64]\n  rdmactl top ports -H @rack7 --every 5s -w 'state!=active'\n  rdmactl top --from rdmactl-top-20261122-080240Z.rec\n  rdmactl top --from matrix.json\n\nKeys: ? lists all keys; q ends top. top shows the last data of a host that does not respond, with the age of the data."
)]
pub struct TopArgs {
    /// View to start with, and hosts to watch over SSH
    ///
    /// VIEW is hosts, ports, connections, matrix, problems or resources; default: hosts.
    #[arg(value_name = "VIEW|SET", value_parser = |text: &str| WordOrSet::parse(text, "view", &ViewName::WORDS))]
    pub words: Vec<WordOrSet>,
    /// Interval between samples, like --watch; default: 1s
    #[arg(long, value_name = "TIME", value_parser = duration::parse_interval)]
    pub every: Option<Duration>,
    /// Color theme
    ///
    /// auto uses the colors of the terminal, and no color if NO_COLOR is set.
    #[arg(long, value_enum, value_name = "THEME", default_value_t = ThemeName::Auto)]
    pub theme: ThemeName,
    /// Draw with ASCII characters only
    ///
    /// Default: ASCII only if the locale is not UTF-8.
    #[arg(long)]
    pub ascii: bool,
    /// Select rows with the mouse; the key m toggles it
    ///
    /// The terminal then does not select text with the mouse.
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
    /// A ping matrix: which hosts reach each other
    Matrix,
    /// Problems, the worst first
    Problems,
    /// Processes that hold queue pairs and memory
    Resources,
}

impl ViewName {
    /// The words of the command line, in the order of the views.
    pub const WORDS: [&str; 6] =
        ["hosts", "ports", "connections", "matrix", "problems", "resources"];
}

impl TopArgs {
    /// Returns the view to start with, if the command line names one.
    #[must_use]
    pub fn view(&self) -> Option<ViewName> {
        let word = self.words.iter().find_map(WordOrSet::word)?;
        ViewName::from_str(word, false).ok()
    }
}

/// Color themes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThemeName {
    /// The colors of the terminal
    Auto,
    /// For a light background
    Light,
    /// For a dark background
    Dark,
    /// Colors that do not rely on red and green
    ColorBlind,
    /// No color
    Mono,
}

#[test]
fn every_view_has_one_word() {
    let words = ViewName::WORDS.map(|word| ViewName::from_str(word, false));
    let views: Vec<_> = ViewName::value_variants().iter().copied().map(Ok).collect();
    assert_eq!(words.to_vec(), views);
}
