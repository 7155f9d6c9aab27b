//! Selects the columns that `rdmactl top` can fill from the parts of a report that it reads for
//! each sample.
//!
//! Listings of other commands can have more columns, which need requests that are too slow for
//! one sample per second. `tui` offers only the columns of this module, and filters of `top`
//! accept only them.

use super::{Column, Listing};
use crate::model::Part;

/// Parts of a report that `rdmactl top` reads.
pub const LIVE_PARTS: [Part; 6] =
    [Part::Connections, Part::Counters, Part::Gids, Part::Netdevs, Part::PciLinks, Part::Resources];

/// Returns the columns of a listing that `rdmactl top` can fill, in their order.
pub fn live_columns<L: Listing>() -> impl Iterator<Item = &'static Column<L>> {
    L::COLUMNS.iter().filter(|column| is_live(column))
}

/// True if `rdmactl top` reads all parts that the column needs.
pub fn is_live<L: Listing>(column: &Column<L>) -> bool {
    column.parts().all(|part| LIVE_PARTS.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::{Connections, Findings, LiveHosts, LivePorts, Processes};

    fn left_out<L: Listing>() -> Vec<&'static str> {
        let all = L::COLUMNS.iter().filter(|column| !is_live(column));
        all.map(|column| column.id).collect()
    }

    #[test]
    fn top_leaves_out_the_other_ends_of_links_and_nothing_else() {
        assert_eq!(
            left_out::<Connections>(),
            ["rdma.remote", "rdma.remote_port", "rdma.leaf_switch"]
        );
        let rest = [
            left_out::<LiveHosts>(),
            left_out::<LivePorts>(),
            left_out::<Findings>(),
            left_out::<Processes>(),
        ];
        assert!(rest.concat().is_empty(), "{rest:?}");
    }
}
