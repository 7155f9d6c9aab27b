//! Reads the files of one port. `device` calls it.

use super::super::{Reader, caps};
use super::gid::{self, Extent};
use super::port_path::{DeviceFacts, PortPath, parse_hex, parse_index, parse_tenths};
use super::protocol::{derive_protocol, has_lids};
use super::{CLASS, netdev};
use crate::model::{Gid, GidKind, KnownFix, LinkLayer, NodeType, Part, Port, PortState, Protocol};
use crate::source::Question;

pub(super) fn read(reader: &mut Reader<'_>, parent: &DeviceFacts<'_>, number: u32) -> Port {
    let name = parent.name;
    let (key, path) = (format!("{name}/{number}"), format!("{CLASS}/{name}/ports/{number}"));
    let port = PortPath { key, path };
    let state = port.value(reader, "state", parse_state);
    let phys_state = port.value(reader, "phys_state", parse_phys_state);
    let link_layer = port.value(reader, "link_layer", parse_link_layer);
    let protocol = derive_protocol(parent.node_type, link_layer, parent.driver);
    let (rate_bps, rate_text) = read_rate(reader, &port, state);
    let active = rate_text.as_deref().filter(|_| rate_bps.is_some());
    let (link_width, link_speed) = active.and_then(parse_lanes).unzip();
    let has_lids = has_lids(protocol, parent.node_type, link_layer);
    let mut lid = |field: &str| {
        if !has_lids {
            return None;
        }
        // Omni-Path has LIDs of up to 32 bits.
        let lid = port.value(reader, field, parse_hex)?;
        // A port that no subnet manager has configured has LID 0 or 0xffff.
        (lid != 0 && lid != 0xffff).then_some(lid)
    };
    let (lid, sm_lid) = (lid("lid"), lid("sm_lid"));
    // On erdma, lmc and sm_sl are 0 too. Without its driver's name, erdma looks like InfiniBand.
    let has_details = parent.parts.has(Part::Details);
    let is_known = has_lids && protocol.is_some();
    let mut of_lids = |field: &str, file: &str| {
        let is_asked = has_details && has_lids;
        let value = is_asked.then(|| reader.value(&port.key(field), &port.path(file), parse_index));
        value.flatten().filter(|_| is_known)
    };
    let (lmc, sm_sl) = (of_lids("lmc", "lid_mask_count"), of_lids("sm_sl", "sm_sl"));
    let cap_mask = has_details.then(|| port.value(reader, "cap_mask", parse_hex)).flatten();
    let caps = cap_mask.zip(link_layer).map(|(mask, layer)| caps::port_words(mask.into(), layer));
    let defaults =
        (has_details && !has_lids).then(|| read_defaults(reader, &port, parent.name, number));
    let (default_roce_mode, default_roce_tos) = defaults.unwrap_or_default();
    let before = reader.problems.len();
    let extent = Extent::of(parent);
    let table = gid::read_table(reader, &port, protocol, link_layer, extent);
    // A port without a table does not run RoCE: the further ports of MANA send raw packets only.
    let protocol = protocol.filter(|protocol| *protocol != Protocol::Roce || table.is_some());
    // If an entry is unreadable, the next one may name a VLAN or be a worse address. Then the
    // report has neither address nor netdev from GIDs.
    let sound = table.as_deref().filter(|_| reader.problems.len() == before).unwrap_or_default();
    let address = gid::best_address(sound).filter(|_| protocol == Some(Protocol::Roce));
    let rate_bps = rate_bps.filter(|_| is_rate_of_link(parent, protocol, link_layer, sound));
    let netdev = netdev::find(reader, parent, &port, protocol, number, sound.first());
    let mtu = netdev.as_ref().map(|netdev| format!("/sys/class/net/{netdev}/mtu"));
    let netdev_mtu = mtu.and_then(|mtu| reader.value(&port.key("netdev_mtu"), &mtu, parse_index));
    Port {
        number,
        state,
        phys_state,
        link_layer,
        protocol,
        rate_bps,
        rate_text,
        link_width,
        link_speed: link_speed.flatten(),
        lid,
        sm_lid,
        lmc,
        sm_sl,
        cap_mask,
        caps,
        default_roce_mode,
        default_roce_tos,
        netdev,
        netdev_mtu,
        address,
        gids: table.filter(|_| extent == Extent::Whole),
        ..Port::default()
    }
}

