//! Options of infiniband-diags: common ones, those of one tool, configuration file, help.
//!
//! Sends nothing. Used by every tool of the fabric.

use super::fail;
use crate::compat::getopt::{Opt, Word, parse as parse_words};
use crate::compat::number::{parse_any, truncate};
use crate::compat::{Job, ToolError, Transcript};

/// Configuration file of all tools.
const CONFIG: &str = "/etc/infiniband-diags/ibdiag.conf";
/// Exit code of wrong usage.
const USAGE: u8 = 2;
/// Column of the descriptions in the help, and the line width.
const COLUMN: usize = 24;
const WIDTH: usize = 74;

/// Notation of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DestinationKind {
    #[default]
    Lid,
    Directed,
    Guid,
}

#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Common {
    pub(crate) device: Option<String>,
    pub(crate) port: u32,
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) kind: DestinationKind,
    pub(crate) sm_lid: Option<u16>,
    pub(crate) shows_keys: bool,
    pub(crate) m_key: u64,
    pub(crate) shows_errors: bool,
    pub(crate) is_verbose: bool,
    /// True if FDR10 is read from the Mellanox attribute.
    pub(crate) reads_mellanox: bool,
}

/// Command line of a tool.
pub(crate) struct Usage {
    /// Options of the tool, one per line: name, letter and value as in the help, two spaces or
    /// more, description.
    pub(crate) options: &'static str,
    /// Names of unsupported options, with spaces between them, and their alternative command.
    pub(crate) refused: &'static [(&'static str, &'static str)],
    /// Letters of common options that the tool does not have.
    pub(crate) without: &'static str,
    pub(crate) operands: &'static str,
    pub(crate) examples: &'static [&'static str],
}

pub(crate) struct Parsed {
    pub(crate) common: Common,
    /// Names and values of the options of the tool, in order.
    pub(crate) own: Vec<(&'static str, String)>,
    pub(crate) operands: Vec<String>,
}

impl Parsed {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Returns the last value of an option.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.last_of(&[name]).map(|(_, value)| value)
    }

    /// Returns name and value of the last of these options.
    pub(crate) fn last_of(&self, names: &[&str]) -> Option<(&'static str, &str)> {
        let last = self.own.iter().rev().find(|(name, _)| names.contains(name));
        last.map(|(name, value)| (*name, value.as_str()))
    }
}

const COMMON: &str = "\
--config, -z <config>  use config file, default: /etc/infiniband-diags/ibdiag.conf
--Ca, -C <ca>          Ca name to use
--Port, -P <port>      Ca port number to use
--Direct, -D           use Direct address argument
--Lid, -L              use LID address argument
--Guid, -G             use GUID address argument
--timeout, -t <ms>     timeout in ms
--sm_port, -s <lid>    SM port lid
--show_keys, -K        display security keys in output
--m_key, -y <key>      M_Key to use in request
--errors, -e           show send and receive errors
--verbose, -v          increase verbosity level
--debug, -d            raise debug level
--help, -h             help message
--version, -V          show version
";
const REFUSED: (&str, &str) = ("debug", "remove -d: rdmactl prints no trace of libibmad");

/// Parses the command line of a tool. Ends the tool if the command line requests the help.
pub(crate) fn parse(
    job: &Job<'_>,
    usage: &Usage,
    out: &mut Transcript,
) -> Result<Parsed, ToolError> {
    let opts: Vec<Opt> = all(usage).map(|(opt, _)| opt).collect();
    debug_assert!(
        usage
            .refused
            .iter()
            .flat_map(|(names, _)| names.split(' '))
            .all(|name| is_own_option(usage, name)),
        "a refused option is in the table of options"
    );
    let mut common = Common { reads_mellanox: true, ..Common::default() };
    configure(&mut common, job, CONFIG);
    let mut parsed = Parsed { common, own: Vec::new(), operands: Vec::new() };
    for word in parse_words(job.call.program, &opts, job.call.args) {
        match word {
            Word::Operand(operand) => parsed.operands.push(operand),
            Word::Bad(said) => {
                out.warn(said);
                return Err(show_usage(job, usage, out));
            }
            Word::Option(name, value) => {
                let mut refused = usage.refused.iter().chain([&REFUSED]);
                if let Some((_, instead)) =
                    refused.find(|row| row.0.split(' ').any(|it| it == name))
                {
                    return Err(job.refused(format!("--{name}"), Some(instead)));
                }
                if is_own_option(usage, name) {
                    parsed.own.push((name, value));
                } else {
                    take(&mut parsed.common, job, usage, name, value, out)?;
                }
            }
        }
    }
    Ok(parsed)
}

/// Returns the options of a table with their descriptions.
fn rows(table: &'static str) -> impl Iterator<Item = (Opt, &'static str)> {
    table.lines().map(|line| {
        let (opt, text) = line.split_once("  ").unwrap_or((line, ""));
        (Opt(opt), text.trim_start())
    })
}

fn is_own_option(usage: &Usage, name: &str) -> bool {
    rows(usage.options).any(|(own, _)| own.name() == name)
}

