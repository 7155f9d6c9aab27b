//! Reads the linear forwarding tables of the switches, in blocks of 64 LIDs. `fabric` calls it.

use super::requests::{Requests, unanswered_by};
use crate::mad::{ForwardingBlock, MadAttribute as _, SwitchInfo, smp_attribute, smp_data};
use crate::model::{Fabric, FabricPort, ForwardingTable};
use crate::source::{Mads, ReadError};

const BLOCK: usize = ForwardingBlock::ENTRIES;

#[derive(Debug, Clone, Copy)]
enum TableRequest {
    /// Highest LID of the table.
    Top,
    /// Block that begins with this LID.
    Block(usize),
}

pub(super) fn read(mads: &mut dyn Mads, fabric: &mut Fabric) -> Result<(), ReadError> {
    let mut requests = Requests::new(mads);
    for (node, switch) in fabric.nodes.iter().enumerate().filter(|(_, node)| node.is_switch()) {
        requests.ask_port::<SwitchInfo>(switch, 0, 0, (node, TableRequest::Top))?;
    }
    while let Some(((node, what), answer)) = requests.next()? {
        let switch = &mut fabric.nodes[node];
        match (what, answer) {
            (TableRequest::Top, Ok(mad)) => {
                let Some(info) = smp_attribute::<SwitchInfo>(&mad) else { continue };
                switch.enhanced_port_0 = Some(info.enhanced_port_0 == 1);
                // A larger top is invalid. It would cost memory and needless requests.
                let entries = usize::from(info.linear_top.min(FabricPort::LARGEST_LID)) + 1;
                switch.forwarding = Some(ForwardingTable(vec![ForwardingTable::NO_PORT; entries]));
                for (block, first) in (0..).zip((0..entries).step_by(BLOCK)) {
                    let what = (node, TableRequest::Block(first));
                    requests.ask_port::<ForwardingBlock>(switch, 0, block, what)?;
                }
            }
            (TableRequest::Block(first), Ok(mad)) => {
                if let (Some(table), Some(ports)) = (&mut switch.forwarding, smp_data(&mad)) {
                    let places = table.0.iter_mut().skip(first).take(BLOCK);
                    places.zip(ports).for_each(|(place, port)| *place = *port);
                }
            }
            (what, Err(error)) => {
                // A gap in the table would look like missing routes.
                switch.forwarding = None;
                let attribute = match what {
                    TableRequest::Top => SwitchInfo::NAME.to_owned(),
                    TableRequest::Block(first) => {
                        format!("{} from LID {first}", ForwardingBlock::NAME)
                    }
                };
                fabric.unanswered.push(unanswered_by(switch, attribute, &error));
            }
        }
    }
    requests.count_in(fabric);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::fabric::fake_mads::FakeMads;
    use crate::collect::fabric::sweep::node_of;
    use crate::mad::NodeInfo;
    use crate::model::SweepMethod;

    #[test]
    fn a_table_ends_with_the_largest_lid() {
        for (top, entries) in [(0, 1), (64, 65), (0xbfff, 0xc000), (0xffff, 0xc000)] {
            let mut fabric = Fabric::empty("", 0, SweepMethod::Smp);
            let info = NodeInfo { node_type: 2, ..NodeInfo::default() };
            fabric.nodes.push(node_of(&info, Some(Vec::new())));
            // Switch with this highest LID. Its table leads every LID to port 1.
            let mut switch = FakeMads::new(|_, mut mad| {
                if u16::from_be_bytes([mad[16], mad[17]]) == SwitchInfo::ID {
                    let info = SwitchInfo { linear_top: top, ..SwitchInfo::default() };
                    info.encode(&mut mad[64..]).unwrap();
                } else {
                    mad[64..128].fill(1);
                }
                Ok(mad.to_vec())
            });
            read(&mut switch, &mut fabric).unwrap();
            let table = fabric.nodes[0].forwarding.as_ref().unwrap();
            assert_eq!((table.0.len(), table.0.iter().all(|port| *port == 1)), (entries, true));
            assert_eq!(fabric.requests, 1 + u32::try_from(entries.div_ceil(64)).unwrap());
        }
    }
}
