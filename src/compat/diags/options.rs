//! Options of infiniband-diags: the common options, the options of one tool, the configuration
//! file, the help.
//!
//! Sends nothing. Used by every tool of the fabric.

use std::fmt::Write as _;

use super::ToolError;
use crate::compat::getopt::{Opt, Word, parse as parse_words};
use crate::compat::number::{parse_any, truncate};
use crate::compat::{CompatError, Job, Transcript};
use crate::source::Question;

/// Configuration file of all tools.
const CONFIG: &str = "/etc/infiniband-diags/ibdiag.conf";
/// Exit code of wrong usage.
const USAGE: u8 = 2;
/// Exit code of `ibexit`.
const FAILED: u8 = 255;
/// Column of the descriptions in the help, and the line width.
const COLUMN: usize = 24;
const WIDTH: usize = 74;

/// Notation of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compat) enum DestinationKind {
    Lid,
    Directed,
    Guid,
}

/// Values of the common options.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(in crate::compat) struct Common {
    pub(in crate::compat) device: Option<String>,
    pub(in crate::compat) port: u32,
    pub(in crate::compat) timeout_ms: Option<u32>,
    pub(in crate::compat) kind: DestinationKind,
    pub(in crate::compat) sm_lid: Option<u16>,
    pub(in crate::compat) shows_keys: bool,
    pub(in crate::compat) m_key: u64,
    pub(in crate::compat) shows_errors: bool,
    pub(in crate::compat) is_verbose: bool,
    /// True if FDR10 is read from the Mellanox attribute.
    pub(in crate::compat) reads_mellanox: bool,
}

/// An option of one tool.
pub(in crate::compat) struct OwnOption {
    pub(in crate::compat) letter: char,
    pub(in crate::compat) long: &'static str,
    /// Value in the help; `None` for a flag.
    pub(in crate::compat) value: Option<&'static str>,
    pub(in crate::compat) text: &'static str,
    /// Alternative command, for an unsupported option.
    pub(in crate::compat) instead: Option<&'static str>,
}

impl OwnOption {
    /// Returns an option without a value.
    pub(in crate::compat) const fn flag(
        letter: char,
        long: &'static str,
        text: &'static str,
    ) -> Self {
        Self { letter, long, value: None, text, instead: None }
    }

    /// Returns an option with a value.
    pub(in crate::compat) const fn valued(
        letter: char,
        long: &'static str,
        value: &'static str,
        text: &'static str,
    ) -> Self {
        Self { letter, long, value: Some(value), text, instead: None }
    }

    /// Marks the option as unsupported.
    pub(in crate::compat) const fn refused(self, instead: &'static str) -> Self {
        Self { instead: Some(instead), ..self }
    }
}

/// Command line of a tool.
pub(in crate::compat) struct Usage<'tool> {
    pub(in crate::compat) own: &'tool [OwnOption],
    /// Letters of common options that the tool does not have.
    pub(in crate::compat) without: &'tool str,
    pub(in crate::compat) operands: &'tool str,
    pub(in crate::compat) examples: &'tool [&'tool str],
}

/// A parsed command line.
pub(in crate::compat) struct Parsed {
    pub(in crate::compat) common: Common,
    /// Options of the tool, in order.
    pub(in crate::compat) own: Vec<(char, String)>,
    pub(in crate::compat) operands: Vec<String>,
}

impl Parsed {
    /// True if the flag was given.
    pub(in crate::compat) fn has(&self, letter: char) -> bool {
        self.own.iter().any(|(found, _)| *found == letter)
    }

    /// Returns the last value of an option.
    pub(in crate::compat) fn value(&self, letter: char) -> Option<&str> {
        self.own.iter().rev().find(|(found, _)| *found == letter).map(|(_, value)| value.as_str())
    }
}

/// Options of every tool.
const COMMON: [OwnOption; 15] = [
    OwnOption::valued(
        'z',
        "config",
        "<config>",
        "use config file, default: /etc/infiniband-diags/ibdiag.conf",
    ),
    OwnOption::valued('C', "Ca", "<ca>", "Ca name to use"),
    OwnOption::valued('P', "Port", "<port>", "Ca port number to use"),
    OwnOption::flag('D', "Direct", "use Direct address argument"),
    OwnOption::flag('L', "Lid", "use LID address argument"),
    OwnOption::flag('G', "Guid", "use GUID address argument"),
    OwnOption::valued('t', "timeout", "<ms>", "timeout in ms"),
    OwnOption::valued('s', "sm_port", "<lid>", "SM port lid"),
    OwnOption::flag('K', "show_keys", "display security keys in output"),
    OwnOption::valued('y', "m_key", "<key>", "M_Key to use in request"),
    OwnOption::flag('e', "errors", "show send and receive errors"),
    OwnOption::flag('v', "verbose", "increase verbosity level"),
    OwnOption::flag('d', "debug", "raise debug level")
        .refused("remove -d: rdmactl prints no trace of libibmad"),
    OwnOption::flag('h', "help", "help message"),
    OwnOption::flag('V', "version", "show version"),
];

