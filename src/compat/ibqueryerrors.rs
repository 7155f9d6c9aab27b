//! `ibqueryerrors`: error counters above their thresholds, or data counters, of every port.
//!
//! Resets nothing, and sends every request with service level 0. docs/compat.md lists the
//! differences from the original.

use std::fmt::Write as _;

use super::diags::{
    DiscoveredSubnet, Field, Node, NodeNames, OwnOption, PortId, Session, ToolError, Usage,
    discover, ended, far_text, human_readable, link_text, parse, tables,
};
use super::number::parse_any;
use super::{CompatError, Job, Transcript};
use crate::mad::{
    ClassPortInfo, ERROR_COUNTERS, MadAttribute as _, NodeInfo, PortCounters, PortCountersExtended,
    PortReceiveErrorDetails, PortTransmitDiscardDetails, read_bits,
};
use crate::source::Question;

const ALL_PORTS: u8 = 255;
/// Thresholds that are used if the command line names no file.
const THRESHOLDS: &str = "/etc/infiniband-diags/error_thresholds";
const NO_RESET: &str = "reset the counters afterwards: rdmactl fabric errors --clear";

const OWN: [OwnOption; 20] = [
    OwnOption::valued('s', "suppress", "<err1,err2,...>", "suppress errors listed"),
    OwnOption::flag('c', "suppress-common", "suppress some of the common counters"),
    OwnOption::valued('\u{1}', "node-name-map", "<file>", "node name map file"),
    OwnOption::valued(
        'G',
        "port-guid",
        "<port_guid>",
        "report the node containing the port specified by <port_guid>",
    ),
    OwnOption::valued('S', "", "<port_guid>", "Same as \"-G\" for backward compatibility"),
    OwnOption::valued(
        'D',
        "Direct",
        "<dr_path>",
        "report the node containing the port specified by <dr_path>",
    ),
    OwnOption::flag('\u{a}', "skip-sl", "don't obtain SL to all destinations"),
    OwnOption::flag('r', "report-port", "report port link information"),
    OwnOption::valued(
        '\u{8}',
        "threshold-file",
        "<val>",
        "specify an alternate threshold file, default: /etc/infiniband-diags/error_thresholds",
    ),
    OwnOption::flag('R', "GNDN", "(This option is obsolete and does nothing)"),
    OwnOption::flag('\u{2}', "data", "include data counters for ports with errors"),
    OwnOption::flag('\u{3}', "switch", "print data for switches only"),
    OwnOption::flag('\u{4}', "ca", "print data for CA's only"),
    OwnOption::flag('\u{5}', "router", "print data for routers only"),
    OwnOption::flag('\u{6}', "details", "include transmit discard details"),
    OwnOption::flag('\u{9}', "counters", "print data counters only"),
    OwnOption::flag('k', "clear-errors", "Clear error counters after read").refused(NO_RESET),
    OwnOption::flag('K', "clear-counts", "Clear data counters after read").refused(NO_RESET),
    OwnOption::valued('\u{7}', "load-cache", "<file>", "filename of ibnetdiscover cache to load")
        .refused("read saved counters: rdmactl fabric errors --from FILE"),
    OwnOption::valued(
        'o',
        "outstanding_smps",
        "<val>",
        "specify the number of outstanding SMP's which should be issued during the scan",
    ),
];
const USAGE: Usage<'_> = Usage { own: &OWN, without: "cDGKLnRrSs", operands: "", examples: &[] };

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(show(job, out))
}

