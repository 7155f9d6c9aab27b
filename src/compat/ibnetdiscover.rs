//! `ibnetdiscover`: the topology of a subnet, in the format of ibsim.
//!
//! Does not group chassis and does not compare caches. Nodes are in the order of libibnetdisc.

use std::fmt::Write as _;

mod ports;

use super::diags::{
    DiscoveredSubnet, Node, NodeNames, OwnOption, Port, Session, ToolError, Usage, clean, discover,
    ended, parse,
};
use super::{CompatError, Job, Transcript};
use crate::sys::local_time::local_time;

const CA: u8 = 1;
const SWITCH: u8 = 2;
const ROUTER: u8 = 3;

const OWN: [OwnOption; 15] = [
    OwnOption::flag('f', "full", "show full information (ports' speed and width, vlcap)"),
    OwnOption::flag('s', "show", "show more information"),
    OwnOption::flag('l', "list", "list of connected nodes"),
    OwnOption::flag('g', "grouping", "show grouping")
        .refused("list the switches with their systems: rdmactl fabric switches"),
    OwnOption::flag('H', "Hca_list", "list of connected CAs"),
    OwnOption::flag('S', "Switch_list", "list of connected switches"),
    OwnOption::flag('R', "Router_list", "list of connected routers"),
    OwnOption::valued('\u{1}', "node-name-map", "<file>", "node name map file"),
    OwnOption::valued('\u{2}', "cache", "<file>", "filename to cache ibnetdiscover data to")
        .refused("save the data of the subnet: rdmactl fabric --save FILE"),
    OwnOption::valued('\u{3}', "load-cache", "<file>", "filename of ibnetdiscover cache to load")
        .refused("read saved data of a subnet: rdmactl fabric --from FILE"),
    OwnOption::valued('\u{4}', "diff", "<file>", "filename of ibnetdiscover cache to diff")
        .refused("compare the output of two runs: rdmactl compat ibnetdiscover | diff OLD -"),
    OwnOption::valued('\u{5}', "diffcheck", "<key(s)>", "specify checks to execute for --diff")
        .refused("compare the output of two runs: rdmactl compat ibnetdiscover | diff OLD -"),
    OwnOption::flag('p', "ports", "obtain a ports report"),
    OwnOption::flag('m', "max_hops", "report max hops discovered by the library"),
    OwnOption::valued(
        'o',
        "outstanding_smps",
        "<val>",
        "specify the number of outstanding SMP's which should be issued during the scan",
    ),
];

const USAGE: Usage<'_> =
    Usage { own: &OWN, without: "DGKLs", operands: "[topology-file]", examples: &[] };

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(show(job, out))
}

fn show(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    if let Some(file) = parsed.operands.first() {
        let instead = Some("redirect the output: rdmactl compat ibnetdiscover > FILE");
        let (tool, option) = (job.call.tool.name(), file.clone());
        return Err(CompatError::NotOffered { tool, option, instead }.into());
    }
    let names = NodeNames::read(job, parsed.value('\u{1}'), out);
    let (device, port) = (parsed.common.device.clone(), parsed.common.port);
    let shows_progress = parsed.has('s');
    let mut session = match Session::open(job, parsed.common.clone(), out) {
        Ok(session) => session,
        Err(out) => {
            let name = device.unwrap_or_else(|| "(null)".into());
            out.warn(format!(
                "ibwarn: [{}] mad_rpc_open_port: can't open UMAD port ({name}:{port})\n\
                 ./libibnetdisc/ibnetdisc.c:802; can't open MAD port ({name}:{port})\n",
                job.call.pid
            ));
            out.print(format!("{}: iberror: failed: discover failed\n\n", job.call.program));
            out.code = 255;
            return Err(ToolError::Said);
        }
    };
    let Some(net) = discover(&mut session, shows_progress) else {
        return Err(session.fail("discover failed\n"));
    };
    let printer = Printer { net: &net, names: &names, is_full: parsed.has('f') };
    let out = session.out;
    if parsed.has('p') {
        for (at, node) in net.in_order() {
            out.print(printer.ports_report(at, node));
        }
        return Ok(());
    }
    // The last list option has precedence.
    let list = parsed.own.iter().rev().find(|(letter, _)| "lHSR".contains(*letter));
    if let Some((letter, _)) = list {
        let kinds: &[u8] = match letter {
            'H' => &[CA],
            'S' => &[SWITCH],
            'R' => &[ROUTER],
            _ => &[CA, SWITCH, ROUTER],
        };
        for kind in kinds {
            for (_, node) in net.in_order().filter(|(_, node)| node.info.node_type == *kind) {
                out.print(printer.listed(node));
            }
        }
        return Ok(());
    }
    let seconds = job.reading.source().taken_ns().map_or(0, |taken_ns| taken_ns / 1_000_000_000);
    out.print(format!(
        "#\n# Topology file: generated on {}#\n",
        c_time(i64::try_from(seconds).unwrap_or(0))
    ));
    if parsed.has('m') {
        out.print(format!(
            "# Reported max hops discovered: {}\n# Total MADs used: {}\n",
            net.hops, net.requests
        ));
    }
    let first = &net.nodes[0].info;
    out.print(format!(
        "# Initiated from node {:016x} port {:016x}\n",
        first.node_guid, first.port_guid
    ));
    for kind in [SWITCH, CA, ROUTER] {
        for (at, node) in net.in_order().filter(|(_, node)| node.info.node_type == kind) {
            out.print(printer.node(at, node));
        }
    }
    Ok(())
}

