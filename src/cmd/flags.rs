//! Flags that a command has no use for, or that contradict each other: refused, because a flag
//! without effect misleads.

use crate::cli::{Command, Format, Global};

use super::Advice;

/// Flags that have no effect on a command, and the remedy.
type Useless = (&'static [&'static str], &'static str);

const PING: &[Useless] = &[
    (
        &["--from", "--root"],
        "leave it out: ping sends messages; rdmactl devices lists what was recorded",
    ),
    (&["--save"], "leave it out, and keep what ping found with --json > FILE"),
];

const CAPTURE: &[Useless] = &[(
    &["--columns", "--where", "--sort", "--no-header", "--json", "--format", "--verbose"],
    "leave it out; list what a capture holds with rdmactl devices --from FILE",
)];

const COMPAT: &[Useless] = &[
    (&["--save"], "keep the answers with rdmactl capture --save FILE"),
    (
        &["--columns", "--where", "--sort", "--no-header", "--json", "--format", "--verbose"],
        "leave it out, or write it behind the tool when it is the tool's own option",
    ),
];

const GENERATED: &[Useless] = &[(
    &[
        "--hosts",
        "--from",
        "--root",
        "--save",
        "--columns",
        "--where",
        "--sort",
        "--no-header",
        "--json",
        "--format",
        "--verbose",
    ],
    "leave it out: the answer is the same everywhere",
)];

const SUMMARY: &[Useless] = &[(
    &["--save", "--columns", "--where", "--sort", "--no-header", "--json", "--format", "--verbose"],
    "name a command, as in rdmactl devices",
)];

/// Looks at the flags that say where to look and what the answer is like. Those that only tune the
/// way there, as `--timeout` and `--login` do, may stand with every command.
///
/// # Errors
/// One has no effect on this command, or two contradict each other.
pub(super) fn check(global: &Global, command: Option<&Command>) -> anyhow::Result<()> {
    let given: Vec<&str> = [
        ("--hosts", global.hosts.is_some()),
        ("--from", global.from.is_some()),
        ("--root", global.root.is_some()),
        ("--save", global.save.is_some()),
        ("--columns", !global.columns.is_empty()),
        ("--where", global.filter.is_some()),
        ("--sort", global.sort.is_some()),
        ("--no-header", global.no_header),
        ("--json", global.json),
        ("--format", global.format != Format::Table),
        ("--verbose", global.verbose > 0),
    ]
    .into_iter()
    .filter_map(|(flag, is_given)| is_given.then_some(flag))
    .collect();
    let (name, useless) = match command {
        None => ("the summary", SUMMARY),
        Some(Command::Ping(_)) => ("ping", PING),
        Some(Command::Capture(_)) => ("capture", CAPTURE),
        Some(Command::Compat(_)) => ("compat", COMPAT),
        Some(Command::Completions(_)) => ("completions", GENERATED),
        Some(Command::Man(_)) => ("man", GENERATED),
        Some(
            Command::Devices(_)
            | Command::Ports(_)
            | Command::Gids(_)
            | Command::Counters(_)
            | Command::Resources(_)
            | Command::Agent(_),
        ) => ("", &[][..]),
    };
    for (flags, fix) in useless {
        if let Some(flag) = flags.iter().find(|flag| given.contains(flag)) {
            return Err(Advice::error(format!("{name} has no use for {flag}"), *fix));
        }
    }
    // clap sees a contradiction only when both stand on the same side of the command.
    let places: Vec<&str> =
        given.into_iter().filter(|flag| ["--hosts", "--from", "--root"].contains(flag)).collect();
    if let [one, other, ..] = places[..] {
        return Err(Advice::error(format!("{one} contradicts {other}"), "leave one of them out"));
    }
    Ok(())
}
