//! Declares attributes of subnet management (specification 14.2.5).

use super::attribute::{MadAttribute, Short, attributes, whole};

attributes! {
    /// A node, as seen from one of its ports (14.2.5.3).
    NodeInfo("NodeInfo", 0x11, 40 bytes) {
        /// Base version of the MADs that the node supports.
        base_version: u8 = 0, 0 / 8;
        /// Type of the node: 1 channel adapter, 2 switch, 3 router.
        node_type: u8 = 2, 0 / 8;
        /// Number of physical ports.
        ports: u8 = 3, 0 / 8;
        /// GUID of the system, which several nodes can share.
        system_image_guid: u64 = 4, 0 / 64;
        /// GUID of the node.
        node_guid: u64 = 12, 0 / 64;
        /// GUID of the replying port; for a switch the GUID of port 0.
        port_guid: u64 = 20, 0 / 64;
        /// Number of entries of the partition table.
        partition_entries: u16 = 28, 0 / 16;
        /// Device ID assigned by the vendor.
        device_id: u16 = 30, 0 / 16;
        /// Revision assigned by the vendor.
        revision: u32 = 32, 0 / 32;
        /// Number of the port that received the request.
        local_port: u8 = 36, 0 / 8;
        /// OUI of the vendor.
        vendor_id: u32 = 37, 0 / 24;
    }

    /// Forwarding attributes of a switch (14.2.5.4).
    SwitchInfo("SwitchInfo", 0x12, 20 bytes) {
        /// Number of entries in the linear forwarding table.
        linear_entries: u16 = 0, 0 / 16;
        /// Number of entries in the multicast forwarding table.
        multicast_entries: u16 = 4, 0 / 16;
        /// Highest LID with an entry in the linear forwarding table.
        linear_top: u16 = 6, 0 / 16;
        /// Number of entries of the partition enforcement table.
        partition_enforcement_entries: u16 = 14, 0 / 16;
        /// 1 if port 0 is an enhanced port.
        enhanced_port_0: u8 = 16, 4 / 1;
        /// Highest multicast LID with an entry.
        multicast_top: u16 = 18, 0 / 16;
    }

    /// A port (14.2.5.6). Port 0 of a switch has the capability masks and LIDs of all ports.
    PortInfo("PortInfo", 0x15, 64 bytes) {
        /// Upper 64 bits of the GIDs of the port.
        gid_prefix: u64 = 8, 0 / 64;
        /// First LID of the port.
        lid: u16 = 16, 0 / 16;
        /// LID of the subnet manager that configured the port.
        sm_lid: u16 = 18, 0 / 16;
        /// Capabilities of the port.
        capabilities: u32 = 20, 0 / 32;
        /// Number of the port that received the request.
        local_port: u8 = 28, 0 / 8;
        /// Enabled link widths.
        width_enabled: u8 = 29, 0 / 8;
        /// Link widths that the port supports: 1 1X, 2 4X, 4 8X, 8 12X, 16 2X.
        width_supported: u8 = 30, 0 / 8;
        /// Link width in use.
        width_active: u8 = 31, 0 / 8;
        /// Link speeds that the port supports: 1 SDR, 2 DDR, 4 QDR.
        speed_supported: u8 = 32, 0 / 4;
        /// Logical state: 1 down, 2 init, 3 armed, 4 active.
        state: u8 = 32, 4 / 4;
        /// Physical state: 2 polling, 3 disabled, 5 link up.
        physical_state: u8 = 33, 0 / 4;
        /// Number of low LID bits that select a path.
        lmc: u8 = 34, 5 / 3;
        /// Link speed in use; 0 if an extended speed is in use.
        speed_active: u8 = 35, 0 / 4;
        /// Enabled link speeds.
        speed_enabled: u8 = 35, 4 / 4;
        /// MTU in use as a code: 1 is 256 bytes, 5 is 4,096.
        neighbor_mtu: u8 = 36, 0 / 4;
        /// Virtual lanes that the port supports, as a code.
        vl_capability: u8 = 37, 0 / 4;
        /// Number of entries of the table of high priority virtual lanes.
        vl_arbitration_high_entries: u8 = 39, 0 / 8;
        /// Number of entries of the table of low priority virtual lanes.
        vl_arbitration_low_entries: u8 = 40, 0 / 8;
        /// Maximum MTU as a code.
        mtu_capability: u8 = 41, 4 / 4;
        /// Number of packets that can be dropped before a virtual lane is stalled.
        vl_stall_count: u8 = 42, 0 / 3;
        /// Time that a packet can wait at the head of a queue, as an exponent.
        head_of_queue_life: u8 = 42, 3 / 5;
        /// Number of entries of the GUID table.
        guid_entries: u8 = 50, 0 / 8;
        /// Second extension of the speed in use: 1 XDR.
        speed_ext_2_active: u8 = 56, 1 / 2;
        /// Speeds of the second extension that the port supports.
        speed_ext_2_supported: u8 = 56, 3 / 2;
        /// Enabled speeds of the second extension.
        speed_ext_2_enabled: u8 = 56, 5 / 3;
        /// More capabilities of the port; valid with bit 15 of the capabilities.
        capabilities_2: u16 = 60, 0 / 16;
        /// Extended speed in use: 1 FDR, 2 EDR, 4 HDR, 8 NDR.
        speed_ext_active: u8 = 62, 0 / 4;
        /// Extended speeds that the port supports.
        speed_ext_supported: u8 = 62, 4 / 4;
        /// Enabled extended speeds; 30 disables all of them.
        speed_ext_enabled: u8 = 63, 3 / 5;
    }

    /// The subnet manager of a port (14.2.5.13).
    SmInfo("SMInfo", 0x20, 24 bytes) {
        /// GUID of the port of the subnet manager.
        guid: u64 = 0, 0 / 64;
        /// Counter that increases while the subnet manager works.
        activity: u32 = 16, 0 / 32;
        /// Priority; the subnet manager with the highest priority becomes master.
        priority: u8 = 20, 0 / 4;
        /// State: 0 not active, 1 discovering, 2 standby, 3 master.
        state: u8 = 20, 4 / 4;
    }
}

