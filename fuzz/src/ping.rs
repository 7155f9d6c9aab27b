//! Fuzz target for the verdicts on pairs of a ping run, from the reports of two workers.

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

/// Reports of the two workers of a pair: one line of the input.
#[derive(Deserialize)]
struct PairInput {
    source: Option<StepError>,
    target: Option<StepError>,
    /// Observation of a hung source.
    #[serde(default)]
    hung: Option<String>,
    /// Observation of a dead target.
    #[serde(default)]
    dead: Option<String>,
    tcp: Option<Result<RoundTrips, StepError>>,
    rdma: Option<RoundTrips>,
    #[serde(default)]
    datagrams: Option<Datagrams>,
    #[serde(default)]
    wants_datagrams: bool,
    /// Packets that the port of the source and the port of the target received.
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

/// Judges the pairs of four hosts, one for each line, and prints the run in each format.
pub fn run(data: &[u8]) {
    let inputs: Vec<PairInput> = data
        .split(|byte| *byte == b'\n')
        .map_while(|line| serde_json::from_slice(line).ok())
        .take(12)
        .collect();
    let ways = (0..4).flat_map(|source| (0..4).map(move |target| (source, target)));
    let ways = ways.filter(|(source, target)| source != target);
    let pairs: Vec<Pair> =
        ways.zip(inputs).map(|((source, target), input)| pair(source, target, input)).collect();
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
    // Failed pairs have findings, and no two findings name the same host.
    let failed = report.pairs.iter().filter(|pair| pair.verdict.code.is_failure()).count();
    assert!(report.findings.len() <= failed && (failed == 0) == report.findings.is_empty());
    let mut named: Vec<usize> = report.findings.iter().filter_map(|found| found.host).collect();
    named.sort_unstable();
    // Each outlier names hosts of the run.
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

fn pair(source: usize, target: usize, input: PairInput) -> Pair {
    let life = |word: Option<String>, made: fn(String) -> Life| word.map_or(Life::Alive, made);
    let tcp = input.tcp.as_ref().and_then(|tcp| tcp.as_ref().ok().copied()).map(Latency::from);
    let route = MadRoute { lid: 1, gids: None, pkey_index: 0, service_level: 0, traffic_class: 0 };
    let mad = input.mad.map(|seen| MadPings::of(seen, &route));
    let evidence = Evidence {
        source: EndEvidence { failure: input.source, life: life(input.hung, Life::Hung) },
        target: EndEvidence { failure: input.target, life: life(input.dead, Life::Dead) },
        protocol: Protocol::Roce,
        gids: GidMatch::Global,
        datagrams: input.datagrams,
        wants_datagrams: input.wants_datagrams,
        received: input.received.map(|(source, target)| Received { source, target }),
        unreliable: input.unreliable,
        mad: mad.as_ref().map(|seen| MadEvidence {
            sent: seen.sent,
            answered: seen.answered,
            source: input.mad_failure,
            target: None,
            is_alone: !input.passed,
        }),
        tcp: input.tcp,
        passed: input.passed || input.rdma.is_some(),
        rdma: input.rdma,
    };
    let rdma = evidence.rdma.map(Latency::from);
    let measured = Measured { datagrams: evidence.datagrams, mad, ..Measured::default() };
    let ends = Ends { source: "n1", target: "n2", route: None };
    let (verdict, route, first) = (judge(&evidence, &ends), None, None);
    Pair { rail: 0, source, target, verdict, route, rdma, tcp, measured, first }
}
