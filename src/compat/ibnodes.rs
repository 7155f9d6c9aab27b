//! `ibhosts` and `ibswitches`: one line for each node in the output of `ibnetdiscover`.
//!
//! The originals are scripts that filter this output, or a file with this output.

use super::{Job, Tool, ToolError, Transcript, ended, ibnetdiscover};

/// Exit code of wrong usage.
const USAGE: u8 = 255;

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let Some(asked) = parse(job.call.args) else {
        let program = job.call.program.rsplit('/').next().unwrap_or_default();
        out.print(format!(
            "Usage: {program} [-h] [<topology-file> | -y mkey -C ca_name -P ca_port -t timeout_ms]\n"
        ));
        return Err(out.end(USAGE, ""));
    };
    let text = match asked {
        TopologySource::File(path) => {
            let text = job.reading.operator_file(&path).inspect_err(|error| {
                out.warn_of_file(&path, error);
                out.code = 1;
            });
            text.unwrap_or_default()
        }
        TopologySource::Fabric(args) => {
            let call =
                super::Call { args: &args, program: "/usr/sbin/ibnetdiscover", ..job.call.clone() };
            let inner = Job { call: &call, reading: job.reading, release: job.release.clone() };
            let mut topology = Transcript::default();
            ended(ibnetdiscover::run(&inner, &mut topology))?;
            out.warn(&topology.stderr);
            out.code = topology.code;
            topology.stdout
        }
    };
    let is_hosts = job.call.tool == Tool::Ibhosts;
    for line in text.lines() {
        let found = match (is_hosts, line) {
            (true, line) if line.starts_with("Ca") => host(line),
            (false, line) if line.starts_with("Switch") => switch(line),
            (_, line) if line.contains("iberror:") => Some(line.to_owned()),
            _ => None,
        };
        if let Some(found) = found {
            out.print(found + "\n");
        }
    }
    Ok(())
}

enum TopologySource {
    File(String),
    /// The fabric; the arguments are for `ibnetdiscover`.
    Fabric(Vec<String>),
}

/// Parses the command line; `None` if it is invalid.
fn parse(args: &[String]) -> Option<TopologySource> {
    let mut file = None;
    let mut m_key = "0".to_owned();
    let mut others = Vec::new();
    // The scripts stop at an empty word.
    let mut words = args.iter().take_while(|word| !word.is_empty());
    while let Some(word) = words.next() {
        match word.as_str() {
            "-y" | "--m_key" | "-P" | "--Port" | "-C" | "--Ca" | "-t" | "--timeout" => {
                let value = words.next().filter(|value| !value.starts_with('-'))?;
                if word == "-y" || word == "--m_key" {
                    m_key.clone_from(value);
                } else {
                    others.extend([word.clone(), value.clone()]);
                }
            }
            word if word.starts_with('-') || file.is_some() => return None,
            word => file = Some(word.to_owned()),
        }
    }
    Some(match file {
        Some(file) => TopologySource::File(file),
        None => TopologySource::Fabric([vec!["-y".to_owned(), m_key], others].concat()),
    })
}

/// Returns kind, GUID and number of ports of a line, and the text after its `#`.
fn parts(line: &str) -> Option<(&str, &str, &str, &str)> {
    let mut words = line.split_whitespace();
    let (kind, ports, id) = (words.next()?, words.next()?, words.next()?);
    let guid = id.get(3..)?;
    let guid = guid.get(..16).unwrap_or(guid);
    let rest = line.find('#').map_or(line, |at| line[at + 1..].trim_start_matches([' ', '\t']));
    Some((kind, guid, ports, rest))
}

fn host(line: &str) -> Option<String> {
    let (kind, guid, ports, rest) = parts(line)?;
    Some(format!("{kind}\t: 0x{guid} ports {ports} {rest}"))
}

fn switch(line: &str) -> Option<String> {
    let (kind, guid, ports, rest) = parts(line)?;
    let head = format!("{kind}\t: 0x{guid} ports {ports}");
    let Some(at) = rest.find("port 0") else { return Some(format!("{head}  {rest}")) };
    let (name, port_0) = (rest[..at].strip_suffix(' ').unwrap_or(&rest[..at]), &rest[at..]);
    // The scripts search the whole text for the kind of port 0 before they cut it.
    for kind in ["base", "enhanced"] {
        if let Some(name) = name.strip_suffix(kind) {
            return Some(format!(
                "{head} {}{kind} {port_0}",
                name.strip_suffix(' ').map_or(String::new(), |name| format!("{name} "))
            ));
        }
    }
    Some(format!("{head} {name} {port_0}"))
}

#[test]
fn lines_of_a_topology_become_lines_of_nodes() {
    let line = "Switch\t40 \"S-b83fd20300a00100\"\t\t# \"leaf001\" enhanced port 0 lid 2 lmc 0";
    let expected = "Switch\t: 0xb83fd20300a00100 ports 40 \"leaf001\" enhanced port 0 lid 2 lmc 0";
    assert_eq!(switch(line).as_deref(), Some(expected));
    let line = "Ca\t1 \"H-b83fd20300100000\"\t\t# \"node#1 HCA-1\"";
    let expected = "Ca\t: 0xb83fd20300100000 ports 1 \"node#1 HCA-1\"";
    assert_eq!(host(line).as_deref(), Some(expected));
    assert_eq!(host("Ca"), None);
}
