//! Table of the flags that each command supports; refusals come from it. A test compares it with
//! the clap tree.
//!
//! A flag without effect misleads, so a command refuses it and says what to type instead.

type Group = &'static [&'static str];

const HOSTS: Group = &["hosts", "hosts-file"];
const LOCAL: Group = &["local"];
const SOURCES: Group = &["from", "root"];
const ROOT: Group = &["root"];
const SAVE: Group = &["save"];
const ROWS: Group = &["columns", "sort", "no-header", "verbose"];
const COLUMNS: Group = &["columns"];
const COUNT: Group = &["count"];
const WHERE: Group = &["where"];
const FOLD: Group = &["no-fold"];
const WATCH: Group = &["watch", "count"];
const FORMAT: Group = &["format", "json"];
/// Flags of the cells of a listing.
const CELLS: Group = &["columns", "sort", "no-header"];
/// Own flags of check.
const SAMPLE: Group = &["sample"];
const FAIL_ON: Group = &["fail-on"];

/// Contradictions; clap sees only those whose flags stand on the same side of the command.
const CONTRARY: [(Group, &str); 10] = [
    (&["hosts", "root"], "remove one of them"),
    (&["local", "hosts"], "remove one of them"),
    (&["local", "hosts-file"], "remove one of them"),
    (&["local", "from", "root", "launcher"], "remove --local"),
    (&["from", "root"], "remove one of them"),
    (&["hosts-file", "from", "root"], "remove one of them"),
    (&["launcher", "from", "root"], "remove one of them"),
    (&["format", "json"], "remove one of them"),
    (&["from", "watch"], "remove --watch: a file does not change"),
    // Rates need both samples, and a file of many samples would be another kind of file.
    (
        &["save", "watch"],
        "remove one of them: a file holds one sample; to save another sample, run the command with --save again",
    ),
];

/// Flags of ping that read saved runs; flags of a new run have no effect then.
const SAVED_RUNS: [&str; 2] = ["from", "diff"];

/// Flags of ping that choose what is printed of a new or saved run.
const OF_PRINT: [&str; 2] = ["--only", "--findings"];

/// Name of a command, and the flags that it does not support, each time with the fix.
type Row = (&'static str, &'static [(&'static [Group], &'static str)]);

/// Name of the program without a command.
pub const SUMMARY: &str = "the summary";

const TABLE: &[Row] = &[
    (
        SUMMARY,
        &[(
            &[SAVE, ROWS, WHERE, FOLD, WATCH, FORMAT],
            "name a command, for example rdmactl devices",
        )],
    ),
    ("devices", &[]),
    ("ports", &[]),
    ("gids", &[]),
    ("counters", &[]),
    ("resources", &[]),
    ("connections", &[]),
    (
        "fabric",
        &[(&[ROOT], "remove it: a subnet is read with management datagrams, not from files")],
    ),
    (
        "check",
        &[
            (&[WATCH], "remove it; top shows the findings live: rdmactl top problems"),
            (&[FOLD], "remove it: equal findings of several hosts are always one"),
        ],
    ),
    (
        "ping",
        &[
            (&[ROOT], "remove it: ping sends messages, or prints a saved run with --from FILE"),
            (&[FOLD], "remove it: pairs are never folded"),
        ],
    ),
    (
        "top",
        &[
            (&[SAVE], "remove it: the key w records samples"),
            (&[ROWS, FOLD], "remove it: the keys c and s choose columns and order"),
            (&[COUNT], "remove it: top samples until q ends it"),
            (&[FORMAT], "remove it, or print repeatedly: rdmactl ports --watch"),
        ],
    ),
    (
        "hosts",
        &[
            (&[LOCAL], "remove it: hosts lists only the sets that the command line names"),
            (&[SOURCES, SAVE], "remove it: hosts contacts no host"),
            (&[ROWS, WHERE, FOLD], "remove it; choose the form with --fold, --size or --format"),
            (&[COUNT], "count the hosts of a set: rdmactl hosts --size SET"),
            (&[WATCH], "remove it, and run hosts again"),
        ],
    ),
    (
        "capture",
        &[
            (&[COLUMNS], "write --save FILE; -o chooses the columns of a listing"),
            (
                &[ROWS, WHERE, FOLD, WATCH, FORMAT],
                "remove it; list what a capture holds with rdmactl devices --from FILE",
            ),
        ],
    ),
    (
        "config",
        &[(&[SOURCES, SAVE, FOLD, WATCH], "remove it: config lists settings and queries no host")],
    ),
    (
        "compat",
        &[
            (&[LOCAL], "remove it: compat queries this host, or the host of -H"),
            (&[SAVE], "save the data: rdmactl capture --save FILE"),
            (
                &[ROWS, WHERE, FOLD, FORMAT],
                "remove it, or write it after the tool if it is an option of the tool",
            ),
        ],
    ),
    ("completions", GENERATED),
    ("man", GENERATED),
    ("agent", &[]),
];

