//! `saquery`: records of subnet administration.
//!
//! Prints nodes, ports, links, paths, switches, subnet managers and multicast groups. Refuses
//! other records by name. Used by `compat`.

mod options;
mod queries;
mod records;
mod table;

use std::time::Duration;

use super::diags::{NodeNames, Parsed, PortId, Session, ToolError, ended, parse, show_usage};
use super::number::{parse_any, truncate};
use super::{CompatError, Job, Tool, Transcript};
use options::{Operation, Print, USAGE};
use table::Administration;

/// Exit code of a panic of the original.
const PANIC: u8 = 255;
/// Timeout for a reply if the command line has none.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(answer(job, out))
}

fn answer(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    let asked = SaRequest::new(job, &parsed, out)?;
    let has_timeout = parsed.common.timeout_ms.is_some();
    let device = parsed.common.device.clone();
    let port = parsed.common.port;
    let mut session = match Session::open(job, parsed.common.clone(), out) {
        Ok(session) => session,
        Err(out) => return Err(no_manager(job, device.as_deref(), port, out)),
    };
    if !has_timeout {
        session.mads.set_timeout(TIMEOUT);
    }
    let manager = session.own().map_or(0, |own| own.sm_lid);
    if manager == 0 {
        return Err(no_manager(job, device.as_deref(), port, session.out));
    }
    let names = NodeNames::read(job, parsed.value(options::NODE_NAME_MAP), session.out);
    let mut administration = Administration { session, manager: PortId::lid(manager), names };
    administration.run(&asked)
}

/// Prints the last messages of a tool that finds no subnet manager.
fn no_manager(job: &Job<'_>, device: Option<&str>, port: u32, out: &mut Transcript) -> ToolError {
    // The original prints "(null)" without a device name, and nothing with a device name.
    let name = if device.is_some() { "" } else { "(null)" };
    let pid = job.call.pid;
    out.warn(format!(
        "ibwarn: [{pid}] sa_get_handle: No SM/SA found on port {name}:{port}\n\
         ibpanic: [{pid}] main: Failed to bind to the SA: No such file or directory\n"
    ));
    out.code = PANIC;
    ToolError::Said
}

/// Query of the command line.
struct SaRequest {
    operation: Operation,
    print: Print,
    /// Operands after the name of the query.
    operands: Vec<String>,
    /// Conditions of a path.
    path: PathQuery,
}

/// Conditions of a path.
#[derive(Default)]
struct PathQuery {
    /// Ends, as LIDs or names.
    ends: Option<(String, String)>,
    from_gid: u128,
    to_gid: u128,
    from_lid: u16,
    to_lid: u16,
    reversible: Option<u8>,
    paths: Option<u8>,
    p_key: u16,
    service_level: Option<u8>,
}

impl SaRequest {
    fn new(job: &Job<'_>, parsed: &Parsed, out: &mut Transcript) -> Result<Self, ToolError> {
        let mut asked = Self {
            operation: Operation::Named,
            print: Print::All,
            operands: parsed.operands.clone(),
            path: PathQuery::default(),
        };
        for (letter, value) in &parsed.own {
            if let Some((operation, print)) = options::of_letter(*letter) {
                asked.operation = operation;
                asked.print = print.unwrap_or(asked.print);
            } else if !asked.path.take(*letter, value) {
                return Err(show_usage(job, &USAGE, out));
            }
            if matches!(*letter, options::SOURCE_TO_DESTINATION | options::GIDS) {
                asked.operation = Operation::Paths;
            }
        }
        if asked.operation == Operation::Named {
            let query = asked.operands.first().and_then(|name| options::query(name));
            asked.operation = match query {
                None => Operation::Nodes,
                Some(query) => {
                    asked.operands.remove(0);
                    match query.operation {
                        Ok(operation) => operation,
                        Err(instead) => {
                            let (tool, option) = (Tool::Saquery.name(), query.name.to_owned());
                            return Err(CompatError::NotOffered { tool, option, instead }.into());
                        }
                    }
                }
            };
        }
        match asked.missing() {
            None => Ok(asked),
            Some(what) => {
                out.warn(format!("ERROR: {what}\n"));
                Err(show_usage(job, &USAGE, out))
            }
        }
    }

    /// Returns the message for a missing operand of an option.
    fn missing(&self) -> Option<&'static str> {
        let operand = self.operands.first();
        match (self.print, operand) {
            (Print::Lids | Print::FirstLid | Print::Guids, None) => Some("name not specified"),
            (Print::NameOfLid, None) => Some("lid not specified"),
            (Print::NameOfGuid, None) => Some("guid not specified"),
            (Print::NameOfLid, Some(lid)) if parse_any(lid).is_multiple_of(0x1_0000) => {
                Some("lid invalid")
            }
            _ => None,
        }
    }
}

impl PathQuery {
    /// Applies an option; false if its value is invalid.
    fn take(&mut self, letter: char, value: &str) -> bool {
        let number = truncate(parse_any(value));
        let low = u8::try_from(number & 0xff).unwrap_or(0);
        let half = u16::try_from(number & 0xffff).unwrap_or(0);
        let gid = || value.parse::<std::net::Ipv6Addr>().ok().map(u128::from);
        match letter {
            options::SOURCE_TO_DESTINATION => {
                let ends = value.split_once(':');
                self.ends = ends.map(|(from, to)| (from.to_owned(), to.to_owned()));
                self.paths = Some(options::MAX_PATHS);
                self.ends.is_some()
            }
            options::GIDS => {
                let gids = value.split_once('-').and_then(|(from, to)| {
                    let gid = |text: &str| text.parse::<std::net::Ipv6Addr>().ok();
                    gid(from).zip(gid(to))
                });
                let Some((from, to)) = gids else { return false };
                (self.from_gid, self.to_gid) = (from.into(), to.into());
                self.paths = Some(options::MAX_PATHS);
                true
            }
            options::FROM_GID => gid().map(|gid| self.from_gid = gid).is_some(),
            options::TO_GID => gid().map(|gid| self.to_gid = gid).is_some(),
            options::FROM_LID => {
                self.from_lid = half;
                true
            }
            options::TO_LID => {
                self.to_lid = half;
                true
            }
            options::P_KEY => {
                self.p_key = half;
                true
            }
            options::SERVICE_LEVEL => {
                self.service_level = Some(low);
                true
            }
            'r' => {
                self.reversible = Some(low);
                true
            }
            'n' => {
                self.paths = Some(low);
                true
            }
            _ => true,
        }
    }
}
