//! Runs `rdmactl compat`: prints the output of an older tool, byte for byte. A symbolic link with
//! the name of a tool does the same.
//!
//! `crate::compat` formats the output; this module finds the host and handles the flags.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context as _;

use crate::capture::Capture;
use crate::cli::{CompatArgs, Global};
use crate::compat::{Call, CompatError, Release, Tool, Transcript, run as answer};
use crate::model::Parts;
use crate::render::escape;
use crate::source::{Live, Source, VerbsChild};
use crate::term::Term;

use super::{Advice, Outcome, fleet, host_selection, local};

/// Expands the command line of a link named like a tool: `ibstat -l` to `rdmactl compat ibstat
/// -l`.
pub(super) fn expand(words: Vec<OsString>) -> Vec<OsString> {
    let tool =
        words.first().and_then(|word| Path::new(word).file_name()?.to_str()).map(str::to_owned);
    let Some(tool) = tool.filter(|name| Tool::from_name(name).is_some()) else { return words };
    let before = ["rdmactl".into(), "compat".into(), tool.into()];
    before.into_iter().chain(words.into_iter().skip(1)).collect()
}

/// Returns the `compat` command line for a tool that was typed as a command.
pub(super) fn instead_of(word: &str, words: &[OsString]) -> Option<String> {
    let tool = Tool::from_name(word)?;
    let words: Vec<String> =
        words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let at = words.iter().position(|other| other == word)?;
    let (before, after) = (&words[..at], &words[at + 1..]);
    let (ours, theirs) = match own_flags(after).filter(|(flag, ..)| !is_option(tool, flag)) {
        Some((_, ours, theirs)) => (ours, theirs),
        None => (Vec::new(), after.iter().map(String::as_str).collect()),
    };
    let before = before.iter().map(String::as_str);
    command_line(tool, &before.chain(ours).collect::<Vec<_>>(), &theirs).ok()
}

/// Returns the command line of a tool, quoted for a shell.
///
/// If flags of rdmactl indicate another host, a word in the place of a device becomes the value
/// of `-H`.
fn command_line(tool: Tool, ours: &[&str], theirs: &[&str]) -> Result<String, shlex::QuoteError> {
    let (mut ours, mut theirs) = (ours.to_vec(), theirs.to_vec());
    let names_source = ["-H", "--hosts", "--hosts-file", "--from", "--root"];
    let is_source = |word: &&str| names_source.contains(&word.split('=').next().unwrap_or(word));
    let is_device = |word: &str| Path::new("/sys/class/infiniband").join(word).exists();
    let host = theirs.iter().enumerate().position(|(at, word)| {
        let follows_option = at > 0 && theirs[at - 1].starts_with('-');
        !word.starts_with('-') && !word.contains('/') && !follows_option && !is_device(word)
    });
    let is_remote = !ours.is_empty() && !ours.iter().any(is_source);
    if let Some(host) = host.filter(|_| is_remote) {
        ours.extend(["-H", theirs.remove(host)]);
    }
    shlex::try_join([&["rdmactl", "compat"], &ours[..], &[tool.name()], &theirs].concat())
}

/// Returns true for a flag of rdmactl that is also an option of the tool: -H of ibnetdiscover.
fn is_option(tool: Tool, flag: &str) -> bool {
    tool == Tool::Ibnetdiscover && flag == "-H"
}

pub(super) fn run(global: &Global, args: &CompatArgs, term: Term) -> anyhow::Result<Outcome> {
    let words: Vec<String> =
        args.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((name, args_of_tool)) = words.split_first() else { return Ok(Outcome::Complete) };
    let Some(tool) = Tool::from_name(name) else {
        let names: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
        return Err(Advice::error(
            format!("unknown tool {name}"),
            format!("write one of {}, then its options", names.join(", ")),
        ));
    };
    let typed: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    refuse_own_flags(tool, flags_before(tool, &typed), args_of_tool)?;
    let call = Call {
        tool,
        program: &link_to(tool).unwrap_or_else(|| tool.name().to_owned()),
        args: args_of_tool,
        release: args.release.and_then(Release::of),
        pid: std::process::id(),
    };
    let transcript = match source(global)? {
        Origin::Live(source) => answer(&call, &*source),
        Origin::Copy(source) => answer(&call, &*source).map(|made| made_safe(made, term)),
    }
    .map_err(|error| Advice::error(error.to_string(), fix_of(&error, global, &typed)))?;
    term.write_stdout(&transcript.stdout)?;
    term.write_stderr(&transcript.stderr);
    Ok(Outcome::Original(transcript.code))
}

