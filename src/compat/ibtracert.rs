//! `ibtracert`: the route between two ports, as the forwarding tables have it.
//!
//! Multicast routes are not offered.

use super::diags::{Halt, NodeNames, Own, PortId, Session, Usage, clean, ended, parse, show_usage};
use super::{CompatError, Job, Transcript};
use crate::mad::read_bits;

const NODE_DESCRIPTION: u16 = 0x10;
const NODE_INFO: u16 = 0x11;
const SWITCH_INFO: u16 = 0x12;
const PORT_INFO: u16 = 0x15;
const FORWARDING: u16 = 0x19;
const ACTIVE: u8 = 4;
const SWITCH: u8 = 2;
const MOST_HOPS: usize = 63;

const OWN: [Own; 5] = [
    Own::flag('f', "force", "force").refused("show the routes: rdmactl fabric routes A B"),
    Own::flag('n', "no_info", "simple format"),
    Own::valued('m', "mlid", "<mlid>", "multicast trace of the mlid")
        .refused("remove -m: rdmactl reads no multicast tables"),
    Own::valued('\u{1}', "node-name-map", "<file>", "node name map file"),
    Own::valued('\u{2}', "ports-file", "<file>", "port pairs file")
        .refused("run it once for each pair: rdmactl compat ibtracert A B"),
];
const USAGE: Usage<'_> = Usage {
    own: &OWN,
    without: "DK",
    operands: "<src-addr> <dest-addr>",
    examples: &[
        "- Unicast examples:",
        "4 16\t\t\t# show path between lids 4 and 16",
        "-n 4 16\t\t# same, but using simple output format",
        "-G 0x8f1040396522d 0x002c9000100d051\t# use guid addresses",
        "",
    ],
};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(show(job, out))
}

fn show(job: &Job<'_>, out: &mut Transcript) -> Result<(), Halt> {
    let parsed = parse(job, &USAGE, out)?;
    let [from, to, ..] = &parsed.operands[..] else {
        return Err(show_usage(job, &USAGE, out));
    };
    let names = NodeNames::read(job, parsed.value('\u{1}'), out);
    let mut session = Session::open_or_fail(job, parsed.common.clone(), out)?;
    let mut trace = Trace { session: &mut session, names: &names, is_brief: parsed.has('n') };
    if trace.between(from, to).is_none() {
        return Err(session.fail("Failed to get route information"));
    }
    Ok(())
}

/// A node of the route and the port by which the route enters it.
#[derive(Clone)]
struct Stop {
    kind: u8,
    guid: u64,
    ports: u8,
    description: [u8; 64],
    port_guid: u64,
    number: u8,
    lid: u16,
    lmc: u8,
    state: u8,
}

impl Stop {
    fn kind(&self) -> &'static str {
        match self.kind {
            1 => "ca",
            SWITCH => "switch",
            3 => "router",
            _ => "???",
        }
    }

    fn last_lid(&self) -> u32 {
        u32::from(self.lid) + (1 << self.lmc) - 1
    }
}

/// Forwarding of a switch for one LID.
struct Forwarding {
    has_enhanced_port_0: bool,
    top: u16,
    /// Port to leave by; `None` without an entry.
    port: Option<u8>,
}

struct Trace<'run, 'job> {
    session: &'run mut Session<'job>,
    names: &'run NodeNames,
    is_brief: bool,
}

impl Trace<'_, '_> {
    fn warn(&mut self, function: &str, text: &str) {
        self.session.warn(function, text);
    }

    /// Prints the route between two addresses.
    fn between(&mut self, from: &str, to: &str) -> Option<()> {
        let function = "get_route";
        let source = self.session.resolve(from);
        let Some(source) = source else {
            self.warn(function, &format!("can't resolve source port {from}"));
            return None;
        };
        let Some(target) = self.session.resolve(to) else {
            self.warn(function, &format!("can't resolve destination port {to}"));
            return None;
        };
        let mut at = PortId::default();
        if self.route(&mut at, &source, false).is_none() {
            self.warn(function, "can't find a route to the src port");
            return None;
        }
        if self.route(&mut at, &target, true).is_none() {
            self.warn(function, "can't find a route from src to dest");
            return None;
        }
        Some(())
    }

    fn stop(&mut self, at: &PortId) -> Option<Stop> {
        let node = self.session.smp(at, NODE_INFO, 0)?;
        let description = self.session.smp(at, NODE_DESCRIPTION, 0)?;
        let port = self.session.smp(at, PORT_INFO, 0)?;
        Some(Stop {
            kind: node[2],
            guid: read_bits(&node, 96, 64),
            ports: node[3],
            description,
            port_guid: read_bits(&node, 160, 64),
            number: node[36],
            lid: u16::from_be_bytes([port[16], port[17]]),
            lmc: port[34] & 7,
            state: port[32] & 15,
        })
    }

    fn forwarding(&mut self, at: &PortId, lid: u16) -> Forwarding {
        let mut found = Forwarding { has_enhanced_port_0: false, top: 0, port: None };
        let Some(info) = self.session.smp(at, SWITCH_INFO, 0) else { return found };
        let capacity = u16::from_be_bytes([info[0], info[1]]);
        found.top = u16::from_be_bytes([info[6], info[7]]);
        found.has_enhanced_port_0 = info[16] >> 3 & 1 == 1;
        if lid >= capacity && lid > found.top {
            return found;
        }
        let block = self.session.smp(at, FORWARDING, u32::from(lid / 64));
        found.port = block.map(|entries| entries[usize::from(lid % 64)]);
        found
    }

