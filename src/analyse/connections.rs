//! Who uses RDMA, who TCP, and what was wanted: connections made of the facts of all hosts.
//!
//! A fallback is called confirmed only where the software itself says so, or where what was asked for is
//! written and what is used is seen. What only fits is suspected. TCP that somebody configured is no fault.

mod beegfs;
mod beegfs_memory;
mod clients;
mod draft;
mod fleet;
mod index;
mod iscsi;
mod lustre;
mod nfs;
mod nvme;
mod p9;
mod process;
mod rds;
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
    let fleet = Fleet::new(reports);
    let mut all: Vec<Vec<Connection>> =
        reports.iter().map(|report| of_host(report, &fleet)).collect();
    fleet.join(reports, &mut all);
    all
}

fn of_host(report: &HostReport, fleet: &Fleet<'_>) -> Vec<Connection> {
    let Some(consumers) = &report.consumers else { return Vec::new() };
    let index = Index::new(report, consumers);
    let mut all = Vec::new();
    nfs::judge(&index, fleet, &mut all);
    nvme::judge(&index, fleet, &mut all);
    iscsi::judge(&index, &mut all);
    srp::judge(&index, &mut all);
    beegfs::judge(&index, fleet, &mut all);
    smc::judge(&index, &mut all);
    rds::judge(&index, &mut all);
    lustre::judge(&index, &mut all);
    smb::judge(&index, &mut all);
    p9::judge(&index, &mut all);
    // Last: what nobody else has claimed is a process's own.
    process::judge(&index, &mut all);
    for connection in &mut all {
        connection.id = draft::id(&report.host, connection);
    }
    all
}
