//! `ibv_devices`: the devices for which libibverbs has a driver.

use super::{Job, ToolError, Transcript};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let entries = job.verbs_devices(1, out)?;
    out.print(format!("    {:<16}\t   node GUID\n", "device"));
    out.print(format!("    {:<16}\t----------------\n", "------"));
    for entry in entries {
        let guid = entry.node_guid.map_or(0, |guid| guid.0);
        out.print(format!("    {:<16}\t{guid:016x}\n", entry.name));
    }
    Ok(())
}
