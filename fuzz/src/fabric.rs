//! Sweeps of a subnet whose nodes and subnet manager answer anything.

use rdmactl::analyse::fabric::errors::Thresholds;
use rdmactl::collect::host_report;
use rdmactl::model::{HostReport, Part, Parts, Via};

use super::answers::Answers;
use super::subnet;

/// Most bytes of JSON for an answer, and for the forwarding table of a switch, whose size is one
/// answer.
const PER_ANSWER: usize = 8_192;
const PER_TABLE: usize = 2 * 0xc000;

/// Ways to sweep: by directed routes, by tables of subnet administration, and by tables with
/// directed routes where the tables are rejected.
const WAYS: [&[Part]; 3] = [&[Part::FabricSmp], &[Part::FabricSa], &[]];

/// Sweeps in each way, then judges and prints the result.
pub fn run(data: &[u8]) {
    for way in WAYS {
        let answers = Answers::new(data);
        let report = sweep(&answers, way);
        let fabrics = report.fabrics.iter().flatten();
        let nodes = fabrics.clone().flat_map(|fabric| &fabric.nodes);
        let tables = nodes.clone().filter(|node| node.forwarding.is_some()).count();
        // Each node of a sweep is one answer, and each of a table 112 bytes.
        assert!(nodes.count() <= answers.given.get() + data.len() / 112);
        for fabric in fabrics.filter(|fabric| way == [Part::FabricSa] && !fabric.nodes.is_empty()) {
            assert_eq!(fabric.rejected_tables, Vec::<String>::new());
        }
        let length = subnet::check(report, &Thresholds::default());
        let most = PER_ANSWER * (answers.given.get() + 16 + data.len() / 64) + PER_TABLE * tables;
        assert!(length <= most, "{length} bytes of JSON, and {most} are expected at most");
    }
}

/// Returns the number of nodes that each way finds.
#[must_use]
pub fn nodes(data: &[u8]) -> [usize; 3] {
    WAYS.map(|way| {
        let report = sweep(&Answers::new(data), way);
        report.fabrics.iter().flatten().map(|fabric| fabric.nodes.len()).sum()
    })
}

fn sweep(answers: &Answers<'_>, way: &[Part]) -> HostReport {
    let parts = [Part::Fabric, Part::FabricRoutes, Part::FabricPartitions, Part::FabricCounters];
    let parts: Parts = parts.iter().chain(way).copied().collect();
    host_report(answers, &parts, "fuzzed", Via::File)
}
