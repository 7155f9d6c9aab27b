//! Entry point of the program: parses the command line, applies the configuration, runs a
//! subcommand and returns the exit code.
//!
//! Each submodule is one subcommand or a helper of several subcommands.

mod agent;
mod capture;
mod check;
mod compat;
mod complete;
mod config;
mod configure;
mod connection_flags;
mod connections;
mod counters;
mod fabric;
mod fabric_clear;
mod fabric_samples;
mod flags;
mod fleet;
mod host_selection;
mod hosts;
mod interrupt;
mod launcher;
mod link_peers;
mod listing;
mod listing_output;
mod local;
mod man;
mod outcome;
mod ping;
mod ports;
mod progress;
mod resources;
mod summary;
mod top;
mod upload_notes;
mod usage;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::capture::check_place;
use crate::cli::{Cli, ColorWhen, Command, Format, Global, rewrite};
use crate::term::{Color, OutputError, Term};

use flags::GivenFlags;

pub use outcome::{Advice, Outcome};

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "agent")
        && let Err(error) = agent::isolate(&words[1..])
    {
        outcome::report(Term::new(Color::Never), &error);
        return Outcome::Nothing.into();
    }
    if let Some(shell) = complete::requested_shell() {
        return complete::print_candidates(shell);
    }
    let words = compat::expand(rewrite(words));
    let (mut tree, mut matches) = match Cli::matches(&words) {
        Ok(found) => found,
        Err(error) => return usage::print(&error, &words),
    };
    let given = flags::given(&tree, &matches);
    let mut cli = match Cli::from_matches(&mut matches) {
        Ok(cli) => cli,
        Err(error) => return usage::print(&error.format(&mut tree), &words),
    };
    let run = |()| run(&mut cli, &given).or_else(|error| check::print_plugin_error(&cli, error));
    match given.check().and_then(run) {
        // Results were printed before; the exit code reports that some may be missing.
        Ok(outcome) => interrupt::exit_code().unwrap_or_else(|| outcome.into()),
        Err(error) if matches!(error.downcast_ref(), Some(OutputError::Closed)) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            outcome::report(terminal(&cli.global), &error);
            Outcome::Nothing.into()
        }
    }
}

fn terminal(global: &Global) -> Term {
    Term::new(match global.color {
        ColorWhen::Auto => Color::Auto,
        ColorWhen::Always => Color::Always,
        ColorWhen::Never => Color::Never,
    })
}

/// Reads the configuration, then runs the command.
fn run(cli: &mut Cli, given: &GivenFlags) -> anyhow::Result<Outcome> {
    let typed = cli.global.clone();
    connection_flags::keep(&typed);
    let config = configure::apply(cli, given)?;
    let (global, term) = (&cli.global, terminal(&cli.global));
    if let Some(path) = &global.save {
        check_place(path).map_err(|error| {
            let what = format!("cannot write {}: {error}", path.display());
            Advice::error(what, "name a file in a directory that you may write: --save FILE")
        })?;
    }
    let Some(command) = &cli.command else { return summary::run(global, &typed, term) };
    let is_page = match global.output() {
        Format::Html => !matches!(command, Command::Ping(_) | Command::Check(_)),
        Format::Svg => !matches!(command, Command::Ping(_)),
        _ => false,
    };
    if is_page {
        let what =
            "--format html and --format svg are heat maps of ping; html is also a page of check";
        return Err(Advice::error(what, "use it with rdmactl ping --matrix, or remove it"));
    }
    let is_drawing = matches!(global.output(), Format::Tree | Format::Dot);
    if is_drawing && !matches!(command, Command::Fabric(_)) {
        let fix = "use it with rdmactl fabric, or remove it";
        return Err(Advice::error("--format tree and --format dot draw a fabric", fix));
    }
    match command {
        Command::Devices(args) => ports::devices(global, args, term),
        Command::Ports(args) => ports::ports(global, args, term),
        Command::Gids(_) => ports::gids(global, term),
        Command::Counters(args) => counters::run(global, args, term),
        Command::Resources(args) => resources::run(global, args, term),
        Command::Connections(args) => connections::run(global, args, term),
        Command::Fabric(args) => fabric::run(global, args, term),
        Command::Check(args) => check::run(global, args, term),
        Command::Ping(args) => ping::run(global, args, term),
        Command::Top(args) => top::run(global, args, term),
        Command::Hosts(args) => hosts::run(global, args, term),
        Command::Capture(args) => capture::run(global, args, term),
        Command::Config(args) => config::run(global, args, &config, term),
        Command::Compat(args) => compat::run(global, args, term),
        Command::Completions(args) => complete::print_script(args, term),
        Command::Man(args) => man::run(args),
        Command::Agent(args) => agent::run(args, term),
    }
}
