//! `ibroute`: the linear forwarding table of one switch, with the node behind each LID.
//!
//! Multicast tables are not offered.

use super::diags::{
    Halt, NodeNames, Own, PortId, Session, Show, Usage, ended, parse, show_usage, value,
};
use super::number::{parse_any, truncate};
use super::{CompatError, Job, Transcript};
use crate::mad::read_bits;

const NODE_DESCRIPTION: u16 = 0x10;
const NODE_INFO: u16 = 0x11;
const SWITCH_INFO: u16 = 0x12;
const PORT_INFO: u16 = 0x15;
const FORWARDING: u16 = 0x19;
const ENTRIES: u32 = 64;
const HIGHEST_UNICAST: u32 = 0xbfff;

const OWN: [Own; 4] = [
    Own::flag('a', "all", "show all lids, even invalid entries"),
    Own::flag('n', "no_dests", "do not try to resolve destinations"),
    Own::flag('M', "Multicast", "show multicast forwarding tables")
        .refused("remove -M: rdmactl reads no multicast tables"),
    Own::valued('\u{1}', "node-name-map", "<file>", "node name map file"),
];
const USAGE: Usage<'_> = Usage {
    own: &OWN,
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

pub(super) fn run(job: &Job<'_>, out: &mut Transcript) -> Result<(), CompatError> {
    ended(show(job, out))
}

fn show(job: &Job<'_>, out: &mut Transcript) -> Result<(), Halt> {
    let parsed = parse(job, &USAGE, out)?;
    let Some(address) = parsed.operands.first() else {
        return Err(show_usage(job, &USAGE, out));
    };
    let number = |at: usize| parsed.operands.get(at).map_or(0, |text| truncate(parse_any(text)));
    let names = NodeNames::read(job, parsed.value('\u{1}'), out);
    let mut session = Session::open_or_fail(job, parsed.common.clone(), out)?;
    let Some(to) = session.resolve(address) else {
        return Err(session.fail(&format!("can't resolve destination port {address}")));
    };
    let mut table = Table {
        session: &mut session,
        names: &names,
        shows_all: parsed.has('a'),
        is_brief: parsed.has('n'),
        paths: None,
    };
    let result = table.show(&to, number(1), number(2));
    result.map_err(|why| session.fail(&format!("dump tables: {why}")))
}

/// LIDs of a port with several, and its GUID.
#[derive(Clone, Copy)]
struct Paths {
    first: u32,
    last: u32,
    guid: u64,
}

struct Table<'run, 'job> {
    session: &'run mut Session<'job>,
    names: &'run NodeNames,
    shows_all: bool,
    is_brief: bool,
    paths: Option<Paths>,
}

impl Table<'_, '_> {
    fn show(&mut self, to: &PortId, start: u32, end: u32) -> Result<(), &'static str> {
        let node = self.session.smp(to, NODE_INFO, 0).ok_or("node info failed: valid addr?")?;
        let description = self.session.smp(to, NODE_DESCRIPTION, 0).ok_or("node desc failed")?;
        if node[2] != 2 {
            return Err("not a switch");
        }
        let (ports, guid) = (node[3], read_bits(&node, 96, 64));
        let why = "switch info failed: is a switch node?";
        let switch = self.session.smp(to, SWITCH_INFO, 0).ok_or(why)?;
        let top = u32::from(u16::from_be_bytes([switch[6], switch[7]]));
        let end = if end == 0 || end > top { top } else { end }.min(HIGHEST_UNICAST);
        let name = self.names.name(guid, &description);
        self.session.out.print(format!(
            "Unicast lids [0x{start:x}-0x{end:x}] of switch {to} guid 0x{guid:016x} ({name}):\n  \
             Lid  Out   Destination\n       Port     Info \n"
        ));
        let mut count = 0;
        // The original leaves out the last LID if it begins a block; it is printed here.
        for block in start / ENTRIES..=end / ENTRIES {
            let Some(entries) = self.session.smp(to, FORWARDING, block) else {
                self.session.out.warn(format!("SubnGet() failed; MAD status 0x0 AM 0x{block:x}\n"));
                return Ok(());
            };
            for (lid, port) in (block * ENTRIES..).zip(entries) {
                let is_valid = port <= ports;
                if !(start..=end).contains(&lid) || (!is_valid && !self.shows_all) {
                    continue;
                }
                let destination = self.destination(lid, is_valid);
                self.session.out.print(format!("0x{lid:04x} {port:03} {destination}\n"));
                count += 1;
            }
        }
        let valid = if self.shows_all { "" } else { "valid " };
        self.session.out.print(format!("{count} {valid}lids dumped \n"));
        Ok(())
    }

    fn destination(&mut self, lid: u32, is_valid: bool) -> String {
        if self.is_brief {
            return String::new();
        }
        if let Some(paths) = self.paths.filter(|paths| lid <= paths.last) {
            let Paths { first, last, guid } = paths;
            let (at, all) = (lid.wrapping_sub(first), last - first + 1);
            return match (is_valid, guid) {
                (false, _) => format!(": (path #{at} - illegal port)"),
                (true, 0) => format!(": (path #{} out of {all})", at + 1),
                (true, guid) => {
                    format!(": (path #{} out of {all}: portguid 0x{guid:016x})", at + 1)
                }
            };
        }
        if !is_valid {
            return ": (illegal port)".into();
        }
        // LID 0 would be a directed route to the own port.
        let to = PortId::lid(u16::try_from(lid).unwrap_or(0));
        let answers = (|| {
            let description = self.session.smp(&to, NODE_DESCRIPTION, 0)?;
            let port = self.session.smp(&to, PORT_INFO, 0)?;
            Some((description, port, self.session.smp(&to, NODE_INFO, 0)?))
        })();
        let Some((description, port, node)) = answers else {
            if let Some(paths) = &mut self.paths {
                paths.guid = 0;
            }
            return ": (unknown node and type)".into();
        };
        let (guid, lmc) = (read_bits(&node, 160, 64), port[34] & 7);
        let first = u32::from(u16::from_be_bytes([port[16], port[17]]));
        if lmc > 0 {
            self.paths = Some(Paths { first, last: first + (1 << lmc) - 1, guid });
        }
        let kind = value(Show::NodeType, node[2].into(), 8);
        let name = self.names.name(read_bits(&node, 96, 64), &description);
        format!(": ({kind} portguid 0x{guid:016x}: '{name}')")
    }
}
