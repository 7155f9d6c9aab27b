//! What the process that asks libibverbs answers, of any content.

use rdmactl::model::Part;
use rdmactl::source::Question;

use super::machine::Machine;

/// Reads machines whose process gives this answer.
pub fn run(data: &[u8]) {
    let change = |asked: &Question| (*asked == Question::Verbs).then(|| Ok(data.to_vec()));
    let parts = [Part::Verbs].into_iter().collect();
    // The software devices, and Omni-Path.
    for fixture in [2, 3] {
        let report = Machine::new(fixture, &change).read(&parts);
        for port in report.devices.iter().flat_map(|device| &device.ports) {
            // An answer is that of the port it stands at.
            assert!(port.verbs.as_ref().is_none_or(|verbs| verbs.number == port.number));
            let mtu = port.verbs.as_ref().and_then(|verbs| verbs.active_mtu);
            assert_eq!(port.active_mtu, mtu);
        }
    }
}
