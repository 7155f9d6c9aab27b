//! Reads how full the kernel's neighbor tables (ARP, NDP) are.

use std::fs;
use std::net::IpAddr;

/// Fill level of the kernel's neighbor table of one address family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighborTable {
    /// Number of entries.
    pub entries: u32,
    /// Number of entries at which the table is full: the kernel then fails to add another one
    /// (`neigh_alloc`, net/core/neighbour.c).
    pub limit: u32,
}

impl NeighborTable {
    /// Reads the table for the family of an address; `None` if the kernel hides it, as in the
    /// network namespaces of containers.
    pub fn of(address: IpAddr) -> Option<Self> {
        let (table, family) =
            if address.is_ipv4() { ("arp_cache", "ipv4") } else { ("ndisc_cache", "ipv6") };
        let statistics = fs::read_to_string(format!("/proc/net/stat/{table}")).ok()?;
        let limit = format!("/proc/sys/net/{family}/neigh/default/gc_thresh3");
        let limit = fs::read_to_string(limit).ok()?.trim().parse().ok()?;
        Some(Self { entries: entries(&statistics)?, limit })
    }

    /// True if the table has no room for another entry.
    pub fn is_full(self) -> bool {
        self.entries >= self.limit
    }
}

/// Parses the first column, in hexadecimal. The lines of all CPUs have the same value there.
fn entries(statistics: &str) -> Option<u32> {
    let of_first = statistics.lines().nth(1)?;
    u32::from_str_radix(of_first.split_whitespace().next()?, 16).ok()
}

#[test]
fn entries_are_counted_in_hexadecimal() {
    let recorded = "entries  allocs   destroys hash_grows\n\
                    00000400 00000007 00000006 00000000  \n\
                    00000400 00000001 00000000 00000000  \n";
    assert_eq!(entries(recorded), Some(1_024));
    for bad in ["", "entries\n", "entries\nxyz\n", "entries\n100000000\n", "entries\n\n"] {
        assert_eq!(entries(bad), None, "{bad:?}");
    }
}

#[test]
fn a_table_is_full_at_its_limit() {
    let table = NeighborTable { entries: 1_023, limit: 1_024 };
    assert!(!table.is_full() && NeighborTable { entries: 1_024, ..table }.is_full());
}