/// Flags that a command does not support together with one of its own flags, or with a format.
const MODES: [Row; 7] = [
    ("ping --plan", &[(&[SAVE, WATCH, ROWS, WHERE], "remove it: a plan contacts no host")]),
    (
        "ping --diff",
        &[(
            &[SAVE, WATCH, HOSTS, LOCAL, ROWS, WHERE],
            "remove it: both runs are in the files; the comparison is not a listing",
        )],
    ),
    (
        "check --plugin",
        &[
            (&[FORMAT, ROWS, WHERE], "remove it: the monitoring system defines the output"),
            (&[FAIL_ON], "remove it: the monitoring system defines the exit codes"),
        ],
    ),
    (
        "check --sample",
        &[(
            &[SOURCES, SAVE],
            "remove it: --sample reads the hosts twice, and a file holds one sample",
        )],
    ),
    (
        "check --active",
        &[(
            &[SOURCES, SAVE, SAMPLE],
            "remove it: --active tests the pairs of -H once, and saves no results",
        )],
    ),
    ("fabric --format tree", DRAWING),
    ("fabric --format dot", DRAWING),
];

/// Flags of a listing that a drawing of a subnet does not support.
const DRAWING: &[(&[Group], &str)] = &[(
    &[WATCH, WHERE, CELLS, FOLD],
    "remove it: a drawing shows one sample and has no rows; or use another format",
)];

const GENERATED: &[(&[Group], &str)] = &[(
    &[HOSTS, LOCAL, SOURCES, SAVE, ROWS, WHERE, FOLD, WATCH, FORMAT],
    "remove it: the flag does not change the output",
)];

/// Error of a flag that has no effect on its command, or that contradicts another flag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct FlagError {
    /// Description of the error.
    pub what: String,
    /// Fix: a command or a change of the command line.
    pub fix: &'static str,
}

/// Returns the short form of a flag in parentheses.
fn short(flag: &str) -> &'static str {
    match flag {
        "hosts" => " (-H)",
        "where" => " (-w)",
        "columns" => " (-o)",
        "sort" => " (-s)",
        "format" => " (-f)",
        "json" => " (-j)",
        "no-header" => " (-n)",
        "verbose" => " (-v)",
        _ => "",
    }
}

/// Checks the long names of the given global flags, and the own flags of the command, with
/// dashes, and arguments. `own` also has the format of a drawing: `--format tree`.
///
/// # Errors
/// A flag has no effect on this command, or two flags contradict each other.
pub fn check(command: &str, given: &[&str], own: &[String]) -> Result<(), FlagError> {
    let is_mode = |name: &str| {
        let flag = name.strip_prefix(command).and_then(|flag| flag.strip_prefix(' '));
        flag.is_some_and(|flag| own.iter().any(|own| own == flag))
    };
    let is_given = |flag: &str| given.contains(&flag) || own.contains(&format!("--{flag}"));
    let rows = TABLE.iter().filter(|(name, _)| *name == command);
    let contradiction =
        |one, other, fix| Err(FlagError { what: format!("--{one} contradicts {other}"), fix });
    for (command, refused) in rows.chain(MODES.iter().filter(|(name, _)| is_mode(name))) {
        for (groups, fix) in *refused {
            let mut flags = groups.iter().copied().flatten().copied();
            if let Some(flag) = flags.find(|flag| is_given(flag)) {
                let what = format!("{command} does not support --{flag}{}", short(flag));
                return Err(FlagError { what, fix });
            }
        }
    }
    for (group, fix) in CONTRARY {
        let mut both = group.iter().copied().filter(|flag| given.contains(flag));
        if let (Some(one), Some(other)) = (both.next(), both.next()) {
            return contradiction(one, format!("--{other}"), fix);
        }
    }
    if command == "ping"
        && let Some(one) = SAVED_RUNS.into_iter().find(|flag| is_given(flag))
    {
        let itself = format!("--{one}");
        let is_new_run = |other: &&String| {
            **other != itself && !(one == "from" && OF_PRINT.contains(&other.as_str()))
        };
        if let Some(other) = own.iter().find(is_new_run) {
            let fix = "remove one of them: the file holds the pairs as they were tested";
            return contradiction(one, other.clone(), fix);
        }
    }
    Ok(())
}

