//! What two workers say of a pair, of any content.

use rdmactl::analyse::outliers::judge as judge_all;
use rdmactl::analyse::root_cause::findings;
use rdmactl::analyse::verdict::{Ends, judge};
use rdmactl::model::Protocol;
use rdmactl::model::ping::{
    Datagrams, EndEvidence, Evidence, GidMatch, Grid, Latency, Life, MadEvidence, MadPings,
    Measured, Metric, Pair, PingHost, PingReport, Received, Summary,
};
use rdmactl::model::probe::{MadPinged, MadRoute, RoundTrips, StepError};
use rdmactl::query::{Pairs, pair_rows};
use rdmactl::render::{PingDocument, render_findings, render_matrix, to_json};
use serde::Deserialize;

use super::shown;

/// One line of the input.
#[derive(Deserialize)]
struct Said {
    source: Option<StepError>,
    target: Option<StepError>,
    /// Observation of a hung source; `dead` is the observation of a dead target.
    #[serde(default)]
    hung: Option<String>,
    #[serde(default)]
    dead: Option<String>,
    tcp: Option<Result<RoundTrips, StepError>>,
    rdma: Option<RoundTrips>,
    #[serde(default)]
    datagrams: Option<Datagrams>,
    #[serde(default)]
    wants_datagrams: bool,
    /// Packets that the source's port received, and the target's.
    #[serde(default)]
    received: Option<(u64, u64)>,
    #[serde(default)]
    unreliable: Option<StepError>,
    #[serde(default)]
    mad: Option<MadPinged>,
    #[serde(default)]
    mad_failure: Option<StepError>,
    #[serde(default)]
    passed: bool,
}

/// Judges the pairs of four hosts, one for each line, and prints the run in every form.
pub fn run(data: &[u8]) {
    let said: Vec<Said> = data
        .split(|byte| *byte == b'\n')
        .map_while(|line| serde_json::from_slice(line).ok())
        .take(12)
        .collect();
    let ways = (0..4).flat_map(|source| (0..4).map(move |target| (source, target)));
    let ways = ways.filter(|(source, target)| source != target);
    let pairs: Vec<Pair> =
        ways.zip(said).map(|((source, target), said)| pair(source, target, said)).collect();
    if pairs.is_empty() {
        return;
    }
    let host = |name: &str| PingHost { name: name.into(), kernel: None, failure: None, leaf: None };
    let report = PingReport {
        hosts: ["n1", "n2", "n3", "n4"].map(host).to_vec(),
        summary: Summary::of(&pairs),
        findings: findings(&pairs, None),
        outliers: judge_all(&Grid::of_pairs(4, &pairs, Metric::Latency, None)).outliers,
        warnings: Vec::new(),
        pairs,
        cells: None,
        coverage: None,
        taken_ns: None,
        simulated: None,
        elapsed_ms: 1,
        startup_ms: 0,
        left_behind: Vec::new(),
    };
    // Every failed pair is explained, and no host is named twice.
    let failed = report.pairs.iter().filter(|pair| pair.verdict.code.is_failure()).count();
    assert!(report.findings.len() <= failed && (failed == 0) == report.findings.is_empty());
    let mut named: Vec<usize> = report.findings.iter().filter_map(|found| found.host).collect();
    named.sort_unstable();
    // Who is slow is one of the hosts, and was measured.
    let mut hosts =
        report.outliers.iter().flat_map(|slow| slow.host.into_iter().chain(slow.target));
    assert!(hosts.all(|host| host < 4), "{:?}", report.outliers);
    assert!(named.is_sorted_by(|a, b| a < b), "{named:?}");
    shown::rows::<Pairs>(&pair_rows(&report));
    for text in [render_matrix(&report, true), render_findings(&report)] {
        assert!(shown::is_harmless(&text), "{text:?}");
    }
    assert!(to_json(&PingDocument::new(&report)).is_ok());
}

fn pair(source: usize, target: usize, said: Said) -> Pair {
    let life = |word: Option<String>, made: fn(String) -> Life| word.map_or(Life::Alive, made);
    let tcp = said.tcp.as_ref().and_then(|tcp| tcp.as_ref().ok().copied()).map(Latency::from);
    let route = MadRoute { lid: 1, gids: None, pkey_index: 0, service_level: 0, traffic_class: 0 };
    let mad = said.mad.map(|seen| MadPings::of(seen, &route));
    let evidence = Evidence {
        source: EndEvidence { failure: said.source, life: life(said.hung, Life::Hung) },
        target: EndEvidence { failure: said.target, life: life(said.dead, Life::Dead) },
        protocol: Protocol::Roce,
        gids: GidMatch::Global,
        datagrams: said.datagrams,
        wants_datagrams: said.wants_datagrams,
        received: said.received.map(|(source, target)| Received { source, target }),
        unreliable: said.unreliable,
        mad: mad.as_ref().map(|seen| MadEvidence {
            sent: seen.sent,
            answered: seen.answered,
            source: said.mad_failure,
            target: None,
            is_alone: !said.passed,
        }),
        tcp: said.tcp,
        passed: said.passed || said.rdma.is_some(),
        rdma: said.rdma,
    };
    let rdma = evidence.rdma.map(Latency::from);
    let measured = Measured { datagrams: evidence.datagrams, mad, ..Measured::default() };
    let ends = Ends { source: "n1", target: "n2", route: None };
    let (verdict, route, first) = (judge(&evidence, &ends), None, None);
    Pair { rail: 0, source, target, verdict, route, rdma, tcp, measured, first }
}
