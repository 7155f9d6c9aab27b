//! Reads the subnet managers: `SMInfo` of every port with the capability `IsSM`. `fabric` calls
//! it.

use super::ends;
use super::requests::{Requests, to_port, unanswered_by};
use super::sweep::port_mut;
use crate::mad::{MadAttribute as _, SmInfo, smp_attribute};
use crate::model::{Fabric, FabricEnd, FabricPort, Guid, SubnetManager};
use crate::source::{Mads, ReadError};

pub(super) fn manager_of(info: &SmInfo) -> SubnetManager {
    SubnetManager {
        guid: Guid(info.guid),
        priority: info.priority,
        state: info.state,
        activity: info.activity,
    }
}

/// Requests the subnet manager of every port with the capability `IsSM`.
pub(super) fn read(mads: &mut dyn Mads, fabric: &mut Fabric) -> Result<(), ReadError> {
    let mut requests = Requests::new(mads);
    let has_manager = |end: &FabricEnd| {
        fabric.port(*end).is_some_and(|port| port.capabilities & FabricPort::IS_SM != 0)
    };
    for end in ends(fabric).filter(has_manager) {
        if let Some((lid, mad)) = to_port::<SmInfo>(&fabric.nodes[end.node], end.port, 0) {
            requests.ask(lid, mad, end)?;
        }
    }
    while let Some((end, answer)) = requests.next()? {
        let info = answer.map(|mad| smp_attribute::<SmInfo>(&mad));
        match info {
            Ok(Some(info)) => {
                port_mut(&mut fabric.nodes[end.node], end.port).subnet_manager =
                    Some(manager_of(&info));
            }
            Ok(None) => {}
            Err(error) => {
                let request = unanswered_by(&fabric.nodes[end.node], SmInfo::NAME, &error);
                fabric.unanswered.push(request);
            }
        }
    }
    requests.count_in(fabric);
    Ok(())
}
