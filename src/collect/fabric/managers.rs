//! The subnet managers: `SMInfo` of every port that says that it has one.

use super::ends;
use super::requests::{Requests, directed_path, silent_node};
use super::sweep::port_mut;
use crate::mad::{Attribute as _, SmInfo, directed_smp, smp, smp_attribute};
use crate::model::{Fabric, FabricEnd, FabricPort, Guid, SubnetManager};
use crate::source::{Mads, ReadError};

/// Asks every port with the capability `IsSM` for its subnet manager.
pub(super) fn read(mads: &mut dyn Mads, fabric: &mut Fabric) -> Result<(), ReadError> {
    let mut requests = Requests::new(mads);
    let has_manager = |end: &FabricEnd| {
        fabric.port(*end).is_some_and(|port| port.capabilities & FabricPort::IS_SM != 0)
    };
    for end in ends(fabric).filter(has_manager) {
        let node = &fabric.nodes[end.node];
        // A directed route ends at one port of a channel adapter, which is the port that was found.
        let route = node.route.as_ref().and_then(|route| directed_path(route).ok());
        let lid = fabric.port(end).map_or(0, |port| port.lid);
        match route {
            Some(route) => requests.ask(None, directed_smp::<SmInfo>(&route, 0), end)?,
            None if lid != 0 => requests.ask(Some(lid), smp::<SmInfo>(0), end)?,
            None => {}
        }
    }
    while let Some((end, answer)) = requests.next()? {
        let info = answer.map(|mad| smp_attribute::<SmInfo>(&mad));
        match info {
            Ok(Some(info)) => {
                port_mut(&mut fabric.nodes[end.node], end.port).subnet_manager =
                    Some(SubnetManager {
                        guid: Guid(info.guid),
                        priority: info.priority,
                        state: info.state,
                        activity: info.activity,
                    });
            }
            Ok(None) => {}
            Err(error) => {
                let silent = silent_node(&fabric.nodes[end.node], SmInfo::NAME, &error);
                fabric.silent.push(silent);
            }
        }
    }
    requests.count_in(fabric);
    Ok(())
}
