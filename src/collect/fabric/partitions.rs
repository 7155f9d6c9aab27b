//! Reads the partition tables: `P_KeyTable` of channel adapter ports and of port 0 of switches.
//! `fabric` calls it.

use super::ends;
use super::requests::{Requests, unanswered_by};
use super::sweep::port_mut;
use crate::mad::{MadAttribute as _, PartitionBlock, smp_data};
use crate::model::{Fabric, FabricEnd};
use crate::source::{Mads, ReadError};

/// Limit of blocks of 32 keys of a port. The modifier has 16 bits, but devices have at most 4.
const MAX_BLOCKS: u32 = 64;

/// Reads all blocks of each table. A block may have holes, because opensm keeps the places of the
/// other keys when it removes one.
pub(super) fn read(mads: &mut dyn Mads, fabric: &mut Fabric) -> Result<(), ReadError> {
    let mut requests = Requests::new(mads);
    let is_member = |end: &FabricEnd| !fabric.nodes[end.node].is_switch() || end.port == 0;
    for end in ends(fabric).filter(is_member) {
        let node = &fabric.nodes[end.node];
        requests.ask_port::<PartitionBlock>(node, end.port, 0, (end, 0))?;
    }
    while let Some(((end, block), answer)) = requests.next()? {
        let node = &mut fabric.nodes[end.node];
        match answer {
            Ok(mad) => {
                let data = smp_data(&mad).unwrap_or_default();
                let keys = data.chunks_exact(2).map(|key| u16::from_be_bytes([key[0], key[1]]));
                let keys: Vec<u16> = keys.filter(|key| *key & 0x7fff != 0).collect();
                let blocks =
                    usize::from(node.partition_entries.unwrap_or(0)).div_ceil(PartitionBlock::KEYS);
                let has_more = u32::try_from(blocks).is_ok_and(|blocks| block + 1 < blocks);
                port_mut(node, end.port).p_keys.get_or_insert_default().extend(keys);
                if has_more && block + 1 == MAX_BLOCKS {
                    let why = "the port has more partition keys; the rest is not read";
                    fabric.unanswered.push(unanswered_by(node, PartitionBlock::NAME, &why));
                } else if has_more {
                    let next = block + 1;
                    requests.ask_port::<PartitionBlock>(node, end.port, next, (end, next))?;
                }
            }
            Err(error) => {
                fabric.unanswered.push(unanswered_by(node, PartitionBlock::NAME, &error));
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
    use crate::model::{FabricPort, SweepMethod};

    /// Reads the table of an adapter with some entries, whose blocks have one key each, except
    /// block 1. Returns the numbers of requests, of keys and of missing replies.
    fn read_table(partition_entries: u16) -> (usize, usize, usize) {
        let mut fabric = Fabric::empty("", 0, SweepMethod::Smp);
        let info = NodeInfo { node_type: 1, partition_entries, ..NodeInfo::default() };
        let mut node = node_of(&info, Some(Vec::new()));
        port_mut(&mut node, 1).physical_state = FabricPort::LINK_UP;
        fabric.nodes.push(node);
        let mut adapter = FakeMads::new(|_, mut mad| {
            let block = u32::from_be_bytes([mad[20], mad[21], mad[22], mad[23]]);
            mad[64..128].fill(0);
            mad[65] = u8::from(block != 1);
            Ok(mad.to_vec())
        });
        read(&mut adapter, &mut fabric).unwrap();
        let keys = fabric.nodes[0].ports[0].p_keys.as_ref().unwrap().len();
        (adapter.asked.len(), keys, fabric.unanswered.len())
    }

    #[test]
    fn all_blocks_are_read_and_a_table_beyond_the_limit_is_reported() {
        assert_eq!(read_table(0), (1, 1, 0), "the size is unknown");
        assert_eq!(read_table(32), (1, 1, 0));
        assert_eq!(read_table(128), (4, 3, 0));
        assert_eq!(read_table(2_048), (64, 63, 0));
        assert_eq!(read_table(2_049), (64, 63, 1));
    }
}
