//! The report of ports (`-p`), and width and speed in the words of `ibnetdiscover`.

use super::Printer;
use crate::compat::diags::{Node, Port};
use crate::compat::word::word;

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

pub(super) fn speed(node: &Node, port: &Port) -> &'static str {
    let (first, extended) = node.active_speeds(port);
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
    word(node.info.node_type, &["??", "CA", "SW", "RT"], "??")
}

impl Printer<'_> {
    /// Formats a line for each port of a node, the last port first.
    pub(super) fn ports_report(&self, node: &Node) -> String {
        let line = |port: &Port| {
            let width = if node.has_known_speeds() { width(port.info.width_active) } else { "??" };
            let near = format!(
                "{:>2} {:5} {:2} 0x{:016x} {width} {}",
                kind(node),
                node.lid_of(port),
                port.number,
                port.guid,
                speed(node, port)
            );
            match self.net.peer(port) {
                Some((far_node, far)) => format!(
                    "{near} - {:>2} {:5} {:2} 0x{:016x} ( '{}' - '{}' )\n",
                    kind(far_node),
                    far_node.lid_of(far),
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
