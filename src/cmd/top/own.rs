//! Leaves the processes of rdmactl itself out of the samples of `rdmactl top`.
//!
//! An agent and a ping hold queue pairs, contexts and sockets only as long as they run: in `top`
//! their rows would come and go with each test of the operator. `rdmactl resources` and
//! `connections` list them. It works on the report before connections are judged;
//! [`super::pictures`] uses it.

use crate::model::{HostReport, Owner};

/// Name of the processes of rdmactl: installed, uploaded and started by a launcher.
const NAME: &str = "rdmactl";

/// Removes the objects and the processes of rdmactl from a report.
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
