//! Finds the network interface of a port. `port` calls it.

use super::super::Reader;
use super::CLASS;
use super::port_path::{DeviceFacts, PortPath, parse_index};
use crate::model::{Gid, Protocol};

/// Type of an Ethernet interface in sysfs (`ARPHRD_ETHER`).
pub(super) const ETHERNET: u32 = 1;
/// Type of an `IPoIB` interface in sysfs (`ARPHRD_INFINIBAND`).
pub(super) const INFINIBAND: u32 = 32;

/// Finds the interface of a port.
///
/// An rxe device names its interface. On other `RoCE` ports, and on iWARP ports since Linux 6.6,
/// the first GID names the interface. All other interfaces share the bus device with the RDMA
/// device.
pub(super) fn find(
    reader: &mut Reader<'_>,
    parent: &DeviceFacts<'_>,
    place: &PortPath,
    protocol: Option<Protocol>,
    number: u32,
    first_gid: Option<&Gid>,
) -> Option<String> {
    // Only the first GID counts. Later GIDs may belong to a VLAN on top of the interface.
    let named = || first_gid.and_then(|gid| gid.netdev.clone());
    match protocol? {
        Protocol::Roce => parent.netdev.map(str::to_owned).or_else(named),
        Protocol::Ib | Protocol::Opa => by_bus_device(reader, parent, place, number, INFINIBAND),
        // The interface of erdma is on another bus device, so that only the GID names it.
        Protocol::Iwarp => {
            named().or_else(|| by_bus_device(reader, parent, place, number, ETHERNET))
        }
        // A usNIC device shares the PCI function with its Ethernet driver, enic.
        Protocol::Usnic => by_bus_device(reader, parent, place, number, ETHERNET),
        Protocol::Efa => None,
    }
}

/// Finds the interface of the given type and port number on the bus device of an RDMA device.
/// Returns `None` if a file of any candidate is unreadable.
fn by_bus_device(
    reader: &mut Reader<'_>,
    parent: &DeviceFacts<'_>,
    place: &PortPath,
    number: u32,
    kind: u32,
) -> Option<String> {
    let key = format!("{}/netdev", place.key);
    let before = reader.problems.len();
    let mut in_doubt = false;
    let folder = format!("{CLASS}/{}/device/net", parent.name);
    let mut names = reader.names(&key, &folder).unwrap_or_default();
    names.retain(|name| {
        let net = format!("/sys/class/net/{name}");
        let its_kind = reader.value(&key, &format!("{net}/type"), parse_index);
        // Every interface has a type. An interface without a type has just vanished.
        in_doubt |= its_kind.is_none();
        if its_kind != Some(kind) {
            return false;
        }
        // dev_port counts from 0. Reading dev_id, its twin, on IPoIB writes to the kernel log.
        let dev_port = reader.value(&key, &format!("{net}/dev_port"), parse_index);
        // Linux before 3.15 has no dev_port. A device with one port needs no number.
        in_doubt |= dev_port.is_none() && !parent.has_one_port;
        dev_port.map_or(parent.has_one_port, |dev_port| Some(dev_port) == number.checked_sub(1))
    });
    // Only an IPoIB interface of another partition has a `parent` file.
    if kind == INFINIBAND {
        names.retain(|name| reader.text(&key, &format!("/sys/class/net/{name}/parent")).is_none());
    }
    // If a candidate is unreadable, it may be the right one although another candidate matches.
    if in_doubt || reader.problems.len() > before { None } else { names.into_iter().next() }
}
