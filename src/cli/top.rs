//! The arguments of `rdmactl top`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{WordOrSet, duration};
use crate::tui::View;

/// The arguments of `top`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl top\n  rdmactl top -H n[1-64]\n  rdmactl top ports -H @rack7 --every 5s -w 'state!=active'\n  rdmactl top --from rdmactl-top-20261122-080240Z.rec\n  rdmactl top --from matrix.json\n\nKeys: ? lists all keys; q ends top. top shows the last data of a host that does not respond, with the age of the data."
)]
pub struct TopArgs {
    /// View to start with, and hosts to watch over SSH
    ///
    /// VIEW is hosts, ports, connections, matrix, problems or resources; default: hosts.
    #[arg(value_name = "VIEW|SET", value_parser = |text: &str| WordOrSet::parse(text, "view", &View::WORDS))]
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

impl TopArgs {
    /// Returns the view to start with, if the command line names one.
    pub fn view(&self) -> Option<View> {
        View::of_word(self.words.iter().find_map(WordOrSet::word)?)
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
