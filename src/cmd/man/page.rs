//! Formats one man page: help of clap, columns, verdicts, keys, settings, files and environment.

use std::io;

use clap::{Arg, ArgAction, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::analyse::verdict::with_placeholders;
use crate::cli::exit_codes::START as CODES;
use crate::cli::flags;
use crate::config::{FILE_VARIABLE, SETTINGS};
use crate::model::ping::Code;
use crate::query::{ColumnDescription, listings_of};
use crate::tui::KEYS;

type Files = &'static [(&'static str, &'static str)];

const LOCAL_FILES: Files = &[
    ("/sys/class/infiniband", "devices, ports, GID tables and counters"),
    ("/sys/class/net, /proc/sys/kernel/osrelease", "network interfaces and kernel release"),
];

const CONFIG_FILES: Files = &[(
    "/etc/rdmactl/config.toml, ~/.config/rdmactl/config.toml",
    "configuration of the system and of the user; see rdmactl-config(1)",
)];

const SSH_FILES: Files = &[
    ("~/.ssh/config, /etc/ssh/ssh_config", "SSH configuration, as ssh -G prints it; see -F"),
    (
        "~/.ssh/known_hosts, /etc/ssh/ssh_known_hosts",
        "known host keys; rdmactl refuses an unknown host key",
    ),
];

pub(super) fn of(command: &Command, tree: &Command) -> io::Result<String> {
    let mut page = Vec::new();
    let source = format!("rdmactl {}", tree.get_version().unwrap_or_default());
    // A date would change with every build; the source would replace an empty date.
    let man = Man::new(command.clone()).date(" ").source(source).manual("rdmactl manual");
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend(synopsis(command).to_roff().into_bytes());
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    let name = command.get_name();
    let is_program = name == tree.get_name();
    add_columns(&mut roff, name);
    if name == "ping" {
        add_verdicts(&mut roff);
    }
    if name == "top" {
        add_keys(&mut roff);
    }
    let after = after_help(command);
    let (codes, others): (Vec<_>, Vec<_>) =
        after.iter().partition(|paragraph| paragraph.starts_with(CODES));
    for paragraph in others {
        add_paragraph(&mut roff, paragraph);
    }
    let of_program = after_help(tree);
    let codes = codes.first().copied();
    if let Some(codes) = codes.or_else(|| of_program.iter().find(|text| text.starts_with(CODES))) {
        add_codes(&mut roff, codes);
    }
    let takes = |flag| is_program || flags::takes(name, flag);
    let local = if takes("root") || takes("hosts") { LOCAL_FILES } else { &[] };
    let ssh = if takes("hosts") { SSH_FILES } else { &[] };
    let reads_config = !["completions", "man"].contains(&name);
    let config = if reads_config { CONFIG_FILES } else { &[] };
    if name == "config" {
        add_settings(&mut roff);
    }
    add_terms(&mut roff, "FILES", &[config, local, ssh].concat());
    let mut environment = vec![
        ("NO_COLOR", "if set to any value, no color, unless --color always"),
        ("TERM", "no color if it is dumb"),
    ];
    if reads_config {
        let what = "file to read instead of both configuration files; empty: no file";
        environment.push((FILE_VARIABLE, what));
    }
    if is_program || name == "config" {
        environment.extend(SETTINGS.iter().map(|setting| (setting.variable, setting.help)));
    }
    if takes("hosts") {
        environment.push(("SSH_AUTH_SOCK", "the SSH agent that holds the keys"));
        environment
            .push(("CLUSTERSHELL_CFGDIR", "first directory to search for ClusterShell groups"));
        environment.push(("SLURM_JOB_NODELIST, PBS_NODEFILE", "the nodes of @job"));
    }
    if is_program || name == "completions" {
        let what = "set by the completion scripts: print the completions at the cursor, then exit";
        environment.push(("RDMACTL_COMPLETE", what));
    }
    add_terms(&mut roff, "ENVIRONMENT", &environment);
    add_others(&mut roff, command, tree);
    page.extend(roff.to_roff().into_bytes());
    // Each part starts with the definition of a quote; the page needs it once.
    let (page, quote) = (String::from_utf8_lossy(&page), Roff::new().render());
    Ok(format!("{quote}{}", page.replace(&quote, "")))
}

/// Returns the synopsis: the flags in the order of the help sections, then the arguments.
fn synopsis(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut text = vec![bold(name), roman(" ")];
    let is_shown = |arg: &&Arg| !arg.is_positional() && !arg.is_hide_set();
    let mut flags: Vec<&Arg> = command.get_arguments().filter(is_shown).collect();
    let mut sections = vec![None];
    for section in flags.iter().map(|arg| arg.get_help_heading()) {
        if !sections.contains(&section) {
            sections.push(section);
        }
    }
    flags.sort_by_key(|arg| sections.iter().position(|one| *one == arg.get_help_heading()));
    for arg in flags {
        let short = arg.get_short().map(|letter| format!("-{letter}"));
        let long = arg.get_long().map(|long| format!("--{long}"));
        let names: Vec<String> = short.into_iter().chain(long).collect();
        text.extend([roman("["), bold(names.join("|"))]);
        text.extend(values_of(arg));
        text.push(roman("] "));
    }
    for arg in command.get_positionals() {
        let (open, close) = if arg.is_required_set() { ("", "") } else { ("[", "]") };
        let names = arg.get_value_names().unwrap_or_default();
        let name = names.first().map(ToString::to_string).unwrap_or_default();
        text.extend([roman(open), italic(name), roman(close)]);
        let can_repeat = arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        text.push(roman(if can_repeat { "... " } else { " " }));
    }
    if command.has_subcommands() {
        text.extend([roman("["), italic("COMMAND"), roman("]")]);
    }
    roff.text(text);
    roff
}

fn values_of(arg: &Arg) -> Vec<Inline> {
    if !arg.get_action().takes_values() {
        let can_repeat = matches!(arg.get_action(), ArgAction::Count);
        return can_repeat.then(|| roman("...")).into_iter().collect();
    }
    let names = arg.get_value_names().unwrap_or_default();
    let names = names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let is_optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    let equals = if arg.is_require_equals_set() { "=" } else { " " };
    if is_optional {
        vec![roman(format!("[{equals}")), italic(names), roman("]")]
    } else {
        vec![roman(equals), italic(names)]
    }
}

fn after_help(command: &Command) -> Vec<String> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.split("\n\n").filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

fn add_columns(roff: &mut Roff, command: &str) {
    for (name, columns) in listings_of(command) {
        let more = name.strip_prefix(command).unwrap_or_default().trim();
        let heading = match more {
            "" => "COLUMNS".to_owned(),
            flag if flag.starts_with('-') => format!("COLUMNS WITH {flag}"),
            view => format!("COLUMNS OF {}", view.to_uppercase()),
        };
        add_listing(roff, &heading, command == "top", &columns);
    }
}

fn add_listing(roff: &mut Roff, heading: &str, is_live: bool, columns: &[ColumnDescription]) {
    const WORDS: &str = ": the id, the heading in lower case, or the last part of an id.";
    roff.control("SH", [heading]);
    let mut text = vec![roman("Words for ")];
    if is_live {
        // In `top`, keys select the columns and the order.
        text.extend([bold("-w"), roman(" and the key "), bold("/"), roman(WORDS)]);
    } else {
        let more = " The id is also the path of the value in JSON, and the heading of CSV.";
        text.extend([
            bold("-o"),
            roman(", "),
            bold("-w"),
            roman(" and "),
            bold("-s"),
            roman(WORDS),
        ]);
        text.push(roman(more));
    }
    roff.text(text);
    for column in columns {
        let kind = if column.is_number { "number" } else { "text" };
        let head = [bold(column.id), roman(format!(" ({}, {kind})", column.title))];
        add_term(roff, head, column.help);
    }
}

fn add_verdicts(roff: &mut Roff) {
    roff.control("SH", ["VERDICTS"]);
    for code in Code::ALL {
        add_term(roff, [bold(code.word())], code.meaning().replace('`', ""));
        for fix in code.fixes() {
            roff.control("IP", []);
            roff.text([italic("Fix"), roman(format!(": {}", with_placeholders(fix)))]);
        }
    }
}

fn add_keys(roff: &mut Roff) {
    roff.control("SH", ["KEYS"]);
    let mut scope = None;
    for key in KEYS {
        if scope != Some(key.scope) {
            scope = Some(key.scope);
            roff.control("SS", [key.scope.title()]);
        }
        let presses: Vec<String> = key.presses.iter().map(ToString::to_string).collect();
        add_term(roff, [bold(presses.join(", "))], key.help);
    }
}

fn add_settings(roff: &mut Roff) {
    roff.control("SH", ["SETTINGS"]);
    for setting in SETTINGS {
        let flags = setting.flags.join(", ");
        let default = setting.default.unwrap_or("none");
        let expected = setting.kind.expects();
        let text =
            format!("{}. Value: {expected}. Default: {default}. Flags: {flags}", setting.help);
        add_term(roff, [bold(setting.name), roman(" = "), roman(setting.example)], text);
    }
}

/// Adds a paragraph as a section: `Examples:` with indented lines, or `Kinds: …` on one line.
fn add_paragraph(roff: &mut Roff, paragraph: &str) {
    let Some((heading, text)) = paragraph.split_once(':') else {
        roff.control("SH", ["NOTES"]);
        roff.text([roman(paragraph)]);
        return;
    };
    roff.control("SH", [heading.to_uppercase().as_str()]);
    if let Some(lines) = text.strip_prefix('\n') {
        roff.control("nf", []);
        for line in lines.lines() {
            roff.text([roman(line.trim())]);
        }
        roff.control("fi", []);
    } else {
        roff.text([roman(text.trim())]);
    }
}

/// Adds the exit codes of a paragraph: `Exit codes: 0 all was read; 1 a problem was found.`
fn add_codes(roff: &mut Roff, paragraph: &str) {
    roff.control("SH", ["EXIT STATUS"]);
    let codes = paragraph.trim_start_matches(CODES).trim_end_matches('.').split("; ");
    for (code, meaning) in codes.filter_map(|text| text.split_once(' ')) {
        add_term(roff, [bold(code)], meaning);
    }
    let by_signal = "ended by SIGINT, SIGTERM or SIGHUP; results so far are printed";
    add_term(roff, [bold("130, 143, 129")], by_signal);
}

fn add_term(roff: &mut Roff, head: impl Into<Vec<Inline>>, text: impl Into<String>) {
    roff.control("TP", []);
    roff.text(head);
    roff.text([roman(text)]);
}

fn add_terms(roff: &mut Roff, heading: &str, terms: &[(&str, &str)]) {
    if terms.is_empty() {
        return;
    }
    roff.control("SH", [heading]);
    for (term, meaning) in terms {
        add_term(roff, [italic(*term)], *meaning);
    }
}

fn add_others(roff: &mut Roff, command: &Command, tree: &Command) {
    roff.control("SH", ["SEE ALSO"]);
    let shown = tree.get_subcommands().filter(|other| !other.is_hide_set());
    let names: Vec<&str> = std::iter::once(tree)
        .chain(shown)
        .filter(|other| other.get_name() != command.get_name())
        .map(|other| other.get_display_name().unwrap_or(other.get_name()))
        .collect();
    let end = |index: usize| if index + 1 < names.len() { "(1), " } else { "(1)" };
    let text = names.iter().enumerate().flat_map(|(at, name)| [bold(*name), roman(end(at))]);
    roff.text(text.collect::<Vec<_>>());
}
