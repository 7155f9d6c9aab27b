//! Queries libibverbs in this process. Only the verbs child runs this module.

use crate::model::{
    Guid, VerbsAnswer, VerbsAttributes, VerbsCompletionCounters, VerbsDevice, VerbsEntry,
    VerbsExtended, VerbsPort, VerbsRefusal, VerbsStep,
};
use crate::source::fixes;
use crate::sys::Errno;
use crate::sys::verbs::{
    DeviceAttr, DeviceEntry, DeviceList, Mtu, PortAttr, VerbsError, ibv_device_attr_ex,
};

/// Queries libibverbs for every device and port. The library may print to stderr and may hang:
/// only the verbs child calls this function.
#[must_use]
pub fn answer_verbs() -> VerbsAnswer {
    match DeviceList::get() {
        Ok(list) => {
            let entry = |device| entry(&list, device);
            VerbsAnswer::Devices(list.entries().into_iter().map(entry).collect())
        }
        Err(error) => VerbsAnswer::Unavailable {
            errno: list_errno(&error).map(|errno| errno.name().into_owned()),
            detail: error.to_string(),
            fix: fixes::of_verbs(&error),
        },
    }
}

/// Returns the error number with which the library failed to list devices.
fn list_errno(error: &VerbsError) -> Option<Errno> {
    match error {
        VerbsError::NoKernelSupport => Some(Errno::NO_SYSTEM_CALL),
        error => error.errno(),
    }
}

fn entry(list: &DeviceList, device: DeviceEntry) -> VerbsEntry {
    let transport_type = device.transport_type;
    let (answer, refused) = match query(list, &device.name, transport_type) {
        Ok(attributes) => (Ok(attributes), None),
        Err((step, error)) => (Err(error.to_string()), Some(step)),
    };
    VerbsEntry {
        name: device.name,
        node_guid: Some(Guid(device.guid)),
        transport_type: Some(transport_type),
        answer,
        refused,
    }
}

fn query(
    list: &DeviceList,
    name: &str,
    transport_type: i32,
) -> Result<VerbsAttributes, (VerbsStep, VerbsError)> {
    let device = list.open(name).map_err(|error| (VerbsStep::Open, error))?;
    let attr = device.attr().map_err(|error| (VerbsStep::QueryDevice, error))?;
    let mut ports = Vec::new();
    let mut refused_ports = Vec::new();
    // A port number is one byte in verbs, so ports above 255 cannot be queried.
    for number in 1..=u8::try_from(attr.port_count()).unwrap_or(u8::MAX) {
        match device.port(number) {
            Ok(port) => ports.push(verbs_port(number, &port)),
            Err(error) => refused_ports.push(VerbsRefusal {
                number: number.into(),
                code: error.errno().map_or(Errno::IO.code(), Errno::code),
                detail: error.to_string(),
            }),
        }
    }
    let device = verbs_device(&attr, transport_type);
    Ok(VerbsAttributes { device, ports, refused_ports })
}

fn verbs_device(attr: &DeviceAttr, transport_type: i32) -> VerbsDevice {
    let flags = attr.extended.as_ref().map_or(0, |extended| extended.device_cap_flags_ex);
    let basic = &attr.basic;
    VerbsDevice {
        fw_ver: attr.firmware(),
        node_guid: Some(Guid(u64::from_be(basic.node_guid))),
        sys_image_guid: Some(Guid(u64::from_be(basic.sys_image_guid))),
        transport_type: Some(transport_type),
        vendor_id: basic.vendor_id,
        vendor_part_id: basic.vendor_part_id,
        hw_ver: basic.hw_ver,
        phys_port_cnt: attr.port_count(),
        max_mr_size: basic.max_mr_size,
        page_size_cap: basic.page_size_cap,
        max_qp: basic.max_qp.into(),
        max_qp_wr: basic.max_qp_wr.into(),
        max_sge: basic.max_sge.into(),
        max_sge_rd: Some(basic.max_sge_rd.into()),
        max_cq: basic.max_cq.into(),
        max_cqe: basic.max_cqe.into(),
        max_mr: basic.max_mr.into(),
        max_pd: basic.max_pd.into(),
        max_ah: basic.max_ah.into(),
        max_srq: basic.max_srq.into(),
        max_srq_wr: Some(basic.max_srq_wr.into()),
        max_srq_sge: Some(basic.max_srq_sge.into()),
        max_qp_rd_atom: basic.max_qp_rd_atom.into(),
        max_ee_rd_atom: Some(basic.max_ee_rd_atom.into()),
        max_res_rd_atom: Some(basic.max_res_rd_atom.into()),
        max_qp_init_rd_atom: Some(basic.max_qp_init_rd_atom.into()),
        max_ee_init_rd_atom: Some(basic.max_ee_init_rd_atom.into()),
        atomic_cap: Some(basic.atomic_cap),
        max_ee: Some(basic.max_ee.into()),
        max_rdd: Some(basic.max_rdd.into()),
        max_mw: Some(basic.max_mw.into()),
        max_raw_ipv6_qp: Some(basic.max_raw_ipv6_qp.into()),
        max_raw_ethy_qp: Some(basic.max_raw_ethy_qp.into()),
        max_mcast_grp: Some(basic.max_mcast_grp.into()),
        max_mcast_qp_attach: Some(basic.max_mcast_qp_attach.into()),
        max_total_mcast_qp_attach: Some(basic.max_total_mcast_qp_attach.into()),
        max_fmr: Some(basic.max_fmr.into()),
        max_map_per_fmr: Some(basic.max_map_per_fmr.into()),
        max_pkeys: basic.max_pkeys.into(),
        local_ca_ack_delay: Some(basic.local_ca_ack_delay.into()),
        num_comp_vectors: Some(attr.num_comp_vectors.into()),
        device_cap_flags: if flags == 0 { u64::from(basic.device_cap_flags) } else { flags },
        extended: attr.extended.as_ref().map(verbs_extended),
        comp_cntr_caps: attr.completion_counters.map(|caps| VerbsCompletionCounters {
            max_counters: caps.max_counters,
            supported_qp_attach_ops: caps.supported_qp_attach_ops,
        }),
    }
}

