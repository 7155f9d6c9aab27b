//! Declares the counters of performance management (specification 16.1.3.5 and 16.1.4.11), and
//! builds requests for them. `collect` and `compat` use it.

use super::attribute::{MadAttribute, attributes};
use super::{Class, Header, MAD_BYTES, Method};

/// Offset of the attribute in a performance management MAD.
const DATA: usize = 64;

/// Error counters of `PortCounters`, in the order of the bits of `CounterSelect` (specification
/// 16.1.3.5). In `CounterSelect` the bits of traffic counters follow.
pub const ERROR_COUNTERS: [&str; 12] = [
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "PortXmitConstraintErrors",
    "PortRcvConstraintErrors",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
    "VL15Dropped",
];

/// Returns the request for an attribute of a port.
pub fn performance_request<A: MadAttribute>(port: u8) -> [u8; MAD_BYTES] {
    let mut mad = Header::request(Class::PERFORMANCE, Method::GET, A::ID, 0).to_mad();
    mad[DATA + 1] = port;
    mad
}

/// Returns the request that sets counters of a port to zero. The attribute contains the port and
/// the select bits. Its counters are the new values.
pub fn performance_clear<A: MadAttribute>(attribute: &A) -> [u8; MAD_BYTES] {
    let mut mad = Header::request(Class::PERFORMANCE, Method::SET, A::ID, 0).to_mad();
    // The attributes of this class fit into a MAD, so `encode` cannot fail.
    let _ = attribute.encode(&mut mad[DATA..]);
    mad
}

/// Decodes the attribute of a performance management MAD; `None` if the MAD is too short.
pub fn performance_attribute<A: MadAttribute>(mad: &[u8]) -> Option<A> {
    A::decode(mad.get(DATA..MAD_BYTES)?).ok()
}

