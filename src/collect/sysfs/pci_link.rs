//! Reads the current and the maximum speed of a device's PCI Express link. `device` and `collect`
//! use it.

use super::super::Reader;
use super::pci::is_pci_address;
use super::port_path::{parse_index, parse_tenths};
use crate::model::{Device, PciLink, PciSpeed, VirtualFunctions, key};

pub(super) fn read(reader: &mut Reader<'_>, device: &str, folder: &str) -> Option<PciLink> {
    let key = key::device(device, "pci_link");
    // The registers of a virtual function read as zero: its physical function has the link.
    let physical_function = reader
        .link(&key, &format!("{folder}/physfn"))
        .and_then(|target| Some(target.strip_prefix("../")?.to_owned()))
        .filter(|name| is_pci_address(name));
    let parent = above(folder)?;
    let physical = physical_function.as_ref().map(|name| format!("{parent}/{name}"));
    let folder = physical.as_deref().unwrap_or(folder);
    let current = read_speed(reader, &key, folder, "current")?;
    let card = read_speed(reader, &key, folder, "max");
    let way: Vec<PciSpeed> =
        bridges(folder).filter_map(|bridge| read_speed(reader, &key, bridge, "max")).collect();
    // A bridge that is slower than the link below it is one of a virtual machine.
    let is_virtual = way
        .first()
        .is_some_and(|bridge| bridge.lane_mtps < current.lane_mtps || bridge.lanes < current.lanes);
    let way = if is_virtual { Vec::new() } else { way };
    let slot = narrowest(&way);
    // A wide card in a narrow slot is not degraded. Bridges further up have links of their own.
    let is_degraded = card.zip(way.first()).map(|(card, slot)| {
        current.lane_mtps < card.lane_mtps.min(slot.lane_mtps)
            || current.lanes < card.lanes.min(slot.lanes)
    });
    Some(PciLink { current, card, slot, is_degraded, physical_function })
}

/// Sets `pci_suffices` of each port: true if the path from its device up to the CPU has the data
/// rate of the port, or the rate that the card supports.
pub(in crate::collect) fn compare(devices: &mut [Device]) {
    for Device { ports, pci_link, .. } in devices {
        let Some(link) = pci_link else { continue };
        let least_bps = link.slot.map_or(u64::MAX, |slot| slot.rate_bps).min(link.current.rate_bps);
        let most_bps = link.card.map_or(u64::MAX, |card| card.rate_bps);
        for port in ports {
            // A link with fewer lanes or a lower speed lacks more than a tenth. Less than that is
            // a difference of line codings: 8 GT/s x4 has 31.5 Gb/s, QDR has 32 Gb/s.
            let suffices = |rate_bps: u64| least_bps >= rate_bps.min(most_bps) / 10 * 9;
            port.pci_suffices = port.payload_rate_bps().map(suffices);
        }
    }
}

pub(super) fn read_virtual_functions(
    reader: &mut Reader<'_>,
    device: &str,
    folder: &str,
) -> Option<VirtualFunctions> {
    let key = key::device(device, "virtual_functions");
    let mut number = |file: &str| reader.value(&key, &format!("{folder}/{file}"), parse_index);
    let (total, enabled) = (number("sriov_totalvfs"), number("sriov_numvfs"));
    Some(VirtualFunctions { enabled: enabled?, total: total? })
}

/// Returns the link with the lowest rate; of equal links the nearest to the card. Width and speed
/// are not minimized separately: a fast narrow link plus a slow wide link are not a slow narrow
/// link.
fn narrowest(way: &[PciSpeed]) -> Option<PciSpeed> {
    way.iter().copied().min_by_key(|link| link.rate_bps)
}

/// Returns the directories of the bridges above a function, the nearest first. A link of 4,096
/// bytes, the limit of [`Reader::link`], has at most 315.
fn bridges(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(above(folder), |path| above(path))
        .take_while(|path| path.rsplit('/').next().is_some_and(is_pci_address))
}

fn above(folder: &str) -> Option<&str> {
    folder.rsplit_once('/').map(|(above, _)| above)
}

fn read_speed(reader: &mut Reader<'_>, key: &str, folder: &str, which: &str) -> Option<PciSpeed> {
    let path = |what: &str| format!("{folder}/{which}_link_{what}");
    let speed = reader.value(key, &path("speed"), parse_speed).flatten();
    let width = reader.value(key, &path("width"), parse_width).flatten();
    Some(PciSpeed::new(speed?, width?))
}