/// True if the kernel's rate can be the rate of the link.
///
/// Without the name of its driver, erdma in `RoCE` mode has the link layer InfiniBand as well.
/// Its rate is not the rate of its link, and its GIDs are addresses.
fn is_rate_of_link(
    parent: &DeviceFacts<'_>,
    protocol: Option<Protocol>,
    link_layer: Option<LinkLayer>,
    gids: &[Gid],
) -> bool {
    if protocol.is_some() || link_layer != Some(LinkLayer::Infiniband) {
        return true;
    }
    let is_of_ethernet = |gid: &Gid| gid.netdev.is_some() || gid.value.ip().is_ipv4();
    let has_native = !gids.is_empty() && !gids.iter().any(is_of_ethernet);
    has_native && parent.node_type == Some(NodeType::Ca)
}

/// Reads the `rdma_cm` defaults of connections. The directory exists only if an administrator has
/// made it; reading does not make it.
fn read_defaults(
    reader: &mut Reader<'_>,
    port: &PortPath,
    device: &str,
    number: u32,
) -> (Option<GidKind>, Option<u32>) {
    let folder = format!("/sys/kernel/config/rdma_cm/{device}/ports/{number}");
    let (mode, tos) = ("default_roce_mode", "default_roce_tos");
    let kind = |text: &str| gid::parse_kind(text, true);
    let mode = reader.value(&port.key(mode), &format!("{folder}/{mode}"), kind);
    (mode, reader.value(&port.key(tos), &format!("{folder}/{tos}"), parse_index))
}

/// Reads the rate of a port whose link is up, in bit/s, and the text of the file.
fn read_rate(
    reader: &mut Reader<'_>,
    port: &PortPath,
    state: Option<PortState>,
) -> (Option<u64>, Option<String>) {
    let (key, path) = (port.key("rate_bps"), port.path("rate"));
    let answer = reader.ask(&Question::File(path.clone()));
    if let Err(error) = &answer
        && error.is_invalid()
    {
        // core/sysfs.c returns EINVAL if the driver reports a width that does not exist.
        reader.report_unreadable(&key, &path, error, Some(KnownFix::CheckCable));
        return (None, None);
    }
    let Some(text) = reader.decode_text(&key, &path, answer) else { return (None, None) };
    let rate_bps = parse_rate_bps(&text);
    if state.is_some_and(PortState::is_active) && rate_bps.is_none() {
        reader.report_malformed(&key, &path, &text);
    }
    (rate_bps.filter(|_| state.is_some_and(PortState::is_linked)), Some(text))
}

/// Parses `4: ACTIVE` by its number.
pub(super) fn parse_state(text: &str) -> Option<PortState> {
    match text.split_once(':')?.0 {
        "0" => Some(PortState::Nop),
        "1" => Some(PortState::Down),
        "2" => Some(PortState::Init),
        "3" => Some(PortState::Armed),
        "4" => Some(PortState::Active),
        "5" => Some(PortState::ActiveDefer),
        _ => None,
    }
}

/// Parses `5: LinkUp` by its word. hfi1 has two states that the kernel prints as `<unknown>`.
pub(super) fn parse_phys_state(text: &str) -> Option<String> {
    let (number, word) = text.split_once(':')?;
    parse_index(number).filter(|_| !number.is_empty())?;
    match (number, word.trim()) {
        (_, "") => None,
        ("9", "<unknown>") => Some("Offline".into()),
        ("11", "<unknown>") => Some("Test".into()),
        (_, word) => Some(word.to_owned()),
    }
}

