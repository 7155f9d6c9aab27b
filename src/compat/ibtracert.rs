//! `ibtracert`: the route from one port to another, according to the forwarding tables.
//!
//! Unicast routes only. Used by `compat`.

mod route;

use super::diags::{DestinationKind, NodeNames, PortId, Session, Usage, parse, show_usage};
use super::{Job, ToolError, Transcript};
use route::{Format, Tracer};

const USAGE: Usage = Usage {
    options: "\
--force, -f             force
--no_info, -n           simple format
--mlid, -m <mlid>       multicast trace of the mlid
--node-name-map <file>  node name map file
--ports-file <file>     port pairs file
",
    refused: &[("mlid", "compat ibroute -M SWITCH, for the multicast table of each switch")],
    without: "DK",
    operands: "<src-addr> <dest-addr>",
    examples: &[
        "- Unicast examples:",
        "4 16\t\t\t# show path between lids 4 and 16",
        "-n 4 16\t\t# same, but using simple output format",
        "-G 0x8f1040396522d 0x002c9000100d051\t# use guid addresses",
        " - Multicast examples:",
        "-m 0xc000 4 16\t# show multicast path of mlid 0xc000 between lids 4 and 16",
    ],
};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    let file = parsed.value("ports-file");
    if parsed.operands.len() < 2 && file.is_none() {
        return Err(show_usage(job, &USAGE, out));
    }
    let mut session = Session::open_or_fail(job, &parsed.common, out)?;
    let names = NodeNames::read(job, parsed.value("node-name-map"), session.out);
    let format = if parsed.has("no_info") { Format::Simple } else { Format::Full };
    let pairs = match file {
        None => vec![(0, parsed.operands[0].clone(), parsed.operands[1].clone())],
        Some(path) => read_pairs(job, &mut session, path)?,
    };
    let count = pairs.len();
    let mut tracer = Tracer { session, names, is_forced: parsed.has("force") };
    for (line, from, to) in pairs {
        if to.is_empty() {
            let path = file.unwrap_or_default();
            let text = format!("ports-file, {path}, at line {line} contains bad data");
            return Err(tracer.session.fail(&text));
        }
        if !trace(&mut tracer, &from, &to, format)? {
            let place = if file.is_some() { format!(" at line {line}") } else { String::new() };
            return Err(tracer.session.fail(&format!("Failed to get route information{place}")));
        }
    }
    if let Some(path) = file {
        tracer.session.out.print(format!("{count} lid/guid pairs processed from {path}\n"));
    }
    Ok(())
}

/// Reads the pairs of a file with their line numbers. A missing second word is empty.
fn read_pairs(
    job: &Job<'_>,
    session: &mut Session<'_>,
    path: &str,
) -> Result<Vec<(usize, String, String)>, ToolError> {
    let Ok(text) = job.reading.operator_file(path) else {
        return Err(session.fail(&format!("cannot open ports-file {path}")));
    };
    let pair = |(at, line): (usize, &str)| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let first = words.next().filter(|word| !word.starts_with('#'))?;
        Some((at + 1, first, words.next().unwrap_or_default()))
    };
    Ok(text.lines().enumerate().filter_map(pair).collect())
}

/// Prints the route of a pair; false without a route.
fn trace(tracer: &mut Tracer<'_>, from: &str, to: &str, format: Format) -> Result<bool, ToolError> {
    const FUNCTION: &str = "get_route";
    let Some(source) = tracer.session.resolve(from) else {
        tracer.session.warn(FUNCTION, &format!("can't resolve source port {from}"));
        return Ok(false);
    };
    let Some(destination) = tracer.session.resolve(to) else {
        tracer.session.warn(FUNCTION, &format!("can't resolve destination port {to}"));
        return Ok(false);
    };
    debug_assert_ne!(tracer.session.common.kind, DestinationKind::Directed, "there is no -D");
    if source.lid == 0 || destination.lid == 0 {
        tracer.session.warn(FUNCTION, "bad src/dest lid");
        let session = &mut tracer.session;
        return Err(show_usage(session.job, &USAGE, session.out));
    }
    // The route to the source is the start of the directed routes to the switches behind it.
    let mut path = PortId::default();
    if !tracer.find(&mut path, &source, Format::Nothing) {
        tracer.session.warn(FUNCTION, "can't find a route to the src port");
        return Ok(false);
    }
    if !tracer.find(&mut path, &destination, format) {
        tracer.session.warn(FUNCTION, "can't find a route from src to dest");
        return Ok(false);
    }
    Ok(true)
}