/// Returns true if a command supports a flag.
pub fn takes(command: &str, flag: &str) -> bool {
    let rows = TABLE.iter().filter(|(name, _)| *name == command);
    let mut groups = rows.flat_map(|(_, refused)| *refused).flat_map(|(groups, _)| *groups);
    !groups.any(|group| group.contains(&flag))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// Flags that only tune the connections: every command accepts them.
    const WAY: Group = &[
        "launcher",
        "timeout",
        "fanout",
        "login",
        "ssh-config",
        "ssh-option",
        "sudo",
        "no-sudo",
        "upload",
        "no-upload",
        "color",
    ];

    /// Every flag that stands with every command has its place in one of these.
    const GROUPS: [Group; 10] =
        [HOSTS, LOCAL, SOURCES, SAVE, ROWS, WHERE, FOLD, WATCH, FORMAT, WAY];

    #[test]
    fn every_flag_of_every_command_has_its_place() {
        let tree = Cli::command();
        let in_tree: BTreeSet<&str> =
            tree.get_arguments().filter_map(clap::Arg::get_long).collect();
        let all = GROUPS.iter().copied().flatten().copied();
        let in_table: BTreeSet<&str> = all.clone().collect();
        assert_eq!(in_table, in_tree);
        assert_eq!(all.count(), in_table.len(), "a flag has two places");
    }

    #[test]
    fn every_command_has_one_row() {
        let tree = Cli::command();
        let mut in_tree: Vec<&str> = tree.get_subcommands().map(clap::Command::get_name).collect();
        in_tree.push(SUMMARY);
        let mut in_table: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
        in_tree.sort_unstable();
        in_table.sort_unstable();
        assert_eq!(in_table, in_tree);
    }

    #[test]
    fn a_flag_without_effect_is_refused() {
        assert!(takes("devices", "save") && !takes("ping", "root") && takes("ping", "color"));
        let error = check("capture", &["color", "sort"], &[]).unwrap_err();
        assert_eq!(error.to_string(), "capture does not support --sort (-s)");
        let error = check("devices", &["root", "from"], &[]).unwrap_err();
        assert_eq!(error.to_string(), "--from contradicts --root");
    }

    #[test]
    fn plan_flag_has_its_own_row_of_supported_flags() {
        let plan = |given: &[&str]| check("ping", given, &["--plan".to_owned()]);
        assert_eq!(plan(&["hosts", "format"]), Ok(()));
        let error = plan(&["sort"]).unwrap_err();
        assert_eq!(error.to_string(), "ping --plan does not support --sort (-s)");
        assert_eq!(check("ping", &["sort"], &["--quick".to_owned()]), Ok(()));
    }

    #[test]
    fn modes_of_check_have_rows_of_supported_flags() {
        let refusal = |given: &[&str], own: &[&str]| {
            let own: Vec<String> = own.iter().map(ToString::to_string).collect();
            check("check", given, &own).err().map(|error| error.what)
        };
        for (given, own, flag) in [
            (&["format"][..], &["--plugin"][..], "--format (-f)"),
            (&["json"], &["--plugin"], "--json (-j)"),
            (&["columns"], &["--plugin"], "--columns (-o)"),
            (&["where"], &["--plugin"], "--where (-w)"),
            (&["sort"], &["--plugin"], "--sort (-s)"),
            (&["no-header"], &["--plugin"], "--no-header (-n)"),
            (&["verbose"], &["--plugin"], "--verbose (-v)"),
            (&[], &["--plugin", "--fail-on"], "--fail-on"),
            (&["from"], &["--sample"], "--from"),
            (&["root"], &["--sample"], "--root"),
            (&["save"], &["--sample"], "--save"),
            (&["hosts", "from"], &["--active"], "--from"),
            (&["hosts", "root"], &["--active"], "--root"),
            (&["hosts", "save"], &["--active"], "--save"),
            (&["hosts"], &["--sample", "--active"], "--sample"),
        ] {
            let mode = own.last().filter(|own| **own != "--fail-on").unwrap_or(&"--plugin");
            let expected = format!("check {mode} does not support {flag}");
            assert_eq!(refusal(given, own), Some(expected));
        }
        assert_eq!(refusal(&["hosts", "from", "save"], &["--plugin", "--severity"]), None);
        assert_eq!(refusal(&["hosts", "format", "where"], &["--sample"]), None);
        assert_eq!(refusal(&["hosts", "verbose"], &["--active", "--fail-on"]), None);
    }

    #[test]
    fn a_drawing_supports_no_flags_of_a_listing() {
        let refusal = |flag: &str, format: &str| {
            let error = check("fabric", &["format", flag], &[format!("--format {format}")]).err();
            error.map(|error| error.what)
        };
        for (flag, named) in [
            ("watch", "--watch"),
            ("count", "--count"),
            ("where", "--where (-w)"),
            ("sort", "--sort (-s)"),
            ("columns", "--columns (-o)"),
            ("no-header", "--no-header (-n)"),
            ("no-fold", "--no-fold"),
        ] {
            for format in ["tree", "dot"] {
                let expected = format!("fabric --format {format} does not support {named}");
                assert_eq!(refusal(flag, format), Some(expected));
            }
            assert_eq!(refusal(flag, "csv"), None, "a listing supports {named}");
        }
        for flag in ["save", "verbose", "hosts"] {
            assert_eq!(refusal(flag, "tree"), None);
        }
    }

    #[test]
    fn flags_of_a_new_run_contradict_from_and_diff() {
        let own = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(check("ping", &["from", "sort"], &[]), Ok(()));
        assert_eq!(check("ping", &[], &own(&["--diff"])), Ok(()));
        assert_eq!(check("ports", &["from"], &own(&["--rates"])), Ok(()));
        let error = check("ping", &["from"], &own(&["the host"])).unwrap_err();
        assert_eq!(error.to_string(), "--from contradicts the host");
        let error = check("ping", &[], &own(&["--diff", "--tclass"])).unwrap_err();
        assert_eq!(error.to_string(), "--diff contradicts --tclass");
        let error = check("ping", &["from"], &own(&["--diff"])).unwrap_err();
        assert_eq!(error.to_string(), "--from contradicts --diff");
    }
}