fn show(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    let (device, port) = (parsed.common.device.clone(), parsed.common.port);
    let names = NodeNames::read(job, parsed.value('\u{1}'), out);
    let mut session = match Session::open(job, parsed.common.clone(), out) {
        Ok(session) => session,
        Err(out) => {
            let name = device.unwrap_or_else(|| "(null)".into());
            out.warn(format!(
                "ibwarn: [{}] mad_rpc_open_port: can't open UMAD port ({name}:{port})\n",
                job.call.pid
            ));
            out.print(format!(
                "{}: iberror: failed: Failed to open port; {name}:{port}\n\n",
                job.call.program
            ));
            out.code = 255;
            return Err(ToolError::Said);
        }
    };
    let suppressed = suppressed(&parsed.own);
    let guid = parsed.own.iter().rev().find(|(letter, _)| "GS".contains(*letter));
    let route = parsed.value('D');
    if let Some((_, text)) = guid.filter(|_| route.is_none()) {
        session.warn_if_unresolved(text, "");
    }
    let Some(net) = discover(&mut session, false) else {
        session.out.warn("discover failed\n");
        session.out.code = 255;
        return Err(ToolError::Said);
    };
    let kinds: Vec<u8> = [('\u{3}', 2), ('\u{4}', 1), ('\u{5}', 3)]
        .into_iter()
        .filter(|(letter, _)| parsed.has(*letter))
        .map(|(_, kind)| kind)
        .collect();
    let thresholds = Thresholds::read(job, parsed.value('\u{8}').unwrap_or(THRESHOLDS));
    let mut wanted = None;
    if let Some(text) = route.or(guid.map(|(_, text)| text.as_str())) {
        let found = if route.is_some() {
            let at = PortId::parse_route(text);
            let Some(node) = at.and_then(|at| session.smp(&at, NodeInfo::ID, 0)) else {
                session.out.warn("Failed to query local Node Info\n");
                return Ok(());
            };
            read_bits(&node, 160, 64)
        } else {
            parse_any(text)
        };
        wanted = Some(net.node_of_port(found));
        if wanted == Some(None) {
            session.out.warn(format!("Failed to find node: {text}\n"));
        }
    }
    let mut report = Report {
        session: &mut session,
        net: &net,
        names: &names,
        thresholds: &thresholds,
        suppressed: &suppressed,
        with_data: parsed.has('\u{2}'),
        with_links: parsed.has('r'),
        with_details: parsed.has('\u{6}'),
        only_data: parsed.has('\u{9}'),
        summary: Summary::default(),
    };
    for (at, node) in net.in_order() {
        let is_kind = kinds.is_empty() || kinds.contains(&node.info.node_type);
        if is_kind && wanted.is_none_or(|wanted| wanted == Some(at)) {
            report.node(at, node);
        }
    }
    report.end();
    Ok(())
}

/// Returns the counters in the order in which they are printed.
fn counters() -> impl Iterator<Item = &'static str> {
    ERROR_COUNTERS.into_iter().chain(["PortXmitWait"])
}

/// Returns the counters that `-c` and `-s` suppress.
fn suppressed(own: &[(char, String)]) -> Vec<&'static str> {
    let mut suppressed = Vec::new();
    for (letter, value) in own {
        match letter {
            'c' => suppressed.push("PortRcvSwitchRelayErrors"),
            's' => {
                for name in value.split(',') {
                    let fields = tables::PORT_COUNTERS.iter().map(|field| field.name);
                    suppressed.extend(fields.filter(|known| *known == name));
                }
            }
            _ => {}
        }
    }
    suppressed
}

/// Highest counter values that are not reported.
struct Thresholds {
    values: Vec<(String, u64)>,
    /// Text in the summary.
    text: String,
}

impl Thresholds {
    fn read(job: &Job<'_>, path: &str) -> Self {
        let answer = job.reading.source().ask(&Question::File(path.to_owned()));
        let Ok(bytes) = answer else { return Self { values: Vec::new(), text: "(null)".into() } };
        let mut found = Self { values: Vec::new(), text: "Thresholds: ".into() };
        for line in String::from_utf8_lossy(&bytes).lines().filter(|line| !line.starts_with('#')) {
            let Some((name, value)) = line.split_once('=') else { continue };
            if counters().any(|counter| counter == name) {
                let value = parse_any(value);
                let _ = write!(found.text, "[{name} = {value}]");
                found.values.push((name.to_owned(), value));
            }
        }
        found
    }

    fn of(&self, name: &str) -> u64 {
        let found = self.values.iter().rev().find(|(known, _)| known == name);
        found.map_or(0, |(_, value)| *value)
    }
}

#[derive(Default)]
struct Summary {
    nodes: u32,
    bad_nodes: u32,
    ports: u32,
    bad_ports: u32,
    failures: u32,
}

/// Capabilities of performance management.
#[derive(Clone, Copy, Default)]
struct Masks {
    first: u16,
    second: u32,
}

impl Masks {
    fn is_extended(self) -> bool {
        self.first & (ClassPortInfo::EXTENDED_WIDTH | ClassPortInfo::EXTENDED_WIDTH_WITHOUT_CASTS)
            != 0
    }

    /// Returns the fields of data and packets.
    fn data_fields(self) -> Vec<Field> {
        if !self.is_extended() {
            let first = tables::PORT_COUNTERS.iter().position(|field| field.name == "PortXmitData");
            return tables::PORT_COUNTERS[first.unwrap_or(0)..][..4].to_vec();
        }
        let mut fields = tables::EXTENDED[2..].to_vec();
        if self.first & ClassPortInfo::EXTENDED_WIDTH != 0 {
            fields.extend(tables::EXTENDED_CASTS);
        }
        fields
    }
}

#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
struct Report<'run, 'job> {
    session: &'run mut Session<'job>,
    net: &'run DiscoveredSubnet,
    names: &'run NodeNames,
    thresholds: &'run Thresholds,
    suppressed: &'run [&'static str],
    with_data: bool,
    with_links: bool,
    with_details: bool,
    only_data: bool,
    summary: Summary,
}

