//! Reads the output of ibnetdiscover: a block for each node, with a line for each port with a
//! link. `import` calls it.

use std::collections::HashMap;
use std::str::FromStr;

use super::super::sweep::port_mut;
use super::ImportError;
use crate::model::{Fabric, FabricEnd, FabricNode, FabricNodeKind, FabricPort, Guid, SweepMethod};

/// Values of the lines before the line of a node.
#[derive(Default)]
struct Head {
    vendor_id: u32,
    device_id: u16,
    system_image_guid: u64,
    node_guid: u64,
    /// GUID of port 0 of a switch, in parentheses behind the GUID of the node.
    port_guid: Option<u64>,
}

/// Link of a port line, with the far end by the ID of its node.
struct Link {
    near: FabricEnd,
    far: (String, u8),
    line: usize,
}

pub(super) fn read(file: &str, text: &str) -> Result<Fabric, ImportError> {
    let mut fabric = Fabric::empty(file, 0, SweepMethod::Ibnetdiscover);
    let mut ids: HashMap<String, usize> = HashMap::new();
    let (mut head, mut node, mut links) = (Head::default(), None, Vec::new());
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let line = line.trim();
        let error = |what: &str| ImportError::new(number, what);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            let node = node.ok_or_else(|| error("a port without a node"))?;
            let found = &mut fabric.nodes[node];
            let (port, far) = port_line(found, line).ok_or_else(|| error("no port line"))?;
            links.push(Link { near: FabricEnd { node, port }, far, line: number });
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.contains('"')) {
            head_line(&mut head, key, value).ok_or_else(|| error("no number behind ="))?;
            node = None;
        } else {
            let (id, found) = node_line(&head, line).ok_or_else(|| error("no node line"))?;
            if ids.insert(id, fabric.nodes.len()).is_some() {
                return Err(error("the node has two blocks"));
            }
            node = Some(fabric.nodes.len());
            fabric.nodes.push(found);
            head = Head::default();
        }
    }
    for Link { near, far: (id, port), line } in links {
        let error = || ImportError::new(line, "the node of the far end has no block");
        let far = FabricEnd { node: *ids.get(&id).ok_or_else(error)?, port };
        port_mut(&mut fabric.nodes[near.node], near.port).peer = Some(far);
        port_mut(&mut fabric.nodes[far.node], far.port).peer.get_or_insert(near);
    }
    Ok(fabric)
}

fn head_line(head: &mut Head, key: &str, value: &str) -> Option<()> {
    let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    match key {
        "vendid" => head.vendor_id = hex(value)?.try_into().ok()?,
        "devid" => head.device_id = hex(value)?.try_into().ok()?,
        "sysimgguid" => head.system_image_guid = hex(value)?,
        _ => {
            let (guid, port) = value.split_once('(').unwrap_or((value, ""));
            head.node_guid = hex(guid)?;
            head.port_guid = hex(port.trim_end_matches(')'));
        }
    }
    Some(())
}

/// Parses `Switch\t40 "S-b83f…"\t\t# "leaf001" enhanced port 0 lid 2 lmc 0`.
fn node_line(head: &Head, line: &str) -> Option<(String, FabricNode)> {
    let (facts, comment) = line.split_once('#').unwrap_or((line, ""));
    let mut words = facts.split_whitespace();
    let kind = match words.next()? {
        "Ca" | "Hca" => FabricNodeKind::Ca,
        "Switch" => FabricNodeKind::Switch,
        "Rt" => FabricNodeKind::Router,
        _ => return None,
    };
    let port_count = words.next()?.parse().ok()?;
    let id = quoted(facts)?.0.to_owned();
    let (name, rest) = described(comment).unwrap_or(("", comment));
    let is_switch = kind == FabricNodeKind::Switch;
    let mut node = FabricNode {
        guid: Guid(head.node_guid),
        system_image_guid: Guid(head.system_image_guid),
        kind,
        name: Some(name.to_owned()).filter(|name| !name.is_empty()),
        vendor_id: head.vendor_id,
        device_id: head.device_id,
        revision: 0,
        port_count,
        partition_entries: None,
        enhanced_port_0: is_switch.then(|| rest.contains("enhanced")),
        route: None,
        forwarding: None,
        ports: Vec::new(),
    };
    if is_switch {
        let port = port_mut(&mut node, 0);
        port.guid = head.port_guid.map(Guid);
        port.lid = number_after(rest, "lid")?;
        port.lmc = number_after(rest, "lmc")?;
    }
    Some((id, node))
}

/// Parses `[1](b83f…)\t"S-b83f…"[1]\t\t# lid 1 lmc 0 "leaf001" lid 2 4xHDR`.
fn port_line(node: &mut FabricNode, line: &str) -> Option<(u8, (String, u8))> {
    let (facts, comment) = line.split_once('#').unwrap_or((line, ""));
    let (number, rest) = facts.strip_prefix('[')?.split_once(']')?;
    let number = number.parse().ok()?;
    let guid = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let guid = guid.and_then(|(guid, _)| u64::from_str_radix(guid, 16).ok());
    let (id, rest) = quoted(rest)?;
    let (far, _) = rest.trim_start().strip_prefix('[')?.split_once(']')?;
    let is_switch = node.is_switch();
    let port = port_mut(node, number);
    port.guid = guid.map(Guid).filter(|_| !is_switch);
    (port.state, port.physical_state) = (FabricPort::ACTIVE, FabricPort::LINK_UP);
    if !is_switch {
        let own = comment.split('"').next().unwrap_or_default();
        port.lid = number_after(own, "lid").unwrap_or(0);
        port.lmc = number_after(own, "lmc").unwrap_or(0);
    }
    let (_, rest) = described(comment).unwrap_or(("", comment));
    if let Some((width, speed)) = rest.split_whitespace().rev().find_map(link) {
        (port.width_active, port.speed_active) = (width, speed);
    }
    Some((number, (id.to_owned(), far.parse().ok()?)))
}

