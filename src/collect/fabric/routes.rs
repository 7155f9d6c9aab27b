//! The linear forwarding tables of the switches, in blocks of 64 LIDs.

use super::requests::{Requests, silent_node, to_node};
use crate::mad::{Attribute as _, ForwardingBlock, SwitchInfo, smp_attribute, smp_data};
use crate::model::{Fabric, ForwardingTable};
use crate::source::{Mads, ReadError};

/// Entries of a block.
const BLOCK: usize = ForwardingBlock::ENTRIES;

/// What was requested of a switch.
#[derive(Debug, Clone, Copy)]
enum What {
    /// The highest LID of the table.
    Top,
    /// The block that begins with this LID.
    Block(usize),
}

/// Reads the forwarding table of every switch.
pub(super) fn read(mads: &mut dyn Mads, fabric: &mut Fabric) -> Result<(), ReadError> {
    let mut requests = Requests::new(mads);
    for (node, switch) in fabric.nodes.iter().enumerate().filter(|(_, node)| node.is_switch()) {
        if let Some((lid, mad)) = to_node::<SwitchInfo>(switch, 0) {
            requests.ask(lid, mad, (node, What::Top))?;
        }
    }
    while let Some(((node, what), answer)) = requests.next()? {
        let switch = &mut fabric.nodes[node];
        match (what, answer) {
            (What::Top, Ok(mad)) => {
                let Some(info) = smp_attribute::<SwitchInfo>(&mad) else { continue };
                switch.enhanced_port_0 = Some(info.enhanced_port_0 == 1);
                let entries = usize::from(info.linear_top) + 1;
                switch.forwarding = Some(ForwardingTable(vec![ForwardingTable::NO_PORT; entries]));
                for (block, first) in (0..entries).step_by(BLOCK).enumerate() {
                    let modifier = u32::try_from(block).unwrap_or(u32::MAX);
                    if let Some((lid, mad)) = to_node::<ForwardingBlock>(switch, modifier) {
                        requests.ask(lid, mad, (node, What::Block(first)))?;
                    }
                }
            }
            (What::Block(first), Ok(mad)) => {
                if let (Some(table), Some(ports)) = (&mut switch.forwarding, smp_data(&mad)) {
                    let places = table.0.iter_mut().skip(first).take(BLOCK);
                    places.zip(ports).for_each(|(place, port)| *place = *port);
                }
            }
            (what, Err(error)) => {
                let silent = silent_node(switch, name(what), &error);
                // A table with a gap would look like missing routes.
                switch.forwarding = None;
                fabric.silent.push(silent);
            }
        }
    }
    requests.count_in(fabric);
    Ok(())
}

fn name(what: What) -> String {
    match what {
        What::Top => SwitchInfo::NAME.to_owned(),
        What::Block(first) => format!("{} from LID {first}", ForwardingBlock::NAME),
    }
}
