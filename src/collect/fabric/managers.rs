//! Reads the subnet managers, for `fabric`: `SMInfo` of every port with the capability `IsSM`,
//! and of the port that configured the subnet. opensm has no capability if it cannot open
//! `/dev/infiniband/issm*`, as in some containers.

use super::ends;
use super::requests::{Requests, unanswered_by};
use super::sweep::port_mut;
use crate::mad::{MadAttribute as _, SmInfo, smp_attribute};
use crate::model::{Fabric, FabricPort, Guid, SubnetManager};
use crate::source::{Mads, ReadError};

pub(super) fn manager_of(info: &SmInfo) -> SubnetManager {
    SubnetManager {
        guid: Guid(info.guid),
        priority: info.priority,
        state: info.state,
        activity: info.activity,
    }
}

pub(super) fn read(mads: &mut dyn Mads, fabric: &mut Fabric) -> Result<(), ReadError> {
    let mut requests = Requests::new(mads);
    for end in ends(fabric) {
        let Some(port) = fabric.port(end) else { continue };
        let has_manager = port.capabilities & FabricPort::IS_SM != 0;
        if has_manager || (port.lid != 0 && port.lid == fabric.sm_lid) {
            let node = &fabric.nodes[end.node];
            requests.ask_port::<SmInfo>(node, end.port, 0, (end, has_manager))?;
        }
    }
    while let Some(((end, has_manager), answer)) = requests.next()? {
        let node = &mut fabric.nodes[end.node];
        match answer.map(|mad| smp_attribute(&mad)) {
            Ok(Some(info)) => port_mut(node, end.port).subnet_manager = Some(manager_of(&info)),
            Ok(None) => {}
            Err(_) if !has_manager => {}
            Err(error) => fabric.unanswered.push(unanswered_by(node, SmInfo::NAME, &error)),
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
    use crate::source::MadError;

    /// Reads the managers of two adapters without the capability. LID 2 configured the subnet.
    fn read_two(replies: bool) -> Fabric {
        let mut fabric = Fabric { sm_lid: 2, ..Fabric::empty("", 0, SweepMethod::Sa) };
        for lid in [1, 2] {
            let info = NodeInfo { node_type: 1, node_guid: lid.into(), ..NodeInfo::default() };
            let mut node = node_of(&info, None);
            port_mut(&mut node, 1).lid = lid;
            fabric.nodes.push(node);
        }
        let mut mads = FakeMads::new(|lid, mut mad| {
            assert_eq!(lid, Some(2));
            if !replies {
                return Err(MadError::NoReply);
            }
            SmInfo { state: 3, ..SmInfo::default() }.encode(&mut mad[64..]).unwrap();
            Ok(mad.to_vec())
        });
        read(&mut mads, &mut fabric).unwrap();
        fabric
    }

    #[test]
    fn the_port_that_configured_the_subnet_is_asked_without_its_capability() {
        let found = read_two(true);
        assert!(found.nodes[1].ports[0].subnet_manager.is_some_and(|one| one.is_master()));
        let silent = read_two(false);
        assert_eq!(silent.nodes[1].ports[0].subnet_manager, None);
        assert!(silent.unanswered.is_empty(), "the manager may have moved");
    }
}
