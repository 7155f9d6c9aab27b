//! Finds the network interface of a port. `port` calls it.

use super::super::Reader;
use super::CLASS;
use super::port_path::{DeviceFacts, PortPath, parse_index};
use crate::model::{Gid, Protocol};

/// Types of interfaces: `ARPHRD_ETHER` and `ARPHRD_INFINIBAND`.
pub(super) const ETHERNET: u32 = 1;
pub(super) const INFINIBAND: u32 = 32;

/// Finds the interface of a port. On Ethernet, the GIDs name it; an rxe device names it itself.
/// `IPoIB` and iWARP interfaces share the bus device, and their `dev_port` counts from 0.
pub(super) fn find(
    reader: &mut Reader<'_>,
    parent: &DeviceFacts<'_>,
    place: &PortPath,
    protocol: Option<Protocol>,
    number: u32,
    first: Option<&Gid>,
) -> Option<String> {
    match protocol? {
        // Only the first GID counts: later ones may belong to a VLAN on top of the interface.
        Protocol::Roce => {
            let named = parent.netdev.map(str::to_owned);
            named.or_else(|| first.and_then(|gid| gid.netdev.clone()))
        }
        Protocol::Ib | Protocol::Opa => by_bus_device(reader, parent, place, number, INFINIBAND),
        // Kernels from 6.6 name the interface in the GID as well. The interface of erdma is on
        // another bus device.
        Protocol::Iwarp => first
            .and_then(|gid| gid.netdev.clone())
            .or_else(|| by_bus_device(reader, parent, place, number, ETHERNET)),
        // The device shares the PCI function of its Ethernet driver, enic.
        Protocol::Usnic => by_bus_device(reader, parent, place, number, ETHERNET),
        Protocol::Efa => None,
    }
}

fn by_bus_device(
    reader: &mut Reader<'_>,
    parent: &DeviceFacts<'_>,
    place: &PortPath,
    number: u32,
    kind: u32,
) -> Option<String> {
    let key = format!("{}/netdev", place.key);
    let before = reader.problem_count();
    let mut in_doubt = false;
    let mut names =
        reader.names(&key, &format!("{CLASS}/{}/device/net", parent.name)).unwrap_or_default();
    names.retain(|name| {
        let net = format!("/sys/class/net/{name}");
        // `dev_id` has the same number, but reading it on IPoIB writes to the kernel log.
        let its_kind = reader.value(&key, &format!("{net}/type"), parse_index);
        // Every interface has a type: this interface has just vanished.
        in_doubt |= its_kind.is_none();
        if its_kind != Some(kind) {
            return false;
        }
        let dev_port = reader.value(&key, &format!("{net}/dev_port"), parse_index);
        // Kernels before 3.15 have no `dev_port`. A device with one port needs no number.
        in_doubt |= dev_port.is_none() && !parent.has_one_port;
        dev_port.map_or(parent.has_one_port, |dev_port| Some(dev_port) == number.checked_sub(1))
    });
    // Interfaces of further partitions name the interface from which they were made.
    if kind == INFINIBAND {
        names.retain(|name| reader.text(&key, &format!("/sys/class/net/{name}/parent")).is_none());
    }
    // If one candidate is unreadable, another candidate may look right and be wrong.
    if in_doubt || reader.problem_count() > before { None } else { names.into_iter().next() }
}
