//! `rdmactl compat`: the older tools, byte for byte; also when rdmactl goes by the name of one.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Context as _;

use crate::capture::Capture;
use crate::cli::{CompatArgs, Global};
use crate::compat::{Call, Release, Tool, Transcript, run as answer};
use crate::model::Parts;
use crate::render::escape;
use crate::source::{Live, Source, VerbsChild};
use crate::term::Term;

use super::{Advice, Outcome, asked, fleet, local};

/// The command line of a link that is named like a tool: `ibstat -l` is `rdmactl compat ibstat -l`.
pub(super) fn expand(words: Vec<OsString>) -> Vec<OsString> {
    let tool =
        words.first().and_then(|word| Path::new(word).file_name()?.to_str()).map(str::to_owned);
    let Some(tool) = tool.filter(|name| Tool::from_name(name).is_some()) else { return words };
    let before = ["rdmactl".into(), "compat".into(), tool.into()];
    before.into_iter().chain(words.into_iter().skip(1)).collect()
}

/// Prints what the original would, and ends as it would.
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
    refuse_own_flags(tool, args_of_tool)?;
    let call = Call {
        tool,
        program: &program(tool),
        args: args_of_tool,
        release: args.release.and_then(Release::of),
        pid: std::process::id(),
    };
    let transcript = match source(global)? {
        Origin::Live(source) => answer(&call, &*source),
        Origin::Copy(source) => answer(&call, &*source).map(|made| made_safe(made, term)),
    }
    .map_err(|error| Advice::error(error.to_string(), error.fix()))?;
    term.answer(&transcript.stdout)?;
    term.talk(&transcript.stderr);
    Ok(Outcome::Original(transcript.code))
}

/// Flags of rdmactl that no tool has, each with true if a value follows.
const OWN_FLAGS: [(&str, bool); 16] = [
    ("-H", true),
    ("--hosts", true),
    ("--hosts-file", true),
    ("-F", true),
    ("--ssh-config", true),
    ("--ssh-option", true),
    ("--login", true),
    ("--from", true),
    ("--root", true),
    ("--timeout", true),
    ("--launcher", true),
    ("--as", true),
    ("--upload", false),
    ("--no-upload", false),
    ("--sudo", false),
    ("--no-sudo", false),
];

/// Refuses a flag of rdmactl after the tool, where only options of the tool stand.
///
/// A symbolic link with the name of a tool passes every word on.
fn refuse_own_flags(tool: Tool, args: &[String]) -> anyhow::Result<()> {
    let called = std::env::args_os().next();
    let file = called.as_deref().and_then(|word| Path::new(word).file_name());
    if file.is_some_and(|file| file == tool.name()) {
        return Ok(());
    }
    // -H of ibnetdiscover lists channel adapters.
    let is_theirs = |flag: &str| tool == Tool::Ibnetdiscover && flag == "-H";
    let Some((flag, ours, theirs)) = own_flags(args).filter(|(flag, ..)| !is_theirs(flag)) else {
        return Ok(());
    };
    let quote = |words: Vec<&str>| shlex::try_join(words);
    let fixed = quote([vec!["rdmactl", "compat"], ours, vec![tool.name()], theirs].concat())?;
    Err(Advice::error(format!("{flag} belongs to rdmactl, not to {}", tool.name()), fixed))
}

/// Separates the flags of rdmactl from the options of a tool; `None` if there is no flag of rdmactl.
fn own_flags(args: &[String]) -> Option<(&str, Vec<&str>, Vec<&str>)> {
    let (mut first, mut ours, mut theirs) = (None, Vec::new(), Vec::new());
    let mut words = args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (name, value) =
            word.split_once('=').map_or((word, None), |(name, it)| (name, Some(it)));
        match OWN_FLAGS.iter().find(|(flag, _)| *flag == name) {
            Some((flag, takes_value)) => {
                first = first.or(Some(*flag));
                ours.push(word);
                ours.extend(if *takes_value && value.is_none() { words.next() } else { None });
            }
            None => theirs.push(word),
        }
    }
    Some((first?, ours, theirs))
}

/// The name that the tool goes by in its own messages.
fn program(tool: Tool) -> String {
    let called = std::env::args_os().next().map(|word| word.to_string_lossy().into_owned());
    let is_link =
        |word: &String| Path::new(word).file_name().is_some_and(|file| file == tool.name());
    called.filter(is_link).unwrap_or_else(|| tool.name().to_owned())
}

/// Where the answers come from.
enum Origin {
    /// This machine.
    Live(Box<dyn Source>),
    /// A file or a directory, which may hold anything.
    Copy(Box<dyn Source>),
}

fn source(global: &Global) -> anyhow::Result<Origin> {
    if let Some(path) = &global.from {
        return only_host(local::read_capture(global, path)?, &path.display().to_string());
    }
    if let Some(hosts) = asked::hosts(global)? {
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

/// The one host of a capture.
fn only_host(capture: Capture, place: &str) -> anyhow::Result<Origin> {
    let mut hosts = capture.into_sources();
    let count = hosts.len();
    match (hosts.pop(), count) {
        (Some((head, source)), 1) => match head.failure {
            None => Ok(Origin::Copy(Box::new(source))),
            Some(failure) => Err(anyhow::Error::new(failure).context(head.host)),
        },
        (_, count) => Err(Advice::error(
            format!("{place} holds {count} hosts"),
            "choose one host with -H: rdmactl compat -H n1 TOOL",
        )),
    }
}

/// What a file says of another machine reaches no terminal raw; a pipe gets the bytes.
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
        stdout: safe(transcript.stdout, term.is_answer_terminal()),
        stderr: safe(transcript.stderr, term.is_talk_terminal()),
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
