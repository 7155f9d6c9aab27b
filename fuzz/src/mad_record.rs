//! Fuzz target for recorded management datagrams (MADs).

use rdmactl::collect::host_report;
use rdmactl::model::{HostReport, Part, Parts, Via};
use rdmactl::source::{Entry, Question, Recorded, RecordedMads, Recorder, Source};

/// Parses a record of MADs, and sweeps the subnet in it. A sweep of the record that this first
/// sweep makes finds the same subnet and makes the same record.
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
    // The record of a sweep omits the replies that the sweep did not request.
    assert!(RecordedMads::read(&record).is_ok());
}

/// Sweeps the subnet of a record. Returns the report, and the record that the sweep makes.
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

/// Removes the times at which counters were read: they differ between two sweeps.
fn without_times(mut report: HostReport) -> HostReport {
    let nodes = report.fabrics.iter_mut().flatten().flat_map(|fabric| &mut fabric.nodes);
    let ports = nodes.flat_map(|node| &mut node.ports);
    let counters = ports.flat_map(|port| port.counters.iter_mut().flatten());
    counters.for_each(|counter| counter.read_ns = None);
    report
}
