//! The linear forwarding table of a switch: the outgoing port and the destination of each LID.
//!
//! Used by `ibroute`.

use std::time::Duration;

use super::{Range, Switch};
use crate::compat::diags::{PortId, ValueFormat, value};
use crate::mad::{ForwardingBlock, MadAttribute as _, NodeDescription, NodeInfo, PortInfo};

/// Number of LIDs in a block of the table.
const BLOCK: u32 = 64;
const LAST_UNICAST: u32 = 0xbfff;
/// Timeout for a destination, and for other requests if the command line has none.
const SHORT: Duration = Duration::from_millis(100);
const USUAL: Duration = Duration::from_secs(1);

pub(super) fn run(mut switch: Switch<'_>, range: &Range) {
    let top = u32::from(switch.info.linear_top);
    let mut last = if range.last == 0 || range.last > top { top } else { range.last };
    if last > LAST_UNICAST {
        let text = format!("illegal lft top {last}, truncate to {LAST_UNICAST}");
        switch.session.warn("dump_unicast_tables", &text);
        last = LAST_UNICAST;
    }
    switch.session.out.print(format!(
        "Unicast lids [0x{:x}-0x{last:x}] of switch {} guid 0x{:016x} ({}):\n  \
         Lid  Out   Destination\n       Port     Info \n",
        range.first, switch.to, switch.guid, switch.name
    ));
    let (mut count, mut paths) = (0, Paths::default());
    // The original omits the last LID of the table if it is the first one of a block.
    for block in range.first / BLOCK..=last / BLOCK {
        let Some(ports) = switch.block(ForwardingBlock::ID, block) else { return };
        for lid in range.first.max(block * BLOCK)..=last.min(block * BLOCK + BLOCK - 1) {
            let port = ports.get(usize::try_from(lid % BLOCK).unwrap_or(0)).copied().unwrap_or(0);
            let is_valid = port <= switch.ports;
            if !is_valid && !range.is_all {
                continue;
            }
            let lid = u16::try_from(lid).unwrap_or(0);
            let destination = if range.is_brief {
                String::new()
            } else {
                paths.destination(&mut switch, lid, is_valid)
            };
            switch.session.out.print(format!("0x{lid:04x} {port:03} {destination}\n"));
            count += 1;
        }
    }
    switch.count(count, range, "lids");
}

/// LIDs of the last destination port with several LIDs.
#[derive(Default)]
struct Paths {
    first: u16,
    last: u16,
    /// GUID of the last destination port; 0 if it did not reply.
    port_guid: u64,
}

impl Paths {
    fn destination(&mut self, switch: &mut Switch<'_>, lid: u16, is_valid: bool) -> String {
        if lid <= self.last {
            let path = i32::from(lid) - i32::from(self.first);
            let count = i32::from(self.last) - i32::from(self.first) + 1;
            return match (is_valid, self.port_guid) {
                (false, _) => format!(": (path #{path} - illegal port)"),
                (true, 0) => format!(": (path #{} out of {count})", path + 1),
                (true, guid) => {
                    format!(": (path #{} out of {count}: portguid 0x{guid:016x})", path + 1)
                }
            };
        }
        if !is_valid {
            return ": (illegal port)".into();
        }
        self.port_guid = 0;
        switch.session.mads.set_timeout(SHORT);
        let answers = ask(switch, &PortId::lid(lid));
        let timeout = switch.session.common.timeout_ms.map(u64::from).map(Duration::from_millis);
        switch.session.mads.set_timeout(timeout.unwrap_or(USUAL));
        let Some((description, port, node)) = answers else {
            return ": (unknown node and type)".into();
        };
        self.port_guid = node.port_guid;
        if port.lmc > 0 {
            self.first = port.lid;
            self.last = port.lid.saturating_add((1 << port.lmc) - 1);
        }
        format!(
            ": ({} portguid 0x{:016x}: '{}')",
            value(ValueFormat::NodeType, node.node_type.into(), 8),
            node.port_guid,
            switch.names.name(node.node_guid, &description)
        )
    }
}

/// Requests the description, the LIDs and the GUIDs of the port with a LID.
fn ask(switch: &mut Switch<'_>, to: &PortId) -> Option<([u8; 64], PortInfo, NodeInfo)> {
    let description = switch.session.smp(to, NodeDescription::ID, 0)?;
    Some((description, switch.session.get(to, 0)?, switch.session.get(to, 0)?))
}
