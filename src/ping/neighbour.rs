//! Finds the reason why the kernel did not resolve a neighbor: no route leads to the remote
//! address, or the neighbor table is full.
//!
//! Does not judge pairs. `end` and `worker` pass their failures through [`explained`].

use std::net::IpAddr;

use super::address::ROUTE_LOOKUP;
use crate::model::probe::{Cause, Opening, StepError};
use crate::model::{GidValue, KnownFix};
use crate::source::{NeighborTable, has_route};
use crate::sys::verbs::{Path, RemoteAddress};

/// Returns the failure on a path, with a more exact cause if this host finds one.
///
/// On InfiniBand, no neighbor is resolved: the firmware of the device does not respond.
///
/// Without a route to an IPv4 address, the kernel searches for the address on the link until it
/// fails with ETIMEDOUT. Without a route to an IPv6 address, the kernel fails at once with
/// ENETUNREACH, which it also returns if the interface is down. A full neighbor table accepts no
/// new entry, and the kernel reports ETIMEDOUT as for a neighbor that does not respond.
pub(super) fn explained(
    error: StepError,
    opening: &Opening,
    remote: GidValue,
    path: &Path,
) -> StepError {
    let to = remote.ip();
    let is_errno = |errno: &str| matches!(&error.cause, Cause::Errno(name) if name == errno);
    let is_timeout = is_errno("ETIMEDOUT");
    if is_timeout && !matches!(path.target, RemoteAddress::Grh(_)) {
        return StepError { cause: Cause::Stuck, ..error };
    }
    let is_unreachable = to.is_ipv6() && is_errno("ENETUNREACH");
    let Some(netdev) = opening.netdev.as_ref().filter(|_| is_timeout || is_unreachable) else {
        return error;
    };
    if has_route(netdev, opening.gid.ip(), to, ROUTE_LOOKUP) == Some(false) {
        let detail = format!("no route leads from {netdev} to {to}");
        return StepError { detail, cause: Cause::NoRoute, ..error };
    }
    match NeighborTable::of(to).filter(|table| is_timeout && table.is_full()) {
        Some(table) => with_full_table(error, table, to),
        None => error,
    }
}

fn with_full_table(error: StepError, table: NeighborTable, to: IpAddr) -> StepError {
    let NeighborTable { entries, limit } = table;
    let detail = format!(
        "{}; the neighbor table of the kernel is full: {entries} of {limit} entries",
        error.detail
    );
    let fix = if to.is_ipv4() { KnownFix::RaiseNeighbours4 } else { KnownFix::RaiseNeighbours6 };
    StepError { detail, fix: Some(fix.into()), ..error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::probe::{Method, Purpose, Role, Stage};
    use crate::sys::verbs::LocalRoute;

    #[test]
    fn on_infiniband_a_timeout_is_of_the_firmware() {
        let gid = GidValue("fe80::1".parse().unwrap());
        let opening = Opening {
            device: "mlx5_0".into(),
            port: 1,
            gid_index: 0,
            gid,
            pkey_index: 0,
            service_level: 0,
            traffic_class: 0,
            tcp_address: None,
            netdev: Some("ib0".into()),
            soft_roce: false,
            method: Method::Relay,
            purpose: Purpose::Messages,
            qkey: None,
            proof: None,
            tcp_stream: false,
            tcp_peer: None,
            role: Role::Source,
        };
        let target = RemoteAddress::Lid(LocalRoute { lid: 7, source_path_bits: 0 });
        let path = Path { port: 1, service_level: 0, target };
        let cause = |errno: &str| {
            let error = StepError::new(Stage::Connect, Cause::Errno(errno.into()));
            explained(error, &opening, gid, &path).cause
        };
        assert_eq!(cause("ETIMEDOUT"), Cause::Stuck);
        assert_eq!(cause("EINVAL"), Cause::Errno("EINVAL".into()));
    }

    #[test]
    fn full_neighbor_table_is_reported_with_its_limit_and_a_fix() {
        let error = StepError {
            detail: "no reply".into(),
            ..StepError::new(Stage::Connect, Cause::Errno("ETIMEDOUT".into()))
        };
        let table = NeighborTable { entries: 1_024, limit: 1_024 };
        let explained = with_full_table(error.clone(), table, "10.0.0.1".parse().unwrap());
        assert_eq!(
            explained.detail,
            "no reply; the neighbor table of the kernel is full: 1024 of 1024 entries"
        );
        assert!(explained.fix.unwrap().contains("net.ipv4.neigh.default.gc_thresh3="));
        assert_eq!(explained.cause, error.cause);
        let explained = with_full_table(error, table, "fd00::1".parse().unwrap());
        assert!(explained.fix.unwrap().contains("net.ipv6.neigh.default.gc_thresh3="));
    }
}
