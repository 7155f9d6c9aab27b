//! `saquery`: records of subnet administration.
//!
//! Prints nodes, ports, links, paths, switches, subnet managers and multicast groups. Refuses
//! other records by name. Used by `compat`.

mod options;
mod queries;
mod records;
mod table;

use std::net::Ipv6Addr;
use std::time::Duration;

use super::diags::{NodeNames, Parsed, PortId, Session, parse, show_usage};
use super::number::{parse_any, truncate};
use super::{Job, ToolError, Transcript};
use options::{Operation, Print, USAGE};
use table::Administration;

/// Timeout for a reply if the command line has none.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    let asked = SaRequest::new(job, &parsed, out)?;
    let common = &parsed.common;
    // The original prints "(null)" without a device name, and nothing with a device name.
    let device = if common.device.is_some() { "" } else { "(null)" };
    let no_manager = |out: &mut Transcript| {
        let text = format!("No SM/SA found on port {device}:{}", common.port);
        out.warn(job.warning("sa_get_handle", &text));
        let why = "Failed to bind to the SA: No such file or directory";
        out.end(255, format!("ibpanic: [{}] main: {why}\n", job.call.pid))
    };
    let mut session = Session::open(job, common.clone(), out).map_err(no_manager)?;
    if common.timeout_ms.is_none() {
        session.mads.set_timeout(TIMEOUT);
    }
    let manager = session.own().map_or(0, |own| own.sm_lid);
    if manager == 0 {
        return Err(no_manager(session.out));
    }
    let names = NodeNames::read(job, parsed.value("node-name-map"), session.out);
    Administration { session, manager: PortId::lid(manager), names }.run(&asked)
}

struct SaRequest {
    operation: Operation,
    print: Print,
    /// Operands after the name of the query.
    operands: Vec<String>,
    path: PathQuery,
}

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
        for (option, value) in &parsed.own {
            if let Some((operation, print)) = options::request(option) {
                asked.operation = operation;
                asked.print = print.unwrap_or(asked.print);
            } else if asked.path.take(option, value).is_none() {
                return Err(show_usage(job, &USAGE, out));
            }
            if matches!(*option, "src-to-dst" | "sgid-to-dgid") {
                asked.operation = Operation::Paths;
            }
        }
        if asked.operation == Operation::Named {
            let query = asked.operands.first().and_then(|name| options::query(name));
            asked.operation = match query {
                None => Operation::Nodes,
                Some(query) => {
                    asked.operands.remove(0);
                    query.operation.map_err(|instead| job.refused(query.name, instead))?
                }
            };
        }
        if let Some(what) = asked.missing() {
            out.warn(format!("ERROR: {what}\n"));
            return Err(show_usage(job, &USAGE, out));
        }
        Ok(asked)
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
    /// Applies an option; `None` if its value is invalid.
    fn take(&mut self, option: &str, value: &str) -> Option<()> {
        let number = truncate(parse_any(value));
        let low = u8::try_from(number & 0xff).unwrap_or(0);
        let half = u16::try_from(number & 0xffff).unwrap_or(0);
        let gid = |text: &str| text.parse::<Ipv6Addr>().ok().map(u128::from);
        match option {
            "src-to-dst" => {
                let (from, to) = value.split_once(':')?;
                self.ends = Some((from.to_owned(), to.to_owned()));
                self.paths = Some(options::MAX_PATHS);
            }
            "sgid-to-dgid" => {
                let (from, to) = value.split_once('-')?;
                (self.from_gid, self.to_gid) = (gid(from)?, gid(to)?);
                self.paths = Some(options::MAX_PATHS);
            }
            "sgid" => self.from_gid = gid(value)?,
            "dgid" => self.to_gid = gid(value)?,
            "slid" => self.from_lid = half,
            "dlid" => self.to_lid = half,
            "pkey" => self.p_key = half,
            "sl" => self.service_level = Some(low),
            "reversible" => self.reversible = Some(low),
            "numb_path" => self.paths = Some(low),
            _ => {}
        }
        Some(())
    }
}
