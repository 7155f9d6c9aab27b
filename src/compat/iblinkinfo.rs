//! `iblinkinfo`: every port of every node with its link.
//!
//! Scans the whole subnet even for one node; the printed links are equal.

use std::fmt::Write as _;

use super::diags::{
    CA, DOWN, DiscoveredSubnet, Node, NodeNames, Port, PortId, SWITCH, Session, Usage, discover,
    far_text, link_text, parse,
};
use super::number::parse_any;
use super::word::word;
use super::{Job, ToolError, Transcript};
use crate::mad::NodeInfo;

const OPTIONS: &str = "\
--node-name-map <file>        node name map file
--switch, -S <port_guid>      start partial scan at the port specified by <port_guid> (hex format)
--port-guid, -G <port_guid>   (same as -S)
--Direct, -D <dr_path>        start partial scan at the port specified by <dr_path>
--all, -a                     print all nodes found in a partial fabric scan
--hops, -n <hops>             Number of hops to include away from specified node
--down, -d                    print only down links
--line, -l                    (line mode) print all information for each link on a single line
--additional, -p              print additional port settings (PktLifeTime, HoqLife, VLStallCount)
--load-cache <file>           filename of ibnetdiscover cache to load
--diff <file>                 filename of ibnetdiscover cache to diff
--diffcheck <key(s)>          specify checks to execute for --diff
--filterdownports <file>      filename of ibnetdiscover cache to filter downports
--outstanding_smps, -o <val>  specify the number of outstanding SMP's which should be issued \
                              during the scan
--switches-only               Output only switches
--cas-only                    Output only CAs
";

const USAGE: Usage = Usage {
    options: OPTIONS,
    refused: &[
        ("all hops", "remove it: rdmactl scans the whole subnet"),
        (
            "load-cache filterdownports",
            "read saved data of a subnet: rdmactl fabric links --from FILE",
        ),
        (
            "diff diffcheck",
            "compare the output of two runs: rdmactl compat iblinkinfo | diff OLD -",
        ),
    ],
    without: "aDdGgKLlnpRS",
    operands: "",
    examples: &[],
};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    let names = NodeNames::read(job, parsed.value("node-name-map"), out);
    let mut session = Session::open_or(job, &parsed.common, out, |out, device, port| {
        out.end(1, format!("Failed to open {device} port {port}\n"))
    })?;
    let wanted = parsed.last_of(&["switch", "port-guid"]);
    let mut guid = wanted.map(|(_, text)| (text, parse_any(text)));
    if let Some(route) = parsed.value("Direct") {
        let at = PortId::parse_route(route);
        let Some(node) = at.and_then(|at| session.get::<NodeInfo>(&at, 0)) else {
            return Err(session.out.end(1, "Failed to get local Node Info\n"));
        };
        guid = guid.or(Some((route, node.port_guid)));
    } else if let Some((text, _)) = guid {
        session.warn_if_unresolved(text, "\n");
    }
    let Some(net) = discover(&mut session, false) else {
        return Err(session.out.end(1, "discover failed\n"));
    };
    let only = parsed.last_of(&["switches-only", "cas-only"]);
    let only = only.map(|(name, _)| if name == "cas-only" { CA } else { SWITCH });
    let printer = Printer {
        net: &net,
        names: &names,
        only_down: parsed.has("down"),
        by_line: parsed.has("line"),
        with_settings: parsed.has("additional"),
    };
    let is_wanted = |node: &&Node| only.is_none_or(|kind| kind == node.info.node_type);
    let out = session.out;
    match guid {
        Some((text, guid)) => match net.node_of_port(guid).filter(is_wanted) {
            Some(node) => out.print(printer.node(node)),
            None => out.warn(format!("Failed to find port: {text}\n")),
        },
        None => net.in_order().filter(is_wanted).for_each(|node| out.print(printer.node(node))),
    }
    Ok(())
}

struct Printer<'run> {
    net: &'run DiscoveredSubnet,
    names: &'run NodeNames,
    only_down: bool,
    by_line: bool,
    with_settings: bool,
}

impl Printer<'_> {
    fn name(&self, node: &Node) -> String {
        self.names.name(node.guid(), &node.description)
    }

    fn node(&self, node: &Node) -> String {
        let mut text = String::new();
        let is_shown = |port: &&Port| !self.only_down || port.info.state == DOWN;
        for port in node.outer_ports().filter(is_shown) {
            if text.is_empty() && !self.by_line {
                text = self.header(node);
            }
            text += &self.port(node, port);
        }
        text
    }

    fn header(&self, node: &Node) -> String {
        let kind = word(node.info.node_type, &["??", "CA", "Switch", "Router"], "??");
        let name = self.name(node);
        if node.is_switch() {
            let guid = node.port(0).map_or(node.info.port_guid, |port| port.guid);
            return format!("{kind}: 0x{guid:016x} {name}:\n");
        }
        format!("{kind}: {name}:\n")
    }

    fn port(&self, node: &Node, port: &Port) -> String {
        let mut link = link_text(node, port);
        if self.with_settings && port.info.state != DOWN {
            let (life, stall) = (port.info.head_of_queue_life, port.info.vl_stall_count);
            let _ = write!(link, " (HOQ:{life} VL_Stall:{stall})");
        }
        let nowhere = if port.info.state == DOWN {
            "           [  ] \"\" ( )\n"
        } else {
            "    \"Port not available\"\n"
        };
        let far = far_text(self.net, node, port, |node| self.name(node), self.by_line);
        let far = far.unwrap_or_else(|| nowhere.into());
        let start = match (self.by_line, node.is_switch()) {
            (true, _) => format!("0x{:016x} \"{:>30}\" ", port.guid, self.name(node)),
            (false, true) => "      ".into(),
            (false, false) => format!("      0x{:016x} ", port.guid),
        };
        format!("{start}{:6} {:4}[  ] =={link}==>  {far}", node.lid_of(port), port.number)
    }
}
