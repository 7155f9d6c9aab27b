//! `sminfo`: the subnet manager, by LID or directed route. Changes nothing.

use super::diags::{Halt, Own, PortId, Session, Usage, ended, parse};
use super::{CompatError, Job, Transcript};
use crate::mad::{Attribute as _, SmInfo};

const READ_ONLY: &str = "remove it: rdmactl changes no subnet manager";
const OWN: [Own; 3] = [
    Own::valued('s', "state", "<0-3>", "set SM state").refused(READ_ONLY),
    Own::valued('p', "priority", "<0-15>", "set SM priority").refused(READ_ONLY),
    Own::valued('a', "activity", "<val>", "set activity count").refused(READ_ONLY),
];
const USAGE: Usage<'_> =
    Usage { own: &OWN, without: "sK", operands: "<sm_lid|sm_dr_path> [modifier]", examples: &[] };

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(show(job, out))
}

fn show(job: &Job<'_>, out: &mut Transcript) -> Result<(), Halt> {
    let parsed = parse(job, &USAGE, out)?;
    if let Some(modifier) =
        parsed.operands.get(1).filter(|text| super::number::parse_decimal(text) != 0)
    {
        let (tool, option) = (job.call.tool.name(), format!("modifier {modifier}"));
        return Err(CompatError::NotOffered { tool, option, instead: Some(READ_ONLY) }.into());
    }
    let mut session = Session::open_or_fail(job, parsed.common.clone(), out)?;
    let to = match parsed.operands.first() {
        Some(address) => session
            .resolve(address)
            .ok_or_else(|| session.fail(&format!("can't resolve destination port {address}")))?,
        None => match session.own() {
            Some(own) => PortId::lid(own.sm_lid),
            None => return Err(session.fail("can't resolve sm port (null)")),
        },
    };
    let data = session.smp(&to, SmInfo::ID, 0);
    let Some(info) = data.and_then(|data| SmInfo::decode(&data).ok()) else {
        return Err(session.fail("query"));
    };
    let states = ["SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER"];
    let state = states.get(usize::from(info.state)).copied().unwrap_or("???");
    session.out.print(format!(
        "sminfo: sm lid {} sm guid 0x{:x}, activity count {} priority {} state {} {state}\n",
        to.lid, info.guid, info.activity, info.priority, info.state
    ));
    Ok(())
}
