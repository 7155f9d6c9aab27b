//! `smpquery`: one attribute of subnet management of a node.
//!
//! Reads only. Used by `compat`.

mod attributes;
mod options;
mod tables;

use super::diags::{NodeNames, PortId, Session, fail, parse, show_usage};
use super::number::{parse_any, truncate};
use super::{Job, ToolError, Transcript};
use crate::mad::MadAttribute;
use options::OPERATIONS;

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &options::USAGE, out)?;
    let [name, address, params @ ..] = parsed.operands.as_slice() else {
        return Err(show_usage(job, &options::USAGE, out));
    };
    let is_named = |known: &str| known.eq_ignore_ascii_case(name);
    let found = OPERATIONS.iter().find(|known| is_named(known.name) || is_named(known.alias));
    let Some(known) = found else {
        return Err(fail(job, out, &format!("operation '{name}' not supported")));
    };
    let mut session = Session::open_or_fail(job, &parsed.common, out)?;
    let names = NodeNames::read(job, parsed.value("node-name-map"), session.out);
    let to = session.resolve_or_fail(address)?;
    let port = params.first().map_or(0, |word| truncate(parse_any(word)).cast_signed());
    let has_extended_speeds = parsed.has("extended");
    let mut query = Query { session, name, names, to, port, has_extended_speeds };
    (known.run)(&mut query)
}

struct Query<'job> {
    session: Session<'job>,
    /// Operation as written on the command line.
    name: &'job str,
    names: NodeNames,
    to: PortId,
    port: i32,
    has_extended_speeds: bool,
}

impl Query<'_> {
    /// Requests an attribute; without a reply, ends the tool with the message.
    fn ask(&mut self, attribute: u16, modifier: u32, message: &str) -> Result<[u8; 64], ToolError> {
        let answer = self.session.smp(&self.to, attribute, modifier);
        answer.ok_or_else(|| self.failed(message))
    }

    fn get<A: MadAttribute>(&mut self, modifier: u32, message: &str) -> Result<A, ToolError> {
        let found = self.session.get(&self.to, modifier);
        found.ok_or_else(|| self.failed(message))
    }

    fn failed(&mut self, message: &str) -> ToolError {
        let text = format!("operation {}: {message}", self.name);
        self.session.fail(&text)
    }

    fn modifier(&self) -> u32 {
        self.port.cast_unsigned()
    }
}
