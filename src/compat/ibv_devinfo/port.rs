//! Output of `ibv_devinfo` about a port and its GIDs.

use std::fmt::Display;
use std::net::Ipv6Addr;

use crate::compat::word::word;
use crate::compat::{CLASS, Job, Transcript};
use crate::model::VerbsPort;
use crate::source::ReadError;

/// Maximum size of a GID table; a larger number is a driver bug.
const MAX_GIDS: u32 = 65_536;

const STATES: [&str; 5] = ["invalid state", "PORT_DOWN", "PORT_INIT", "PORT_ARMED", "PORT_ACTIVE"];
const MTUS: [&str; 6] = ["invalid MTU", "256", "512", "1024", "2048", "4096"];
const LINK_LAYERS: [&str; 3] = ["Unspecified", "InfiniBand", "Ethernet"];
const PHYSICAL_STATES: [&str; 8] = [
    "invalid physical state",
    "SLEEP",
    "POLLING",
    "DISABLED",
    // The misspelling is the original one.
    "PORT_CONFIGURATION TRAINNING",
    "LINK_UP",
    "LINK_ERROR_RECOVERY",
    "PHY TEST",
];

pub(super) fn print(
    job: &Job<'_>,
    port: &VerbsPort,
    verbose: bool,
    is_infiniband: bool,
    out: &mut Transcript,
) {
    let known = |value: Option<u32>| value.unwrap_or(0);
    let named = |name: &str, code: u32| format!("{name} ({code})");
    let listed = |code: Option<u32>, words: &[&'static str]| {
        named(word(known(code), words, words[0]), known(code))
    };
    out.print(format!("\t\tport:\t{}\n", port.number));
    row(out, "state", listed(port.state_code, &STATES));
    row(out, "max_mtu", listed(port.max_mtu_code, &MTUS));
    row(out, "active_mtu", listed(port.active_mtu_code, &MTUS));
    row(out, "sm_lid", known(port.sm_lid));
    row(out, "port_lid", known(port.lid));
    row(out, "port_lmc", format_args!("0x{:02x}", known(port.lmc)));
    row(out, "link_layer", word(known(port.link_layer_code), &LINK_LAYERS, "Unknown"));
    if !verbose {
        return;
    }
    row(out, "max_msg_sz", format_args!("{:#x}", port.max_msg_bytes));
    row(out, "port_cap_flags", format_args!("0x{:08x}", port.port_cap_flags));
    row(out, "port_cap_flags2", format_args!("0x{:04x}", known(port.port_cap_flags2)));
    let lanes = port.virtual_lanes().map_or("invalid value".into(), |lanes| lanes.to_string());
    row(out, "max_vl_num", named(&lanes, known(port.max_vl_num_code)));
    row(out, "bad_pkey_cntr", format_args!("{:#x}", known(port.bad_pkey_cntr)));
    row(out, "qkey_viol_cntr", format_args!("{:#x}", known(port.qkey_viol_cntr)));
    row(out, "sm_sl", known(port.sm_sl));
    row(out, "pkey_tbl_len", port.pkey_tbl_len);
    row(out, "gid_tbl_len", port.gid_tbl_len);
    row(out, "subnet_timeout", known(port.subnet_timeout));
    row(out, "init_type_reply", known(port.init_type_reply));
    let width = port.lanes().map_or("invalid width".into(), |lanes| lanes.to_string());
    row(out, "active_width", named(&format!("{width}X"), known(port.active_width_code)));
    let (speed, code) = speed(job, port);
    row(out, "active_speed", named(speed, code));
    if let Some(bps) = port.effective_bps.filter(|_| job.since(65)) {
        let tenths = bps / 100_000_000;
        row(out, "effective_speed", format_args!("{}.{} Gbps", tenths / 10, tenths % 10));
    }
    if is_infiniband {
        row(out, "phys_state", listed(port.phys_state_code, &PHYSICAL_STATES));
    }
}