/// Parses `32.0 GT/s PCIe`, or `8 GT/s` on old kernels, into MT/s. `Unknown` means no link.
#[expect(clippy::option_option, reason = "malformed, unknown and known are three answers")]
fn parse_speed(text: &str) -> Option<Option<u32>> {
    if text.starts_with("Unknown") {
        return Some(None);
    }
    let (number, _) = text.split_once(" GT/s")?;
    u32::try_from(parse_tenths(number)? * 100).ok().map(Some)
}

/// Parses a number of lanes; 0 and 255 mean that there is no link.
#[expect(clippy::option_option, reason = "malformed, unknown and known are three answers")]
fn parse_width(text: &str) -> Option<Option<u32>> {
    match parse_index(text)? {
        0 | 255 => Some(None),
        lanes @ 1..=64 => Some(Some(lanes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Port, Protocol};

    #[test]
    fn every_kernel_spells_the_speed_its_own_way() {
        assert_eq!(parse_speed("32.0 GT/s PCIe"), Some(Some(32_000)));
        assert_eq!(parse_speed("2.5 GT/s"), Some(Some(2_500)));
        assert_eq!(parse_speed("8 GT/s"), Some(Some(8_000)));
        assert_eq!(parse_speed("Unknown speed"), Some(None));
        for text in ["", "32", "fast GT/s", "2.55 GT/s", "4294968 GT/s"] {
            assert_eq!(parse_speed(text), None, "{text}");
        }
        assert_eq!(parse_width("16"), Some(Some(16)));
        assert_eq!((parse_width("0"), parse_width("65")), (Some(None), None));
    }

    #[test]
    fn a_way_is_as_good_as_its_worst_link_and_no_worse() {
        let (fast, wide) = (PciSpeed::new(32_000, 4), PciSpeed::new(8_000, 16));
        assert_eq!(narrowest(&[fast, wide]), Some(fast), "126 Gb/s, and not 31.5");
        assert_eq!(narrowest(&[wide, PciSpeed::new(16_000, 8)]), Some(wide), "the nearest");
        assert_eq!(narrowest(&[]), None);
    }

    /// Returns `pci_suffices` of an InfiniBand port behind a link.
    fn suffices(
        (link_speed, gigabits): (&str, u64),
        current: PciSpeed,
        card: Option<PciSpeed>,
    ) -> Option<bool> {
        let port = Port {
            protocol: Some(Protocol::Ib),
            link_speed: Some(link_speed.into()),
            rate_bps: Some(gigabits * 1_000_000_000),
            ..Port::default()
        };
        let pci_link =
            PciLink { current, card, slot: None, is_degraded: None, physical_function: None };
        let mut devices =
            [Device { ports: vec![port], pci_link: Some(pci_link), ..Device::default() }];
        compare(&mut devices);
        devices[0].ports[0].pci_suffices
    }

    #[test]
    fn a_link_that_carries_the_data_of_the_port_suffices() {
        let (qdr, hdr, ndr) = (("QDR", 40), ("HDR", 200), ("NDR", 400));
        let second = PciSpeed::new(5_000, 8);
        assert_eq!(suffices(qdr, second, None), Some(true), "32 Gb/s of data");
        assert_eq!(suffices(qdr, PciSpeed::new(8_000, 4), None), Some(true), "31.5 Gb/s");
        assert_eq!(suffices(qdr, PciSpeed::new(5_000, 4), Some(second)), Some(false), "half");
        // Each half of a ConnectX-6 with Socket Direct has a link of its own.
        let third = PciSpeed::new(8_000, 16);
        assert_eq!(suffices(hdr, third, Some(third)), Some(true), "the card has no more");
        assert_eq!(suffices(hdr, third, Some(PciSpeed::new(16_000, 16))), Some(false));
        let (eight, card) = (PciSpeed::new(32_000, 8), PciSpeed::new(32_000, 16));
        assert_eq!(suffices(ndr, eight, Some(card)), Some(false));
        assert_eq!(suffices(ndr, card, Some(card)), Some(true));
    }

    #[test]
    fn bridges_end_at_the_host() {
        let folder = "/sys/devices/pci0000:80/0000:80:02.2/0000:81:00.0/0000:82:00.0";
        let above: Vec<&str> = bridges(folder).collect();
        assert_eq!(above.len(), 2, "{above:?}");
        assert!(above[1].ends_with("/0000:80:02.2"));
    }
}