/// Formats a time like `ctime` of the C library, with the line break.
fn c_time(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let Some(time) = local_time(seconds) else { return "???\n".into() };
    let name = |names: &[&'static str], at: usize| names.get(at).copied().unwrap_or("???");
    format!(
        "{} {}{:3} {:02}:{:02}:{:02} {}\n",
        name(&DAYS, time.weekday),
        name(&MONTHS, time.month),
        time.day,
        time.hour,
        time.minute,
        time.second,
        time.year
    )
}

/// Formatter of the parts of the output.
struct Printer<'run> {
    net: &'run DiscoveredSubnet,
    names: &'run NodeNames,
    is_full: bool,
}

impl Printer<'_> {
    fn name(&self, node: &Node) -> String {
        self.names.name(node.guid(), &node.description)
    }

    /// Formats a line of a list.
    fn listed(&self, node: &Node) -> String {
        let kind = match node.info.node_type {
            SWITCH => "Switch",
            CA => "Ca",
            _ => "Router",
        };
        format!(
            "{kind}\t : 0x{:016x} ports {} devid 0x{:x} vendid 0x{:x} \"{}\"\n",
            node.guid(),
            node.info.ports,
            node.info.device_id,
            node.info.vendor_id,
            self.name(node)
        )
    }

    /// Formats a node and its links.
    fn node(&self, at: usize, node: &Node) -> String {
        let info = &node.info;
        let mut text = format!("\nvendid=0x{:x}\ndevid=0x{:x}\n", info.vendor_id, info.device_id);
        if info.system_image_guid != 0 {
            let _ = writeln!(text, "sysimgguid=0x{:x}", info.system_image_guid);
        }
        let guid = node.guid();
        if node.is_switch() {
            let port_0 = if node.has_enhanced_port_0 { "enhanced" } else { "base" };
            let _ = writeln!(text, "switchguid=0x{guid:x}({:x})", info.port_guid);
            let _ = writeln!(
                text,
                "Switch\t{} {}\t\t# \"{}\" {port_0} port 0 lid {} lmc {}",
                info.ports,
                id(node),
                self.name(node),
                node.lid,
                node.lmc
            );
        } else {
            let (kind, guid_name) = if info.node_type == CA { ("Ca", "ca") } else { ("Rt", "rt") };
            // The original does not use the name map here.
            let name = clean(&node.description);
            let _ = writeln!(text, "{guid_name}guid=0x{guid:x}");
            let _ = writeln!(text, "{kind}\t{} {}\t\t# \"{name}\"", info.ports, id(node));
        }
        for port in node.outer_ports() {
            text += &self.link(at, node, port).unwrap_or_default();
        }
        text
    }

    /// Formats a link from one of its ports; `None` for a port without a link.
    fn link(&self, at: usize, node: &Node, port: &Port) -> Option<String> {
        let (far_node, far) = self.peer(port)?;
        let mut text = format!("[{}]", port.number);
        if !node.is_switch() {
            let _ = write!(text, "({:x}) ", port.guid);
        }
        let _ = write!(text, "\t{}[{}]", id(far_node), far.number);
        if !far_node.is_switch() {
            let space = if node.is_switch() { "" } else { " " };
            let _ = write!(text, "{space}({:x}) ", far.guid);
        }
        let far_lid = if far_node.is_switch() { far_node.lid } else { far.lid };
        let far_name = self.name(far_node);
        if node.is_switch() {
            let _ = write!(text, "\t\t# \"{far_name}\" lid {far_lid} ");
        } else {
            let (lid, lmc) = (port.lid, port.lmc);
            let _ = write!(text, "\t\t# lid {lid} lmc {lmc} \"{far_name}\" lid {far_lid} ");
        }
        // Without the capabilities of a switch its speeds are unknown.
        let is_known = !node.is_switch() || node.port(0).is_some();
        text += ports::width(port.info.width_active);
        text += ports::speed(self.net, at, port, is_known);
        if self.is_full {
            let info = &port.info;
            let speed = if is_known { info.speed_active } else { 0 };
            let _ = write!(text, " s={speed} w={} v={}", info.width_active, info.vl_capability);
        }
        text.push('\n');
        Some(text)
    }

    /// Returns the remote port with its node.
    fn peer(&self, port: &Port) -> Option<(&Node, &Port)> {
        let (node, number) = port.peer?;
        let node = self.net.nodes.get(node)?;
        Some((node, node.port(number)?))
    }
}

/// Returns the ID of a node, in quotation marks.
fn id(node: &Node) -> String {
    let letter = match node.info.node_type {
        SWITCH => 'S',
        CA => 'H',
        ROUTER => 'R',
        _ => '?',
    };
    format!("\"{letter}-{:016x}\"", node.guid())
}
