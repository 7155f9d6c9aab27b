//! Reads counters of performance management, of all ports in parallel. `fabric` calls it.
//!
//! The first request to a node reads its capabilities: 64-bit counters, and one request for the
//! sum of all ports. Details of receive errors and discards are requested only from ports that
//! have counted such errors. Error counters alone take fewer requests: no capabilities of
//! adapters, no 64-bit counters, and one request for a switch whose sum has no error.

use super::requests::{Requests, unanswered_by};
use super::sweep::port_mut;
use crate::mad::{
    ClassPortInfo, FieldValue, MAD_BYTES, MadAttribute, PortCounters, PortCountersExtended,
    PortReceiveErrorDetails, PortTransmitDiscardDetails, performance_attribute,
    performance_request,
};
use crate::model::{Counter, CounterGroup, CounterUnit, Fabric, FabricEnd, FabricNode, FabricPort};
use crate::source::{MadError, Mads, ReadError};

const ALL_PORTS: u8 = 255;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CounterSelection {
    All,
    /// 32-bit counters and details of ports that have errors.
    Errors,
}

#[derive(Debug, Clone, Copy)]
enum CounterRequest {
    Capabilities,
    /// The sum of all ports of a switch.
    Sum,
    Counters(ClassPortInfo),
    /// 64-bit counters; unicast and multicast packets, and waiting, if the node counts them.
    Extended {
        has_casts: bool,
        has_wait: bool,
    },
    ReceiveErrors,
    Discards,
}

impl CounterRequest {
    fn name(self) -> &'static str {
        match self {
            Self::Capabilities => "ClassPortInfo of performance management",
            Self::Sum | Self::Counters(_) => PortCounters::NAME,
            Self::Extended { .. } => PortCountersExtended::NAME,
            Self::ReceiveErrors => PortReceiveErrorDetails::NAME,
            Self::Discards => PortTransmitDiscardDetails::NAME,
        }
    }

    fn mad(self, port: u8) -> [u8; MAD_BYTES] {
        match self {
            Self::Capabilities => performance_request::<ClassPortInfo>(0),
            Self::Sum => performance_request::<PortCounters>(ALL_PORTS),
            Self::Counters(_) => performance_request::<PortCounters>(port),
            Self::Extended { .. } => performance_request::<PortCountersExtended>(port),
            Self::ReceiveErrors => performance_request::<PortReceiveErrorDetails>(port),
            Self::Discards => performance_request::<PortTransmitDiscardDetails>(port),
        }
    }
}

/// Reads the counters of every port with a LID, and of every port of a switch. `now_ns` returns
/// the time of the last reply: by the clock of the host, or of a record; `None` if it is unknown.
pub(super) fn read(
    mads: &mut dyn Mads,
    fabric: &mut Fabric,
    wanted: CounterSelection,
    now_ns: &dyn Fn() -> Option<u64>,
) -> Result<(), ReadError> {
    let mut reading = CounterRequests { requests: Requests::new(mads), wanted, now_ns };
    let mut unanswered = Vec::new();
    for (node, found) in fabric.nodes.iter().enumerate() {
        // All ports of a switch share the LID of its port 0; each port of an adapter has its own.
        let is_asked = |port: &&FabricPort| {
            let has_link = port.lid != 0 || port.physical_state == FabricPort::LINK_UP;
            if found.is_switch() { port.number == 0 } else { has_link }
        };
        for port in found.ports.iter().filter(is_asked) {
            if port.lid == 0 {
                let attribute = format!("{} of port {}", PortCounters::NAME, port.number);
                unanswered.push(unanswered_by(found, attribute, &"the port has no LID"));
                continue;
            }
            let end = FabricEnd { node, port: port.number };
            let what = if found.is_switch() || wanted == CounterSelection::All {
                CounterRequest::Capabilities
            } else {
                CounterRequest::Counters(ClassPortInfo::default())
            };
            reading.ask(port.lid, end, what)?;
        }
    }
    fabric.unanswered.append(&mut unanswered);
    while let Some(((end, what), answer)) = reading.requests.next()? {
        let node = &mut fabric.nodes[end.node];
        let Some(lid) = node.lid_of(end.port) else { continue };
        match answer {
            Ok(mad) => reading.answered(node, lid, end, what, &mad)?,
            // Without these attributes, the counters of each port are requested.
            Err(MadError::Refused(_))
                if matches!(what, CounterRequest::Capabilities | CounterRequest::Sum) =>
            {
                reading.ask_ports(node, lid, end, ClassPortInfo::default())?;
            }
            Err(MadError::Refused(_)) if !matches!(what, CounterRequest::Counters(_)) => {}
            Err(error) => {
                let attribute = format!("{} of port {}", what.name(), end.port);
                fabric.unanswered.push(unanswered_by(node, attribute, &error));
            }
        }
    }
    reading.requests.count_in(fabric);
    Ok(())
}

