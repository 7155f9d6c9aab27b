//! Converts `PortInfo` into a port of the model. `sweep` and `administration` use it.

use crate::mad::PortInfo;
use crate::model::FabricPort;

/// `LinkSpeedExtEnabled` of a port whose extended speeds are disabled (specification 14.2.5.6).
const EXTENDED_SPEEDS_DISABLED: u8 = 30;

/// Sets the fields of a port that its `PortInfo` has. GUID, peer and tables are kept.
pub(super) fn fill(port: &mut FabricPort, info: &PortInfo) {
    let extended =
        if info.speed_ext_enabled == EXTENDED_SPEEDS_DISABLED { 0 } else { info.speed_ext_enabled };
    let active = speeds(0, info.speed_ext_active, info.speed_ext_2_active);
    *port = FabricPort {
        number: port.number,
        guid: port.guid,
        lid: unicast(info.lid),
        lmc: info.lmc,
        state: info.state,
        physical_state: info.physical_state,
        width_active: info.width_active,
        width_supported: info.width_supported,
        width_enabled: info.width_enabled,
        // The field of the first three speeds may be set on a port with an extended speed.
        speed_active: if active == 0 { speeds(info.speed_active, 0, 0) } else { active },
        speed_supported: speeds(
            info.speed_supported,
            info.speed_ext_supported,
            info.speed_ext_2_supported,
        ),
        speed_enabled: speeds(info.speed_enabled, extended, info.speed_ext_2_enabled),
        mtu: info.neighbor_mtu,
        mtu_supported: info.mtu_capability,
        vl_capability: info.vl_capability,
        capabilities: info.capabilities,
        capabilities_2: info.capabilities_2,
        peer: port.peer,
        subnet_manager: port.subnet_manager,
        p_keys: port.p_keys.take(),
        counters: port.counters.take(),
    };
}

/// Returns the LID of a port; 0 for a LID that no port can have. Adapters of the driver
/// `mlx5_core` have the LID 0xffff until a subnet manager assigns another.
pub(super) fn unicast(lid: u16) -> u16 {
    if lid > FabricPort::LARGEST_LID { 0 } else { lid }
}

/// Returns the codes of a port's speeds as one mask: 1 SDR, 2 DDR, 4 QDR, from 16 the extended
/// speeds, from 256 the speeds of the second extension.
fn speeds(first: u8, extended: u8, extended_2: u8) -> u16 {
    u16::from(first & 7) | u16::from(extended & 15) << 4 | u16::from(extended_2 & 7) << 8
}

#[test]
fn speeds_of_all_generations_have_one_code() {
    let filled = |info: PortInfo| {
        let mut port = FabricPort::default();
        fill(&mut port, &info);
        port
    };
    let qdr = PortInfo { speed_active: 4, speed_supported: 7, ..PortInfo::default() };
    assert_eq!((filled(qdr).speed_active, filled(qdr).speed_supported), (4, 7));
    let ndr = PortInfo { speed_active: 4, speed_ext_active: 8, ..qdr };
    assert_eq!(filled(ndr).speed_active, 128);
    let xdr = PortInfo { speed_ext_2_active: 1, speed_ext_active: 0, ..qdr };
    assert_eq!(filled(xdr).speed_active, 256);
    let disabled = PortInfo { speed_ext_enabled: 30, speed_enabled: 7, ..qdr };
    assert_eq!(filled(disabled).speed_enabled, 7);
}

#[test]
fn a_lid_that_no_port_can_have_is_none() {
    let lid = |lid| {
        let mut port = FabricPort::default();
        fill(&mut port, &PortInfo { lid, ..PortInfo::default() });
        port.lid
    };
    assert_eq!([0, 1, 0xbfff, 0xc000, 0xffff].map(lid), [0, 1, 0xbfff, 0, 0]);
}
