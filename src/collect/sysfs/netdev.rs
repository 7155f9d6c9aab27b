//! Which network interface belongs to a port.

use super::super::Reader;
use super::CLASS;
use super::place::{Parent, Place, parse_index};
use crate::model::{Gid, Protocol};

/// `ARPHRD_ETHER` and `ARPHRD_INFINIBAND`, the types of interfaces.
pub(super) const ETHERNET: u32 = 1;
pub(super) const INFINIBAND: u32 = 32;

/// Finds the interface. On Ethernet the GIDs name it; rxe names it itself; `IPoIB` and iWARP
/// interfaces share the bus device, and their `dev_port` counts from 0.
pub(super) fn find(
    reader: &mut Reader<'_>,
    parent: &Parent<'_>,
    place: &Place,
    protocol: Option<Protocol>,
    number: u32,
    first: Option<&Gid>,
) -> Option<String> {
    match protocol? {
        // Only the first: later entries may be those of a VLAN on top of it.
        Protocol::Roce => {
            first.and_then(|gid| gid.netdev.clone()).or_else(|| parent.netdev.map(str::to_owned))
        }
        Protocol::Ib | Protocol::Opa => by_bus_device(reader, parent, place, number, INFINIBAND),
        Protocol::Iwarp => by_bus_device(reader, parent, place, number, ETHERNET),
        Protocol::Efa | Protocol::Usnic => None,
    }
}

fn by_bus_device(
    reader: &mut Reader<'_>,
    parent: &Parent<'_>,
    place: &Place,
    number: u32,
    kind: u32,
) -> Option<String> {
    let key = format!("{}/netdev", place.key);
    let before = reader.problem_count();
    let mut names =
        reader.names(&key, &format!("{CLASS}/{}/device/net", parent.name)).unwrap_or_default();
    names.retain(|name| {
        let net = format!("/sys/class/net/{name}");
        // `dev_id` would tell the same, but reading it on IPoIB writes to the kernel log.
        reader.value(&key, &format!("{net}/type"), parse_index) == Some(kind)
            && reader.value(&key, &format!("{net}/dev_port"), parse_index) == number.checked_sub(1)
    });
    // Interfaces of further partitions name the one they were made from.
    if kind == INFINIBAND {
        names.retain(|name| reader.text(&key, &format!("/sys/class/net/{name}/parent")).is_none());
    }
    // With one candidate unreadable, another may look right and be wrong.
    if reader.problem_count() > before { None } else { names.into_iter().next() }
}