/// 64 entries of the linear forwarding table of a switch (14.2.5.10). An entry is the port for a
/// LID. The modifier is the number of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ForwardingBlock(pub [u8; Self::ENTRIES]);

impl ForwardingBlock {
    /// Number of entries in a block.
    pub const ENTRIES: usize = 64;
}

impl MadAttribute for ForwardingBlock {
    const NAME: &'static str = "LinearForwardingTable";
    const ID: u16 = 0x19;
    const BYTES: usize = Self::ENTRIES;

    fn decode(bytes: &[u8]) -> Result<Self, Short> {
        let mut entries = [0; Self::ENTRIES];
        entries.copy_from_slice(whole::<Self>(bytes)?);
        Ok(Self(entries))
    }

    fn encode(&self, bytes: &mut [u8]) -> Result<(), Short> {
        whole::<Self>(bytes)?;
        bytes[..Self::BYTES].copy_from_slice(&self.0);
        Ok(())
    }
}

/// 32 entries of the partition table of a port (14.2.5.7); 0 is an empty entry. The modifier is
/// the block number; for a switch its upper half is the port number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartitionBlock(pub [u16; Self::KEYS]);

impl PartitionBlock {
    /// Number of entries in a block.
    pub const KEYS: usize = 32;
}

impl MadAttribute for PartitionBlock {
    const NAME: &'static str = "P_KeyTable";
    const ID: u16 = 0x16;
    const BYTES: usize = Self::KEYS * 2;

    fn decode(bytes: &[u8]) -> Result<Self, Short> {
        let mut keys = [0; Self::KEYS];
        for (key, pair) in keys.iter_mut().zip(whole::<Self>(bytes)?.chunks_exact(2)) {
            *key = u16::from_be_bytes([pair[0], pair[1]]);
        }
        Ok(Self(keys))
    }

    fn encode(&self, bytes: &mut [u8]) -> Result<(), Short> {
        whole::<Self>(bytes)?;
        for (pair, key) in bytes.chunks_exact_mut(2).zip(&self.0) {
            pair.copy_from_slice(&key.to_be_bytes());
        }
        Ok(())
    }
}

/// Name of a node (14.2.5.2), 64 bytes of text that the administrator of the node chose.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeDescription(pub String);

impl MadAttribute for NodeDescription {
    const NAME: &'static str = "NodeDescription";
    const ID: u16 = 0x10;
    const BYTES: usize = 64;

    /// Reads the text up to the first zero byte. Invalid UTF-8 becomes U+FFFD.
    fn decode(bytes: &[u8]) -> Result<Self, Short> {
        let text = whole::<Self>(bytes)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(Self(String::from_utf8_lossy(text).into_owned()))
    }

    fn encode(&self, bytes: &mut [u8]) -> Result<(), Short> {
        whole::<Self>(bytes)?;
        let text = self.0.bytes().chain(std::iter::repeat(0));
        bytes.iter_mut().zip(text.take(Self::BYTES)).for_each(|(byte, letter)| *byte = letter);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_ends_at_a_zero_byte() {
        let mut bytes = [0; 64];
        NodeDescription("node001 HCA-1".into()).encode(&mut bytes).unwrap();
        assert_eq!(NodeDescription::decode(&bytes).unwrap().0, "node001 HCA-1");
        assert_eq!(NodeDescription::decode(&[b'x'; 64]).unwrap().0.len(), 64);
        assert_eq!(NodeDescription::decode(&[0xff; 64]).unwrap().0.chars().count(), 64);
        let short = NodeDescription::decode(&[0; 9]).unwrap_err();
        assert_eq!(short.to_string(), "NodeDescription has 64 bytes, and 9 arrived");
    }

    #[test]
    fn a_field_list_has_names_and_values() {
        let info = SmInfo { priority: 14, state: 3, ..SmInfo::default() };
        let fields = info.fields();
        let state = fields.iter().find(|field| field.name == "state").unwrap();
        assert_eq!((state.value, state.bits, fields.len()), (3, 4, 4));
    }
}
