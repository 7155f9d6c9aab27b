//! Operations of `smpquery` that print the fields of one attribute.
//!
//! Used by `smpquery`.

use super::Query;
use crate::compat::ToolError;
use crate::compat::diags::{Field, MELLANOX_PORT_INFO, SWITCH, dump, dump_port_info, tables};
use crate::mad::{MadAttribute as _, NodeDescription, NodeInfo, PortInfo, SwitchInfo};

/// Attribute without a codec.
const PORT_INFO_EXTENDED: u16 = 0x33;
/// Bit of a modifier: the node may reply with extended speeds.
const EXTENDED_SPEEDS: u32 = 1 << 31;
/// Bit of the capability mask: a second mask exists.
const HAS_SECOND_MASK: u32 = 1 << 15;
/// Bit of the second capability mask.
const HAS_PORT_INFO_EXTENDED: u16 = 1 << 1;

/// Prints the fields of an attribute of the node, or of one of its ports.
fn show(
    query: &mut Query<'_>,
    title: &str,
    attribute: u16,
    port: Option<i32>,
    failure: &str,
    fields: &[Field],
) -> Result<(), ToolError> {
    let bytes = query.ask(attribute, port.unwrap_or(0).cast_unsigned(), failure)?;
    let port = port.map_or(String::new(), |port| format!(" port {port}"));
    let lines = dump(&bytes, fields);
    query.session.out.print(format!("# {title}: {}{port}\n{lines}", query.to));
    Ok(())
}

pub(super) fn node_info(query: &mut Query<'_>) -> Result<(), ToolError> {
    let failure = "node info query failed";
    show(query, "Node info", NodeInfo::ID, None, failure, tables::NODE_INFO)
}

pub(super) fn node_description(query: &mut Query<'_>) -> Result<(), ToolError> {
    let node: NodeInfo = query.get(0, "node info query failed")?;
    let bytes = query.ask(NodeDescription::ID, 0, "node desc query failed")?;
    let name = query.names.name(node.node_guid, &bytes);
    // A long name has one dot before it.
    let dots = ".".repeat(32_usize.saturating_sub(name.len()).max(1));
    query.session.out.print(format!("Node Description:{dots}{name}\n"));
    Ok(())
}

pub(super) fn port_info(query: &mut Query<'_>) -> Result<(), ToolError> {
    let speeds = if query.has_extended_speeds { EXTENDED_SPEEDS } else { 0 };
    let modifier = query.modifier() | speeds;
    let bytes = query.ask(PortInfo::ID, modifier, "port info query failed")?;
    let fields = dump_port_info(&bytes, query.session.common.shows_keys, "");
    query.session.out.print(format!("# Port info: {} port {}\n{fields}", query.to, query.port));
    Ok(())
}

pub(super) fn port_info_extended(query: &mut Query<'_>) -> Result<(), ToolError> {
    if !has_port_info_extended(query)? {
        return Err(query.failed("port info extended not supported"));
    }
    let (port, failure) = (Some(query.port), "port info extended query failed");
    let fields = tables::PORT_INFO_EXTENDED;
    show(query, "Port info Extended", PORT_INFO_EXTENDED, port, failure, fields)
}

/// True if the port supports the attribute. The failures lack the name of the operation.
fn has_port_info_extended(query: &mut Query<'_>) -> Result<bool, ToolError> {
    const FUNCTION: &str = "is_port_info_extended_supported";
    let Some(node) = query.session.get::<NodeInfo>(&query.to, 0) else {
        return Err(query.session.fail("node info query failed"));
    };
    let port = if node.node_type == SWITCH { 0 } else { query.modifier() };
    let Some(port) = query.session.get::<PortInfo>(&query.to, port) else {
        return Err(query.session.fail("port info query failed"));
    };
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

pub(super) fn switch_info(query: &mut Query<'_>) -> Result<(), ToolError> {
    let failure = "switch info query failed";
    show(query, "Switch info", SwitchInfo::ID, None, failure, tables::SWITCH_INFO)
}

pub(super) fn mellanox_port_info(query: &mut Query<'_>) -> Result<(), ToolError> {
    let (port, failure) = (Some(query.port), "Mellanox ext port info query failed");
    let fields = tables::MELLANOX_PORT_INFO;
    show(query, "MLNX ext Port info", MELLANOX_PORT_INFO, port, failure, fields)
}
