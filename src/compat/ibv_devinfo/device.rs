//! Output of `ibv_devinfo` about a device.

use std::fmt::Display;

use crate::compat::word::word;
use crate::compat::{CLASS, Job, Transcript};
use crate::model::{Guid, VerbsDevice, VerbsExtended};

type Names<'names> = &'names [(u64, &'names str)];

const TRANSPORTS: [&str; 5] = ["InfiniBand", "iWARP", "usNIC", "usNIC UDP", "unspecified"];
const ATOMICS: [&str; 3] = ["ATOMIC_NONE", "ATOMIC_HCA", "ATOMIC_GLOB"];
const CAPABILITIES: Names<'_> = &[
    (1 << 0, "RESIZE_MAX_WR"),
    (1 << 1, "BAD_PKEY_CNTR"),
    (1 << 2, "BAD_QKEY_CNTR"),
    (1 << 3, "RAW_MULTI"),
    (1 << 4, "AUTO_PATH_MIG"),
    (1 << 5, "CHANGE_PHY_PORT"),
    (1 << 6, "UD_AV_PORT_ENFORCE"),
    (1 << 7, "CURR_QP_STATE_MOD"),
    (1 << 8, "SHUTDOWN_PORT"),
    (1 << 9, "INIT_TYPE"),
    (1 << 10, "PORT_ACTIVE_EVENT"),
    (1 << 11, "SYS_IMAGE_GUID"),
    (1 << 12, "RC_RNR_NAK_GEN"),
    (1 << 13, "SRQ_RESIZE"),
    (1 << 14, "N_NOTIFY_CQ"),
    (1 << 17, "MEM_WINDOW"),
    (1 << 18, "UD_IP_CSUM"),
    (1 << 20, "XRC"),
    (1 << 21, "MEM_MGT_EXTENSIONS"),
    (1 << 23, "MEM_WINDOW_TYPE_2A"),
    (1 << 24, "MEM_WINDOW_TYPE_2B"),
    (1 << 25, "RC_IP_CSUM"),
    (1 << 26, "RAW_IP_CSUM"),
    (1 << 29, "MANAGED_FLOW_STEERING"),
];
const EXTENDED_CAPABILITIES: Names<'_> =
    &[(1 << 34, "RAW_SCATTER_FCS"), (1 << 36, "PCI_WRITE_END_PADDING"), (1 << 41, "CC_DMA_BOUNCE")];
const ODP: Names<'_> = &[(1, "ODP_SUPPORT"), (2, "ODP_SUPPORT_IMPLICIT")];
const ODP_OF_TRANSPORT: Names<'_> = &[
    (1 << 0, "SUPPORT_SEND"),
    (1 << 1, "SUPPORT_RECV"),
    (1 << 2, "SUPPORT_WRITE"),
    (1 << 3, "SUPPORT_READ"),
    (1 << 4, "SUPPORT_ATOMIC"),
    (1 << 5, "SUPPORT_SRQ"),
    (1 << 6, "SUPPORT_FLUSH"),
    (1 << 7, "SUPPORT_ATOMIC_WRITE"),
];
/// Queue pair types by bit, in order of output. The third one came with a later release.
const QUEUE_PAIRS: Names<'_> =
    &[(1 << 8, "SUPPORT_RAW_PACKET"), (1 << 4, "SUPPORT_UD"), (1 << 2, "SUPPORT_RC")];
const RAW_PACKETS: Names<'_> = &[
    (1 << 0, "C-VLAN stripping offload"),
    (1 << 1, "Scatter FCS offload"),
    (1 << 2, "IP csum offload"),
    (1 << 3, "Delay drop"),
];
const COMPLETION_COUNTERS: Names<'_> = &[
    (1 << 0, "QP_ATTACH_SEND"),
    (1 << 1, "QP_ATTACH_RECV"),
    (1 << 2, "QP_ATTACH_RDMA_READ"),
    (1 << 3, "QP_ATTACH_REMOTE_RDMA_READ"),
    (1 << 4, "QP_ATTACH_RDMA_WRITE"),
    (1 << 5, "QP_ATTACH_REMOTE_RDMA_WRITE"),
];

pub(super) fn print(
    job: &Job<'_>,
    name: &str,
    device: &VerbsDevice,
    verbose: bool,
    out: &mut Transcript,
) {
    out.print(format!("hca_id:\t{name}\n"));
    let transport = device.transport_type.unwrap_or(-1);
    let name_of_transport = word(transport, &TRANSPORTS, "invalid transport");
    row(out, "transport", format_args!("{name_of_transport} ({transport})"));
    if !device.fw_ver.is_empty() {
        row(out, "fw_ver", &device.fw_ver);
    }
    row(out, "node_guid", guid(device.node_guid));
    row(out, "sys_image_guid", guid(device.sys_image_guid));
    row(out, "vendor_id", format_args!("0x{:04x}", device.vendor_id));
    row(out, "vendor_part_id", device.vendor_part_id.cast_signed());
    row(out, "hw_ver", format_args!("0x{:X}", device.hw_ver));
    // The library removes one trailing line break, and treats an empty file as missing.
    let board = job.reading.file(&format!("{CLASS}/{name}/board_id")).unwrap_or_default();
    let board = board.strip_suffix('\n').unwrap_or(&board);
    if !board.is_empty() {
        row(out, "board_id", board);
    }
    row(out, "phys_port_cnt", device.phys_port_cnt.min(u8::MAX.into()));
    if verbose {
        print_limits(job, device, out);
        // Without an extended query all values after the limits are zero.
        print_extended(job, &device.extended.clone().unwrap_or_default(), out);
        if job.since(35) {
            row(out, "num_comp_vectors", device.num_comp_vectors.unwrap_or(0));
        }
    }
}