/// Returns the fix of an error. On a host without rdmactl, only an upload can read all data.
fn fix_of(error: &CompatError, global: &Global, typed: &[String]) -> String {
    let is_unrecorded = matches!(error, CompatError::NotRecorded { .. });
    let is_live = global.queries_hosts() && global.from.is_none();
    let at = typed.iter().position(|word| word == "compat");
    if let (true, true, false, Some(at)) = (is_unrecorded, is_live, global.upload, at) {
        let (before, after) = typed.split_at(at + 1);
        let words = before.iter().skip(1).map(String::as_str).chain(["--upload"]);
        let words = words.chain(after.iter().map(String::as_str));
        if let Ok(words) = shlex::try_join(words) {
            return format!("upload rdmactl to the host: rdmactl {words}");
        }
    }
    error.fix()
}

/// Flags of rdmactl that no tool has.
const OWN_FLAGS_WITH_VALUE: &str = "-H --hosts --hosts-file -F --ssh-config --ssh-option --login \
                                    --from --root --timeout --launcher --as";

const OWN_SWITCHES: &str = "--upload --no-upload --sudo --no-sudo";

/// Refuses a flag of rdmactl after the name of the tool: only options of the tool may follow.
///
/// A symbolic link with the name of a tool passes every word on.
fn refuse_own_flags(tool: Tool, before: Vec<&str>, args: &[String]) -> anyhow::Result<()> {
    if link_to(tool).is_some() {
        return Ok(());
    }
    let found = own_flags(args).filter(|(flag, ..)| !is_option(tool, flag));
    let Some((flag, ours, theirs)) = found else { return Ok(()) };
    let fixed = command_line(tool, &[before, ours].concat(), &theirs)?;
    Err(Advice::error(format!("{flag} belongs to rdmactl, not to {}", tool.name()), fixed))
}

/// Returns the words before the name of the tool, without `rdmactl` and `compat`.
fn flags_before(tool: Tool, typed: &[String]) -> Vec<&str> {
    let words = typed.iter().skip(1).map(String::as_str);
    words.take_while(|word| *word != tool.name()).filter(|word| *word != "compat").collect()
}

/// Returns the first flag of rdmactl, all flags of rdmactl, and the options of the tool.
fn own_flags(args: &[String]) -> Option<(&str, Vec<&str>, Vec<&str>)> {
    let (mut first, mut ours, mut theirs) = (None, Vec::new(), Vec::new());
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or(word);
        let is_in = |flags: &str| flags.split(' ').any(|flag| flag == name);
        let takes_value = is_in(OWN_FLAGS_WITH_VALUE);
        if takes_value || is_in(OWN_SWITCHES) {
            first = first.or(Some(name));
            ours.push(word);
            ours.extend(if takes_value && name == word { words.next() } else { None });
        } else {
            theirs.push(word);
        }
    }
    Some((first?, ours, theirs))
}

/// Returns the path of the symbolic link with the name of the tool, if this process is called so.
fn link_to(tool: Tool) -> Option<String> {
    let called = std::env::args_os().next()?.to_string_lossy().into_owned();
    let is_link = Path::new(&called).file_name().is_some_and(|file| file == tool.name());
    is_link.then_some(called)
}

enum Origin {
    Live(Box<dyn Source>),
    /// File or directory with untrusted content.
    Copy(Box<dyn Source>),
}

fn source(global: &Global) -> anyhow::Result<Origin> {
    if let Some(path) = &global.from {
        return only_host(local::read_capture(global, path)?, &path.display().to_string());
    }
    if let Some(hosts) = host_selection::hosts(global)? {
        let (_, capture) = fleet::record_hosts(global, hosts, &Parts::all())?;
        return only_host(capture, "the set");
    }
    if let Some(root) = &global.root {
        let live = Live::with_root(root)
            .with_context(|| format!("cannot use {} as a root", root.display()))?;
        return Ok(Origin::Copy(Box::new(live)));
    }
    Ok(Origin::Live(Box::new(Live::new(VerbsChild::own(global.timeout)))))
}

fn only_host(capture: Capture, place: &str) -> anyhow::Result<Origin> {
    let [(head, source)] = <[_; 1]>::try_from(capture.into_sources()).map_err(|hosts| {
        let what = format!("{place} holds {} hosts", hosts.len());
        Advice::error(what, "choose one host with -H: rdmactl compat -H n1 TOOL")
    })?;
    match head.failure {
        None => Ok(Origin::Copy(Box::new(source))),
        Some(failure) => Err(anyhow::Error::new(failure).context(head.host)),
    }
}

