//! Operations of `smpquery` that print the fields of one attribute.
//!
//! Used by `smpquery`.

use super::Query;
use crate::compat::diags::{ToolError, dump, dump_port_info, tables};
use crate::mad::{MadAttribute as _, NodeDescription, NodeInfo, PortInfo, SwitchInfo};

/// Attributes without a codec.
const PORT_INFO_EXTENDED: u16 = 0x33;
const MELLANOX_PORT_INFO: u16 = 0xff90;
/// Bit of a modifier: the node may reply with extended speeds.
const EXTENDED_SPEEDS: u32 = 1 << 31;
/// Bit of the capability mask: a second mask exists.
const HAS_SECOND_MASK: u32 = 1 << 15;
/// Bit of the second capability mask.
const HAS_PORT_INFO_EXTENDED: u16 = 1 << 1;
/// Node type of a switch.
const SWITCH: u8 = 2;

pub(super) fn node_info(mut query: Query<'_>) -> Result<(), ToolError> {
    let bytes = query.ask(NodeInfo::ID, 0, "node info query failed")?;
    let text = format!("# Node info: {}\n{}", query.to, dump(&bytes, tables::NODE_INFO));
    query.session.out.print(text);
    Ok(())
}

pub(super) fn node_description(mut query: Query<'_>) -> Result<(), ToolError> {
    let bytes = query.ask(NodeInfo::ID, 0, "node info query failed")?;
    let guid = NodeInfo::decode(&bytes).unwrap_or_default().node_guid;
    let bytes = query.ask(NodeDescription::ID, 0, "node desc query failed")?;
    let name = query.names.name(guid, &bytes);
    // A long name has one dot before it.
    let dots = ".".repeat(32_usize.saturating_sub(name.len()).max(1));
    query.session.out.print(format!("Node Description:{dots}{name}\n"));
    Ok(())
}

pub(super) fn port_info(mut query: Query<'_>) -> Result<(), ToolError> {
    let speeds = if query.has_extended_speeds { EXTENDED_SPEEDS } else { 0 };
    let modifier = query.modifier() | speeds;
    let bytes = query.ask(PortInfo::ID, modifier, "port info query failed")?;
    let shows_keys = query.session.common.shows_keys;
    let fields = dump_port_info(&bytes, shows_keys, "");
    let text = format!("# Port info: {} port {}\n{fields}", query.to, query.port);
    query.session.out.print(text);
    Ok(())
}

pub(super) fn port_info_extended(mut query: Query<'_>) -> Result<(), ToolError> {
    if !has_port_info_extended(&mut query)? {
        return Err(query.failed("port info extended not supported"));
    }
    let modifier = query.modifier();
    let message = "port info extended query failed";
    let bytes = query.ask(PORT_INFO_EXTENDED, modifier, message)?;
    let fields = dump(&bytes, tables::PORT_INFO_EXTENDED);
    let text = format!("# Port info Extended: {} port {}\n{fields}", query.to, query.port);
    query.session.out.print(text);
    Ok(())
}

/// True if the port reports support for the attribute. The original prints failures of this check
/// without the name of the operation.
fn has_port_info_extended(query: &mut Query<'_>) -> Result<bool, ToolError> {
    const FUNCTION: &str = "is_port_info_extended_supported";
    let Some(bytes) = query.session.smp(&query.to, NodeInfo::ID, 0) else {
        return Err(query.session.fail("node info query failed"));
    };
    let is_switch = NodeInfo::decode(&bytes).is_ok_and(|node| node.node_type == SWITCH);
    let port = if is_switch { 0 } else { query.modifier() };
    let Some(bytes) = query.session.smp(&query.to, PortInfo::ID, port) else {
        return Err(query.session.fail("port info query failed"));
    };
    let port = PortInfo::decode(&bytes).unwrap_or_default();
    if port.capabilities & HAS_SECOND_MASK == 0 {
        query.session.warn(FUNCTION, "port info capability mask2 not supported");
        return Ok(false);
    }
    let has = port.capabilities_2 & HAS_PORT_INFO_EXTENDED != 0;
    if !has {
        let text = format!(
            "port info capability mask2 = 0x{:x} doesn't indicate PortInfoExtended support",
            port.capabilities_2
        );
        query.session.warn(FUNCTION, &text);
    }
    Ok(has)
}

pub(super) fn switch_info(mut query: Query<'_>) -> Result<(), ToolError> {
    let bytes = query.ask(SwitchInfo::ID, 0, "switch info query failed")?;
    let text = format!("# Switch info: {}\n{}", query.to, dump(&bytes, tables::SWITCH_INFO));
    query.session.out.print(text);
    Ok(())
}

pub(super) fn mellanox_port_info(mut query: Query<'_>) -> Result<(), ToolError> {
    let modifier = query.modifier();
    let message = "Mellanox ext port info query failed";
    let bytes = query.ask(MELLANOX_PORT_INFO, modifier, message)?;
    let fields = dump(&bytes, tables::MELLANOX_PORT_INFO);
    let text = format!("# MLNX ext Port info: {} port {}\n{fields}", query.to, query.port);
    query.session.out.print(text);
    Ok(())
}
