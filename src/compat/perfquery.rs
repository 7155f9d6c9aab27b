//! `perfquery`: counters of one port, of several ports, or their sum.
//!
//! Refuses `-r` and `-R`, which set counters to zero. Used by `compat`.

mod details;
mod options;
mod ports;

use super::diags::{Field, PortId, Session, dump, dump_values, fail, parse, tables};
use super::{Job, ToolError, Transcript};
use crate::mad::{ClassPortInfo, MadAttribute as _, PortCounters, PortCountersExtended};
use details::{Detail, SAMPLES_CONTROL};
use options::Request;

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &options::USAGE, out)?;
    let request = Request::new(&parsed).map_err(|message| fail(job, out, message))?;
    let mut session = Session::open_or_fail(job, &parsed.common, out)?;
    let (to, port) = match &request.address {
        Some(address) => (session.resolve_or_fail(address)?, request.port),
        // Without an address, the local port replaces any port of the request, even 255 of `-a`.
        None => match session.own() {
            Some(own) => (PortId::lid(own.lid), own.number.into()),
            None => return Err(session.fail("can't resolve self port (null)")),
        },
    };
    let class = session.performance(&to, ClassPortInfo::ID, low(port));
    let Some(class) = class.and_then(|bytes| ClassPortInfo::decode(&bytes).ok()) else {
        return Err(session.fail("classportinfo query"));
    };
    ports::run(Query { session, to, class, is_extended: request.is_extended }, &request, port)
}

/// Returns the low 8 bits of a port number, which a MAD holds.
fn low(port: i32) -> u8 {
    u8::try_from(port & 0xff).unwrap_or(0)
}

/// Queries to one node, and the capabilities of its performance management.
struct Query<'job> {
    session: Session<'job>,
    to: PortId,
    class: ClassPortInfo,
    is_extended: bool,
}

impl Query<'_> {
    fn fields(&self) -> Vec<Field> {
        if !self.is_extended {
            return tables::PORT_COUNTERS.to_vec();
        }
        let mut fields = tables::EXTENDED.to_vec();
        if self.class.has_extended_width() {
            fields.extend(tables::EXTENDED_CASTS);
        }
        if self.class.has_extended_errors() {
            fields.extend(tables::EXTENDED_ERRORS);
        }
        fields
    }

    /// Reads the counters of a port. Warns about extended counters that the node does not support.
    fn read(&mut self, port: i32) -> Result<[u8; 192], ToolError> {
        let (attribute, failure) = if self.is_extended {
            if !self.class.has_extended_width() && !self.class.has_extended_width_without_casts() {
                let text = format!(
                    "PerfMgt ClassPortInfo CapMask 0x{:02X}; No extended counter support \
                     indicated\n",
                    self.class.capabilities
                );
                self.session.warn("dump_perfcounters", &text);
            }
            (PortCountersExtended::ID, "perfextquery")
        } else {
            (PortCounters::ID, "perfquery")
        };
        self.ask(attribute, port, failure)
    }

    /// Returns the number in a field of a reply; 0 for an unsupported counter.
    fn number(&self, field: &Field, bytes: &[u8]) -> u64 {
        let is_missing =
            !self.is_extended && field.name == "PortXmitWait" && !self.class.has_transmit_wait();
        if is_missing { 0 } else { field.number(bytes) }
    }

    fn print(&mut self, port: i32, fields: &[Field], numbers: &[u64]) {
        let head = if self.is_extended {
            format!(
                "# Port extended counters: {} port {port} (CapMask: 0x{:02X} CapMask2: 0x{:07X})\n",
                self.to, self.class.capabilities, self.class.capabilities_2
            )
        } else {
            format!(
                "# Port counters: {} port {port} (CapMask: 0x{:02X})\n",
                self.to, self.class.capabilities
            )
        };
        self.session.out.print(head + &dump_values(fields, numbers));
    }

    fn ask(&mut self, attribute: u16, port: i32, failure: &str) -> Result<[u8; 192], ToolError> {
        let answer = self.session.performance(&self.to, attribute, low(port));
        answer.ok_or_else(|| self.session.fail(failure))
    }

    fn dump(&mut self, title: &str, port: i32, bytes: &[u8], fields: &[&[Field]]) {
        let lines = dump(bytes, &fields.concat());
        self.session.out.print(format!("# {title}: {} port {port}\n{lines}", self.to));
    }

    fn detail(&mut self, detail: &Detail, port: i32) -> Result<(), ToolError> {
        let name = detail.name;
        let bytes = self.ask(detail.attribute, port, &format!("cannot query {name}"))?;
        let title = format!("{name} counters");
        self.dump(&title, port, &bytes, &[tables::SELECTION, detail.fields]);
        Ok(())
    }

    fn samples(&mut self, port: i32) -> Result<(), ToolError> {
        let bytes = self.ask(SAMPLES_CONTROL, port, "sampctlquery")?;
        self.dump("PortSamplesControl", port, &bytes, &tables::SAMPLES_CONTROL);
        Ok(())
    }
}