impl Report<'_, '_> {
    fn node(&mut self, at: usize, node: &Node) {
        let name = self.names.name(node.guid(), &node.description);
        let lid = |number: u8| {
            let port_lid = node.port(number).map_or(0, |port| port.lid);
            PortId::lid(if node.is_switch() { node.lid } else { port_lid })
        };
        let first = if node.is_switch() {
            0
        } else {
            node.outer_ports().next().map_or(node.info.ports.saturating_add(1), |port| port.number)
        };
        let masks = self.masks(&lid(first), &name, first);
        let has_all = masks.is_some_and(|masks| masks.first & ClassPortInfo::ALL_PORTS != 0);
        let masks = masks.unwrap_or_default();
        let start = u8::from(!(node.is_switch() && node.has_enhanced_port_0));
        let mut has_header = false;
        self.summary.nodes += 1;
        if !self.only_data && has_all {
            let place = Place { at, node, name: &name, port: ALL_PORTS };
            if !self.errors(&lid(first), &place, masks, &mut has_header) {
                self.summary.ports += u32::from(node.info.ports);
                return;
            }
        }
        for number in start..=node.info.ports {
            if node.port(number).is_none() {
                continue;
            }
            let place = Place { at, node, name: &name, port: number };
            if self.only_data {
                self.data(&lid(number), &place, masks, &mut has_header);
            } else {
                self.errors(&lid(number), &place, masks, &mut has_header);
            }
            self.summary.ports += 1;
        }
    }

    fn ask(&mut self, to: &PortId, place: (&str, u8), attribute: (u16, &str)) -> Option<[u8; 192]> {
        let ((name, port), (id, title)) = (place, attribute);
        let data = self.session.performance(to, id, port);
        if data.is_none() {
            let function = match id {
                ClassPortInfo::ID => "query_cap_mask",
                PortReceiveErrorDetails::ID | PortTransmitDiscardDetails::ID => "query_and_dump",
                _ if self.only_data => "print_data_cnts",
                _ => "print_errors",
            };
            let text = format!("{title} query failed on {name}, {to} port {port}");
            self.session.warn(function, &text);
            self.summary.failures += 1;
        }
        data
    }

    fn masks(&mut self, to: &PortId, name: &str, port: u8) -> Option<Masks> {
        let info = self.ask(to, (name, port), (ClassPortInfo::ID, "classportinfo"))?;
        Some(Masks {
            first: u16::from_be_bytes([info[2], info[3]]),
            second: u32::from_be_bytes([info[4], info[5], info[6], info[7]]) >> 5,
        })
    }

    fn counters(&mut self, to: &PortId, place: &Place<'_>, is_extended: bool) -> Option<[u8; 192]> {
        let attribute = if is_extended {
            (PortCountersExtended::ID, "IB_GSI_PORT_COUNTERS_EXT")
        } else {
            (PortCounters::ID, "IB_GSI_PORT_COUNTERS")
        };
        self.ask(to, (place.name, place.port), attribute)
    }

    /// Prints the data counters of a port.
    fn data(&mut self, to: &PortId, place: &Place<'_>, masks: Masks, has_header: &mut bool) {
        let Some(data) = self.counters(to, place, masks.is_extended()) else { return };
        let guid = place.node.guid();
        if !*has_header {
            *has_header = true;
            self.session.out.print(format!("Data Counters for 0x{guid:x} \"{}\"\n", place.name));
        }
        let values: String =
            masks.data_fields().iter().map(|field| data_text(field, &data)).collect();
        self.session.out.print(format!("   GUID 0x{guid:x} port {}:{values}\n", place.port));
        if self.with_links {
            self.link(place);
        }
    }

    /// Prints the counters of a port that are above their thresholds; true if there are any.
    fn errors(
        &mut self,
        to: &PortId,
        place: &Place<'_>,
        masks: Masks,
        has_header: &mut bool,
    ) -> bool {
        let Some(mut short) = self.counters(to, place, false) else { return false };
        let mut long = None;
        if masks.is_extended() {
            long = self.counters(to, place, true);
            if long.is_none() {
                return false;
            }
        }
        if masks.first & ClassPortInfo::TRANSMIT_WAIT == 0 {
            short[40..44].fill(0);
        }
        let mut text = String::new();
        for name in counters().filter(|name| !self.suppressed.contains(name)) {
            let has_long = masks.second & ClassPortInfo::EXTENDED_ERRORS != 0;
            let table = if has_long { tables::EXTENDED_ERRORS } else { tables::PORT_COUNTERS };
            let Some(field) = table.iter().find(|field| field.name == name) else { continue };
            let bytes = if has_long { long.unwrap_or([0; 192]) } else { short };
            let count = field.number(&bytes);
            if count <= self.thresholds.of(name) {
                continue;
            }
            let counter = if has_long {
                let (value, unit) = human_readable(count, false);
                format!(" [{name} == {count} ({value:5.3}{unit})]")
            } else {
                format!(" [{name} == {count}]")
            };
            text += &counter;
            text += &self.details(to, place, name);
        }
        if text.is_empty() {
            return false;
        }
        if self.with_data {
            let bytes = long.unwrap_or(short);
            let fields = masks.data_fields();
            let counted = fields.iter().filter(|field| field.number(&bytes) != 0);
            text += &counted.map(|field| data_text(field, &bytes)).collect::<String>();
        }
        self.print(place, &text, has_header);
        true
    }

