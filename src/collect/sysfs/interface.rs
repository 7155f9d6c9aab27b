//! Reads the network interfaces of ports, and the interfaces above and below them: bonds, VLANs,
//! `IPoIB` partitions. `collect` calls it.

use std::collections::BTreeMap;

use super::super::Reader;
use super::CLASS;
use super::netdev::{ETHERNET, INFINIBAND};
use super::pci::last_part;
use super::port_path::{parse_hex, parse_index};
use crate::model::{
    Bond, HostReport, Ipoib, LinkLayer, Netdev, NetdevKind, Port, Protocol, Vlan, key,
};
use crate::source::{Attributes, Messages, Question, RouteCommand, RouteQuery};

/// Limit of interfaces; a host with 512 virtual functions has as many interfaces.
const MAX: usize = 4096;

/// Bytes of a `struct ifinfomsg` before the attributes.
const IFINFOMSG: usize = 16;

/// Attributes of `include/uapi/linux/if_link.h`.
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_VLAN_ID: u16 = 1;

/// Gives active Ethernet ports the speed of their interface. The kernel's rate of the port itself
/// is not the real one: InfiniBand's widths and speeds cannot express most of Ethernet's.
pub(in crate::collect) fn read_rates(reader: &mut Reader<'_>, report: &mut HostReport) {
    for device in &mut report.devices {
        for port in &mut device.ports {
            match port.link_layer {
                // Without the link layer, the kernel's rate may differ from the rate of the link.
                None => port.rate_bps = None,
                Some(layer) if is_ethernet(port, layer) => {
                    let netdev = port.netdev.as_deref().filter(|_| port.is_active());
                    let key = key::port(&device.name, port.number, "rate_bps");
                    port.rate_bps = netdev.and_then(|netdev| read_speed(reader, &key, netdev));
                }
                Some(_) => {}
            }
        }
    }
}

fn is_ethernet(port: &Port, layer: LinkLayer) -> bool {
    layer == LinkLayer::Ethernet || matches!(port.protocol, Some(Protocol::Roce | Protocol::Iwarp))
}

/// Reads the interfaces of all ports, and the interfaces related to them.
pub(in crate::collect) fn read_all(reader: &mut Reader<'_>, report: &mut HostReport) {
    let mut wanted = first_names(reader, report);
    let mut known: BTreeMap<String, Option<Netdev>> = BTreeMap::new();
    while let Some(name) = wanted.pop() {
        if known.contains_key(&name) {
            continue;
        }
        if known.len() == MAX {
            reader.report_too_long("netdevs", "/sys/class/net", MAX);
            break;
        }
        let read = read(reader, &name, &mut wanted);
        known.insert(name, read);
    }
    let mut netdevs: Vec<Netdev> = known.into_values().flatten().collect();
    netdevs.sort_by(|a, b| crate::names::compare(&a.name, &b.name));
    let mut children: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for child in &netdevs {
        if let Some(parent) = child.ipoib.as_ref().and_then(|ipoib| ipoib.parent.clone()) {
            children.entry(parent).or_default().push(child.name.clone());
        }
    }
    for netdev in &mut netdevs {
        if let Some(ipoib) = &mut netdev.ipoib {
            ipoib.children = children.remove(&netdev.name).unwrap_or_default();
        }
    }
    report.netdevs = Some(netdevs.into());
}

/// Returns the interfaces that ports and GIDs name, and all interfaces of an InfiniBand device:
/// only the device lists the interfaces of further partitions.
fn first_names(reader: &mut Reader<'_>, report: &HostReport) -> Vec<String> {
    let mut names = Vec::new();
    for device in &report.devices {
        for port in &device.ports {
            names.extend(port.netdev.clone());
            names.extend(port.gids.iter().flatten().filter_map(|gid| gid.netdev.clone()));
        }
        let is_ib = |port: &Port| port.protocol.is_some_and(Protocol::has_subnet);
        if device.ports.iter().any(is_ib) {
            let key = key::device(&device.name, "netdev");
            let folder = format!("{CLASS}/{}/device/net", device.name);
            names.extend(reader.names(&key, &folder).unwrap_or_default());
        }
    }
    names.retain(|name| !name.is_empty() && !name.contains('/') && !name.starts_with('.'));
    names
}

