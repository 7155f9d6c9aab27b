//! Fuzz target for sweeps of a subnet: its nodes and its subnet manager reply with any bytes.

use rdmactl::analyse::fabric::errors::Thresholds;
use rdmactl::collect::host_report;
use rdmactl::model::{HostReport, Part, Parts, Via};

use super::answers::Answers;
use super::subnet;

/// Maximum bytes of JSON for one reply, and for one forwarding table. One reply sets the size of
/// a forwarding table.
const PER_ANSWER: usize = 8_192;
const PER_TABLE: usize = 2 * 0xc000;

/// Ways to sweep: directed routes only, tables of subnet administration (SA) only, and SA tables
/// with directed routes for rejected tables.
const WAYS: [&[Part]; 3] = [&[Part::FabricSmp], &[Part::FabricSa], &[]];

/// Sweeps in each way, then judges and prints the result.
pub fn run(data: &[u8]) {
    for way in WAYS {
        let answers = Answers::new(data);
        let report = sweep(&answers, way);
        let fabrics = report.fabrics.iter().flatten();
        let nodes = fabrics.clone().flat_map(|fabric| &fabric.nodes);
        let tables = nodes.clone().filter(|node| node.forwarding.is_some()).count();
        // A directed-route sweep needs one reply for each node. A node in an SA table takes 112
        // bytes.
        assert!(nodes.count() <= answers.given.get() + data.len() / 112);
        for fabric in fabrics.filter(|fabric| way == [Part::FabricSa] && !fabric.nodes.is_empty()) {
            assert_eq!(fabric.rejected_tables, Vec::<String>::new());
        }
        let length = subnet::check(report, &Thresholds::default());
        let most = PER_ANSWER * (answers.given.get() + 16 + data.len() / 64) + PER_TABLE * tables;
        assert!(length <= most, "{length} bytes of JSON, more than {most}");
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
