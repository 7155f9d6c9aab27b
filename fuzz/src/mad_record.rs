//! Records of management datagrams, of any content.

use rdmactl::collect::host_report;
use rdmactl::model::{HostReport, Part, Parts, Via};
use rdmactl::source::{Entry, Question, Recorded, RecordedMads, Recorder, Source};

/// Reads a record, and sweeps the subnet that it holds: a record of this sweep gives the same
/// subnet and the same record.
pub fn run(data: &[u8]) {
    match RecordedMads::read(data) {
        Ok(_) => {}
        Err(error) => {
            assert!(error.to_string().len() < 100);
            return;
        }
    }
    let (first, record) = sweep(data);
    let (second, again) = sweep(&record);
    assert!(without_times(first) == without_times(second), "another subnet");
    assert!(record == again, "another record");
    // Answers that the sweep did not ask for are left out.
    assert!(RecordedMads::read(&record).is_ok());
}

/// Returns what a sweep over a record finds, and the record of the sweep.
fn sweep(record: &[u8]) -> (HostReport, Vec<u8>) {
    let entry =
        |question, answer: &[u8]| Entry { question, answer: Ok(answer.to_vec()), at_ns: None };
    let port = b"umad0 mlx5_0 1 InfiniBand 4 5\n";
    let mads = || Question::Mads("umad0".to_owned());
    let entries = [entry(Question::MadPorts, port), entry(mads(), record)];
    let recorder = Recorder::new(Recorded::new(entries, None));
    let parts = [Part::Fabric, Part::FabricRoutes, Part::FabricPartitions, Part::FabricCounters];
    let parts: Parts = parts.into_iter().collect();
    let report = host_report(&recorder, &parts, "fuzzed", Via::File);
    let replayed = Recorded::new(recorder.into_entries(), None);
    let record = replayed.ask(&mads()).expect("the port was opened");
    (report, record)
}

/// The times of counters are those of the sweep.
fn without_times(mut report: HostReport) -> HostReport {
    let nodes = report.fabrics.iter_mut().flatten().flat_map(|fabric| &mut fabric.nodes);
    let ports = nodes.flat_map(|node| &mut node.ports);
    let counters = ports.flat_map(|port| port.counters.iter_mut().flatten());
    counters.for_each(|counter| counter.read_ns = None);
    report
}
