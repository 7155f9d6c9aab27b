//! Formats a link as `iblinkinfo` and `ibqueryerrors` print it, with a hint about its speed.
//!
//! Sends no request. Used by both tools.

use super::{DiscoveredSubnet, Node, Port, ValueFormat, value};

/// Logical state of a port without a link.
pub(in crate::compat) const DOWN: u8 = 1;

/// Formats width, speed and states of a port; for a port that is down only the states.
pub(in crate::compat) fn link_text(
    net: &DiscoveredSubnet,
    at: usize,
    node: &Node,
    port: &Port,
) -> String {
    let info = &port.info;
    let state = value(ValueFormat::State, info.state.into(), 4);
    let physical = value(ValueFormat::PhysicalState, info.physical_state.into(), 4);
    // Other values of a port that is down are undefined (specification 14.2.4, C14-24.2.1).
    if info.state == DOWN {
        return format!("(              {state:>6}/{physical:>8})");
    }
    let is_known = !node.is_switch() || node.port(0).is_some();
    let (width, first) = if is_known { (info.width_active, info.speed_active) } else { (0, 0) };
    let extended =
        if is_known && net.has_extended_speeds(at, port) { info.speed_ext_active } else { 0 };
    let speed = match extended {
        0 if port.fdr10_active => "10.0 Gbps (FDR10)".into(),
        0 => value(ValueFormat::Speed, first.into(), 4),
        extended => value(ValueFormat::ExtendedSpeed, extended.into(), 4),
    };
    let width = value(ValueFormat::Width, width.into(), 8);
    format!("({width:>3} {speed:>18} {state:>6}/{physical:>8})")
}

/// Formats the remote end of a link with a hint; `None` without a link.
pub(in crate::compat) fn far_text(
    net: &DiscoveredSubnet,
    at: usize,
    port: &Port,
    name: impl Fn(&Node) -> String,
    shows_guid: bool,
) -> Option<String> {
    let (far_node, number) = port.peer?;
    let far_node = net.nodes.get(far_node)?;
    let far = far_node.port(number)?;
    let (width, speed) = could_be(net, at, port);
    let guid = if shows_guid { format!("0x{:016x} ", far.guid) } else { String::new() };
    let lid = if far.lid == 0 { far_node.lid } else { far.lid };
    Some(format!("{guid}{lid:6} {:4}[  ] \"{}\" ({width} {speed})\n", far.number, name(far_node)))
}

/// Returns a better width and a better speed that both ends of a link support.
fn could_be(net: &DiscoveredSubnet, node: usize, port: &Port) -> (String, String) {
    let Some((far_node, far)) = port
        .peer
        .and_then(|(far_node, number)| Some((far_node, net.nodes.get(far_node)?.port(number)?)))
    else {
        return Default::default();
    };
    let both = port.info.width_supported & far.info.width_supported;
    // Without a common width the original uses 1X.
    let widest = [8, 4, 2, 16].into_iter().find(|bit| both & bit != 0).unwrap_or(1);
    let width = if widest & port.info.width_active == 0 {
        format!("Could be {}", value(ValueFormat::Width, widest.into(), 8))
    } else {
        String::new()
    };
    (width, faster(net, node, port, far_node, far))
}

fn faster(net: &DiscoveredSubnet, node: usize, port: &Port, far_node: usize, far: &Port) -> String {
    let highest = |mask: u8| 1_u8 << mask.checked_ilog2().unwrap_or(0);
    let (near_info, far_info) = (&port.info, &far.info);
    let extended = near_info.speed_ext_supported & far_info.speed_ext_supported;
    let has_extended = net.has_extended_speeds(node, port)
        && net.has_extended_speeds(far_node, far)
        && near_info.speed_ext_supported != 0
        && far_info.speed_ext_supported != 0;
    if has_extended {
        let highest = highest(extended);
        return if highest & near_info.speed_ext_active == 0 {
            format!("Could be {}", value(ValueFormat::ExtendedSpeed, highest.into(), 4))
        } else {
            String::new()
        };
    }
    if port.fdr10_supported && far.fdr10_supported {
        return match (port.fdr10_active, near_info.speed_active) {
            (true, _) => String::new(),
            (false, 4) => "Could be FDR10 (Found link at QDR but expected speed is FDR10)".into(),
            (false, _) => "Could be FDR10".into(),
        };
    }
    let highest = highest(near_info.speed_supported & far_info.speed_supported);
    if highest & near_info.speed_active == 0 {
        format!("Could be {}", value(ValueFormat::Speed, highest.into(), 4))
    } else {
        String::new()
    }
}
