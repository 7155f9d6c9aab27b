//! Reads `opensm-subnet.lst`: one link a line, both ends in braces. `import` calls it.
//!
//! `{ CA-SM Ports:01 SystemGUID:b83f… NodeGUID:b83f… PortGUID:b83f… VenID:0002C9 DevID:101B
//! Rev:000000A1 {node001 HCA-1} LID:0001 PN:01 } { SW … } PHY=4x LOG=ACT SPD=50`

use std::collections::HashMap;

use super::super::sweep::port_mut;
use super::{ImportError, width};
use crate::model::{Fabric, FabricEnd, FabricNode, FabricNodeKind, FabricPort, Guid, SweepMethod};

pub(super) fn is_line(line: &str) -> bool {
    line.starts_with("{ ") && line.contains("NodeGUID:") && line.contains(" PHY=")
}

pub(super) fn read(file: &str, text: &str) -> Result<Fabric, ImportError> {
    let mut fabric = Fabric::empty(file, 0, SweepMethod::OpensmSubnetList);
    let mut nodes = HashMap::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (at, line) in lines {
        let error = |what: &str| ImportError::new(at + 1, what);
        let (near, rest) = end_of(line).ok_or_else(|| error("no node in braces"))?;
        let (far, rest) = end_of(rest).ok_or_else(|| error("no second node in braces"))?;
        let word = |key: &str| rest.split_whitespace().find_map(|word| word.strip_prefix(key));
        let width = word("PHY=")
            .and_then(|word| width(word.strip_suffix('x')?))
            .ok_or_else(|| error("no width after PHY="))?;
        let state = word("LOG=").and_then(state).ok_or_else(|| error("no state after LOG="))?;
        let speed = word("SPD=").and_then(speed).ok_or_else(|| error("no speed after SPD="))?;
        let mut place = |text: &str| {
            let end = place(&mut fabric, &mut nodes, text)
                .ok_or_else(|| error("a node lacks a field"))?;
            let port = port_mut(&mut fabric.nodes[end.node], end.port);
            (port.state, port.physical_state) = (state, FabricPort::LINK_UP);
            (port.width_active, port.speed_active) = (width, speed);
            Ok(end)
        };
        let (near, far) = (place(near)?, place(far)?);
        port_mut(&mut fabric.nodes[near.node], near.port).peer = Some(far);
        port_mut(&mut fabric.nodes[far.node], far.port).peer = Some(near);
    }
    Ok(fabric)
}

/// Splits a line into the text between the outer braces and the text behind them.
fn end_of(line: &str) -> Option<(&str, &str)> {
    let start = line.find("{ ")? + 2;
    // A node description may contain braces: only a brace behind the port number closes the end.
    let number = line[start..].find(" PN:")? + start;
    let close = line[number..].find(" }")? + number;
    Some((&line[start..close], &line[close + 2..]))
}

/// Adds the node of one end, and returns the end.
fn place(fabric: &mut Fabric, nodes: &mut HashMap<u64, usize>, text: &str) -> Option<FabricEnd> {
    let (facts, rest) = text.split_once(" {")?;
    let (name, tail) = rest.rsplit_once("} LID:")?;
    let field = |key: &str| facts.split_whitespace().find_map(|word| word.strip_prefix(key));
    let number = |key: &str| u64::from_str_radix(field(key)?, 16).ok();
    let (lid, port) = tail.split_once(" PN:")?;
    let lid = u16::from_str_radix(lid.trim(), 16).ok()?;
    let port = u8::from_str_radix(port.trim(), 16).ok()?;
    let guid = number("NodeGUID:")?;
    let kind = match text.split_whitespace().next()?.split('-').next()? {
        "CA" => FabricNodeKind::Ca,
        "SW" => FabricNodeKind::Switch,
        "Rt" | "RT" => FabricNodeKind::Router,
        _ => return None,
    };
    let node = if let Some(node) = nodes.get(&guid) {
        *node
    } else {
        fabric.nodes.push(FabricNode {
            guid: Guid(guid),
            system_image_guid: Guid(number("SystemGUID:")?),
            kind,
            name: Some(name.trim_end().to_owned()),
            vendor_id: u32::try_from(number("VenID:")?).ok()?,
            device_id: device_id(number("DevID:")?)?,
            revision: u32::try_from(number("Rev:")?).ok()?,
            port_count: u8::try_from(number("Ports:")?).ok()?,
            partition_entries: None,
            enhanced_port_0: None,
            route: None,
            forwarding: None,
            ports: Vec::new(),
        });
        nodes.insert(guid, fabric.nodes.len() - 1);
        fabric.nodes.len() - 1
    };
    let port_guid = Guid(number("PortGUID:")?);
    // The LID of a switch is the LID of its port 0.
    let owner = if kind == FabricNodeKind::Switch { 0 } else { port };
    let found = port_mut(&mut fabric.nodes[node], owner);
    (found.lid, found.guid) = (lid, Some(port_guid));
    Some(FabricEnd { node, port })
}