struct CounterRequests<'mads> {
    requests: Requests<'mads, (FabricEnd, CounterRequest)>,
    wanted: CounterSelection,
    now_ns: &'mads dyn Fn() -> Option<u64>,
}

impl CounterRequests<'_> {
    fn ask(&mut self, lid: u16, end: FabricEnd, what: CounterRequest) -> Result<(), ReadError> {
        self.requests.ask(Some(lid), what.mad(end.port), (end, what))
    }

    /// Requests the counters of every port that a node reports by the LID of a port.
    fn ask_ports(
        &mut self,
        node: &FabricNode,
        lid: u16,
        end: FabricEnd,
        capabilities: ClassPortInfo,
    ) -> Result<(), ReadError> {
        for port in counted_ports(node, end.port) {
            let what = CounterRequest::Counters(capabilities);
            self.ask(lid, FabricEnd { port, ..end }, what)?;
        }
        Ok(())
    }

    /// Adds the counters of a reply to the node, and sends the requests that follow.
    fn answered(
        &mut self,
        node: &mut FabricNode,
        lid: u16,
        end: FabricEnd,
        what: CounterRequest,
        mad: &[u8],
    ) -> Result<(), ReadError> {
        let read_ns = (self.now_ns)();
        match what {
            CounterRequest::Capabilities => {
                let capabilities = performance_attribute::<ClassPortInfo>(mad);
                let capabilities = capabilities.unwrap_or_default();
                if self.wanted == CounterSelection::Errors && capabilities.has_all_ports() {
                    self.ask(lid, end, CounterRequest::Sum)?;
                } else {
                    self.ask_ports(node, lid, end, capabilities)?;
                }
            }
            CounterRequest::Sum => {
                if performance_attribute(mad).is_none_or(|sum| has_errors(&sum)) {
                    self.ask_ports(node, lid, end, ClassPortInfo::default())?;
                }
            }
            CounterRequest::Counters(capabilities) => {
                let Some(counters) = performance_attribute::<PortCounters>(mad) else {
                    return Ok(());
                };
                if self.wanted == CounterSelection::Errors && !has_errors(&counters) {
                    return Ok(());
                }
                let port = port_mut(node, end.port);
                add(port, counters.fields(), capabilities.has_transmit_wait(), read_ns);
                let has_casts = capabilities.has_extended_width();
                let has_wide = has_casts || capabilities.has_extended_width_without_casts();
                if self.wanted == CounterSelection::All && has_wide {
                    let has_wait = capabilities.has_extended_errors();
                    self.ask(lid, end, CounterRequest::Extended { has_casts, has_wait })?;
                }
                if counters.receive_errors != 0 {
                    self.ask(lid, end, CounterRequest::ReceiveErrors)?;
                }
                if counters.transmit_discards != 0 {
                    self.ask(lid, end, CounterRequest::Discards)?;
                }
            }
            CounterRequest::Extended { has_casts, has_wait } => {
                let counters = performance_attribute::<PortCountersExtended>(mad);
                let fields = counters.map(|counters| counters.fields()).unwrap_or_default();
                // Counters that the node does not have are 0. The errors keep 32 bits, because
                // only the 32-bit counters can be cleared.
                let is_traffic = |field: &FieldValue| {
                    field.name == "transmit_wait" && has_wait
                        || field.name.ends_with("_words")
                        || field.name.ends_with("_packets")
                            && (has_casts || !field.name.contains("cast_"))
                };
                let fields = fields.into_iter().filter(is_traffic).collect();
                add(port_mut(node, end.port), fields, true, read_ns);
            }
            CounterRequest::ReceiveErrors => {
                let details = performance_attribute::<PortReceiveErrorDetails>(mad);
                let fields = details.map(|details| details.fields()).unwrap_or_default();
                add(port_mut(node, end.port), fields, true, read_ns);
            }
            CounterRequest::Discards => {
                let details = performance_attribute::<PortTransmitDiscardDetails>(mad);
                let fields = details.map(|details| details.fields()).unwrap_or_default();
                add(port_mut(node, end.port), fields, true, read_ns);
            }
        }
        Ok(())
    }
}