/// Files of one interface. Only files that its directory lists are read.
struct Place<'reader, 'source> {
    reader: &'reader mut Reader<'source>,
    name: &'reader str,
    entries: Vec<String>,
}

/// Reads an interface; `None` if this network namespace has no interface of that name.
fn read(reader: &mut Reader<'_>, name: &str, wanted: &mut Vec<String>) -> Option<Netdev> {
    let before = reader.problems.len();
    let listed = reader.names(&format!("netdevs/{name}"), &format!("/sys/class/net/{name}"));
    if listed.is_none() && reader.problems.len() == before {
        return None;
    }
    let entries = listed.unwrap_or_default();
    let mut place = Place { reader, name, entries };
    let kind = place.number("kind", "type").map(|kind| match kind {
        ETHERNET => NetdevKind::Ethernet,
        INFINIBAND => NetdevKind::Infiniband,
        _ => NetdevKind::Other,
    });
    let bond = place.has("bonding").then(|| place.bond());
    let vlan = place.is_vlan().then(|| place.vlan());
    let netdev = Netdev {
        name: name.to_owned(),
        kind,
        mtu: place.number("mtu", "mtu"),
        operstate: place.text("operstate", "operstate"),
        carrier: place.value("carrier", "carrier", parse_carrier),
        carrier_down_count: place
            .value("carrier_down_count", "carrier_down_count", |text| text.parse().ok()),
        speed_bps: read_speed(place.reader, &key::netdev(name, "speed_bps"), name),
        address: place.text("address", "address"),
        master: place.master(),
        ipoib: (kind == Some(NetdevKind::Infiniband)).then(|| place.ipoib()),
        bond,
        vlan,
        ethernet: None,
    };
    wanted.extend(netdev.master.clone());
    wanted.extend(netdev.bond.iter().flat_map(|bond| bond.members.clone()));
    wanted.extend(netdev.vlan.iter().filter_map(|vlan| vlan.parent.clone()));
    let uppers: Vec<String> = place.linked("upper_").map(str::to_owned).collect();
    for upper in uppers {
        // Bridges and containers may have added hundreds of uppers: only VLANs carry RDMA.
        if (Place { reader: place.reader, name: &upper, entries: vec!["uevent".into()] }).is_vlan()
        {
            wanted.push(upper);
        }
    }
    Some(netdev)
}

impl Place<'_, '_> {
    fn has(&self, file: &str) -> bool {
        self.entries.iter().any(|entry| entry == file)
    }

    /// Returns the text of a file. While the interface is down, the kernel returns EINVAL for
    /// some files; they count as missing.
    fn text(&mut self, field: &str, file: &str) -> Option<String> {
        if !self.has(file.split('/').next().unwrap_or(file)) {
            return None;
        }
        let path = format!("/sys/class/net/{}/{file}", self.name);
        self.reader.supported_text(&key::netdev(self.name, field), &path)
    }

    fn value<T>(
        &mut self,
        field: &str,
        file: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(field, file)?;
        let path = format!("/sys/class/net/{}/{file}", self.name);
        self.reader.parse(&key::netdev(self.name, field), &path, &text, parse)
    }

    fn number(&mut self, field: &str, file: &str) -> Option<u32> {
        self.value(field, file, parse_index)
    }

