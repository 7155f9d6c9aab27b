//! `ibqueryerrors`: error counters above their thresholds, or data counters, of every port.
//!
//! Resets nothing, and sends requests with service level 0. docs/compat.md lists differences.

use std::fmt::Write as _;

use super::diags::{
    CA, DiscoveredSubnet, Field, Node, NodeNames, Parsed, PortId, ROUTER, SWITCH, Session, Usage,
    discover, fail, far_text, human_readable, link_text, parse, tables,
};
use super::number::parse_any;
use super::{Job, ToolError, Transcript};
use crate::mad::{
    ClassPortInfo, ERROR_COUNTERS, MadAttribute as _, NodeInfo, PortCounters, PortCountersExtended,
    PortReceiveErrorDetails, PortTransmitDiscardDetails,
};

const ALL_PORTS: u8 = 255;
/// Thresholds that are used if the command line names no file.
const THRESHOLDS: &str = "/etc/infiniband-diags/error_thresholds";

const OPTIONS: &str = "\
--suppress, -s <err1,err2,...>  suppress errors listed
--suppress-common, -c           suppress some of the common counters
--node-name-map <file>          node name map file
--port-guid, -G <port_guid>     report the node containing the port specified by <port_guid>
--, -S <port_guid>              Same as \"-G\" for backward compatibility
--Direct, -D <dr_path>          report the node containing the port specified by <dr_path>
--skip-sl                       don't obtain SL to all destinations
--report-port, -r               report port link information
--threshold-file <val>          specify an alternate threshold file, \
                                default: /etc/infiniband-diags/error_thresholds
--GNDN, -R                      (This option is obsolete and does nothing)
--data                          include data counters for ports with errors
--switch                        print data for switches only
--ca                            print data for CA's only
--router                        print data for routers only
--details                       include transmit discard details
--counters                      print data counters only
--clear-errors, -k              Clear error counters after read
--clear-counts, -K              Clear data counters after read
--load-cache <file>             filename of ibnetdiscover cache to load
--outstanding_smps, -o <val>    specify the number of outstanding SMP's which should be issued \
                                during the scan
";

