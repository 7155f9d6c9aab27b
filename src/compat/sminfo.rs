//! Implements `sminfo`: queries the subnet manager of a subnet, or the subnet manager at a port.
//!
//! Changes no subnet manager. The original `sminfo` sets the state if it gets a modifier.
//! `compat` uses this module.

use super::diags::{OwnOption, PortId, Session, ToolError, Usage, ended, parse};
use super::number::parse_decimal;
use super::{CompatError, Job, Tool, Transcript};
use crate::mad::{MadAttribute as _, SmInfo};

/// Names of the states of a subnet manager, by their numbers.
const STATES: [&str; 4] = ["SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER"];

const OPTIONS: [OwnOption; 3] = [
    OwnOption::valued('s', "state", "<0-3>", "set SM state"),
    OwnOption::valued('p', "priority", "<0-15>", "set SM priority"),
    OwnOption::valued('a', "activity", "<val>", "set activity count"),
];

const USAGE: Usage<'_> = Usage {
    own: &OPTIONS,
    without: "sK",
    operands: "<sm_lid|sm_dr_path> [modifier]",
    examples: &[],
};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(answer(job, out))
}

fn answer(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    // Without a modifier, the values of -s, -p and -a have no effect.
    let modifier = parsed.operands.get(1).map_or(0, |word| parse_decimal(word));
    if modifier != 0 {
        let option = format!("modifier {modifier}");
        let instead = Some("remove it: rdmactl changes no subnet manager");
        return Err(CompatError::NotOffered { tool: Tool::Sminfo.name(), option, instead }.into());
    }
    let mut session = Session::open_or_fail(job, parsed.common, out)?;
    let to = match parsed.operands.first() {
        Some(address) => session
            .resolve(address)
            .ok_or_else(|| session.fail(&format!("can't resolve destination port {address}")))?,
        None => match session.own() {
            Some(own) => PortId::lid(own.sm_lid),
            None => return Err(session.fail("can't resolve sm port (null)")),
        },
    };
    let info = session.smp(&to, SmInfo::ID, 0).and_then(|bytes| SmInfo::decode(&bytes).ok());
    let Some(info) = info else { return Err(session.fail("query")) };
    let state = STATES.get(usize::from(info.state)).unwrap_or(&"???");
    session.out.print(format!(
        "sminfo: sm lid {} sm guid 0x{:x}, activity count {} priority {} state {} {state}\n",
        to.lid, info.guid, info.activity, info.priority, info.state
    ));
    Ok(())
}
