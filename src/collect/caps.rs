//! Names of the capability bits of devices and ports, for `sysfs` and `nldev`.

use crate::model::LinkLayer;

/// Bits of `PortInfo:CapabilityMask` (`IBA` 14.2.5.6, `enum ib_port_cap_mask_bits` of
/// `include/rdma/ib_verbs.h`), in the spelling of `rdma link`: four a line, from bit 0. Netlink
/// reports the bits of `PortInfo:CapabilityMask2` above them, from bit 32.
const PORT: &str = "\
    RESERVED SM NOTICE TRAP \
    OPT_IPD AUTO_MIGR SL_MAP MKEY_NVRAM \
    PKEY_NVRAM LED_INFO SM_DISABLED SYS_IMAGE_GUID \
    PKEY_SW_EXT_PORT_TRAP CABLE_INFO EXTENDED_SPEEDS CAP_MASK2 \
    CM SNMP_TUNNEL REINIT DEVICE_MGMT \
    VENDOR_CLASS DR_NOTICE CAP_MASK_NOTICE BOOT_MGMT \
    LINK_LATENCY CLIENT_REG OTHER_LOCAL_CHANGES LINK_SPEED_WIDTH_TABLE \
    VENDOR_SPECIFIC_MADS_TABLE MCAST_PKEY_TRAP_SUPPRESSION MCAST_FDB_TOP HIERARCHY_INFO \
    SET_NODE_DESC EXT_INFO VIRT SWITCH_PORT_STATE_TABLE \
    LINK_WIDTH_2X LINK_SPEED_HDR MKEY_PROTECT_BITS_EXT ENHANCED_TRAP128 \
    PARTITION_TOP ENHANCED_QOS_ARBITER LINK_SPEED_NDR EXTENDED_SPEEDS2 \
    LINK_SPEED_XDR";

/// Bits of a device (`enum ib_device_cap_flags` and `ib_kernel_cap_flags` of
/// `include/rdma/ib_verbs.h`), in the spelling of `rdma dev`. Bits without a name in `rdma dev`
/// have the kernel's spelling. Bit 37 exists only in kernels before 6.0.
const DEVICE: &str = "\
    RESIZE_MAX_WR BAD_PKEY_CNTR BAD_QKEY_CNTR RAW_MULTI \
    AUTO_PATH_MIG CHANGE_PHY_PORT UD_AV_PORT_ENFORCE_PORT_ENFORCE CURR_QP_STATE_MOD \
    SHUTDOWN_PORT INIT_TYPE PORT_ACTIVE_EVENT SYS_IMAGE_GUID \
    RC_RNR_NAK_GEN SRQ_RESIZE N_NOTIFY_CQ LOCAL_DMA_LKEY \
    - MEM_WINDOW UD_IP_CSUM UD_TSO \
    XRC MEM_MGT_EXTENSIONS BLOCK_MULTICAST_LOOPBACK MEM_WINDOW_TYPE_2A \
    MEM_WINDOW_TYPE_2B RC_IP_CSUM RAW_IP_CSUM CROSS_CHANNEL \
    - MANAGED_FLOW_STEERING SIGNATURE_HANDOVER ON_DEMAND_PAGING \
    SG_GAPS_REG VIRTUAL_FUNCTION RAW_SCATTER_FCS RDMA_NETDEV_OPA_VNIC \
    PCI_WRITE_END_PADDING ALLOW_USER_UNREG FLUSH_GLOBAL FLUSH_PERSISTENT \
    ATOMIC_WRITE";

pub(super) fn device_words(flags: u64) -> Vec<String> {
    words(flags, |bit| DEVICE.split(' ').nth(bit))
}

pub(super) fn port_words(flags: u64, layer: LinkLayer) -> Vec<String> {
    words(flags, |bit| match (bit, layer) {
        // On Ethernet, which has no subnet managers, the kernel gives the bit another meaning.
        (26, LinkLayer::Ethernet) => Some("IP_BASED_GIDS"),
        _ => PORT.split(' ').nth(bit),
    })
}

/// Returns the names of the set bits. A bit without a name becomes `BIT_` and its number.
fn words(flags: u64, name: impl Fn(usize) -> Option<&'static str>) -> Vec<String> {
    let set = (0..64_usize).filter(|bit| flags >> bit & 1 != 0);
    let word = |bit| match name(bit) {
        None | Some("-") => format!("BIT_{bit}"),
        Some(name) => name.to_owned(),
    };
    set.map(word).collect()
}

#[test]
fn bits_have_the_names_that_iproute2_prints() {
    assert_eq!(port_words(0x0401_0000, LinkLayer::Ethernet), ["CM", "IP_BASED_GIDS"]);
    assert_eq!(port_words(0x0400_0002, LinkLayer::Infiniband), ["SM", "OTHER_LOCAL_CHANGES"]);
    assert_eq!(port_words(0x400 << 32, LinkLayer::Infiniband), ["LINK_SPEED_NDR"]);
    assert_eq!(port_words(0, LinkLayer::Unknown), [""; 0]);
    assert_eq!(device_words(1 << 21 | 1 << 16), ["BIT_16", "MEM_MGT_EXTENSIONS"]);
    assert_eq!(device_words(u64::MAX).len(), 64);
}