pub(super) fn parse_link_layer(text: &str) -> Option<LinkLayer> {
    match text {
        "InfiniBand" => Some(LinkLayer::Infiniband),
        "Ethernet" => Some(LinkLayer::Ethernet),
        "Unknown" | "Unspecified" => Some(LinkLayer::Unknown),
        _ => None,
    }
}

/// Parses `2.5 Gb/sec (1X SDR)`, or `10 Gb/sec (4X)` on old kernels, into bit/s.
pub(super) fn parse_rate_bps(text: &str) -> Option<u64> {
    let (number, _) = text.split_once(" Gb/sec")?;
    parse_tenths(number)?.checked_mul(100_000_000)
}

/// Parses width and speed of `400 Gb/sec (4X NDR)`; old kernels omit the speed.
pub(super) fn parse_lanes(text: &str) -> Option<(String, Option<String>)> {
    let (_, lanes) = text.split_once('(')?;
    let (width, speed) = lanes.strip_suffix(')')?.split_once(' ').map_or_else(
        || (lanes.trim_end_matches(')'), None),
        |(width, speed)| (width, Some(speed.to_owned())),
    );
    let count = width.strip_suffix('X')?;
    parse_index(count).map(|_| (width.to_owned(), speed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_known_by_its_number() {
        assert_eq!(parse_state("4: ACTIVE"), Some(PortState::Active));
        assert_eq!(parse_state("5: ACTIVE_DEFER"), Some(PortState::ActiveDefer));
        for text in ["", "4", "ACTIVE", "44: ACTIVE", "4\u{0}: ACTIVE"] {
            assert_eq!(parse_state(text), None, "{text}");
        }
    }

    #[test]
    fn the_two_unknown_states_of_omni_path_have_names() {
        assert_eq!(parse_phys_state("5: LinkUp").unwrap(), "LinkUp");
        assert_eq!(parse_phys_state("9: <unknown>").unwrap(), "Offline");
        assert_eq!(parse_phys_state("12: <unknown>").unwrap(), "<unknown>");
        for text in ["", "LinkUp", ": LinkUp", "5:", "x: LinkUp"] {
            assert_eq!(parse_phys_state(text), None, "{text}");
        }
    }

    #[test]
    fn a_rate_may_have_one_decimal_and_no_name() {
        assert_eq!(parse_rate_bps("2.5 Gb/sec (1X SDR)"), Some(2_500_000_000));
        assert_eq!(parse_rate_bps("400 Gb/sec (4X NDR)"), Some(400_000_000_000));
        assert_eq!(parse_rate_bps("10 Gb/sec (4X)"), Some(10_000_000_000));
    }

    #[test]
    fn other_rates_are_refused() {
        for text in ["", "fast", "2.55 Gb/sec", "-1 Gb/sec", ".5 Gb/sec", "2. Gb/sec", "1e3 Gb/sec"]
        {
            assert_eq!(parse_rate_bps(text), None, "{text}");
        }
        assert_eq!(parse_rate_bps("1844674407370955161.9 Gb/sec"), None);
    }

    #[test]
    fn lanes_have_a_width_and_mostly_a_speed() {
        let lanes =
            |text| parse_lanes(text).map(|(width, speed)| (width, speed.unwrap_or_default()));
        assert_eq!(lanes("400 Gb/sec (4X NDR)"), Some(("4X".into(), "NDR".into())));
        assert_eq!(lanes("10 Gb/sec (4X)"), Some(("4X".into(), String::new())));
        for text in ["", "400 Gb/sec", "400 Gb/sec (4X NDR", "40 Gb/sec (NDR)", "40 Gb/sec (X Q)"] {
            assert_eq!(lanes(text), None, "{text}");
        }
    }

    #[test]
    fn a_lid_is_hexadecimal() {
        assert_eq!(parse_hex("0x3a4"), Some(0x3a4));
        assert_eq!(parse_hex("0x1ffffff"), Some(0x01ff_ffff));
        for text in ["", "0x", "3a4", "0x+1", "0x100000000", "0xgg"] {
            assert_eq!(parse_hex(text), None, "{text}");
        }
    }
}
