//! `iblinkinfo`: every port of every node with its link.
//!
//! Scans the whole subnet even for one node; the printed links are equal.

use std::fmt::Write as _;

use super::diags::{
    DOWN, DiscoveredSubnet, Node, NodeNames, OwnOption, Port, PortId, Session, ToolError, Usage,
    discover, ended, far_text, link_text, parse,
};
use super::number::parse_any;
use super::{CompatError, Job, Transcript};
use crate::mad::read_bits;

const NODE_INFO: u16 = 0x11;
const CA: u8 = 1;
const SWITCH: u8 = 2;
const CACHE: &str = "read saved data of a subnet: rdmactl fabric links --from FILE";
const DIFF: &str = "compare the output of two runs: rdmactl compat iblinkinfo | diff OLD -";
const WHOLE: &str = "remove it: rdmactl scans the whole subnet";

const OWN: [OwnOption; 16] = [
    OwnOption::valued('\u{1}', "node-name-map", "<file>", "node name map file"),
    OwnOption::valued(
        'S',
        "switch",
        "<port_guid>",
        "start partial scan at the port specified by <port_guid> (hex format)",
    ),
    OwnOption::valued('G', "port-guid", "<port_guid>", "(same as -S)"),
    OwnOption::valued(
        'D',
        "Direct",
        "<dr_path>",
        "start partial scan at the port specified by <dr_path>",
    ),
    OwnOption::flag('a', "all", "print all nodes found in a partial fabric scan").refused(WHOLE),
    OwnOption::valued('n', "hops", "<hops>", "Number of hops to include away from specified node")
        .refused(WHOLE),
    OwnOption::flag('d', "down", "print only down links"),
    OwnOption::flag(
        'l',
        "line",
        "(line mode) print all information for each link on a single line",
    ),
    OwnOption::flag(
        'p',
        "additional",
        "print additional port settings (PktLifeTime, HoqLife, VLStallCount)",
    ),
    OwnOption::valued('\u{2}', "load-cache", "<file>", "filename of ibnetdiscover cache to load")
        .refused(CACHE),
    OwnOption::valued('\u{3}', "diff", "<file>", "filename of ibnetdiscover cache to diff")
        .refused(DIFF),
    OwnOption::valued('\u{4}', "diffcheck", "<key(s)>", "specify checks to execute for --diff")
        .refused(DIFF),
    OwnOption::valued(
        '\u{5}',
        "filterdownports",
        "<file>",
        "filename of ibnetdiscover cache to filter downports",
    )
    .refused(CACHE),
    OwnOption::valued(
        'o',
        "outstanding_smps",
        "<val>",
        "specify the number of outstanding SMP's which should be issued during the scan",
    ),
    OwnOption::flag('\u{6}', "switches-only", "Output only switches"),
    OwnOption::flag('\u{7}', "cas-only", "Output only CAs"),
];
const USAGE: Usage<'_> = Usage { own: &OWN, without: "aDdGgKLlnpRS", operands: "", examples: &[] };

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(show(job, out))
}

fn show(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    let names = NodeNames::read(job, parsed.value('\u{1}'), out);
    let (device, port) = (parsed.common.device.clone(), parsed.common.port);
    let mut session = match Session::open(job, parsed.common.clone(), out) {
        Ok(session) => session,
        Err(out) => {
            let name = device.unwrap_or_else(|| "(null)".into());
            let pid = job.call.pid;
            out.warn(format!(
                "ibwarn: [{pid}] mad_rpc_open_port: can't open UMAD port ({name}:{port})\n\
                 Failed to open {name} port {port}\n"
            ));
            out.code = 1;
            return Err(ToolError::Said);
        }
    };
    let wanted = parsed.own.iter().rev().find(|(letter, _)| "SG".contains(*letter));
    let mut guid = wanted.map(|(_, text)| (text.clone(), parse_any(text)));
    if let Some(route) = parsed.value('D') {
        let at = PortId::parse_route(route);
        let Some(node) = at.and_then(|at| session.smp(&at, NODE_INFO, 0)) else {
            session.out.warn("Failed to get local Node Info\n");
            session.out.code = 1;
            return Err(ToolError::Said);
        };
        guid = guid.or_else(|| Some((route.to_owned(), read_bits(&node, 160, 64))));
    } else if let Some((text, _)) = &guid {
        session.warn_if_unresolved(text, "\n");
    }
    let Some(net) = discover(&mut session, false) else {
        session.out.warn("discover failed\n");
        session.out.code = 1;
        return Err(ToolError::Said);
    };
    let only = parsed.own.iter().rev().find_map(|(letter, _)| match letter {
        '\u{6}' => Some(SWITCH),
        '\u{7}' => Some(CA),
        _ => None,
    });
    let printer = Printer {
        net: &net,
        names: &names,
        only_down: parsed.has('d'),
        by_line: parsed.has('l'),
        with_settings: parsed.has('p'),
    };
    let is_wanted = |node: &Node| only.is_none_or(|kind| kind == node.info.node_type);
    let out = session.out;
    match guid {
        Some((text, guid)) => {
            let found = net.node_of_port(guid).filter(|at| is_wanted(&net.nodes[*at]));
            match found {
                Some(at) => out.print(printer.node(at, &net.nodes[at])),
                None => out.warn(format!("Failed to find port: {text}\n")),
            }
        }
        None => {
            for (at, node) in net.in_order().filter(|(_, node)| is_wanted(node)) {
                out.print(printer.node(at, node));
            }
        }
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

    fn node(&self, at: usize, node: &Node) -> String {
        let mut text = String::new();
        let is_shown = |port: &&Port| !self.only_down || port.info.state == DOWN;
        for port in node.outer_ports().filter(is_shown) {
            if text.is_empty() && !self.by_line {
                text = self.header(node);
            }
            text += &self.port(at, node, port);
        }
        text
    }

    fn header(&self, node: &Node) -> String {
        let name = self.name(node);
        match node.info.node_type {
            SWITCH => {
                let guid = node.port(0).map_or(node.info.port_guid, |port| port.guid);
                format!("Switch: 0x{guid:016x} {name}:\n")
            }
            CA => format!("CA: {name}:\n"),
            3 => format!("Router: {name}:\n"),
            _ => format!("??: {name}:\n"),
        }
    }

    fn port(&self, at: usize, node: &Node, port: &Port) -> String {
        let mut link = link_text(self.net, at, node, port);
        if self.with_settings && port.info.state != DOWN {
            let _ = write!(
                link,
                " (HOQ:{} VL_Stall:{})",
                port.info.head_of_queue_life, port.info.vl_stall_count
            );
        }
        let far = far_text(self.net, at, port, |node| self.name(node), self.by_line);
        let far = far.unwrap_or_else(|| {
            let nowhere = if port.info.state == DOWN {
                "           [  ] \"\" ( )\n"
            } else {
                "    \"Port not available\"\n"
            };
            nowhere.into()
        });
        let mut text = if self.by_line {
            format!("0x{:016x} \"{:>30}\" ", port.guid, self.name(node))
        } else {
            "      ".into()
        };
        let lid = if node.is_switch() { node.lid } else { port.lid };
        if !node.is_switch() && !self.by_line {
            let _ = write!(text, "0x{:016x} ", port.guid);
        }
        text + &format!("{lid:6} {:4}[  ] =={link}==>  {far}", port.number)
    }
}