/// Parses the width and speed of `4xHDR` into their codes.
fn link(word: &str) -> Option<(u8, u16)> {
    let (width, speed) = word.split_once('x')?;
    let words = ["SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"];
    let position = words.iter().position(|word| *word == speed)?;
    Some((super::width(width)?, 1 << position))
}

/// Returns the node ID between the first two quotation marks, and the text behind them. A node ID
/// has no quotation mark.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"')
}

/// Returns the node description of a comment, and the text behind it. ibnetdiscover escapes no
/// quotation mark of a description. Only the description can have one, so it ends at the last.
fn described(comment: &str) -> Option<(&str, &str)> {
    let (_, rest) = comment.split_once('"')?;
    rest.rsplit_once('"')
}

fn number_after<N: FromStr>(text: &str, key: &str) -> Option<N> {
    let mut words = text.split_whitespace();
    words.by_ref().find(|word| *word == key)?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::import_fabric;
    use super::*;

    const TEXT: &str = "#\n# Topology file: generated on Sat Nov 21 03:11:36 2026\n#\n\n\
        vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0xb83fd20300a00100\n\
        switchguid=0xb83fd20300a00100(b83fd20300a00100)\n\
        Switch\t40 \"S-b83fd20300a00100\"\t\t# \"leaf001\" enhanced port 0 lid 2 lmc 0\n\
        [1]\t\"H-b83fd20300100000\"[1](b83fd20300100001) \t\t# \"node001 HCA-1\" lid 1 4xHDR\n\n\
        vendid=0x2c9\ndevid=0x101b\nsysimgguid=0xb83fd20300100000\n\
        caguid=0xb83fd20300100000\nCa\t1 \"H-b83fd20300100000\"\t\t# \"node001 HCA-1\"\n\
        [1](b83fd20300100001) \t\"S-b83fd20300a00100\"[1]\t\t# lid 1 lmc 0 \"leaf001\" lid 2 4xHDR\n";

    #[test]
    fn nodes_and_links_are_read() {
        let fabric = import_fabric("f", TEXT).unwrap().unwrap();
        let names: Vec<String> = fabric.nodes.iter().map(FabricNode::title).collect();
        assert_eq!(names, ["leaf001", "node001 HCA-1"]);
        assert_eq!((fabric.links().count(), fabric.nodes[0].enhanced_port_0), (1, Some(true)));
        let port = fabric.nodes[1].port(1).unwrap();
        assert_eq!((port.lid, port.guid), (1, Some(Guid(0xb83f_d203_0010_0001))));
        assert_eq!((fabric.nodes[0].lid(), port.link().as_str()), (Some(2), "4X HDR"));
        assert_eq!(fabric.nodes[0].vendor_id, 0x2c9);
    }

    #[test]
    fn a_node_description_may_have_quotation_marks_and_words_of_the_format() {
        let switch = "a \"b\" lid 7 lmc 3 # 1xSDR";
        let adapter = "say \"lid 9\"";
        let text = TEXT.replace("leaf001", switch).replace("node001 HCA-1", adapter);
        let fabric = import_fabric("f", &text).unwrap().unwrap();
        let names: Vec<String> = fabric.nodes.iter().map(FabricNode::title).collect();
        assert_eq!(names, [switch, adapter]);
        let own = fabric.nodes[0].port(0).unwrap();
        assert_eq!((own.lid, own.lmc, fabric.nodes[0].enhanced_port_0), (2, 0, Some(true)));
        let port = fabric.nodes[1].port(1).unwrap();
        assert_eq!((port.lid, port.lmc, port.link().as_str()), (1, 0, "4X HDR"));
        let without = text.replace(" 4xHDR\n", "\n");
        let fabric = import_fabric("f", &without).unwrap().unwrap();
        assert_eq!(fabric.nodes[1].port(1).unwrap().width_active, 0);
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let error = |from: &str, to: &str| {
            import_fabric("f", &TEXT.replace(from, to)).unwrap().unwrap_err().to_string()
        };
        assert_eq!(error("vendid=0x2c9", "vendid=0xzz"), "line 5: no number behind =");
        assert_eq!(error("Switch\t40", "Switch\tx"), "line 9: no node line");
        assert_eq!(
            error("\"H-b83fd20300100000\"[1](", "\"H-1\"[1]("),
            "line 10: the node of the far end has no block"
        );
        assert_eq!(error("[1]\t\"H", "[999]\t\"H"), "line 10: no port line");
        assert_eq!(
            error("Ca\t1 \"H-b83fd20300100000\"", "Ca\t1 \"S-b83fd20300a00100\""),
            "line 16: the node has two blocks"
        );
    }
}
