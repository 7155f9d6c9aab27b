//! Follows the forwarding tables from the end of a directed route to a LID.
//!
//! Every step extends the directed route, so that no request depends on the tables. Used by
//! `ibtracert`.

use crate::compat::diags::{NodeNames, PortId, SWITCH, Session, clean};
use crate::compat::word::word;
use crate::mad::{
    ForwardingBlock, LONGEST_PATH, MadAttribute as _, NodeDescription, NodeInfo, PortInfo,
    SwitchInfo,
};

const MAX_HOPS: u32 = 63;
const ACTIVE: u8 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Nothing,
    Simple,
    Full,
}

pub(super) struct Tracer<'job> {
    pub(super) session: Session<'job>,
    pub(super) names: NodeNames,
    /// True if the trace continues without a reply of its ends.
    pub(super) is_forced: bool,
}

/// A node, and the port that was reached.
#[derive(Debug, Clone, Default)]
struct Stop {
    node: NodeInfo,
    description: Vec<u8>,
    port: PortInfo,
    number: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Forwarding {
    info: SwitchInfo,
    /// Port for the destination; -1 without one.
    out: i32,
}

/// Reason why a trace ends before its destination.
enum Lost {
    /// The reason is already printed.
    Said,
    /// A switch has no port for the destination.
    Table(Forwarding, i32),
    Port(u8),
    /// The port behind an outgoing port is not active.
    OutPort(i32),
}

impl Tracer<'_> {
    /// Follows the tables from the end of a route to a LID and prints the route; false without one.
    pub(super) fn find(&mut self, from: &mut PortId, to: &PortId, format: Format) -> bool {
        let start = self.stop(from);
        let end = start.as_ref().and_then(|_| self.stop(to));
        if end.is_none() {
            self.warn("can't reach to/from ports");
            if !self.is_forced {
                return false;
            }
            self.warn(&format!("Force: look for lid {}", to.lid));
        }
        let mut end = end.unwrap_or_default();
        if end.port.lid == 0 {
            end.port.lid = to.lid;
        }
        let mut at = start.unwrap_or_default();
        match self.walk(from, &mut at, &end, to.lid, format) {
            Ok(()) => true,
            Err(lost) => {
                self.report(&lost, &at, to.lid);
                false
            }
        }
    }

    fn walk(
        &mut self,
        from: &mut PortId,
        at: &mut Stop,
        end: &Stop,
        lid: u16,
        format: Format,
    ) -> Result<(), Lost> {
        let start = at.clone();
        let mut forwarding = Forwarding::default();
        self.print_end(format, "From", at);
        if at.node.node_type == SWITCH {
            forwarding = self.forwarding(from, &at.node, lid)?;
        }
        for _ in 0..MAX_HOPS {
            if is_inactive(at, &forwarding) {
                return Err(Lost::Port(at.number));
            }
            if self.is_same(at, end) {
                self.print_end(format, "To", at);
                return Ok(());
            }
            let out;
            let mut next;
            if at.node.node_type == SWITCH {
                out = forwarding.out;
                self.extend(from, out)?;
                next = self.reach(from)?;
                if out == 0 {
                    if !self.is_same(&next, end) {
                        return Err(Lost::Table(forwarding, out));
                    }
                    *at = next;
                    self.print_end(format, "To", at);
                    return Ok(());
                }
            } else {
                out = i32::from(at.number);
                if !self.is_same(at, &start) {
                    let text = format!(
                        "can't continue: reached CA or router port {:x}, lid {}",
                        at.node.port_guid, at.port.lid
                    );
                    self.warn(&text);
                    return Err(Lost::Said);
                }
                // A channel adapter has one link: back along the route, or the local port.
                let back = from.hops.pop();
                if back.is_none() && out != 0 {
                    self.extend(from, out)?;
                }
                next = self.reach(from)?;
                if let Some(back) = back {
                    next.number = back;
                }
            }
            if next.node.node_type == SWITCH {
                forwarding = self.forwarding(from, &next.node, lid)?;
            }
            let is_bad = is_inactive(&next, &forwarding);
            *at = next;
            if is_bad {
                return Err(Lost::OutPort(out));
            }
            self.print_step(format, out, at);
        }
        self.warn(&format!("no route found after {MAX_HOPS} hops"));
        Err(Lost::Said)
    }

