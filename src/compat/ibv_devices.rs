//! `ibv_devices`: the devices for which libibverbs has a driver.

use super::file_reader::Listed;
use super::{CompatError, Job, Tool, Transcript};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    let entries = match job.reading.verbs(Tool::IbvDevices.name())? {
        Listed::Devices(entries) => entries,
        Listed::Refused(why) => {
            out.warn(format!("Failed to get IB devices list: {why}\n"));
            out.code = 1;
            return Ok(());
        }
    };
    out.print(format!("    {:<16}\t   node GUID\n", "device"));
    out.print(format!("    {:<16}\t----------------\n", "------"));
    for entry in entries {
        let guid = entry.node_guid.map_or(0, |guid| guid.0);
        out.print(format!("    {:<16}\t{guid:016x}\n", entry.name));
    }
    Ok(())
}
