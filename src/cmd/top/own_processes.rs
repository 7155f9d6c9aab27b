//! Removes the processes of rdmactl from the samples of `rdmactl top`.
//!
//! An agent or a ping holds queue pairs, contexts and sockets only while it runs. Its rows would
//! appear and disappear with each test. `rdmactl resources` and `connections` list them.
//!
//! [`super::samples`] calls it before connections are judged.

use crate::model::{HostReport, Owner};

/// Process name of rdmactl, whether installed, uploaded or started by a launcher.
const NAME: &str = "rdmactl";

/// Removes the objects and processes of rdmactl from a report.
pub(super) fn leave_out(report: &mut HostReport) {
    if let Some(resources) = &mut report.resources {
        resources.retain(|one| !one.owner.as_ref().is_some_and(is_own));
    }
    let holders = report.consumers.as_mut().and_then(|found| found.holders.as_mut());
    if let Some(holders) = holders {
        holders.retain(|holder| holder.name.as_deref() != Some(NAME));
    }
}

fn is_own(owner: &Owner) -> bool {
    matches!(owner, Owner::Process { name: Some(name), .. } if name == NAME)
}
