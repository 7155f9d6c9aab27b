//! Fuzz target for the reply of the child process that queries libibverbs.

use rdmactl::model::Part;
use rdmactl::source::Question;

use super::machine::Machine;

/// Reads machines whose child process replies with these bytes.
pub fn run(data: &[u8]) {
    let change = |question: &Question| (*question == Question::Verbs).then(|| Ok(data.to_vec()));
    let parts = [Part::Verbs].into_iter().collect();
    // The fixtures of software devices and of Omni-Path.
    for fixture in [2, 3] {
        let report = Machine::new(fixture, &change).read(&parts);
        for port in report.devices.iter().flat_map(|device| &device.ports) {
            // The reply has the number of its port.
            assert!(port.verbs.as_ref().is_none_or(|verbs| verbs.number == port.number));
            let mtu = port.verbs.as_ref().and_then(|verbs| verbs.active_mtu);
            assert_eq!(port.active_mtu, mtu);
        }
    }
}
