//! `ibroute`: the forwarding tables of a switch, unicast and multicast.
//!
//! Reads only. Used by `compat`.

mod multicast;
mod unicast;

use super::diags::{NodeNames, PortId, SWITCH, Session, Usage, parse, show_usage};
use super::number::{parse_any, truncate};
use super::{Job, ToolError, Transcript};
use crate::mad::{MadAttribute as _, NodeDescription, NodeInfo, SwitchInfo};

const USAGE: Usage = Usage {
    options: "\
--all, -a               show all lids, even invalid entries
--no_dests, -n          do not try to resolve destinations
--Multicast, -M         show multicast forwarding tables
--node-name-map <file>  node name map file
",
    refused: &[],
    without: "K",
    operands: "[<dest dr_path|lid|guid> [<startlid> [<endlid>]]]",
    examples: &[
        " -- Unicast examples:",
        "4\t# dump all lids with valid out ports of switch with lid 4",
        "-a 4\t# same, but dump all lids, even with invalid out ports",
        "-n 4\t# simple dump format - no destination resolving",
        "4 10\t# dump lids starting from 10",
        "4 0x10 0x20\t# dump lid range",
        "-G 0x08f1040023\t# resolve switch by GUID",
        "-D 0,1\t# resolve switch by direct path",
        " -- Multicast examples:",
        "-M 4\t# dump all non empty mlids of switch with lid 4",
        "-M 4 0xc010 0xc020\t# same, but with range",
        "-M -n 4\t# simple dump format",
    ],
};

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), ToolError> {
    let parsed = parse(job, &USAGE, out)?;
    let Some(address) = parsed.operands.first() else {
        return Err(show_usage(job, &USAGE, out));
    };
    let lid = |at: usize| parsed.operands.get(at).map_or(0, |word| truncate(parse_any(word)));
    let names = NodeNames::read(job, parsed.value("node-name-map"), out);
    let mut session = Session::open_or_fail(job, &parsed.common, out)?;
    let to = session.resolve_or_fail(address)?;
    let range = Range {
        first: lid(1),
        last: lid(2),
        is_all: parsed.has("all"),
        is_brief: parsed.has("no_dests"),
    };
    let switch = Switch::read(session, names, to)?;
    if parsed.has("Multicast") {
        multicast::run(switch, &range);
    } else {
        unicast::run(switch, &range);
    }
    Ok(())
}

struct Range {
    first: u32,
    /// Last LID; 0 for the last LID of the table.
    last: u32,
    /// True if entries without a route are printed.
    is_all: bool,
    /// True if destinations are not printed.
    is_brief: bool,
}

struct Switch<'job> {
    session: Session<'job>,
    names: NodeNames,
    to: PortId,
    /// Number of ports, without port 0.
    ports: u8,
    guid: u64,
    name: String,
    info: SwitchInfo,
}

impl<'job> Switch<'job> {
    fn read(mut session: Session<'job>, names: NodeNames, to: PortId) -> Result<Self, ToolError> {
        let Some(node) = session.get::<NodeInfo>(&to, 0) else {
            // Without a reply, the original prints an empty reply: 64 zero bytes.
            let line = ["0000"; 8].join(" ") + "\n";
            session.out.warn(format!("nodeinfo\n{}", line.repeat(4)));
            return Err(session.fail("dump tables: node info failed: valid addr?"));
        };
        let Some(description) = session.smp(&to, NodeDescription::ID, 0) else {
            return Err(session.fail("dump tables: node desc failed"));
        };
        if node.node_type != SWITCH {
            return Err(session.fail("dump tables: not a switch"));
        }
        let Some(info) = session.get::<SwitchInfo>(&to, 0) else {
            return Err(session.fail("dump tables: switch info failed: is a switch node?"));
        };
        let name = names.name(node.node_guid, &description);
        Ok(Self { session, names, to, ports: node.ports, guid: node.node_guid, name, info })
    }

    /// Requests a block of a table. Prints the message of the original on failure.
    fn block(&mut self, attribute: u16, modifier: u32) -> Option<[u8; 64]> {
        let warning =
            |status: &u16| format!("SubnGet() failed; MAD status 0x{status:x} AM 0x{modifier:x}\n");
        let block = self.session.smp_status(&self.to, attribute, modifier);
        block.inspect_err(|status| self.session.out.warn(warning(status))).ok()
    }

    /// Prints the count at the end of a table.
    fn count(&mut self, count: u32, range: &Range, what: &str) {
        let valid = if range.is_all { "" } else { "valid " };
        self.session.out.print(format!("{count} {valid}{what} dumped \n"));
    }
}