attributes! {
    /// Counters of a port, 4 to 32 bits wide. A counter stops at its maximum.
    PortCounters("PortCounters", 0x12, 44 bytes) {
        /// Port of the counters; 255 for the sum of all ports.
        port: u8 = 1, 0 / 8;
        /// Counters to set to zero, in a request.
        select: u16 = 2, 0 / 16;
        /// Number of minor link errors.
        symbol_errors: u16 = 4, 0 / 16;
        /// Number of link recoveries without a link down.
        link_error_recovery: u8 = 6, 0 / 8;
        /// Number of times that the link went down.
        link_downed: u8 = 7, 0 / 8;
        /// Number of packets received with an error.
        receive_errors: u16 = 8, 0 / 16;
        /// Number of received packets that another port had marked as bad.
        receive_remote_physical_errors: u16 = 10, 0 / 16;
        /// Number of packets that a switch could not forward.
        receive_switch_relay_errors: u16 = 12, 0 / 16;
        /// Number of packets that were not sent because the port was down or congested.
        transmit_discards: u16 = 14, 0 / 16;
        /// Number of packets that were not sent because of a constraint.
        transmit_constraint_errors: u8 = 16, 0 / 8;
        /// Number of packets that were dropped because of a constraint.
        receive_constraint_errors: u8 = 17, 0 / 8;
        /// More counters to set to zero, in a request.
        select_2: u8 = 18, 0 / 8;
        /// Number of times that link errors exceeded their threshold.
        local_link_integrity_errors: u8 = 19, 0 / 4;
        /// Number of long buffer overruns.
        excessive_buffer_overruns: u8 = 19, 4 / 4;
        /// Number of dropped packets to queue pair 1.
        qp1_dropped: u16 = 20, 0 / 16;
        /// Number of management packets that were dropped because of missing buffers.
        vl15_dropped: u16 = 22, 0 / 16;
        /// Sent data, in words of 4 bytes.
        transmit_words: u32 = 24, 0 / 32;
        /// Received data, in words of 4 bytes.
        receive_words: u32 = 28, 0 / 32;
        /// Number of sent packets.
        transmit_packets: u32 = 32, 0 / 32;
        /// Number of received packets.
        receive_packets: u32 = 36, 0 / 32;
        /// Number of ticks in which data waited for credits or bandwidth.
        transmit_wait: u32 = 40, 0 / 32;
    }

    /// Parts of the sum `PortRcvErrors` (16.1.4.1).
    PortReceiveErrorDetails("PortRcvErrorDetails", 0x15, 16 bytes) {
        /// Port of the counters.
        port: u8 = 1, 0 / 8;
        /// Counters to set to zero, in a request.
        select: u16 = 2, 0 / 16;
        /// Number of packets with a physical error.
        local_physical_errors: u16 = 4, 0 / 16;
        /// Number of packets with a malformed header.
        malformed_packet_errors: u16 = 6, 0 / 16;
        /// Number of packets dropped because a buffer overran.
        buffer_overrun_errors: u16 = 8, 0 / 16;
        /// Number of packets without a route for their DLID.
        dlid_mapping_errors: u16 = 10, 0 / 16;
        /// Number of packets without a virtual lane.
        vl_mapping_errors: u16 = 12, 0 / 16;
        /// Number of packets with one port for input and output.
        looping_errors: u16 = 14, 0 / 16;
    }

    /// Parts of the sum `PortXmitDiscards` (16.1.4.2).
    PortTransmitDiscardDetails("PortXmitDiscardDetails", 0x16, 12 bytes) {
        /// Port of the counters.
        port: u8 = 1, 0 / 8;
        /// Counters to set to zero, in a request.
        select: u16 = 2, 0 / 16;
        /// Number of packets dropped because the port was not active.
        inactive_discards: u16 = 4, 0 / 16;
        /// Number of packets longer than the MTU of the neighbor.
        neighbor_mtu_discards: u16 = 6, 0 / 16;
        /// Number of packets older than the lifetime limit of the switch.
        switch_lifetime_limit_discards: u16 = 8, 0 / 16;
        /// Number of packets that waited too long at the head of a queue.
        switch_head_of_queue_discards: u16 = 10, 0 / 16;
    }

    /// Counters of a port, 64 bits wide; errors only if [`super::ClassPortInfo`] reports them.
    PortCountersExtended("PortCountersExtended", 0x1d, 184 bytes) {
        /// Port of the counters; 255 for the sum of all ports.
        port: u8 = 1, 0 / 8;
        /// Counters to set to zero, in a request.
        select: u16 = 2, 0 / 16;
        /// More counters to set to zero, in a request.
        select_2: u32 = 4, 0 / 32;
        /// Sent data, in words of 4 bytes.
        transmit_words: u64 = 8, 0 / 64;
        /// Received data, in words of 4 bytes.
        receive_words: u64 = 16, 0 / 64;
        /// Number of sent packets.
        transmit_packets: u64 = 24, 0 / 64;
        /// Number of received packets.
        receive_packets: u64 = 32, 0 / 64;
        /// Number of sent unicast packets.
        unicast_transmit_packets: u64 = 40, 0 / 64;
        /// Number of received unicast packets.
        unicast_receive_packets: u64 = 48, 0 / 64;
        /// Number of sent multicast packets.
        multicast_transmit_packets: u64 = 56, 0 / 64;
        /// Number of received multicast packets.
        multicast_receive_packets: u64 = 64, 0 / 64;
        /// Number of minor link errors.
        symbol_errors: u64 = 72, 0 / 64;
        /// Number of link recoveries without a link down.
        link_error_recovery: u64 = 80, 0 / 64;
        /// Number of times that the link went down.
        link_downed: u64 = 88, 0 / 64;
        /// Number of packets received with an error.
        receive_errors: u64 = 96, 0 / 64;
        /// Number of received packets that another port had marked as bad.
        receive_remote_physical_errors: u64 = 104, 0 / 64;
        /// Number of packets that a switch could not forward.
        receive_switch_relay_errors: u64 = 112, 0 / 64;
        /// Number of packets that were not sent because the port was down or congested.
        transmit_discards: u64 = 120, 0 / 64;
        /// Number of packets that were not sent because of a constraint.
        transmit_constraint_errors: u64 = 128, 0 / 64;
        /// Number of packets that were dropped because of a constraint.
        receive_constraint_errors: u64 = 136, 0 / 64;
        /// Number of times that link errors exceeded their threshold.
        local_link_integrity_errors: u64 = 144, 0 / 64;
        /// Number of long buffer overruns.
        excessive_buffer_overruns: u64 = 152, 0 / 64;
        /// Number of management packets that were dropped because of missing buffers.
        vl15_dropped: u64 = 160, 0 / 64;
        /// Number of ticks in which data waited for credits or bandwidth.
        transmit_wait: u64 = 168, 0 / 64;
        /// Number of dropped packets to queue pair 1.
        qp1_dropped: u64 = 176, 0 / 64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_their_widths() {
        let widths = |name: &str| {
            let fields = PortCounters::default().fields();
            fields.into_iter().find(|field| field.name == name).map(|field| field.bits)
        };
        assert_eq!(widths("symbol_errors"), Some(16));
        assert_eq!(widths("link_downed"), Some(8));
        assert_eq!(widths("local_link_integrity_errors"), Some(4));
        assert_eq!(widths("transmit_wait"), Some(32));
    }
}