/// Returns the device ID. For the second node of a line, opensm 3.3 writes it in the upper half
/// of 32 bits.
fn device_id(number: u64) -> Option<u16> {
    u16::try_from(number).or_else(|_large| u16::try_from(number >> 16)).ok()
}

fn state(word: &str) -> Option<u8> {
    Some(match word {
        "DWN" => 1,
        "INI" => 2,
        "ARM" => 3,
        "ACT" => 4,
        _ => return None,
    })
}

/// Returns the code of a speed, which is in Gb/s for each lane.
fn speed(word: &str) -> Option<u16> {
    Some(match word {
        "2.5" => 1,
        "5" => 2,
        "10" => 4,
        "FDR10" | "fdr10" => 8,
        "14" => 16,
        "25" => 32,
        "50" => 64,
        "100" => 128,
        "200" => 256,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::import_fabric;
    use super::*;

    const LINE: &str = "{ CA-SM Ports:01 SystemGUID:b83fd20300100000 NodeGUID:b83fd20300100000 \
        PortGUID:b83fd20300100001 VenID:0002C9 DevID:101B Rev:000000A1 {node {1} HCA-1} LID:0001 \
        PN:01 } { SW Ports:28 SystemGUID:b83fd20300a00100 NodeGUID:b83fd20300a00100 \
        PortGUID:b83fd20300a00100 VenID:000002C9 DevID:D2F00000 Rev:000000A0 {leaf001} LID:0002 PN:02 } \
        PHY=4x LOG=ACT SPD=50\n";

    #[test]
    fn a_link_has_two_ends() {
        let fabric = import_fabric("f", LINE).unwrap().unwrap();
        let names: Vec<String> = fabric.nodes.iter().map(FabricNode::title).collect();
        assert_eq!(names, ["node {1} HCA-1", "leaf001"]);
        let links: Vec<_> = fabric.links().collect();
        let (near, far) = links[0];
        assert_eq!((links.len(), near.port, far.port), (1, 1, 2));
        assert_eq!(fabric.port(near).map(FabricPort::link).as_deref(), Some("4X HDR"));
        assert_eq!((fabric.nodes[1].lid(), fabric.nodes[1].port_count), (Some(2), 0x28));
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        let error = |text: &str| import_fabric("f", text).unwrap().unwrap_err().to_string();
        let twice = |change: &str, to: &str| format!("{LINE}{}", LINE.replace(change, to));
        assert_eq!(error(&twice("SPD=50", "SPD=51")), "line 2: no speed after SPD=");
        let broken = LINE.replace("VenID:0002C9", "VenID:x");
        assert_eq!(error(&broken), "line 1: a node lacks a field");
        assert_eq!(error(&twice(" PN:02", "")), "line 2: no second node in braces");
        assert!(import_fabric("f", "{}\n").is_none() && import_fabric("f", "").is_none());
    }
}