fn verbs_extended(attr: &ibv_device_attr_ex) -> VerbsExtended {
    let paging = &attr.odp_caps;
    let transports = &paging.per_transport_caps;
    VerbsExtended {
        odp_general_caps: paging.general_caps,
        odp_rc_caps: transports.rc_odp_caps,
        odp_uc_caps: transports.uc_odp_caps,
        odp_ud_caps: transports.ud_odp_caps,
        odp_xrc_caps: attr.xrc_odp_caps,
        completion_timestamp_mask: attr.completion_timestamp_mask,
        hca_core_clock_khz: attr.hca_core_clock,
        device_cap_flags_ex: attr.device_cap_flags_ex,
        max_tso_bytes: attr.tso_caps.max_tso,
        tso_supported_qpts: attr.tso_caps.supported_qpts,
        rss_supported_qpts: attr.rss_caps.supported_qpts,
        rss_max_rwq_indirection_tables: attr.rss_caps.max_rwq_indirection_tables,
        rss_max_rwq_indirection_table_size: attr.rss_caps.max_rwq_indirection_table_size,
        rss_rx_hash_fields_mask: attr.rss_caps.rx_hash_fields_mask,
        rss_rx_hash_function: attr.rss_caps.rx_hash_function.into(),
        max_wq_type_rq: attr.max_wq_type_rq,
        qp_rate_limit_min_kbps: attr.packet_pacing_caps.qp_rate_limit_min,
        qp_rate_limit_max_kbps: attr.packet_pacing_caps.qp_rate_limit_max,
        pacing_supported_qpts: attr.packet_pacing_caps.supported_qpts,
        raw_packet_caps: attr.raw_packet_caps,
        tm_max_rndv_hdr_bytes: attr.tm_caps.max_rndv_hdr_size,
        tm_max_num_tags: attr.tm_caps.max_num_tags,
        tm_flags: attr.tm_caps.flags,
        tm_max_ops: attr.tm_caps.max_ops,
        tm_max_sge: attr.tm_caps.max_sge,
        max_cq_count: attr.cq_mod_caps.max_cq_count.into(),
        max_cq_period_us: attr.cq_mod_caps.max_cq_period.into(),
        max_dm_bytes: attr.max_dm_size,
        pci_atomic_fetch_add: attr.pci_atomic_caps.fetch_add.into(),
        pci_atomic_swap: attr.pci_atomic_caps.swap.into(),
        pci_atomic_compare_swap: attr.pci_atomic_caps.compare_swap.into(),
    }
}

fn verbs_port(number: u8, port: &PortAttr) -> VerbsPort {
    let PortAttr { attr: port, speed_100mbps } = port;
    let bytes = |code| Mtu::from_code(code).map(Mtu::bytes);
    VerbsPort {
        number: u32::from(number),
        state_code: Some(port.state),
        phys_state_code: Some(port.phys_state.into()),
        link_layer_code: Some(port.link_layer.into()),
        active_mtu: bytes(port.active_mtu),
        max_mtu: bytes(port.max_mtu),
        active_mtu_code: Some(port.active_mtu),
        max_mtu_code: Some(port.max_mtu),
        lid: Some(port.lid.into()),
        sm_lid: Some(port.sm_lid.into()),
        lmc: Some(port.lmc.into()),
        sm_sl: Some(port.sm_sl.into()),
        gid_tbl_len: u32::try_from(port.gid_tbl_len).unwrap_or(0),
        pkey_tbl_len: u32::from(port.pkey_tbl_len),
        max_msg_bytes: port.max_msg_sz,
        port_cap_flags: port.port_cap_flags,
        port_cap_flags2: Some(port.port_cap_flags2.into()),
        max_vl_num_code: Some(port.max_vl_num.into()),
        bad_pkey_cntr: Some(port.bad_pkey_cntr),
        qkey_viol_cntr: Some(port.qkey_viol_cntr),
        subnet_timeout: Some(port.subnet_timeout.into()),
        init_type_reply: Some(port.init_type_reply.into()),
        active_width_code: Some(port.active_width.into()),
        active_speed_code: Some(port.active_speed.into()),
        active_speed_ex_code: Some(port.active_speed_ex),
        effective_bps: speed_100mbps.map(|speed| speed.saturating_mul(100_000_000)),
    }
}