/// Returns the options of a tool, then the common options that it has.
fn all(usage: &Usage) -> impl Iterator<Item = (Opt, &'static str)> {
    let is_left_out = |opt: Opt| opt.letter().is_some_and(|it| usage.without.contains(it));
    rows(usage.options).chain(rows(COMMON).filter(move |(opt, _)| !is_left_out(*opt)))
}

fn take(
    common: &mut Common,
    job: &Job<'_>,
    usage: &Usage,
    name: &str,
    value: String,
    out: &mut Transcript,
) -> Result<(), ToolError> {
    match name {
        "config" => configure(common, job, &value),
        "Ca" => common.device = Some(value),
        "Port" => common.port = truncate(parse_any(&value)),
        "Direct" => common.kind = DestinationKind::Directed,
        "Lid" => common.kind = DestinationKind::Lid,
        "Guid" => common.kind = DestinationKind::Guid,
        "timeout" => {
            let is_octal_or_hex = value.trim_start().starts_with('0')
                && value.chars().all(|it| it.is_ascii_alphanumeric());
            let other_base = || i32::try_from(parse_any(&value)).ok().filter(|_| is_octal_or_hex);
            let number = value.trim_start().parse::<i32>().ok().or_else(other_base);
            common.timeout_ms = number.and_then(|it| u32::try_from(it).ok()).filter(|it| *it > 0);
            if common.timeout_ms.is_none() {
                let text = format!(
                    "Invalid timeout \"{value}\".  Timeout requires a positive integer value < {}.",
                    i32::MAX
                );
                return Err(fail(job, out, &text));
            }
        }
        "sm_port" => {
            common.sm_lid =
                u16::try_from(parse_any(&value)).ok().filter(|lid| (1..0xc000).contains(lid));
            if common.sm_lid.is_none() {
                return Err(fail(job, out, &format!("cannot resolve SM destination port {value}")));
            }
        }
        "show_keys" => common.shows_keys = true,
        "m_key" => {
            if !value.starts_with(|digit: char| digit.is_ascii_digit()) {
                let instead = "write the key as a number: rdmactl asks for no key";
                return Err(job.refused(format!("-y {value}"), Some(instead)));
            }
            common.m_key = parse_any(&value);
        }
        "errors" => common.shows_errors = true,
        "verbose" => common.is_verbose = true,
        "version" => return Err(show_version(job, out)),
        _ => return Err(show_usage(job, usage, out)),
    }
    Ok(())
}

/// Reads the configuration file; a missing file changes nothing.
fn configure(common: &mut Common, job: &Job<'_>, path: &str) {
    let Ok(content) = job.reading.operator_file(path) else { return };
    for line in content.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, value)) = line.split_once('=') else { continue };
        match name {
            name if name.starts_with("CA") => common.device = Some(value.to_owned()),
            name if name.starts_with("Port") => common.port = truncate(parse_any(value)),
            name if name.starts_with("timeout") => {
                common.timeout_ms = Some(truncate(parse_any(value))).filter(|time| *time > 0);
            }
            name if name.starts_with("MLX_EPI") => {
                common.reads_mellanox = value.starts_with("TRUE") || value.starts_with("true");
            }
            name if name.starts_with("m_key") => common.m_key = parse_any(value),
            _ => {}
        }
    }
}

pub(crate) fn show_usage(job: &Job<'_>, usage: &Usage, out: &mut Transcript) -> ToolError {
    let program = job.call.program;
    out.warn(format!("\nUsage: {program} [options] {}\n\nOptions:\n", usage.operands));
    for (Opt(opt), text) in all(usage) {
        let head = format!("  {opt:width$}  ", width = COLUMN - 2);
        out.warn(format!("{head}{}\n", wrap(text, head.len())));
    }
    if !usage.examples.is_empty() {
        out.warn("\nExamples:\n");
        for example in usage.examples {
            out.warn(format!("  {program} {example}\n"));
        }
    }
    out.end(USAGE, "\n")
}

pub(crate) fn show_version(job: &Job<'_>, out: &mut Transcript) -> ToolError {
    out.end(0, format!("{} BUILD VERSION: {}\n", job.call.program, job.release.text))
}

/// Wraps a description, with an indent for each line. A line ends with the space at the break.
fn wrap(text: &str, indent: usize) -> String {
    let room = WIDTH.saturating_sub(indent);
    let (mut wrapped, mut rest) = (String::new(), text.trim_start());
    loop {
        // The break is the last space before the first word that crosses the margin.
        let (mut end, mut next) = (1, None);
        loop {
            match rest.get(end..).and_then(|text| text.find(' ')).map(|at| at + end) {
                Some(space) if space < room => end = space + 1,
                Some(space) => {
                    next = Some(space);
                    break;
                }
                None => break,
            }
        }
        let Some(space) = next else {
            wrapped += rest;
            return wrapped;
        };
        let cut = if end == 1 { space } else { end };
        let (line, after) = rest.split_at(cut);
        wrapped += line;
        wrapped.push('\n');
        wrapped += &" ".repeat(indent);
        rest = after.trim_start();
    }
}
