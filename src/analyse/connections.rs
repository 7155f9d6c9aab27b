//! Connections of RDMA consumers on all hosts: transport in use, requested transport and verdict.
//!
//! A fallback is confirmed only if the software reports it, or if the requested transport is
//! configured and the transport in use was observed. Weaker evidence gives the verdict
//! "suspected". TCP that an administrator configured is not a fault.

mod addresses;
mod beegfs;
mod builder;
mod channel;
mod clients;
mod environment;
mod fleet;
mod index;
mod iscsi;
mod join;
mod lustre;
mod nfs;
mod nfs_server;
mod nvme;
mod p9;
mod portal;
mod process;
mod rds;
mod remote_queue_pairs;
mod smb;
mod smc;
mod srp;

use crate::model::{Connection, HostReport};
use fleet::Fleet;
use index::Index;

/// Returns the connections of each host, in the order of the reports. A connection between two of
/// the hosts has one row.
pub fn connections(reports: &[HostReport]) -> Vec<Vec<Connection>> {
    let numbered = reports.iter().enumerate();
    let indices: Vec<_> = numbered.map(|(host, report)| Index::new(host, report)).collect();
    let fleet = Fleet::new(reports, &indices);
    let of_host = |index: &Option<_>| index.as_ref().map_or(Vec::new(), |one| judge(one, &fleet));
    let mut all: Vec<_> = indices.iter().map(of_host).collect();
    join::join(&fleet, &mut all);
    all
}

fn judge(index: &Index<'_>, fleet: &Fleet<'_>) -> Vec<Connection> {
    let mut all = Vec::new();
    nfs::judge(index, fleet, &mut all);
    nfs_server::judge(index, &mut all);
    nvme::judge(index, fleet, &mut all);
    iscsi::judge(index, &mut all);
    srp::judge(index, &mut all);
    beegfs::judge(index, fleet, &mut all);
    smc::judge(index, &mut all);
    rds::judge(index, &mut all);
    lustre::judge(index, &mut all);
    smb::judge(index, &mut all);
    p9::judge(index, &mut all);
    // The last step: a channel that no other consumer claimed belongs to a process.
    process::judge(index, fleet, &mut all);
    if let Some(unassigned) = index.unassigned() {
        for connection in &mut all {
            connection.missing.push(unassigned.clone());
        }
    }
    builder::set_ids(&index.report.host, &mut all);
    all
}