/// Parses the command line of a tool.
///
/// # Errors
/// The transcript contains the output, or an option is not supported.
pub(in crate::compat) fn parse(
    job: &Job<'_>,
    usage: &Usage<'_>,
    out: &mut Transcript,
) -> Result<Parsed, ToolError> {
    let program = job.call.program;
    let all: Vec<&OwnOption> = all(usage).collect();
    let opts: Vec<Opt> = all
        .iter()
        .map(|own| Opt { short: own.letter, long: own.long, takes_value: own.value.is_some() })
        .collect();
    let mut common = Common {
        device: None,
        port: 0,
        timeout_ms: None,
        kind: DestinationKind::Lid,
        sm_lid: None,
        shows_keys: false,
        m_key: 0,
        shows_errors: false,
        is_verbose: false,
        reads_mellanox: true,
    };
    configure(&mut common, job, CONFIG);
    let mut parsed = Parsed { common, own: Vec::new(), operands: Vec::new() };
    for word in parse_words(program, &opts, job.call.args) {
        match word {
            Word::Operand(operand) => parsed.operands.push(operand),
            Word::Bad(said) => {
                out.warn(said);
                return Err(show_usage(job, usage, out));
            }
            Word::Option(letter, value) => {
                let refused = all.iter().find(|own| own.letter == letter && own.instead.is_some());
                if let Some(own) = refused {
                    let option = format!("--{}", own.long);
                    let (tool, instead) = (job.call.tool.name(), own.instead);
                    return Err(CompatError::NotOffered { tool, option, instead }.into());
                }
                if usage.own.iter().any(|own| own.letter == letter) {
                    parsed.own.push((letter, value));
                } else {
                    take(&mut parsed.common, job, usage, letter, value, out)?;
                }
            }
        }
    }
    Ok(parsed)
}

fn all<'tool>(usage: &'tool Usage<'_>) -> impl Iterator<Item = &'tool OwnOption> {
    let common = COMMON.iter().filter(|common| !usage.without.contains(common.letter));
    usage.own.iter().chain(common)
}

/// Applies a common option.
fn take(
    common: &mut Common,
    job: &Job<'_>,
    usage: &Usage<'_>,
    letter: char,
    value: String,
    out: &mut Transcript,
) -> Result<(), ToolError> {
    let program = job.call.program;
    match letter {
        'z' => configure(common, job, &value),
        'C' => common.device = Some(value),
        'P' => common.port = truncate(parse_any(&value)),
        'D' => common.kind = DestinationKind::Directed,
        'L' => common.kind = DestinationKind::Lid,
        'G' => common.kind = DestinationKind::Guid,
        't' => {
            let number = value.trim_start().parse::<i32>().ok();
            let number = number.or_else(|| {
                i32::try_from(parse_any(&value)).ok().filter(|_| {
                    value.trim_start().starts_with('0')
                        && value.chars().all(|it| it.is_ascii_alphanumeric())
                })
            });
            let Some(number) =
                number.and_then(|number| u32::try_from(number).ok()).filter(|it| *it > 0)
            else {
                out.print(format!(
                    "{program}: iberror: failed: Invalid timeout \"{value}\".  Timeout requires a \
                     positive integer value < {}.\n",
                    i32::MAX
                ));
                out.code = FAILED;
                return Err(ToolError::Said);
            };
            common.timeout_ms = Some(number);
        }
        's' => {
            let lid = u16::try_from(parse_any(&value)).ok().filter(|lid| (1..0xc000).contains(lid));
            if lid.is_none() {
                out.print(format!(
                    "{program}: iberror: failed: cannot resolve SM destination port {value}\n"
                ));
                out.code = FAILED;
                return Err(ToolError::Said);
            }
            common.sm_lid = lid;
        }
        'K' => common.shows_keys = true,
        'y' => {
            if !value.starts_with(|digit: char| digit.is_ascii_digit()) {
                let (tool, option) = (job.call.tool.name(), format!("-y {value}"));
                let instead = Some("write the key as a number: rdmactl asks for no key");
                return Err(CompatError::NotOffered { tool, option, instead }.into());
            }
            common.m_key = parse_any(&value);
        }
        'e' => common.shows_errors = true,
        'v' => common.is_verbose = true,
        'V' => {
            out.warn(format!("{program} BUILD VERSION: {}\n", job.release.text));
            return Err(ToolError::Said);
        }
        _ => return Err(show_usage(job, usage, out)),
    }
    Ok(())
}

/// Reads the configuration file; a missing file changes nothing.
fn configure(common: &mut Common, job: &Job<'_>, path: &str) {
    let answer = job.reading.source().ask(&Question::File(path.to_owned()));
    let Ok(bytes) = answer else { return };
    for line in String::from_utf8_lossy(&bytes).lines().filter(|line| !line.starts_with('#')) {
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

/// Prints the help of a tool.
pub(in crate::compat) fn show_usage(
    job: &Job<'_>,
    usage: &Usage<'_>,
    out: &mut Transcript,
) -> ToolError {
    let program = job.call.program;
    out.warn(format!("\nUsage: {program} [options] {}\n\nOptions:\n", usage.operands));
    for own in all(usage) {
        let mut line = format!("  --{}", own.long);
        if own.letter.is_ascii_graphic() {
            let _ = write!(line, ", -{}", own.letter);
        }
        if let Some(value) = own.value {
            let _ = write!(line, " {value}");
        }
        line += &" ".repeat(COLUMN.saturating_sub(line.len()));
        line += "  ";
        let indent = line.len();
        out.warn(line);
        out.warn(wrap(own.text, indent));
        out.warn("\n");
    }
    if !usage.examples.is_empty() {
        out.warn("\nExamples:\n");
        for example in usage.examples {
            out.warn(format!("  {program} {example}\n"));
        }
    }
    out.warn("\n");
    out.code = USAGE;
    ToolError::Said
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