/// Escapes data of another machine for a terminal; a pipe gets the original bytes.
fn made_safe(transcript: Transcript, term: Term) -> Transcript {
    let safe = |text: String, is_terminal: bool| {
        if !is_terminal {
            return text;
        }
        let escape_line = |line: &str| {
            line.split('\t').map(|part| escape(part).into_owned()).collect::<Vec<_>>().join("\t")
        };
        text.split('\n').map(escape_line).collect::<Vec<_>>().join("\n")
    };
    Transcript {
        stdout: safe(transcript.stdout, term.is_stdout_terminal()),
        stderr: safe(transcript.stderr, term.is_stderr_terminal()),
        code: transcript.code,
    }
}

#[test]
fn a_link_with_the_name_of_a_tool_is_that_tool() {
    let expanded = |words: &[&str]| {
        let words = words.iter().map(OsString::from).collect();
        expand(words).iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(expanded(&["/usr/bin/ibstat", "-l"]), ["rdmactl", "compat", "ibstat", "-l"]);
    assert_eq!(expanded(&["rdmactl", "ibstat"]), ["rdmactl", "ibstat"]);
    assert!(expanded(&[]).is_empty());
}

#[test]
fn a_tool_that_is_typed_as_a_command_is_called_with_its_arguments() {
    let fix = |words: &[&str]| {
        let typed: Vec<OsString> = ["rdmactl"].iter().chain(words).map(OsString::from).collect();
        words.iter().find_map(|word| instead_of(word, &typed))
    };
    assert_eq!(fix(&["ibdev2netdev", "-v"]).unwrap(), "rdmactl compat ibdev2netdev -v");
    assert_eq!(
        fix(&["-H", "n1", "perfquery", "-x", "3"]).unwrap(),
        "rdmactl compat -H n1 perfquery -x 3"
    );
    assert_eq!(fix(&["ibstat", "-l", "-H", "n1"]).unwrap(), "rdmactl compat -H n1 ibstat -l");
    assert_eq!(fix(&["ibnetdiscover", "-H"]).unwrap(), "rdmactl compat ibnetdiscover -H");
    assert_eq!(fix(&["ibstat", "a b"]).unwrap(), "rdmactl compat ibstat 'a b'");
    assert_eq!(fix(&["ibwhat"]), None);
    // The tools take a device or no argument there, so a host needs -H.
    assert_eq!(
        fix(&["ibv_devinfo", "n1", "-F", "conf"]).unwrap(),
        "rdmactl compat -F conf -H n1 ibv_devinfo"
    );
    assert_eq!(
        fix(&["ibv_devinfo", "-d", "rxe0", "--timeout", "9s"]).unwrap(),
        "rdmactl compat --timeout 9s ibv_devinfo -d rxe0"
    );
    let typed = ["rdmactl", "compat", "-F", "conf", "ibv_devinfo", "-d", "rxe0", "-H", "n1"];
    let typed: Vec<String> = typed.map(str::to_owned).into();
    let tool = Tool::IbvDevinfo;
    let refused = refuse_own_flags(tool, flags_before(tool, &typed), &typed[5..]).unwrap_err();
    let advice = refused.downcast_ref::<Advice>().expect("an advice");
    assert_eq!(advice.fix, "rdmactl compat -F conf -H n1 ibv_devinfo -d rxe0");
}

#[test]
fn a_host_without_rdmactl_needs_an_upload() {
    use clap::Parser as _;

    let missing = vec!["/sys/class/infiniband".to_owned()];
    let error = CompatError::NotRecorded { tool: "ibstat", missing };
    let fix = |words: &[&str]| {
        let typed = ["rdmactl"].iter().chain(words).chain(&["ibstat", "-l"]);
        let typed: Vec<String> = typed.map(ToString::to_string).collect();
        fix_of(&error, &crate::cli::Cli::parse_from(&typed).global, &typed)
    };
    let upload = fix(&["compat", "-H", "n1"]);
    assert_eq!(upload, "upload rdmactl to the host: rdmactl compat --upload -H n1 ibstat -l");
    assert!(!fix(&["compat", "--from", "x.ndjson"]).contains("--upload"));
    assert!(!fix(&["compat", "-H", "n1", "--upload"]).contains("--upload"));
}
