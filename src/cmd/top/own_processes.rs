//! Removes the processes of rdmactl from the samples of `rdmactl top`.
//!
//! An agent or a ping holds queue pairs, contexts and sockets only while it runs. Its rows would
//! appear and disappear with each test. `rdmactl resources` and `connections` list them.
//!
//! A process that ends while a host reads its objects has no name. Its rows are removed until the
//! next sample, in which an object of another program is still there.
//!
//! [`super::sample_builder`] calls it before connections are judged.

use std::collections::HashSet;

use crate::model::{HostReport, Owner};

/// Process name of rdmactl, whether installed, uploaded or started by a launcher.
const NAME: &str = "rdmactl";

/// Process IDs without a name in the last report of a host.
#[derive(Debug, Default)]
pub(super) struct Nameless(HashSet<u32>);

impl Nameless {
    /// Removes the objects and processes of rdmactl from the next report of the host.
    pub(super) fn leave_out(&mut self, report: &mut HostReport) {
        let mut nameless = HashSet::new();
        let mut is_own = |pid: u32, name: Option<&str>| {
            let Some(name) = name else {
                nameless.insert(pid);
                return !self.0.contains(&pid);
            };
            name == NAME
        };
        if let Some(resources) = &mut report.resources {
            resources.retain(|one| match &one.owner {
                Some(Owner::Process { pid, name }) => !is_own(*pid, name.as_deref()),
                _ => true,
            });
        }
        let holders = report.consumers.as_mut().and_then(|found| found.holders.as_mut());
        if let Some(holders) = holders {
            holders.retain(|holder| !is_own(holder.pid, holder.name.as_deref()));
        }
        self.0 = nameless;
    }
}
