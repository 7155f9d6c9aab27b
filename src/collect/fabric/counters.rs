//! Counters of performance management, of all ports at the same time.
//!
//! Each node is first asked for its capabilities, which say whether it has 64-bit counters. Details
//! of receive errors and discards are requested only from ports that have counted some.

use super::requests::{Requests, silent_node};
use super::sweep::port_mut;
use crate::clock;
use crate::mad::{
    Attribute, ClassPortInfo, FieldValue, PortCounters, PortCountersExtended,
    PortReceiveErrorDetails, PortTransmitDiscardDetails, performance_attribute,
    performance_request,
};
use crate::model::{Counter, CounterGroup, CounterUnit, Fabric, FabricEnd, FabricNode, FabricPort};
use crate::source::{Mads, ReadError};

/// What was requested of a port.
#[derive(Debug, Clone, Copy)]
enum What {
    Capabilities,
    Counters(ClassPortInfo),
    Extended,
    ReceiveErrors,
    Discards,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Capabilities => "ClassPortInfo of performance management",
            Self::Counters(_) => PortCounters::NAME,
            Self::Extended => PortCountersExtended::NAME,
            Self::ReceiveErrors => PortReceiveErrorDetails::NAME,
            Self::Discards => PortTransmitDiscardDetails::NAME,
        }
    }
}

/// Reads the counters of every port with a LID, and of every port of a switch.
pub(super) fn read(mads: &mut dyn Mads, fabric: &mut Fabric) -> Result<(), ReadError> {
    let mut requests = Requests::new(mads);
    for (node, found) in fabric.nodes.iter().enumerate() {
        // The ports of a switch have the LID of its port 0, those of an adapter one each.
        for port in found.ports.iter().filter(|port| port.lid != 0) {
            if found.is_switch() && port.number != 0 {
                continue;
            }
            let end = FabricEnd { node, port: port.number };
            let mad = performance_request::<ClassPortInfo>(0);
            requests.ask(Some(port.lid), mad, (end, What::Capabilities))?;
        }
    }
    while let Some(((end, what), answer)) = requests.next()? {
        let node = &mut fabric.nodes[end.node];
        let Some(lid) = node.lid_of(end.port) else { continue };
        let mad = match answer {
            Ok(mad) => mad,
            Err(error) => {
                let attribute = format!("{} of port {}", what.name(), end.port);
                let silent = silent_node(node, attribute, &error);
                fabric.silent.push(silent);
                continue;
            }
        };
        match what {
            What::Capabilities => {
                let capabilities = performance_attribute::<ClassPortInfo>(&mad);
                let capabilities = capabilities.unwrap_or_default();
                for port in counted_ports(node, end.port) {
                    let mad = performance_request::<PortCounters>(port);
                    let end = FabricEnd { port, ..end };
                    requests.ask(Some(lid), mad, (end, What::Counters(capabilities)))?;
                }
            }
            What::Counters(capabilities) => {
                let Some(counters) = performance_attribute::<PortCounters>(&mad) else { continue };
                let port = port_mut(node, end.port);
                add(port, counters.fields(), capabilities.has_transmit_wait());
                if capabilities.has_extended_width()
                    || capabilities.has_extended_width_without_casts()
                {
                    let mad = performance_request::<PortCountersExtended>(end.port);
                    requests.ask(Some(lid), mad, (end, What::Extended))?;
                }
                if counters.receive_errors != 0 {
                    let mad = performance_request::<PortReceiveErrorDetails>(end.port);
                    requests.ask(Some(lid), mad, (end, What::ReceiveErrors))?;
                }
                if counters.transmit_discards != 0 {
                    let mad = performance_request::<PortTransmitDiscardDetails>(end.port);
                    requests.ask(Some(lid), mad, (end, What::Discards))?;
                }
            }
            What::Extended => {
                let counters = performance_attribute::<PortCountersExtended>(&mad);
                // Errors of 64 bits are zero where the node does not have them.
                let fields = counters.map(|counters| counters.fields()).unwrap_or_default();
                let is_traffic = |field: &FieldValue| {
                    field.name.ends_with("_words") || field.name.ends_with("_packets")
                };
                let fields = fields.into_iter().filter(is_traffic).collect();
                add(port_mut(node, end.port), fields, true);
            }
            What::ReceiveErrors => {
                let details = performance_attribute::<PortReceiveErrorDetails>(&mad);
                let fields = details.map(|details| details.fields()).unwrap_or_default();
                add(port_mut(node, end.port), fields, true);
            }
            What::Discards => {
                let details = performance_attribute::<PortTransmitDiscardDetails>(&mad);
                let fields = details.map(|details| details.fields()).unwrap_or_default();
                add(port_mut(node, end.port), fields, true);
            }
        }
    }
    requests.count_in(fabric);
    Ok(())
}

/// Returns the ports whose counters a node reports by the LID of a port.
fn counted_ports(node: &FabricNode, port: u8) -> Vec<u8> {
    if !node.is_switch() {
        return vec![port];
    }
    let has_port_0 = node.enhanced_port_0 == Some(true);
    let first = u8::from(!has_port_0);
    node.ports.iter().map(|port| port.number).filter(|number| *number >= first).collect()
}

