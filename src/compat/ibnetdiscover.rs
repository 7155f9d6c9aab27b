//! `ibnetdiscover`: the topology of a subnet, in the format of ibsim.
//!
//! Does not group chassis and does not compare caches. Nodes are in the order of libibnetdisc.

use std::fmt::Write as _;

mod ports;

use super::diags::{
    CA, DiscoveredSubnet, Node, NodeNames, Port, ROUTER, SWITCH, Session, Usage, clean, discover,
    fail, parse,
};
use super::word::word;
use super::{Job, ToolError, Transcript};
use crate::sys::local_time::local_time;

const OPTIONS: &str = "\
--full, -f                    show full information (ports' speed and width, vlcap)
--show, -s                    show more information
--list, -l                    list of connected nodes
--grouping, -g                show grouping
--Hca_list, -H                list of connected CAs
--Switch_list, -S             list of connected switches
--Router_list, -R             list of connected routers
--node-name-map <file>        node name map file
--cache <file>                filename to cache ibnetdiscover data to
--load-cache <file>           filename of ibnetdiscover cache to load
--diff <file>                 filename of ibnetdiscover cache to diff
--diffcheck <key(s)>          specify checks to execute for --diff
--ports, -p                   obtain a ports report
--max_hops, -m                report max hops discovered by the library
--outstanding_smps, -o <val>  specify the number of outstanding SMP's which should be issued \
                              during the scan
";

const USAGE: Usage = Usage {
    options: OPTIONS,
    refused: &[
        ("grouping", "list the switches with their systems: rdmactl fabric switches"),
        ("cache", "save the data of the subnet: rdmactl fabric --save FILE"),
        ("load-cache", "read saved data of a subnet: rdmactl fabric --from FILE"),
        (
            "diff diffcheck",
            "compare the output of two runs: rdmactl compat ibnetdiscover | diff OLD -",
        ),
    ],
    without: "DGKLs",
    operands: "[topology-file]",
    examples: &[],
};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    if let Some(file) = parsed.operands.first() {
        let instead = "redirect the output: rdmactl compat ibnetdiscover > FILE";
        return Err(job.refused(file, Some(instead)));
    }
    let names = NodeNames::read(job, parsed.value("node-name-map"), out);
    let mut session = Session::open_or(job, &parsed.common, out, |out, device, port| {
        out.warn(format!(
            "./libibnetdisc/ibnetdisc.c:802; can't open MAD port ({device}:{port})\n"
        ));
        fail(job, out, "discover failed\n")
    })?;
    let Some(net) = discover(&mut session, parsed.has("show")) else {
        return Err(session.fail("discover failed\n"));
    };
    let printer = Printer { net: &net, names: &names, is_full: parsed.has("full") };
    let out = session.out;
    if parsed.has("ports") {
        for node in net.in_order() {
            out.print(printer.ports_report(node));
        }
        return Ok(());
    }
    // The last list option has precedence.
    let lists = ["list", "Hca_list", "Switch_list", "Router_list"];
    if let Some((list, _)) = parsed.last_of(&lists) {
        let kinds: &[u8] = match list {
            "Hca_list" => &[CA],
            "Switch_list" => &[SWITCH],
            "Router_list" => &[ROUTER],
            _ => &[CA, SWITCH, ROUTER],
        };
        for kind in kinds {
            for node in net.in_order().filter(|node| node.info.node_type == *kind) {
                out.print(printer.listed(node));
            }
        }
        return Ok(());
    }
    let seconds = job.reading.source.taken_ns().map_or(0, |taken_ns| taken_ns / 1_000_000_000);
    out.print(format!(
        "#\n# Topology file: generated on {}#\n",
        c_time(i64::try_from(seconds).unwrap_or(0))
    ));
    if parsed.has("max_hops") {
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
        for node in net.in_order().filter(|node| node.info.node_type == kind) {
            out.print(printer.node(node));
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
    format!(
        "{} {}{:3} {:02}:{:02}:{:02} {}\n",
        word(time.weekday, &DAYS, "???"),
        word(time.month, &MONTHS, "???"),
        time.day,
        time.hour,
        time.minute,
        time.second,
        time.year
    )
}

struct Printer<'run> {
    net: &'run DiscoveredSubnet,
    names: &'run NodeNames,
    is_full: bool,
}

impl Printer<'_> {
    fn name(&self, node: &Node) -> String {
        self.names.name(node.guid(), &node.description)
    }

    fn listed(&self, node: &Node) -> String {
        let kind = word(node.info.node_type, &["Router", "Ca", "Switch"], "Router");
        format!(
            "{kind}\t : 0x{:016x} ports {} devid 0x{:x} vendid 0x{:x} \"{}\"\n",
            node.guid(),
            node.info.ports,
            node.info.device_id,
            node.info.vendor_id,
            self.name(node)
        )
    }

    fn node(&self, node: &Node) -> String {
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
            text += &self.link(node, port).unwrap_or_default();
        }
        text
    }

    /// Formats a link from one of its ports; `None` for a port without a link.
    fn link(&self, node: &Node, port: &Port) -> Option<String> {
        let (far_node, far) = self.net.peer(port)?;
        let mut text = format!("[{}]", port.number);
        if !node.is_switch() {
            let _ = write!(text, "({:x}) ", port.guid);
        }
        let _ = write!(text, "\t{}[{}]", id(far_node), far.number);
        if !far_node.is_switch() {
            let space = if node.is_switch() { "" } else { " " };
            let _ = write!(text, "{space}({:x}) ", far.guid);
        }
        let far_lid = far_node.lid_of(far);
        let far_name = self.name(far_node);
        if node.is_switch() {
            let _ = write!(text, "\t\t# \"{far_name}\" lid {far_lid} ");
        } else {
            let (lid, lmc) = (port.lid, port.lmc);
            let _ = write!(text, "\t\t# lid {lid} lmc {lmc} \"{far_name}\" lid {far_lid} ");
        }
        text += ports::width(port.info.width_active);
        text += ports::speed(node, port);
        if self.is_full {
            let (info, (speed, _)) = (&port.info, node.active_speeds(port));
            let _ = write!(text, " s={speed} w={} v={}", info.width_active, info.vl_capability);
        }
        text.push('\n');
        Some(text)
    }
}

fn id(node: &Node) -> String {
    let letter = word(node.info.node_type, &["?", "H", "S", "R"], "?");
    format!("\"{letter}-{:016x}\"", node.guid())
}
