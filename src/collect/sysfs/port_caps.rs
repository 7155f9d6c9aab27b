//! The names of a port's capability bits.

use crate::model::LinkLayer;

/// The bits of `PortInfo:CapabilityMask` in their order (`IBA` 14.2.5.6, `enum ib_port_cap_mask_bits`
/// of `include/rdma/ib_verbs.h`), in the spelling of `rdma link`.
const NAMES: [&str; 32] = [
    "RESERVED",
    "SM",
    "NOTICE",
    "TRAP",
    "OPT_IPD",
    "AUTO_MIGR",
    "SL_MAP",
    "MKEY_NVRAM",
    "PKEY_NVRAM",
    "LED_INFO",
    "SM_DISABLED",
    "SYS_IMAGE_GUID",
    "PKEY_SW_EXT_PORT_TRAP",
    "CABLE_INFO",
    "EXTENDED_SPEEDS",
    "CAP_MASK2",
    "CM",
    "SNMP_TUNNEL",
    "REINIT",
    "DEVICE_MGMT",
    "VENDOR_CLASS",
    "DR_NOTICE",
    "CAP_MASK_NOTICE",
    "BOOT_MGMT",
    "LINK_LATENCY",
    "CLIENT_REG",
    "OTHER_LOCAL_CHANGES",
    "LINK_SPEED_WIDTH_TABLE",
    "VENDOR_SPECIFIC_MADS_TABLE",
    "MCAST_PKEY_TRAP_SUPPRESSION",
    "MCAST_FDB_TOP",
    "HIERARCHY_INFO",
];

/// The names of the bits that are set.
pub(super) fn words(mask: u32, layer: LinkLayer) -> Vec<String> {
    let name = |(bit, name): (usize, &&str)| match (mask >> bit & 1, bit, layer) {
        (0, _, _) => None,
        // The kernel gives the bit another meaning where there are no subnet managers.
        (_, 26, LinkLayer::Ethernet) => Some("IP_BASED_GIDS".to_owned()),
        _ => Some((*name).to_owned()),
    };
    NAMES.iter().enumerate().filter_map(name).collect()
}

#[test]
fn bits_have_the_names_that_iproute2_prints() {
    assert_eq!(words(0x0401_0000, LinkLayer::Ethernet), ["CM", "IP_BASED_GIDS"]);
    assert_eq!(words(0x0400_0002, LinkLayer::Infiniband), ["SM", "OTHER_LOCAL_CHANGES"]);
    assert_eq!(words(0, LinkLayer::Unknown), [""; 0]);
    assert_eq!(words(u32::MAX, LinkLayer::Unknown).len(), 32);
}
