use std::fs;
use std::net::IpAddr;

/// The kernel's table of the neighbours of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourTable {
    /// How many entries it has.
    pub entries: u32,
    /// How many make it full: for another one the kernel looks in vain (`neigh_alloc`, net/core/neighbour.c).
    pub limit: u32,
}

impl NeighbourTable {
    /// The table that an address is looked up in; `None` where the kernel does not say, as in network
    /// namespaces of containers.
    #[must_use]
    pub fn of(address: IpAddr) -> Option<Self> {
        let (table, family) =
            if address.is_ipv4() { ("arp_cache", "ipv4") } else { ("ndisc_cache", "ipv6") };
        let statistics = fs::read_to_string(format!("/proc/net/stat/{table}")).ok()?;
        let limit = format!("/proc/sys/net/{family}/neigh/default/gc_thresh3");
        let limit = fs::read_to_string(limit).ok()?.trim().parse().ok()?;
        Some(Self { entries: entries(&statistics)?, limit })
    }

    /// Whether it has no room.
    #[must_use]
    pub fn is_full(self) -> bool {
        self.entries >= self.limit
    }
}

/// The first column, in hexadecimal; the line of each processor has the same there.
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
    let table = NeighbourTable { entries: 1_023, limit: 1_024 };
    assert!(!table.is_full() && NeighbourTable { entries: 1_024, ..table }.is_full());
}