const USAGE: Usage = Usage {
    options: OPTIONS,
    refused: &[
        (
            "clear-errors clear-counts",
            "reset the counters afterwards: rdmactl fabric errors --clear",
        ),
        ("load-cache", "read saved counters: rdmactl fabric errors --from FILE"),
    ],
    without: "cDGKLnRrSs",
    operands: "",
    examples: &[],
};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    let names = NodeNames::read(job, parsed.value("node-name-map"), out);
    let mut session = Session::open_or(job, &parsed.common, out, |out, device, port| {
        fail(job, out, &format!("Failed to open port; {device}:{port}\n"))
    })?;
    let route = parsed.value("Direct");
    let guid = parsed.last_of(&["port-guid", ""]).map(|(_, text)| text);
    if let Some(text) = guid.filter(|_| route.is_none()) {
        session.warn_if_unresolved(text, "");
    }
    let Some(net) = discover(&mut session, false) else {
        return Err(session.out.end(255, "discover failed\n"));
    };
    let kinds = [("switch", SWITCH), ("ca", CA), ("router", ROUTER)]
        .map(|(name, kind)| parsed.has(name).then_some(kind));
    let mut wanted = None;
    if let Some(text) = route.or(guid) {
        let port_guid = if route.is_some() {
            let at = PortId::parse_route(text);
            let Some(node) = at.and_then(|at| session.get::<NodeInfo>(&at, 0)) else {
                return Err(session.out.end(0, "Failed to query local Node Info\n"));
            };
            node.port_guid
        } else {
            parse_any(text)
        };
        wanted = Some(net.node_of_port(port_guid).map(Node::guid));
        if wanted == Some(None) {
            session.out.warn(format!("Failed to find node: {text}\n"));
        }
    }
    let thresholds = Thresholds::read(job, parsed.value("threshold-file").unwrap_or(THRESHOLDS));
    let mut report = Report {
        session: &mut session,
        net: &net,
        names: &names,
        thresholds: &thresholds,
        suppressed: &suppressed(&parsed),
        with_data: parsed.has("data"),
        with_links: parsed.has("report-port"),
        with_details: parsed.has("details"),
        only_data: parsed.has("counters"),
        summary: Summary::default(),
        class: ClassPortInfo::default(),
        has_header: false,
    };
    for node in net.in_order() {
        let is_kind = kinds == [None; 3] || kinds.contains(&Some(node.info.node_type));
        if is_kind && wanted.is_none_or(|wanted| wanted == Some(node.guid())) {
            report.node(node);
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
fn suppressed(parsed: &Parsed) -> Vec<&'static str> {
    let mut suppressed = Vec::new();
    for (option, value) in &parsed.own {
        match *option {
            "suppress-common" => suppressed.push("PortRcvSwitchRelayErrors"),
            "suppress" => {
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
    text: String,
}

impl Thresholds {
    fn read(job: &Job<'_>, path: &str) -> Self {
        let mut found = Self { values: Vec::new(), text: "(null)".into() };
        let Ok(content) = job.reading.operator_file(path) else { return found };
        found.text = "Thresholds: ".into();
        for line in content.lines().filter(|line| !line.starts_with('#')) {
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
    /// Capabilities of the current node.
    class: ClassPortInfo,
    /// True if the header of the current node is printed.
    has_header: bool,
}

impl Report<'_, '_> {
    fn node(&mut self, node: &Node) {
        let name = self.names.name(node.guid(), &node.description);
        let place = |port: u8| {
            let port_lid = node.port(port).map_or(0, |port| port.lid);
            let lid = if node.is_switch() { node.lid } else { port_lid };
            QueriedPort { node, name: &name, to: PortId::lid(lid), port }
        };
        let first = if node.is_switch() {
            0
        } else {
            node.outer_ports().next().map_or(node.info.ports.saturating_add(1), |port| port.number)
        };
        let class = self.ask(&place(first), ClassPortInfo::ID, "classportinfo");
        let class = class.and_then(|bytes| ClassPortInfo::decode(&bytes).ok());
        self.class = class.unwrap_or_default();
        self.has_header = false;
        let start = u8::from(!(node.is_switch() && node.has_enhanced_port_0));
        self.summary.nodes += 1;
        if !self.only_data && self.class.has_all_ports() {
            let all = QueriedPort { port: ALL_PORTS, ..place(first) };
            if !self.errors(&all) {
                self.summary.ports += u32::from(node.info.ports);
                return;
            }
        }
        for number in (start..=node.info.ports).filter(|number| node.port(*number).is_some()) {
            if self.only_data {
                self.data(&place(number));
            } else {
                self.errors(&place(number));
            }
            self.summary.ports += 1;
        }
    }

    fn ask(&mut self, place: &QueriedPort<'_>, id: u16, title: &str) -> Option<[u8; 192]> {
        let QueriedPort { name, to, port, .. } = place;
        let data = self.session.performance(to, id, *port);
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

    fn is_extended(&self) -> bool {
        self.class.has_extended_width() || self.class.has_extended_width_without_casts()
    }

    fn data_fields(&self) -> Vec<Field> {
        if !self.is_extended() {
            let first = tables::PORT_COUNTERS.iter().position(|field| field.name == "PortXmitData");
            return tables::PORT_COUNTERS[first.unwrap_or(0)..][..4].to_vec();
        }
        let has_casts = self.class.has_extended_width();
        let casts: &[Field] = if has_casts { tables::EXTENDED_CASTS } else { &[] };
        [&tables::EXTENDED[2..], casts].concat()
    }

    fn counters(&mut self, place: &QueriedPort<'_>, is_extended: bool) -> Option<[u8; 192]> {
        if is_extended {
            self.ask(place, PortCountersExtended::ID, "IB_GSI_PORT_COUNTERS_EXT")
        } else {
            self.ask(place, PortCounters::ID, "IB_GSI_PORT_COUNTERS")
        }
    }

    fn data(&mut self, place: &QueriedPort<'_>) {
        let Some(data) = self.counters(place, self.is_extended()) else { return };
        let guid = place.node.guid();
        if !self.has_header {
            self.has_header = true;
            self.session.out.print(format!("Data Counters for 0x{guid:x} \"{}\"\n", place.name));
        }
        let fields = self.data_fields();
        let values: String = fields.iter().map(|field| data_text(field, &data)).collect();
        self.session.out.print(format!("   GUID 0x{guid:x} port {}:{values}\n", place.port));
        if self.with_links {
            self.link(place);
        }
    }

    /// Prints the counters of a port that are above their thresholds; true if there are any.
    fn errors(&mut self, place: &QueriedPort<'_>) -> bool {
        let Some(mut short) = self.counters(place, false) else { return false };
        let long = if self.is_extended() { self.counters(place, true) } else { None };
        if self.is_extended() && long.is_none() {
            return false;
        }
        if !self.class.has_transmit_wait() {
            short[40..44].fill(0);
        }
        let has_long = self.class.has_extended_errors();
        let (table, bytes) = if has_long {
            (tables::EXTENDED_ERRORS, long.unwrap_or([0; 192]))
        } else {
            (tables::PORT_COUNTERS, short)
        };
        let mut text = String::new();
        for name in counters().filter(|name| !self.suppressed.contains(name)) {
            let Some(field) = table.iter().find(|field| field.name == name) else { continue };
            let count = field.number(&bytes);
            if count <= self.thresholds.of(name) {
                continue;
            }
            text += &if has_long { with_unit(name, count, false) } else { plain(name, count) };
            text += &self.details(place, name);
        }
        if text.is_empty() {
            return false;
        }
        if self.with_data {
            let bytes = long.unwrap_or(short);
            let fields = self.data_fields();
            let counted = fields.iter().filter(|field| field.number(&bytes) != 0);
            text += &counted.map(|field| data_text(field, &bytes)).collect::<String>();
        }
        self.print(place, &text);
        true
    }

    fn print(&mut self, place: &QueriedPort<'_>, text: &str) {
        let node = place.node;
        let switch_guid = node.port(0).map_or(node.info.port_guid, |port| port.guid);
        if !self.has_header {
            self.has_header = true;
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
    fn details(&mut self, place: &QueriedPort<'_>, name: &str) -> String {
        let (id, title, fields) = match name {
            _ if !self.with_details => return String::new(),
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
        let Some(data) = self.ask(place, id, title) else { return String::new() };
        let counted = fields.iter().map(|field| (field.name, field.number(&data)));
        let counted = counted.filter(|(_, count)| *count != 0);
        counted.map(|(name, count)| plain(name, count)).collect()
    }

    fn link(&mut self, place: &QueriedPort<'_>) {
        let node = place.node;
        let Some(port) = node.port(place.port) else { return };
        let link = link_text(node, port);
        let name = |node: &Node| self.names.name(node.guid(), &node.description);
        let far = far_text(self.net, node, port, name, true);
        let far = far.unwrap_or_else(|| "           [  ] \"\" ( )\n".into());
        let (lid, number) = (node.lid_of(port), port.number);
        let out = &mut *self.session.out;
        out.print(format!("       Link info: {lid:6}{number:4}[  ] =={link}==>  {far}"));
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
        let names: String = self.suppressed.iter().flat_map(|name| [" ", name]).collect();
        out.print(format!("## Suppressed:{names}\n"));
        out.code = u8::from(bad_ports > 0);
    }
}

/// A port of a node, with the name of the node and the destination of requests.
struct QueriedPort<'run> {
    node: &'run Node,
    name: &'run str,
    to: PortId,
    port: u8,
}

fn plain(name: &str, count: u64) -> String {
    format!(" [{name} == {count}]")
}

fn with_unit(name: &str, count: u64, is_data: bool) -> String {
    let (value, unit) = human_readable(count, is_data);
    format!(" [{name} == {count} ({value:5.3}{unit})]")
}

fn data_text(field: &Field, data: &[u8]) -> String {
    let is_data = matches!(field.name, "PortXmitData" | "PortRcvData");
    with_unit(field.name, field.number(data), is_data)
}
