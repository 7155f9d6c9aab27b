//! Who uses RDMA, who TCP, and what was wanted: connections made of the facts of all hosts.
//!
//! A fallback is called confirmed only where the software itself says so, or where what was asked for is
//! written and what is used is seen. What only fits is suspected. TCP that somebody configured is no fault.

mod addresses;
mod beegfs;
mod channel;
mod clients;
mod draft;
mod environment;
mod fleet;
mod index;
mod iscsi;
mod join;
mod lustre;
mod mirror;
mod nfs;
mod nfs_server;
mod nvme;
mod p9;
mod portal;
mod process;
mod rds;
mod shell;
mod smb;
mod smc;
mod srp;

use crate::model::{Connection, HostReport};
use fleet::Fleet;
use index::Index;

/// The connections of each host, in the order of the reports. An end that another host's row shows is
/// not shown again.
#[must_use]
pub fn connections(reports: &[HostReport]) -> Vec<Vec<Connection>> {
    let numbered = reports.iter().enumerate();
    let indices: Vec<_> = numbered.map(|(host, report)| Index::new(host, report)).collect();
    let fleet = Fleet::new(reports, &indices);
    let of_host = |index: &Option<Index<'_>>| index.as_ref().map(|index| judge(index, &fleet));
    let mut all: Vec<_> = indices.iter().map(|index| of_host(index).unwrap_or_default()).collect();
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
    // Last: what nobody else has claimed is a process's own.
    process::judge(index, fleet, &mut all);
    draft::name(&index.report.host, &mut all);
    all
}