    /// Returns the names of interfaces above (`upper_`) or below (`lower_`).
    fn linked<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.entries.iter().filter_map(move |entry| entry.strip_prefix(prefix))
    }

    fn master(&mut self) -> Option<String> {
        if !self.has("master") {
            return None;
        }
        let (name, reader) = (self.name, &mut *self.reader);
        let key = key::netdev(name, "master");
        last_part(&reader.link(&key, &format!("/sys/class/net/{name}/master"))?)
    }

    fn bond(&mut self) -> Bond {
        // The file reads `802.3ad 4`: the word, then its number.
        let word = |text: &str| text.split_whitespace().next().map(str::to_owned);
        let mode = self.value("bond/mode", "bonding/mode", word);
        let members = self.text("bond/members", "bonding/slaves").unwrap_or_default();
        let active = self.text("bond/active", "bonding/active_slave");
        Bond {
            mode,
            members: members.split_whitespace().map(str::to_owned).collect(),
            active: active.filter(|name| !name.is_empty()),
        }
    }

    fn is_vlan(&mut self) -> bool {
        let uevent = self.text("vlan", "uevent");
        uevent.is_some_and(|text| text.lines().any(|line| line == "DEVTYPE=vlan"))
    }

    fn vlan(&mut self) -> Vlan {
        Vlan {
            id: read_vlan_id(self.reader, self.name),
            parent: self.linked("lower_").next().map(str::to_owned),
        }
    }

    /// Reads the files of an `IPoIB` interface, but not `dev_id`: on `IPoIB`, reading it writes
    /// to the kernel log.
    fn ipoib(&mut self) -> Ipoib {
        Ipoib {
            mode: self.text("ipoib/mode", "mode"),
            pkey: self.value("ipoib/pkey", "pkey", parse_pkey),
            parent: self.text("ipoib/parent", "parent").filter(|name| !name.is_empty()),
            children: Vec::new(),
        }
    }
}

/// Reads the speed of an interface in bit/s. The file has megabits per second.
fn read_speed(reader: &mut Reader<'_>, key: &str, netdev: &str) -> Option<u64> {
    let path = format!("/sys/class/net/{netdev}/speed");
    let text = reader.supported_text(key, &path).filter(|text| !is_unknown_speed(text))?;
    let megabits = reader.parse(key, &path, &text, parse_index)?;
    Some(u64::from(megabits) * 1_000_000)
}

/// True if a speed is unknown: -1, -1 as an unsigned number of 32 or 16 bits, or 0.
fn is_unknown_speed(text: &str) -> bool {
    matches!(text, "-1" | "4294967295" | "65535" | "0")
}

/// Reads the VLAN ID of an interface. `/proc/net/vlan` shows it only to root.
fn read_vlan_id(reader: &mut Reader<'_>, netdev: &str) -> Option<u16> {
    let key = key::netdev(netdev, "vlan/id");
    let query = RouteQuery { command: RouteCommand::Link, netdev: netdev.to_owned() };
    let question = Question::Route(query);
    let answer = reader.read(&key, &question)?;
    let id = decode_vlan_id(&answer);
    if id.is_none() {
        reader.report_malformed(&key, &question.to_string(), "a link without a VLAN id");
    }
    id
}

fn decode_vlan_id(answer: &[u8]) -> Option<u16> {
    let message = Messages::new(answer).next()?;
    let attributes = Attributes::new(message.payload.get(IFINFOMSG..)?);
    let data = attributes.get(IFLA_LINKINFO)?.nest().get(IFLA_INFO_DATA)?;
    u16::try_from(data.nest().get(IFLA_VLAN_ID)?.number()?).ok()
}

fn parse_carrier(text: &str) -> Option<bool> {
    match text {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn parse_pkey(text: &str) -> Option<u16> {
    parse_hex(text)?.try_into().ok()
}

#[test]
fn a_speed_may_be_unknown() {
    for text in ["-1", "4294967295", "65535", "0"] {
        assert!(is_unknown_speed(text), "{text}");
    }
    assert!(!is_unknown_speed("100000") && !is_unknown_speed("-2"));
}

#[test]
fn a_partition_key_is_hexadecimal() {
    assert_eq!(parse_pkey("0x8001"), Some(0x8001));
    for text in ["", "8001", "0x", "0x+1", "0x10000"] {
        assert_eq!(parse_pkey(text), None, "{text}");
    }
}
