//! Formats a link as `iblinkinfo` and `ibqueryerrors` print it, with a hint about its speed.
//!
//! Sends no request. Used by both tools.

use super::{DiscoveredSubnet, Node, Port, ValueFormat, value};

/// Logical state of a port without a link.
pub(crate) const DOWN: u8 = 1;

/// Formats width, speed and states of a port; for a port that is down only the states.
pub(crate) fn link_text(node: &Node, port: &Port) -> String {
    let info = &port.info;
    let state = value(ValueFormat::State, info.state.into(), 4);
    let physical = value(ValueFormat::PhysicalState, info.physical_state.into(), 4);
    // Other values of a port that is down are undefined (specification 14.2.4, C14-24.2.1).
    if info.state == DOWN {
        return format!("(              {state:>6}/{physical:>8})");
    }
    let speed = match node.active_speeds(port) {
        (_, 0) if port.fdr10_active => "10.0 Gbps (FDR10)".into(),
        (speed, 0) => value(ValueFormat::Speed, speed.into(), 4),
        (_, extended) => value(ValueFormat::ExtendedSpeed, extended.into(), 4),
    };
    let width = if node.has_known_speeds() { info.width_active } else { 0 };
    let width = value(ValueFormat::Width, width.into(), 8);
    format!("({width:>3} {speed:>18} {state:>6}/{physical:>8})")
}

/// Formats the remote end of a link with a hint; `None` without a link.
pub(crate) fn far_text(
    net: &DiscoveredSubnet,
    node: &Node,
    port: &Port,
    name: impl Fn(&Node) -> String,
    shows_guid: bool,
) -> Option<String> {
    let (far_node, far) = net.peer(port)?;
    let (width, speed) = (wider(port, far), faster(node, port, far_node, far));
    let guid = if shows_guid { format!("0x{:016x} ", far.guid) } else { String::new() };
    let lid = if far.lid == 0 { far_node.lid } else { far.lid };
    Some(format!("{guid}{lid:6} {:4}[  ] \"{}\" ({width} {speed})\n", far.number, name(far_node)))
}

/// Returns a hint about a better width that both ends of a link support.
fn wider(port: &Port, far: &Port) -> String {
    let both = port.info.width_supported & far.info.width_supported;
    // Without a common width the original uses 1X.
    let widest = [8, 4, 2, 16].into_iter().find(|bit| both & bit != 0).unwrap_or(1);
    unless_active(ValueFormat::Width, widest, port.info.width_active)
}

/// Returns a hint about a better speed that both ends of a link support.
fn faster(node: &Node, port: &Port, far_node: &Node, far: &Port) -> String {
    let highest = |mask: u8| 1_u8 << mask.checked_ilog2().unwrap_or(0);
    let (near_info, far_info) = (&port.info, &far.info);
    let has_extended = node.has_extended_speeds(port)
        && far_node.has_extended_speeds(far)
        && near_info.speed_ext_supported != 0
        && far_info.speed_ext_supported != 0;
    if has_extended {
        let both = near_info.speed_ext_supported & far_info.speed_ext_supported;
        return unless_active(
            ValueFormat::ExtendedSpeed,
            highest(both),
            near_info.speed_ext_active,
        );
    }
    if port.fdr10_supported && far.fdr10_supported {
        return match (port.fdr10_active, near_info.speed_active) {
            (true, _) => String::new(),
            (false, 4) => "Could be FDR10 (Found link at QDR but expected speed is FDR10)".into(),
            (false, _) => "Could be FDR10".into(),
        };
    }
    let both = near_info.speed_supported & far_info.speed_supported;
    unless_active(ValueFormat::Speed, highest(both), near_info.speed_active)
}

/// Returns the hint for the best common value; no text if it is active.
fn unless_active(show: ValueFormat, best: u8, active: u8) -> String {
    if best & active != 0 {
        return String::new();
    }
    format!("Could be {}", value(show, best.into(), 8))
}
