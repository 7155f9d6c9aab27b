//! The report of ports (`-p`), and width and speed in the words of `ibnetdiscover`.

use super::Printer;
use crate::compat::diags::{DiscoveredSubnet, Node, Port};

/// Returns the name of a link width.
pub(super) fn width(code: u8) -> &'static str {
    match code {
        1 => "1x",
        2 => "4x",
        4 => "8x",
        8 => "12x",
        16 => "2x",
        _ => "??",
    }
}

/// Returns the name of the speed of a port.
pub(super) fn speed(
    net: &DiscoveredSubnet,
    node: usize,
    port: &Port,
    is_known: bool,
) -> &'static str {
    let extended = if is_known && net.has_extended_speeds(node, port) {
        port.info.speed_ext_active
    } else {
        0
    };
    let first = if is_known { port.info.speed_active } else { 0 };
    match (extended, first) {
        (0, 4) if port.fdr10_active => "FDR10",
        (0, 1) => "SDR",
        (0, 2) => "DDR",
        (0, 4) => "QDR",
        (1, _) => "FDR",
        (2, _) => "EDR",
        (4, _) => "HDR",
        (8, _) => "NDR",
        _ => "???",
    }
}

fn kind(node: &Node) -> &'static str {
    match node.info.node_type {
        super::SWITCH => "SW",
        super::CA => "CA",
        super::ROUTER => "RT",
        _ => "??",
    }
}

fn lid(node: &Node, port: &Port) -> u16 {
    if node.is_switch() { node.lid } else { port.lid }
}

impl Printer<'_> {
    /// Formats a line for each port of a node, the last port first.
    pub(super) fn ports_report(&self, at: usize, node: &Node) -> String {
        let is_known = !node.is_switch() || node.port(0).is_some();
        let line = |port: &Port| {
            let width = if is_known { width(port.info.width_active) } else { "??" };
            let near = format!(
                "{:>2} {:5} {:2} 0x{:016x} {width} {}",
                kind(node),
                lid(node, port),
                port.number,
                port.guid,
                speed(self.net, at, port, is_known)
            );
            match self.peer(port) {
                Some((far_node, far)) => format!(
                    "{near} - {:>2} {:5} {:2} 0x{:016x} ( '{}' - '{}' )\n",
                    kind(far_node),
                    lid(far_node, far),
                    far.number,
                    far.guid,
                    self.name(node),
                    self.name(far_node)
                ),
                None => format!("{near}{:36}'{}'\n", "", self.name(node)),
            }
        };
        node.outer_ports().rev().map(line).collect()
    }
}