fn print_limits(job: &Job<'_>, device: &VerbsDevice, out: &mut Transcript) {
    let known = |limit: Option<i64>| limit.unwrap_or(0);
    row(out, "max_mr_size", format_args!("{:#x}", device.max_mr_size));
    row(out, "page_size_cap", format_args!("{:#x}", device.page_size_cap));
    row(out, "max_qp", device.max_qp);
    row(out, "max_qp_wr", device.max_qp_wr);
    let capabilities = device.device_cap_flags & u64::from(u32::MAX);
    row(out, "device_cap_flags", format_args!("0x{capabilities:08x}"));
    flags(out, capabilities, CAPABILITIES, true);
    row(out, "max_sge", device.max_sge);
    row(out, "max_sge_rd", known(device.max_sge_rd));
    row(out, "max_cq", device.max_cq);
    row(out, "max_cqe", device.max_cqe);
    row(out, "max_mr", device.max_mr);
    row(out, "max_pd", device.max_pd);
    row(out, "max_qp_rd_atom", device.max_qp_rd_atom);
    row(out, "max_ee_rd_atom", known(device.max_ee_rd_atom));
    row(out, "max_res_rd_atom", known(device.max_res_rd_atom));
    row(out, "max_qp_init_rd_atom", known(device.max_qp_init_rd_atom));
    row(out, "max_ee_init_rd_atom", known(device.max_ee_init_rd_atom));
    let atomics = device.atomic_cap.unwrap_or(0);
    let name_of_atomics = word(atomics, &ATOMICS, "invalid atomic capability");
    row(out, "atomic_cap", format_args!("{name_of_atomics} ({atomics})"));
    row(out, "max_ee", known(device.max_ee));
    row(out, "max_rdd", known(device.max_rdd));
    row(out, "max_mw", known(device.max_mw));
    row(out, "max_raw_ipv6_qp", known(device.max_raw_ipv6_qp));
    row(out, "max_raw_ethy_qp", known(device.max_raw_ethy_qp));
    row(out, "max_mcast_grp", known(device.max_mcast_grp));
    row(out, "max_mcast_qp_attach", known(device.max_mcast_qp_attach));
    row(out, "max_total_mcast_qp_attach", known(device.max_total_mcast_qp_attach));
    row(out, "max_ah", device.max_ah);
    row(out, "max_fmr", known(device.max_fmr));
    if known(device.max_fmr) != 0 {
        row(out, "max_map_per_fmr", known(device.max_map_per_fmr));
    }
    row(out, "max_srq", device.max_srq);
    if device.max_srq != 0 {
        row(out, "max_srq_wr", known(device.max_srq_wr));
        row(out, "max_srq_sge", known(device.max_srq_sge));
    }
    row(out, "max_pkeys", device.max_pkeys);
    if let Some(counters) = device.comp_cntr_caps.as_ref().filter(|_| job.since(65)) {
        row(out, "max_comp_cntr", counters.max_counters.cast_signed());
        out.print("\tcomp_cntr_caps:\n");
        flags(out, counters.supported_qp_attach_ops.into(), COMPLETION_COUNTERS, false);
    }
    row(out, "local_ca_ack_delay", device.local_ca_ack_delay.unwrap_or(0));
}