/// Prints the used GIDs; false if one could not be read.
pub(super) fn print_gids(
    job: &Job<'_>,
    device: &str,
    port: &VerbsPort,
    out: &mut Transcript,
) -> bool {
    let folder = format!("{CLASS}/{device}/ports/{}", port.number);
    for index in 0..port.gid_tbl_len.min(MAX_GIDS) {
        let gid = match job.reading.file(&format!("{folder}/gids/{index}")) {
            Ok(text) => text.trim().parse::<Ipv6Addr>().ok(),
            Err(ReadError::NotRecorded) => continue,
            Err(_) => None,
        };
        let Some(gid) = gid else {
            let number = port.number;
            out.warn(format!("Failed to query gid to port {number}, index {index}\n"));
            return false;
        };
        if gid.octets()[8..].iter().all(|byte| *byte == 0) {
            continue;
        }
        let (text, word) = match gid_type(job, &folder, index) {
            Some(GidType::First) => (full(gid), "RoCE v1"),
            Some(GidType::Second) => (short(gid), "RoCE v2"),
            None => continue,
        };
        let word =
            if port.link_layer_code == Some(2) { format!(", {word}") } else { String::new() };
        out.print(format!("\t\t\tGID[{index:3}]:\t\t{text}{word}\n"));
    }
    true
}

/// GID type; the library has two.
enum GidType {
    /// InfiniBand, or `RoCE` v1.
    First,
    /// `RoCE` v2.
    Second,
}

fn gid_type(job: &Job<'_>, folder: &str, index: u32) -> Option<GidType> {
    match job.reading.file(&format!("{folder}/gid_attrs/types/{index}")) {
        Ok(text) if text.trim() == "IB/RoCE v1" => Some(GidType::First),
        Ok(text) if text.trim() == "RoCE v2" => Some(GidType::Second),
        // On InfiniBand some kernels return EINVAL instead of a type.
        Err(error) if error.is_invalid() => Some(GidType::First),
        // Kernels without these files support no other type.
        Err(error) if error.is_absent() => {
            let attrs = job.reading.names(&format!("{folder}/gid_attrs"));
            attrs.is_err_and(|error| error.is_absent()).then_some(GidType::First)
        }
        _ => None,
    }
}

/// Formats a GID as eight groups of four digits.
fn full(gid: Ipv6Addr) -> String {
    gid.segments().map(|group| format!("{group:04x}")).join(":")
}

/// Formats like `inet_ntop`: an address with an IPv4 part after zeros has dotted notation.
fn short(gid: Ipv6Addr) -> String {
    let groups = gid.segments();
    if groups[..6] == [0; 6] && groups[6] != 0 {
        let [.., a, b, c, d] = gid.octets();
        return format!("::{a}.{b}.{c}.{d}");
    }
    gid.to_string()
}

/// Prints a line with its value in the sixth tab column, if the name leaves room.
fn row(out: &mut Transcript, name: &str, value: impl Display) {
    let width = 24 + name.len() + 1;
    let tabs = (48_usize.saturating_sub(width)).div_ceil(8).max(1);
    out.print(format!("\t\t\t{name}:{}{value}\n", "\t".repeat(tabs)));
}

/// Returns name and code of the speed. Release 39 added NDR; release 49 the wider field and XDR.
fn speed(job: &Job<'_>, port: &VerbsPort) -> (&'static str, u32) {
    let wide = port.active_speed_ex_code.filter(|code| *code != 0 && job.since(49));
    let code = wide.or(port.active_speed_code).unwrap_or(0);
    let name = match code {
        1 => "2.5 Gbps",
        2 => "5.0 Gbps",
        4 | 8 => "10.0 Gbps",
        16 => "14.0 Gbps",
        32 => "25.0 Gbps",
        64 => "50.0 Gbps",
        128 if job.since(39) => "100.0 Gbps",
        256 if job.since(49) => "200.0 Gbps",
        _ => "invalid speed",
    };
    (name, code)
}

#[test]
fn addresses_are_shortened_as_inet_ntop_does() {
    for (gid, text) in [
        ("fe80::5054:ff:fe12:3456", "fe80::5054:ff:fe12:3456"),
        ("::ffff:10.9.0.1", "::ffff:10.9.0.1"),
        ("::c0a8:1", "::192.168.0.1"),
        ("::1", "::1"),
        ("0:0:1:0:0:0:0:1", "0:0:1::1"),
    ] {
        assert_eq!(short(gid.parse().unwrap()), text);
    }
}
