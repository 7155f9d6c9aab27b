//! Removes fields of iWARP queue pairs that the kernel reports without a meaning.
//!
//! The module reads nothing. `nldev` uses it after the queue pairs are read.

use crate::collect::reader::Reader;
use crate::model::{HostReport, KnownFix, NodeType, Object};

/// First Linux release whose siw reports the state of a queue pair (`siw_query_qp`).
const SIW_REPORTS_STATES: (u32, u32) = (6, 8);

const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// Removes the number of the remote queue pair, the packet sequence numbers and the state of path
/// migration. An iWARP queue pair uses a TCP connection, which does not have these fields.
///
/// The kernel sends the fields as the driver left them: 0, or on Linux 5.10 arbitrary bytes of
/// the kernel stack. An older siw also leaves the state of a queue pair unset.
pub(super) fn remove_meaningless_fields(reader: &mut Reader<'_>, report: &mut HostReport) {
    let release = report.kernel_release();
    let HostReport { devices, resources: Some(resources), .. } = report else { return };
    let mut is_doubtful = false;
    for resource in resources {
        let device = devices.iter().find(|known| known.name == resource.device);
        let (Object::Qp(qp), Some(device)) = (&mut resource.object, device) else { continue };
        if !device.node_type.is_some_and(NodeType::is_iwarp) {
            continue;
        }
        (qp.rqpn, qp.rq_psn, qp.sq_psn, qp.path_migration) = (None, None, None, None);
        // An unknown release counts as older: `None` is less than `Some`.
        if device.driver.as_deref() == Some("siw") && release < Some(SIW_REPORTS_STATES) {
            let state = qp.state.take();
            is_doubtful |= state.is_some() && release.is_none();
        }
    }
    if is_doubtful {
        let why = "siw reports queue pair states since Linux 6.8; the kernel release is unknown";
        reader.report_missing("resources", RELEASE, why, KnownFix::CheckRelease);
    }
}

#[test]
fn an_older_or_unknown_release_of_siw_reports_no_state() {
    use crate::model::Via;
    let release = |kernel: &str| {
        let kernel = Some(kernel.to_owned());
        HostReport { kernel, ..HostReport::empty("n", Via::Agent) }.kernel_release()
    };
    for older in ["5.10.0-35-amd64", "6.1.0-40-amd64", "6.7.12", "unknown", ""] {
        assert!(release(older) < Some(SIW_REPORTS_STATES), "{older}");
    }
    for newer in ["6.8-rc1", "6.12.48+deb13-amd64", "10.0"] {
        assert!(release(newer) >= Some(SIW_REPORTS_STATES), "{newer}");
    }
}
