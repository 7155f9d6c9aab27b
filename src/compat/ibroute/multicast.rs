//! Prints the multicast forwarding table of a switch: the ports for each multicast LID.
//!
//! Used by `ibroute`.

use super::{Range, Switch};
use crate::mad::read_bits;

/// Attribute `MulticastForwardingTable`.
const MULTICAST_TABLE: u16 = 0x1b;
/// Number of multicast LIDs in a block of the table.
const BLOCK: u32 = 32;
/// Number of ports in a block of the table: a block has 16 bits for each LID.
const PORTS: usize = 16;
/// Lowest multicast LID.
const FIRST: u32 = 0xc000;
/// Highest multicast LID.
const LAST: u32 = 0xfffe;

pub(super) fn run(mut switch: Switch<'_>, range: &Range) {
    let (first, last) = bounds(&mut switch, range);
    let ports = usize::from(switch.ports);
    switch.session.out.print(format!(
        "Multicast mlids [0x{first:x}-0x{last:x}] of switch {} guid 0x{:016x} ({}):\n",
        switch.to, switch.guid, switch.name
    ));
    let columns =
        if range.is_brief { " MLid       Port Mask\n".into() } else { ruler(switch.ports) };
    switch.session.out.print(columns);
    if switch.session.common.is_verbose {
        switch.session.out.print(format!(
            "Switch multicast mlid capability is {} top is 0x{:x}\n",
            switch.info.multicast_entries, switch.info.multicast_top
        ));
    }
    let mut count = 0;
    for block in first / BLOCK..=last / BLOCK {
        let mut blocks = Vec::new();
        for chunk in 0..(ports + 1).div_ceil(PORTS) {
            let position = u32::try_from(chunk).unwrap_or(0) << 28;
            let modifier = (block - FIRST / BLOCK) | position;
            let Some(bytes) = switch.block(MULTICAST_TABLE, modifier) else { return };
            blocks.push(bytes);
        }
        for lid in first.max(block * BLOCK)..=last.min(block * BLOCK + BLOCK - 1) {
            let bit = usize::try_from(lid % BLOCK).unwrap_or(0) * PORTS;
            let masks: Vec<u64> = blocks.iter().map(|bytes| read_bits(bytes, bit, PORTS)).collect();
            if !range.is_all && masks.iter().all(|mask| *mask == 0) {
                continue;
            }
            let text = if range.is_brief {
                masks.iter().map(|mask| format!("{mask:04x}")).collect::<Vec<_>>().concat()
            } else {
                marks(&masks, ports)
            };
            switch.session.out.print(format!("0x{lid:04x}      {text}\n"));
            count += 1;
        }
    }
    switch.count(count, range, "mlids");
}

/// Returns the lowest and the highest LID to print, with the warnings of the original tool.
fn bounds(switch: &mut Switch<'_>, range: &Range) -> (u32, u32) {
    const FUNCTION: &str = "dump_multicast_tables";
    let (entries, top) = (switch.info.multicast_entries, u32::from(switch.info.multicast_top));
    let end = FIRST + u32::from(entries) - 1;
    let mut last = if range.last == 0 || range.last > end { end } else { range.last };
    if !range.is_all && top != 0 && top < last {
        if top < FIRST - 1 {
            switch.session.warn(FUNCTION, &format!("illegal top mlid {top:x}"));
        } else {
            last = top;
        }
    }
    let mut first = range.first;
    if first != 0 && first < FIRST {
        switch.session.warn(FUNCTION, &format!("illegal start mlid {first:x}, set to {FIRST:x}"));
    }
    first = first.max(FIRST);
    if last > LAST {
        switch.session.warn(FUNCTION, &format!("illegal end mlid {last:x}, truncate to {LAST:x}"));
        last = LAST;
    }
    (first, last)
}

/// Returns the header lines with the port numbers.
fn ruler(ports: u8) -> String {
    let line = |digit: &dyn Fn(u8) -> char| -> String {
        (0..=ports).flat_map(|port| [digit(port), ' ']).collect()
    };
    let tens = |port: u8| if port.is_multiple_of(10) { char::from(b'0' + port / 10) } else { ' ' };
    let ones = |port: u8| char::from(b'0' + port % 10);
    let upper = if ports > 9 { format!("            {}\n", line(&tens)) } else { String::new() };
    format!("{upper}     Ports: {}\n MLid\n", line(&ones))
}

/// Returns a line with a mark for each port in the masks, in the columns of [`ruler`].
fn marks(masks: &[u64], ports: usize) -> String {
    let is_set =
        |port: usize| masks.get(port / PORTS).is_some_and(|mask| mask >> (port % PORTS) & 1 == 1);
    (0..=ports).map(|port| if is_set(port) { "x " } else { "  " }).collect()
}