    /// Follows the tables from the end of a route to a LID, and extends the route.
    fn route(&mut self, at: &mut PortId, to: &PortId, is_shown: bool) -> Option<()> {
        let function = "find_route";
        let ends = self.stop(at).and_then(|from| Some((from, self.stop(to)?)));
        let Some((first, target)) = ends else {
            self.warn(function, "can't reach to/from ports");
            return None;
        };
        let mut stop = first.clone();
        self.end("From", &stop, is_shown);
        let mut table = None;
        if stop.kind == SWITCH {
            table = Some(self.checked(at, to.lid, &stop)?);
        }
        for _ in 0..MOST_HOPS {
            if is_inactive(&stop, table.as_ref()) {
                let name = clean(&stop.description);
                let text = format!(
                    "Bad port state found: node \"{name}\" port {} state {}",
                    stop.number, stop.state
                );
                self.warn(function, &text);
                return None;
            }
            if stop.port_guid == target.port_guid {
                self.end("To", &stop, is_shown);
                return Some(());
            }
            let mut number = None;
            let out_port = if stop.kind == SWITCH {
                let port = table.as_ref().and_then(|table| table.port)?;
                at.hops.push(port);
                port
            } else {
                if stop.port_guid != first.port_guid {
                    let text = format!(
                        "can't continue: reached CA or router port {:x}, lid {}",
                        stop.port_guid, stop.lid
                    );
                    self.warn(function, &text);
                    return None;
                }
                // From a channel adapter at the end of a route, the switch is one hop back.
                match at.hops.pop() {
                    Some(hop) => number = Some(hop),
                    None => at.hops.push(stop.number),
                }
                stop.number
            };
            let Some(mut next) = self.stop(at) else {
                self.warn(function, &format!("can't reach port at {at}"));
                return None;
            };
            if stop.kind == SWITCH && out_port == 0 {
                if next.port_guid != target.port_guid {
                    self.bad_table(&stop, to.lid, Some(0), table.as_ref().map_or(0, |it| it.top));
                    return None;
                }
                self.end("To", &stop, is_shown);
                return Some(());
            }
            next.number = number.unwrap_or(next.number);
            if next.kind == SWITCH {
                table = Some(self.checked(at, to.lid, &next)?);
            }
            if is_inactive(&next, table.as_ref()) {
                let name = clean(&next.description);
                let text = format!(
                    "Bad out port state found: node \"{name}\" outport {out_port} state {}",
                    next.state
                );
                self.warn(function, &text);
                return None;
            }
            stop = next;
            self.hop(out_port, &stop, is_shown);
        }
        self.warn(function, &format!("no route found after {MOST_HOPS} hops"));
        None
    }

    /// Returns the forwarding of a switch; `None` after a warning if it has no usable entry.
    fn checked(&mut self, at: &PortId, lid: u16, stop: &Stop) -> Option<Forwarding> {
        let table = self.forwarding(at, lid);
        if table.port.is_some_and(|port| port <= stop.ports) {
            return Some(table);
        }
        self.bad_table(stop, lid, table.port, table.top);
        None
    }

    fn bad_table(&mut self, stop: &Stop, lid: u16, port: Option<u8>, top: u16) {
        let name = clean(&stop.description);
        let port = port.map_or(-1, i32::from);
        let text = format!(
            "Bad forwarding table entry found at: node \"{name}\" lid entry {lid} is {port} (top {top})"
        );
        self.warn("find_route", &text);
    }

    fn end(&mut self, word: &str, stop: &Stop, is_shown: bool) {
        if !is_shown {
            return;
        }
        let number = if stop.kind == SWITCH { 0 } else { stop.number };
        let guid = stop.guid;
        let text = if self.is_brief {
            format!("{word} {{0x{guid:016x}}}[{number}]\n")
        } else {
            let name = self.names.name(guid, &stop.description);
            format!(
                "{word} {} {{0x{guid:016x}}} portnum {number} lid {}-{} \"{name}\"\n",
                stop.kind(),
                stop.lid,
                stop.last_lid()
            )
        };
        self.session.out.print(text);
    }

    fn hop(&mut self, out_port: u8, stop: &Stop, is_shown: bool) {
        if !is_shown && !self.session.common.is_verbose {
            return;
        }
        let (guid, number) = (stop.port_guid, stop.number);
        let text = if is_shown && self.is_brief {
            format!("[{out_port}] -> {{0x{guid:016x}}}[{number}]\n")
        } else {
            let name = self.names.name(stop.guid, &stop.description);
            format!(
                "[{out_port}] -> {} port {{0x{guid:016x}}}[{number}] lid {}-{} \"{name}\"\n",
                stop.kind(),
                stop.lid,
                stop.last_lid()
            )
        };
        self.session.out.print(text);
    }
}

/// True if a port does not forward. Port 0 without a link of its own counts as active.
fn is_inactive(stop: &Stop, table: Option<&Forwarding>) -> bool {
    let has_state = stop.kind != SWITCH || table.is_some_and(|table| table.has_enhanced_port_0);
    stop.state != ACTIVE && has_state
}