/// True if an error counter is not 0. Traffic and waiting are no errors.
fn has_errors(counters: &PortCounters) -> bool {
    let no_traffic = PortCounters {
        port: 0,
        select: 0,
        select_2: 0,
        transmit_words: 0,
        receive_words: 0,
        transmit_packets: 0,
        receive_packets: 0,
        transmit_wait: 0,
        ..*counters
    };
    no_traffic != PortCounters::default()
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

/// Adds counters to a port. They replace known counters with the same names.
fn add(port: &mut FabricPort, fields: Vec<FieldValue>, has_wait: bool, read_ns: Option<u64>) {
    let counters = port.counters.get_or_insert_default();
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

/// Returns the name of a counter in the specification; `None` for fields that are no counters.
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
    add(&mut port, counters.fields(), false, Some(7));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::fabric::fake_mads::FakeMads;
    use crate::collect::fabric::sweep::node_of;
    use crate::mad::{Header, NodeInfo};
    use crate::model::SweepMethod;

    fn node(node_type: u8, ports: &[(u8, u16)]) -> FabricNode {
        let port = |&(number, lid): &(u8, u16)| FabricPort { number, lid, ..FabricPort::default() };
        let info = NodeInfo { node_type, ..NodeInfo::default() };
        FabricNode { ports: ports.iter().map(port).collect(), ..node_of(&info, None) }
    }

    /// Request: LID, attribute and port.
    type Asked = (u16, u16, u8);

    /// Reads a switch with LID 1 and a host with LID 2, with [`CounterSelection::Errors`].
    /// `capabilities` are those of the switch, `counters` have LID and port. Returns all counters
    /// other than 0, each with its port, and the requests.
    fn errors(
        capabilities: u16,
        counters: &[(u16, u8, PortCounters)],
    ) -> (Vec<(u8, String)>, Vec<Asked>) {
        let mut fabric = Fabric::empty("", 0, SweepMethod::Smp);
        fabric.nodes.push(node(2, &[(0, 1), (1, 0), (2, 0)]));
        fabric.nodes.push(node(1, &[(1, 2)]));
        let mut subnet = FakeMads::new(|lid, mut mad| {
            if Header::decode(&mad).unwrap().attribute == ClassPortInfo::ID {
                let info = ClassPortInfo { capabilities, ..ClassPortInfo::default() };
                info.encode(&mut mad[64..]).unwrap();
            } else {
                let found = counters.iter().find(|one| (Some(one.0), one.1) == (lid, mad[65]));
                found.map(|one| one.2).unwrap_or_default().encode(&mut mad[64..]).unwrap();
            }
            Ok(mad.to_vec())
        });
        read(&mut subnet, &mut fabric, CounterSelection::Errors, &|| None).unwrap();
        let ports = fabric.nodes.iter().flat_map(|node| &node.ports);
        let counters = ports
            .flat_map(|port| port.counters.iter().flatten().map(|counter| (port.number, counter)));
        let counted = counters.filter(|(_, counter)| counter.value != Some(0));
        let attribute = |mad: &[u8]| Header::decode(mad).unwrap().attribute;
        let asked = subnet.asked.iter().map(|(lid, mad)| (lid.unwrap(), attribute(mad), mad[65]));
        (counted.map(|(port, counter)| (port, counter.name.clone())).collect(), asked.collect())
    }

    /// Capability to report the sum of all ports.
    const SUM: u16 = 1 << 8;
    fn healthy() -> PortCounters {
        PortCounters { transmit_words: 7, transmit_wait: 9, ..PortCounters::default() }
    }

    fn faulty() -> PortCounters {
        PortCounters { link_downed: 1, ..healthy() }
    }

    #[test]
    fn a_switch_without_errors_takes_one_request_for_all_ports() {
        let (found, asked) = errors(SUM, &[(1, ALL_PORTS, healthy()), (2, 1, healthy())]);
        assert_eq!(found, []);
        let (info, counters) = (ClassPortInfo::ID, PortCounters::ID);
        assert_eq!(asked, [(1, info, 0), (2, counters, 1), (1, counters, ALL_PORTS)]);
    }

    #[test]
    fn a_node_without_a_lid_is_reported() {
        let mut fabric = Fabric::empty("", 0, SweepMethod::Smp);
        fabric.nodes.push(node(2, &[(0, 0), (1, 0)]));
        fabric.nodes.push(node(1, &[(1, 0)]));
        fabric.nodes[1].ports[0].physical_state = FabricPort::LINK_UP;
        fabric.nodes.push(node(1, &[(1, 0)]));
        let mut subnet = FakeMads::new(|_, _| Err(MadError::NoReply));
        read(&mut subnet, &mut fabric, CounterSelection::Errors, &|| None).unwrap();
        let unanswered: Vec<&str> = fabric.unanswered.iter().map(|it| &*it.attribute).collect();
        assert_eq!(unanswered, ["PortCounters of port 0", "PortCounters of port 1"]);
        assert!(subnet.asked.is_empty());
    }

    #[test]
    fn the_wide_wait_counter_replaces_the_narrow_one() {
        for (has_errors, expected) in [(false, u64::from(u32::MAX)), (true, 5 << 32)] {
            let mut fabric = Fabric::empty("", 0, SweepMethod::Smp);
            fabric.nodes.push(node(1, &[(1, 2)]));
            let mut subnet = FakeMads::new(|_, mut mad| {
                let attribute = Header::decode(&mad).unwrap().attribute;
                let data = &mut mad[64..];
                if attribute == ClassPortInfo::ID {
                    let capabilities_2 = u32::from(has_errors) << 1;
                    let capabilities = 1 << 12 | 1 << 9;
                    ClassPortInfo { capabilities, capabilities_2, ..ClassPortInfo::default() }
                        .encode(data)
                } else if attribute == PortCounters::ID {
                    PortCounters { transmit_wait: u32::MAX, ..PortCounters::default() }.encode(data)
                } else {
                    PortCountersExtended { transmit_wait: 5 << 32, ..Default::default() }
                        .encode(data)
                }
                .unwrap();
                Ok(mad.to_vec())
            });
            read(&mut subnet, &mut fabric, CounterSelection::All, &|| Some(7)).unwrap();
            let counters = fabric.nodes[0].ports[0].counters.as_ref().unwrap();
            let wait = counters.iter().find(|counter| counter.name == "PortXmitWait").unwrap();
            assert_eq!((wait.value, wait.saturated), (Some(expected), !has_errors));
            assert_eq!(wait.read_ns, Some(7));
        }
    }

    #[test]
    fn a_switch_with_an_error_is_asked_for_each_port() {
        let (found, _) = errors(SUM, &[(1, ALL_PORTS, faulty()), (1, 2, faulty())]);
        let expected = [(2, "LinkDownedCounter".to_owned()), (2, "PortXmitData".to_owned())];
        assert_eq!(found, expected);
        // Without sums, the counters of every port are requested.
        let (found, asked) = errors(0, &[(1, 1, faulty())]);
        assert_eq!((&found[0], asked.len()), (&(1, "LinkDownedCounter".to_owned()), 4));
    }
}