/// Adds counters to a port, or replaces those of the same name.
fn add(port: &mut FabricPort, fields: Vec<FieldValue>, has_wait: bool) {
    let counters = port.counters.get_or_insert_default();
    let read_ns = Some(clock::wall_ns());
    for field in fields {
        let Some(name) = specification_name(field.name) else { continue };
        if field.name == "transmit_wait" && !has_wait {
            continue;
        }
        let unit = match field.name {
            name if name.ends_with("_words") => CounterUnit::Bytes,
            "transmit_wait" => CounterUnit::Ticks,
            _ => CounterUnit::Events,
        };
        // Traffic is counted in words of 4 bytes.
        let factor = if unit == CounterUnit::Bytes { 4 } else { 1 };
        let counter = Counter {
            name: name.to_owned(),
            group: CounterGroup::Pma,
            value: Some(field.value.saturating_mul(factor)),
            unit,
            // A counter stops at the largest value of its width.
            saturated: field.bits < 64 && field.value == (1 << field.bits) - 1,
            read_ns,
            rate: None,
        };
        match counters.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = counter,
            None => counters.push(counter),
        }
    }
}

/// Returns the name of the specification for a field of an attribute; `None` for fields that count
/// nothing.
fn specification_name(field: &str) -> Option<&'static str> {
    Some(match field {
        "symbol_errors" => "SymbolErrorCounter",
        "link_error_recovery" => "LinkErrorRecoveryCounter",
        "link_downed" => "LinkDownedCounter",
        "receive_errors" => "PortRcvErrors",
        "receive_remote_physical_errors" => "PortRcvRemotePhysicalErrors",
        "receive_switch_relay_errors" => "PortRcvSwitchRelayErrors",
        "transmit_discards" => "PortXmitDiscards",
        "transmit_constraint_errors" => "PortXmitConstraintErrors",
        "receive_constraint_errors" => "PortRcvConstraintErrors",
        "local_link_integrity_errors" => "LocalLinkIntegrityErrors",
        "excessive_buffer_overruns" => "ExcessiveBufferOverrunErrors",
        "qp1_dropped" => "QP1Dropped",
        "vl15_dropped" => "VL15Dropped",
        "transmit_words" => "PortXmitData",
        "receive_words" => "PortRcvData",
        "transmit_packets" => "PortXmitPkts",
        "receive_packets" => "PortRcvPkts",
        "transmit_wait" => "PortXmitWait",
        "unicast_transmit_packets" => "PortUnicastXmitPkts",
        "unicast_receive_packets" => "PortUnicastRcvPkts",
        "multicast_transmit_packets" => "PortMulticastXmitPkts",
        "multicast_receive_packets" => "PortMulticastRcvPkts",
        "local_physical_errors" => "PortLocalPhysicalErrors",
        "malformed_packet_errors" => "PortMalformedPktErrors",
        "buffer_overrun_errors" => "PortBufferOverrunErrors",
        "dlid_mapping_errors" => "PortDLIDMappingErrors",
        "vl_mapping_errors" => "PortVLMappingErrors",
        "looping_errors" => "PortLoopingErrors",
        "inactive_discards" => "PortInactiveDiscards",
        "neighbor_mtu_discards" => "PortNeighborMTUDiscards",
        "switch_lifetime_limit_discards" => "PortSwLifetimeLimitDiscards",
        "switch_head_of_queue_discards" => "PortSwHOQLifetimeLimitDiscards",
        _ => return None,
    })
}

#[test]
fn every_counter_has_its_name_of_the_specification() {
    let fields = PortCounters::default().fields().into_iter();
    let fields = fields.chain(PortCountersExtended::default().fields());
    let fields = fields.chain(PortReceiveErrorDetails::default().fields());
    let fields = fields.chain(PortTransmitDiscardDetails::default().fields());
    for field in fields.filter(|field| !["port", "select", "select_2"].contains(&field.name)) {
        assert!(specification_name(field.name).is_some(), "{}", field.name);
    }
}

#[test]
fn traffic_is_in_bytes_and_a_full_counter_is_saturated() {
    let mut port = FabricPort::default();
    let counters = PortCounters {
        link_downed: 255,
        symbol_errors: 65_534,
        transmit_words: 3,
        transmit_wait: 9,
        ..PortCounters::default()
    };
    add(&mut port, counters.fields(), false);
    let counter = |name: &str| {
        let counters = port.counters.as_ref().unwrap();
        let counter = counters.iter().find(|counter| counter.name == name)?;
        Some((counter.value, counter.saturated))
    };
    assert_eq!(counter("LinkDownedCounter"), Some((Some(255), true)));
    assert_eq!(counter("SymbolErrorCounter"), Some((Some(65_534), false)));
    assert_eq!(counter("PortXmitData"), Some((Some(12), false)));
    assert_eq!(counter("PortXmitWait"), None, "the node does not have it");
}