fn print_extended(job: &Job<'_>, extended: &VerbsExtended, out: &mut Transcript) {
    out.print("\tgeneral_odp_caps:\n");
    flags(out, extended.odp_general_caps, ODP, true);
    for (transport, caps) in [
        ("rc", extended.odp_rc_caps),
        ("uc", extended.odp_uc_caps),
        ("ud", extended.odp_ud_caps),
        ("xrc", extended.odp_xrc_caps),
    ] {
        out.print(format!("\t{transport}_odp_caps:\n"));
        if caps == 0 {
            out.print("\t\t\t\t\tNO SUPPORT\n");
        }
        let known = if job.since(58) { 8 } else { 6 };
        flags(out, caps.into(), &ODP_OF_TRANSPORT[..known], true);
    }
    match extended.completion_timestamp_mask {
        0 => out.print("\tcompletion_timestamp_mask not supported\n"),
        mask => out.print(format!("\tcompletion timestamp_mask:\t\t\t0x{mask:016x}\n")),
    }
    match extended.hca_core_clock_khz {
        0 => out.print("\tcore clock not supported\n"),
        clock => row(out, "hca_core_clock", format_args!("{clock}kHZ")),
    }
    if extended.raw_packet_caps != 0 {
        out.print("\traw packet caps:\n");
        flags(out, extended.raw_packet_caps.into(), RAW_PACKETS, false);
    }
    row(out, "device_cap_flags_ex", format_args!("0x{:X}", extended.device_cap_flags_ex));
    let known = if job.since(64) { 3 } else { 2 };
    let upper = extended.device_cap_flags_ex & !u64::from(u32::MAX);
    flags(out, upper, &EXTENDED_CAPABILITIES[..known], true);
    print_offloads(job, extended, out);
    print_tag_matching(extended, out);
    if extended.max_cq_count != 0 && extended.max_cq_period_us != 0 {
        out.print(format!(
            "\n\tcq moderation caps:\n\t\tmax_cq_count:\t{}\n\t\tmax_cq_period:\t{} us\n\n",
            extended.max_cq_count, extended.max_cq_period_us
        ));
    }
    if let bytes @ 1.. = extended.max_dm_bytes {
        out.print(format!("\tmaximum available device memory:\t{bytes}Bytes\n\n"));
    }
}

fn print_offloads(job: &Job<'_>, extended: &VerbsExtended, out: &mut Transcript) {
    out.print(format!("\ttso_caps:\n\t\tmax_tso:\t\t\t{}\n", extended.max_tso_bytes.cast_signed()));
    if extended.max_tso_bytes != 0 {
        queue_pairs(out, extended.tso_supported_qpts, 2);
    }
    out.print(format!(
        "\trss_caps:\n\
         \t\tmax_rwq_indirection_tables:\t\t\t{}\n\
         \t\tmax_rwq_indirection_table_size:\t\t\t{}\n\
         \t\trx_hash_function:\t\t\t\t{:#x}\n\
         \t\trx_hash_fields_mask:\t\t\t\t0x{:X}\n",
        extended.rss_max_rwq_indirection_tables,
        extended.rss_max_rwq_indirection_table_size,
        extended.rss_rx_hash_function,
        extended.rss_rx_hash_fields_mask
    ));
    if extended.rss_supported_qpts != 0 {
        queue_pairs(out, extended.rss_supported_qpts, 2);
    }
    row(out, "max_wq_type_rq", extended.max_wq_type_rq);
    out.print(format!(
        "\tpacket_pacing_caps:\n\t\tqp_rate_limit_min:\t{}kbps\n\t\tqp_rate_limit_max:\t{}kbps\n",
        extended.qp_rate_limit_min_kbps, extended.qp_rate_limit_max_kbps
    ));
    if extended.qp_rate_limit_max_kbps != 0 {
        let known = if job.since(62) { 3 } else { 2 };
        queue_pairs(out, extended.pacing_supported_qpts, known);
    }
}

fn print_tag_matching(extended: &VerbsExtended, out: &mut Transcript) {
    if extended.tm_max_num_tags == 0 {
        out.print("\ttag matching not supported\n");
        return;
    }
    row(out, "max_rndv_hdr_size", extended.tm_max_rndv_hdr_bytes);
    row(out, "max_num_tags", extended.tm_max_num_tags);
    row(out, "max_ops", extended.tm_max_ops);
    row(out, "max_sge", extended.tm_max_sge);
    out.print("\tflags:\n");
    flags(out, extended.tm_flags.into(), &[(1, "IBV_TM_CAP_RC")], false);
}

fn queue_pairs(out: &mut Transcript, mask: u32, known: usize) {
    out.print("\t\tsupported_qp:\n");
    flags(out, mask.into(), &QUEUE_PAIRS[..known], true);
}

/// Prints a line with its value in the fifth tab column, if the name leaves room.
fn row(out: &mut Transcript, name: &str, value: impl Display) {
    // A tab, the name and a colon; values start at column 40 or at the next tab stop.
    let width = 8 + name.len() + 1;
    let tabs = (40_usize.saturating_sub(width)).div_ceil(8).max(1);
    out.print(format!("\t{name}:{}{value}\n", "\t".repeat(tabs)));
}

/// Prints the names of the set bits, then unknown bits if `shows_unknown` is true.
fn flags(out: &mut Transcript, mask: u64, names: Names<'_>, shows_unknown: bool) {
    let mut unknown = mask;
    for (bit, name) in names {
        unknown &= !bit;
        if mask & bit != 0 {
            out.print(format!("\t\t\t\t\t{name}\n"));
        }
    }
    if shows_unknown && unknown != 0 {
        out.print(format!("\t\t\t\t\tUnknown flags: 0x{unknown:X}\n"));
    }
}

/// Formats a GUID as four groups of digits; zeros for `None`.
fn guid(guid: Option<Guid>) -> String {
    let number = guid.map_or(0, |guid| guid.0);
    let group = |shift: u32| number >> shift & 0xffff;
    format!("{:04x}:{:04x}:{:04x}:{:04x}", group(48), group(32), group(16), group(0))
}