    fn print(&mut self, place: &Place<'_>, text: &str, has_header: &mut bool) {
        let node = place.node;
        let switch_guid = node.port(0).map_or(node.info.port_guid, |port| port.guid);
        if !*has_header {
            *has_header = true;
            self.summary.bad_nodes += 1;
            let header = if node.is_switch() {
                format!("Errors for 0x{switch_guid:x} \"{}\"\n", place.name)
            } else {
                format!("Errors for \"{}\"\n", place.name)
            };
            self.session.out.print(header);
        }
        if place.port == ALL_PORTS {
            if node.is_switch() {
                self.session.out.print(format!("   GUID 0x{switch_guid:x} port ALL:{text}\n"));
            }
            return;
        }
        let guid = node.port(place.port).map_or(0, |port| port.guid);
        self.session.out.print(format!("   GUID 0x{guid:x} port {}:{text}\n", place.port));
        if self.with_links {
            self.link(place);
        }
        self.summary.bad_ports += 1;
    }

    /// Returns the details of a counter. The original swaps the fields of the two attributes.
    fn details(&mut self, to: &PortId, place: &Place<'_>, name: &str) -> String {
        let (id, title, fields) = match name {
            "PortXmitDiscards" => (
                PortTransmitDiscardDetails::ID,
                "PortXmitDiscardDetails",
                tables::TRANSMIT_DISCARDS,
            ),
            "PortRcvErrors" => {
                (PortReceiveErrorDetails::ID, "PortRcvErrorDetails", tables::RECEIVE_ERRORS)
            }
            _ => return String::new(),
        };
        if !self.with_details {
            return String::new();
        }
        let Some(data) = self.ask(to, (place.name, place.port), (id, title)) else {
            return String::new();
        };
        let counted = fields.iter().map(|field| (field.name, field.number(&data)));
        counted
            .filter(|(_, count)| *count != 0)
            .map(|(name, count)| format!(" [{name} == {count}]"))
            .collect::<Vec<_>>()
            .concat()
    }

    /// Prints the link of a port.
    fn link(&mut self, place: &Place<'_>) {
        let (net, node) = (self.net, place.node);
        let Some(port) = node.port(place.port) else { return };
        let link = link_text(net, place.at, node, port);
        let name = |node: &Node| self.names.name(node.guid(), &node.description);
        let far = far_text(net, place.at, port, name, true);
        let far = far.unwrap_or_else(|| "           [  ] \"\" ( )\n".into());
        let lid = if node.is_switch() { node.lid } else { port.lid };
        self.session
            .out
            .print(format!("       Link info: {lid:6}{:4}[  ] =={link}==>  {far}", port.number));
    }

    fn end(self) {
        let Summary { nodes, bad_nodes, ports, bad_ports, failures } = self.summary;
        let out = &mut *self.session.out;
        out.print(format!(
            "\n## Summary: {nodes} nodes checked, {bad_nodes} bad nodes found\n##          {ports} \
             ports checked, {bad_ports} ports have errors beyond threshold\n## {}\n",
            self.thresholds.text
        ));
        if failures > 0 {
            out.print(format!("##          {failures} PMA query failures\n"));
        }
        let names = self.suppressed.iter().map(|name| format!(" {name}"));
        let names = names.collect::<Vec<_>>().concat();
        out.print(format!("## Suppressed:{names}\n"));
        out.code = u8::from(bad_ports > 0);
    }
}

/// A port of a node with its name.
struct Place<'run> {
    at: usize,
    node: &'run Node,
    name: &'run str,
    port: u8,
}

/// Returns a data counter with its unit.
fn data_text(field: &Field, data: &[u8]) -> String {
    let count = field.number(data);
    let is_data = matches!(field.name, "PortXmitData" | "PortRcvData");
    let (value, unit) = human_readable(count, is_data);
    format!(" [{} == {count} ({value:5.3}{unit})]", field.name)
}
