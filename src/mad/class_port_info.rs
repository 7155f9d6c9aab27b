//! Declares the capabilities of a management class on a node (specification 13.4.8.1). `collect`
//! and `compat` use it.

use super::attribute::attributes;

attributes! {
    /// Capabilities of a node in one management class.
    ClassPortInfo("ClassPortInfo", 0x01, 72 bytes) {
        /// Capabilities of the class.
        capabilities: u16 = 2, 0 / 16;
        /// More capabilities of the class.
        capabilities_2: u32 = 4, 0 / 27;
        /// Response time of a MAD, as an exponent of 4.096 us.
        response_time: u8 = 7, 3 / 5;
    }
}

impl ClassPortInfo {
    /// True if one request of the performance class can return the sum of all ports (port 255).
    pub fn has_all_ports(&self) -> bool {
        self.capabilities & 1 << 8 != 0
    }

    /// True if the 64-bit counters of the performance class exist.
    pub fn has_extended_width(&self) -> bool {
        self.capabilities & 1 << 9 != 0
    }

    /// True if the 64-bit counters exist, except those of unicast and multicast packets.
    pub fn has_extended_width_without_casts(&self) -> bool {
        self.capabilities & 1 << 10 != 0
    }

    /// True if the wait counter of the performance class exists.
    pub fn has_transmit_wait(&self) -> bool {
        self.capabilities & 1 << 12 != 0
    }

    /// True if the 64-bit error counters of the performance class exist.
    pub fn has_extended_errors(&self) -> bool {
        self.capabilities_2 & 1 << 1 != 0
    }
}

#[test]
fn capabilities_of_a_switch_are_read() {
    use super::MadAttribute as _;

    // Capability mask 0x1200 of ibsim: 64-bit counters and the wait counter.
    let mut bytes = [0; 72];
    bytes[..4].copy_from_slice(&[1, 1, 0x12, 0]);
    bytes[7] = 0x52;
    let info = ClassPortInfo::decode(&bytes).unwrap();
    assert!(info.has_extended_width() && info.has_transmit_wait());
    assert!(!info.has_all_ports() && !info.has_extended_width_without_casts());
    assert!(info.has_extended_errors(), "bit 1 above the response time");
    assert_eq!(info.response_time, 18);
}
