//! `sminfo`: the subnet manager of a subnet, or the subnet manager at a port.
//!
//! Changes no subnet manager; the original sets its state with a modifier. `compat` uses it.

use super::diags::{PortId, Session, Usage, parse};
use super::number::parse_decimal;
use super::word::word;
use super::{Job, ToolError, Transcript};
use crate::mad::SmInfo;

/// Names of the states of a subnet manager, by their numbers.
const STATES: [&str; 4] = ["SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", "SMINFO_MASTER"];

const USAGE: Usage = Usage {
    options: "\
--state, -s <0-3>      set SM state
--priority, -p <0-15>  set SM priority
--activity, -a <val>   set activity count
",
    refused: &[],
    without: "sK",
    operands: "<sm_lid|sm_dr_path> [modifier]",
    examples: &[],
};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    // Without a modifier, the values of -s, -p and -a have no effect.
    let modifier = parsed.operands.get(1).map_or(0, |word| parse_decimal(word));
    if modifier != 0 {
        let instead = "remove it: rdmactl changes no subnet manager";
        return Err(job.refused(format!("modifier {modifier}"), Some(instead)));
    }
    let mut session = Session::open_or_fail(job, &parsed.common, out)?;
    let to = match parsed.operands.first() {
        Some(address) => session.resolve_or_fail(address)?,
        None => match session.own() {
            Some(own) => PortId::lid(own.sm_lid),
            None => return Err(session.fail("can't resolve sm port (null)")),
        },
    };
    let info: SmInfo = session.get(&to, 0).ok_or_else(|| session.fail("query"))?;
    let state = word(info.state, &STATES, "???");
    session.out.print(format!(
        "sminfo: sm lid {} sm guid 0x{:x}, activity count {} priority {} state {} {state}\n",
        to.lid, info.guid, info.activity, info.priority, info.state
    ));
    Ok(())
}