    /// Requests the attributes of the node at the end of a route, or with a LID.
    fn stop(&mut self, to: &PortId) -> Option<Stop> {
        let node: NodeInfo = self.session.get(to, 0)?;
        let description = self.session.smp(to, NodeDescription::ID, 0)?.to_vec();
        let port = self.session.get(to, 0)?;
        Some(Stop { node, description, port, number: node.local_port })
    }

    fn reach(&mut self, to: &PortId) -> Result<Stop, Lost> {
        self.stop(to).ok_or_else(|| {
            self.warn(&format!("can't reach port at {to}"));
            Lost::Said
        })
    }

    fn forwarding(&mut self, to: &PortId, node: &NodeInfo, lid: u16) -> Result<Forwarding, Lost> {
        let mut found = Forwarding { out: -1, ..Forwarding::default() };
        if let Some(info) = self.session.get(to, 0) {
            found.info = info;
            if lid < found.info.linear_entries || lid <= found.info.linear_top {
                let block = self.session.smp(to, ForwardingBlock::ID, u32::from(lid / 64));
                let port = block.and_then(|ports| ports.get(usize::from(lid % 64)).copied());
                found.out = port.map_or(-1, i32::from);
            }
        }
        if found.out < 0 || found.out > i32::from(node.ports) {
            return Err(Lost::Table(found, found.out));
        }
        Ok(found)
    }

    fn extend(&mut self, path: &mut PortId, port: i32) -> Result<(), Lost> {
        if path.hops.len() + 1 >= LONGEST_PATH {
            self.warn("Direct path too long!");
            return Err(Lost::Said);
        }
        path.hops.push(u8::try_from(port & 0xff).unwrap_or(0));
        Ok(())
    }

    fn is_same(&self, one: &Stop, other: &Stop) -> bool {
        one.node.port_guid == other.node.port_guid
            || self.is_forced && one.port.lid == other.port.lid
    }

    fn warn(&mut self, message: &str) {
        self.session.warn("find_route", message);
    }

    fn report(&mut self, lost: &Lost, at: &Stop, lid: u16) {
        let name = clean(&at.description);
        let text = match lost {
            Lost::Said => return,
            Lost::Table(forwarding, out) => format!(
                "Bad forwarding table entry found at: node \"{name}\" lid entry {lid} is {out} \
                 (top {})",
                forwarding.info.linear_top
            ),
            Lost::Port(number) => format!(
                "Bad port state found: node \"{name}\" port {number} state {}",
                at.port.state
            ),
            Lost::OutPort(out) => format!(
                "Bad out port state found: node \"{name}\" outport {out} state {}",
                at.port.state
            ),
        };
        self.warn(&text);
    }

    fn print_end(&mut self, format: Format, word: &str, at: &Stop) {
        let number = if at.node.node_type == SWITCH { 0 } else { at.number };
        let guid = at.node.node_guid;
        let text = match format {
            Format::Nothing => return,
            Format::Simple => format!("{word} {{0x{guid:016x}}}[{number}]\n"),
            Format::Full => format!(
                "{word} {} {{0x{guid:016x}}} portnum {number} lid {} \"{}\"\n",
                kind(at),
                lids(at),
                self.names.name(guid, &at.description)
            ),
        };
        self.session.out.print(text);
    }

    fn print_step(&mut self, format: Format, out: i32, at: &Stop) {
        if format == Format::Nothing && !self.session.common.is_verbose {
            return;
        }
        let (guid, number) = (at.node.port_guid, at.number);
        let text = if format == Format::Simple {
            format!("[{out}] -> {{0x{guid:016x}}}[{number}]\n")
        } else {
            format!(
                "[{out}] -> {} port {{0x{guid:016x}}}[{number}] lid {} \"{}\"\n",
                kind(at),
                lids(at),
                self.names.name(at.node.node_guid, &at.description)
            )
        };
        self.session.out.print(text);
    }
}

/// True if no data passes the port. Only an enhanced port 0 of a switch has a state.
fn is_inactive(at: &Stop, forwarding: &Forwarding) -> bool {
    let has_state = at.node.node_type != SWITCH || forwarding.info.enhanced_port_0 == 1;
    at.port.state != ACTIVE && has_state
}

fn kind(at: &Stop) -> &'static str {
    word(at.node.node_type, &["???", "ca", "switch", "router"], "???")
}

fn lids(at: &Stop) -> String {
    let last = u32::from(at.port.lid) + (1 << at.port.lmc) - 1;
    format!("{}-{last}", at.port.lid)
}
