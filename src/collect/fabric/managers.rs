//! Reads the subnet managers: `SMInfo` of every port with the capability `IsSM`, for `fabric`.

use super::ends;
use super::requests::{Requests, unanswered_by};
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

pub(super) fn read(mads: &mut dyn Mads, fabric: &mut Fabric) -> Result<(), ReadError> {
    let mut requests = Requests::new(mads);
    let has_manager = |end: &FabricEnd| {
        fabric.port(*end).is_some_and(|port| port.capabilities & FabricPort::IS_SM != 0)
    };
    for end in ends(fabric).filter(has_manager) {
        requests.ask_port::<SmInfo>(&fabric.nodes[end.node], end.port, 0, end)?;
    }
    while let Some((end, answer)) = requests.next()? {
        let node = &mut fabric.nodes[end.node];
        match answer.map(|mad| smp_attribute(&mad)) {
            Ok(Some(info)) => port_mut(node, end.port).subnet_manager = Some(manager_of(&info)),
            Ok(None) => {}
            Err(error) => fabric.unanswered.push(unanswered_by(node, SmInfo::NAME, &error)),
        }
    }
    requests.count_in(fabric);
    Ok(())
}
