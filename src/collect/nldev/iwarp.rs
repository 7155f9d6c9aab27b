//! What the kernel says of queue pairs of iWARP that is not so.

use crate::model::{Device, NodeType, Object, Resource};

/// Takes away what only `InfiniBand` and `RoCE` have: on iWARP the peer is a TCP connection, without
/// a number of a queue pair, without packets that are counted, without a second path. The kernel
/// sends these fields all the same, as the driver left them: 0, or on 5.10 what was on its stack.
pub(super) fn forget_what_is_not_there(devices: &[Device], resources: &mut [Resource]) {
    for Resource { device, object, .. } in resources {
        let is_iwarp = |known: &&Device| {
            known.name == *device && known.node_type.is_some_and(NodeType::is_iwarp)
        };
        let (Object::Qp(qp), Some(device)) = (object, devices.iter().find(is_iwarp)) else {
            continue;
        };
        (qp.rqpn, qp.rq_psn, qp.sq_psn, qp.path_migration) = (None, None, None, None);
        // siw has no queue pair in RESET (siw_qp_state_to_ib_qp_state in its siw_verbs.c); before 6.8 it
        // tells no state, which then reads as the first.
        if device.driver.as_deref() == Some("siw") {
            qp.state = qp.state.take().filter(|state| state != "RESET");
        }
    }
}
