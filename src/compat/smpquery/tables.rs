//! Operations of `smpquery` that print tables: partition keys, virtual lanes, GUIDs.
//!
//! Used by `smpquery`.

use super::Query;
use crate::compat::ToolError;
use crate::compat::diags::SWITCH;
use crate::mad::{MadAttribute as _, NodeInfo, PartitionBlock, PortInfo, SwitchInfo, read_bits};

/// Attributes without a codec.
const GUID_INFO: u16 = 0x14;
const SL_TO_VL: u16 = 0x17;
const ARBITRATION: u16 = 0x18;
/// Number of entries in a block of a table.
const KEYS: usize = 32;
const GUIDS: usize = 8;
const WEIGHTS: u8 = 32;

/// Requests the node, and checks that the port number is valid.
fn node_with_port(query: &mut Query<'_>) -> Result<NodeInfo, ToolError> {
    let node: NodeInfo = query.get(0, "node info query failed")?;
    if query.port > i32::from(node.ports) {
        return Err(query.failed("invalid port number"));
    }
    Ok(node)
}

pub(super) fn partition_keys(query: &mut Query<'_>) -> Result<(), ToolError> {
    let node = node_with_port(query)?;
    let count = if node.node_type == SWITCH && query.port != 0 {
        query.get::<SwitchInfo>(0, "switch info failed")?.partition_enforcement_entries
    } else {
        node.partition_entries
    };
    let count = usize::from(count);
    for first in (0..count).step_by(KEYS) {
        let block = u32::try_from(first / KEYS).unwrap_or(0);
        let modifier = block | query.modifier() << 16;
        let bytes = query.ask(PartitionBlock::ID, modifier, "pkey table query failed")?;
        // The last line is complete even if the table ends before.
        let shown = (count - first).next_multiple_of(8).min(KEYS);
        for line in (0..shown).step_by(8) {
            let key = |at: usize| format!(" 0x{:04x}", read_bits(&bytes, at * 16, 16));
            let keys: String = (line..line + 8).map(key).collect();
            query.session.out.print(format!("{:4}:{keys}\n", first + line));
        }
    }
    query.session.out.print(format!("{count} pkeys capacity for this port\n"));
    Ok(())
}

pub(super) fn virtual_lanes(query: &mut Query<'_>) -> Result<(), ToolError> {
    let node = node_with_port(query)?;
    let level = |number: u8| format!("{number:2}|");
    let levels: String = (0..16).map(level).collect();
    let out = &mut *query.session.out;
    out.print(format!("# SL2VL table: {}\n#                 SL: |{levels}\n", query.to));
    if node.node_type != SWITCH {
        return lanes(query, 0, 0);
    }
    let port = query.port;
    (0..=i32::from(node.ports)).try_for_each(|from| lanes(query, from, port))
}

/// Prints the virtual lanes of packets from one port to another.
fn lanes(query: &mut Query<'_>, from: i32, to: i32) -> Result<(), ToolError> {
    let modifier = (from << 8 | to).cast_unsigned();
    let bytes = query.ask(SL_TO_VL, modifier, "slvl query failed")?;
    let lane = |level: usize| format!("{:2}|", read_bits(&bytes, level * 4, 4));
    let lanes: String = (0..16).map(lane).collect();
    query.session.out.print(format!("ports: in {from:2}, out {to:2}: |{lanes}\n"));
    Ok(())
}

pub(super) fn arbitration(query: &mut Query<'_>) -> Result<(), ToolError> {
    // Only an enhanced port 0 of a switch has tables. For other nodes 0 is the receiving port.
    if query.port == 0 {
        let node: NodeInfo = query.get(0, "node info query failed")?;
        if node.node_type == SWITCH {
            let switch: SwitchInfo = query.get(0, "switch info query failed")?;
            if switch.enhanced_port_0 == 0 {
                let out = &mut *query.session.out;
                out.print(format!("# No VLArbitration tables (BSP0): {} port 0\n", query.to));
                return Ok(());
            }
        }
    }
    let modifier = query.modifier();
    let port: PortInfo = query.get(modifier, "port info query failed")?;
    let (low, high) = (port.vl_arbitration_low_entries, port.vl_arbitration_high_entries);
    query.session.out.print(format!(
        "# VLArbitration tables: {} port {} LowCap {low} HighCap {high}\n",
        query.to, query.port
    ));
    weights(query, "Low", 1, low)?;
    weights(query, "High", 3, high)
}

/// Prints a table of weights, which has up to two blocks.
fn weights(query: &mut Query<'_>, name: &str, block: u32, entries: u8) -> Result<(), ToolError> {
    if entries == 0 {
        return Ok(());
    }
    query.session.out.print(format!("# {name} priority VL Arbitration Table:"));
    let second = entries.saturating_sub(WEIGHTS);
    for (block, entries) in [(block, entries.min(WEIGHTS)), (block + 1, second)] {
        if entries == 0 {
            continue;
        }
        let modifier = block << 16 | query.modifier();
        let bytes = query.ask(ARBITRATION, modifier, "vl arb query failed")?;
        // A block has 32 entries; the port may report more.
        let entries = usize::from(entries.min(WEIGHTS));
        let cells = |first: usize, width: usize| -> String {
            let cell = |at: usize| format!("0x{:<2X}|", read_bits(&bytes, at * 16 + first, width));
            (0..entries).map(cell).collect()
        };
        let (lanes, weights) = (cells(4, 4), cells(8, 8));
        query.session.out.print(format!("\nVL    : |{lanes}\nWEIGHT: |{weights}\n"));
    }
    Ok(())
}

pub(super) fn guids(query: &mut Query<'_>) -> Result<(), ToolError> {
    let port: PortInfo = query.get(0, "port info failed")?;
    let count = usize::from(port.guid_entries);
    for first in (0..count).step_by(GUIDS) {
        let block = u32::try_from(first / GUIDS).unwrap_or(0);
        let bytes = query.ask(GUID_INFO, block, "guid info query failed")?;
        let shown = (count - first).next_multiple_of(2).min(GUIDS);
        for line in (0..shown).step_by(2) {
            let [one, other] = [line, line + 1].map(|at| read_bits(&bytes, at * 64, 64));
            let text = format!("{:4}: 0x{one:016x} 0x{other:016x}\n", first + line);
            query.session.out.print(text);
        }
    }
    query.session.out.print(format!("{count} guids capacity for this port\n"));
    Ok(())
}
