//! A simulated ping run, printed as matrix, list and plain lines, and compared with committed
//! files.
#![expect(clippy::expect_used, reason = "a test that cannot read its files has failed")]

#[path = "support/committed.rs"]
mod committed;

use committed::{compare, package};
use rdmactl::analyse::root_cause::findings;
use rdmactl::analyse::verdict::not_tested;
use rdmactl::model::ping::{
    Cell, Code, Finding, Latency, Measured, Metric, Outlier, OutlierKind, Pair, PairTransport,
    PingHost, PingReport, Quantiles, Route, RoutePort, Side, Summary, Verdict, Warning,
    WarningCode,
};
use rdmactl::model::probe::{Method, Stage};
use rdmactl::model::{GidKind, GidValue, HostFailure, Protocol, Reason};
use rdmactl::query::{Defaults, Pairs, cells, pair_rows, select};
use rdmactl::render::{
    PingDocument, column_help, plain, render_findings, render_matrix, table, to_json,
};

/// Index of a host behind a firewall. Host 0 has no fault.
const FILTERED: usize = 1;
/// Index of a host that does not respond.
const DEAD: usize = 2;
/// Index of a host in another fabric.
const OTHER_FABRIC: usize = 3;
/// Index of a host with a hostile name.
const HOSTILE: usize = 4;

fn half_rtt(ns: u64) -> Latency {
    let quantiles = |ns| Quantiles {
        min: ns - ns / 10,
        p50: ns,
        p99: Some(2 * ns),
        max: 300 * ns,
        ..Quantiles::default()
    };
    Latency { count: 1_000, warm_up: 64, rtt_ns: quantiles(2 * ns), half_rtt_ns: quantiles(ns) }
}

fn port(host: usize, driver: &str) -> RoutePort {
    RoutePort {
        device: format!("mlx5_{host}"),
        port: 1,
        gid_index: 3,
        gid: GidValue(format!("::ffff:10.0.0.{host}").parse().expect("a GID")),
        gid_kind: Some(GidKind::RoceV2),
        netdev: Some("eth1".into()),
        driver: Some(driver.into()),
        rate_bps: Some(400_000_000_000),
        pkey_index: 0,
        pkey: None,
        netdev_mtu: None,
        active_mtu: None,
    }
}

fn host(name: &str) -> PingHost {
    PingHost { name: name.into(), kernel: Some("6.1.0".into()), failure: None, leaf: None }
}

fn verdict(code: Code, stage: Option<Stage>, side: Side, detail: &str) -> Verdict {
    let hint = code.is_failure().then(|| format!("mend {}", code.word()));
    let has_error = stage.is_some_and(|stage| stage >= Stage::FirstMessage);
    let error = has_error.then(|| "IBV_WC_RETRY_EXC_ERR".to_owned());
    Verdict { code, stage, side, error, detail: detail.into(), hint }
}

fn carried_by(transport: PairTransport) -> Measured {
    Measured { transport: Some(transport), ..Measured::default() }
}

fn pair(source: usize, target: usize) -> Pair {
    let is = |host| source == host || target == host;
    let unrouted = |verdict| Pair::of_verdict(Cell { rail: 0, source, target }, verdict);
    let ns = 1_629 + 100 * source as u64 + 10 * target as u64;
    let driver = if is(HOSTILE) { "siw" } else { "mlx5_core" };
    let routed = Pair {
        route: Some(Route {
            method: Method::Relay,
            protocol: Protocol::Roce,
            unreliable: true,
            mtu: Some(4_096),
            source: port(source, driver),
            target: port(target, driver),
        }),
        rdma: Some(half_rtt(ns)),
        tcp: Some(half_rtt(70 * ns)),
        measured: carried_by(PairTransport::Rdma),
        ..unrouted(verdict(Code::Ok, None, Side::Path, "every message was answered"))
    };
    match () {
        () if is(DEAD) => {
            let side = if target == DEAD { Side::Target } else { Side::Source };
            unrouted(verdict(Code::PeerDead, Some(Stage::Agent), side, "no route to the host"))
        }
        () if is(OTHER_FABRIC) => unrouted(verdict(
            Code::NoTransport,
            Some(Stage::Choose),
            Side::Path,
            "IB there, RoCE here",
        )),
        () if is(FILTERED) => Pair {
            rdma: None,
            measured: carried_by(PairTransport::TcpFallback),
            verdict: verdict(
                Code::Udp4791Blocked,
                Some(Stage::FirstMessage),
                Side::Source,
                "transport retry counter exceeded",
            ),
            ..routed
        },
        () if source == HOSTILE => Pair {
            first: Some(verdict(
                Code::Loss,
                Some(Stage::FullMtu),
                Side::Source,
                "a message of 4096 bytes ended with IBV_WC_RETRY_EXC_ERR",
            )),
            ..routed
        },
        () => routed,
    }
}

/// Returns an outlier of each kind. In a real run of so few hosts, no host is an outlier.
fn outliers() -> Vec<Outlier> {
    let outlier = |kind, host, target| Outlier {
        kind,
        metric: Metric::Latency,
        host,
        target,
        both_ways: false,
        leaves: Vec::new(),
        rails: Vec::new(),
        slower_permille: 252,
        slower_ns: 1_408,
        z_tenths: 112,
        slow: 7,
        of: 8,
        retested: true,
        software: false,
    };
    let leaves = |kind, names: &[&str]| Outlier {
        leaves: names.iter().map(|&name| name.to_owned()).collect(),
        ..outlier(kind, None, None)
    };
    vec![
        leaves(OutlierKind::Leaf, &["leaf\x1b1"]),
        leaves(OutlierKind::Path, &["leaf1", "leaf2"]),
        outlier(OutlierKind::Host, Some(HOSTILE), None),
        Outlier { rails: vec![1, 3], ..outlier(OutlierKind::Rail, Some(0), None) },
        Outlier { software: true, ..outlier(OutlierKind::Transmit, Some(0), None) },
        Outlier { retested: false, ..outlier(OutlierKind::Receive, Some(0), None) },
        outlier(OutlierKind::Pair, Some(0), Some(1)),
        Outlier { both_ways: true, ..outlier(OutlierKind::Pair, Some(0), Some(3)) },
        Outlier {
            metric: Metric::Bandwidth,
            slower_permille: 1_000,
            ..outlier(OutlierKind::Host, Some(1), None)
        },
    ]
}

fn warnings() -> Vec<Warning> {
    vec![Warning {
        code: WarningCode::MtuDiffers,
        hosts: vec![3, 4],
        rails: vec![1],
        detail: "mlx5_1/1 on eth\x1b1 has MTU 1500 (RDMA path MTU 1024)".into(),
        hint: "on n4: ip link set eth1 mtu 9000".into(),
    }]
}

fn report() -> PingReport {
    let mut hosts: Vec<PingHost> = ["n1", "n2", "n3", "n4", "evil\x1b[2J\u{202e}"].map(host).into();
    let failure = HostFailure::new(Reason::Unreachable, "no route to the host");
    hosts[DEAD] = PingHost {
        kernel: None,
        failure: Some(failure.fix("see whether it is switched on")),
        ..host("n3")
    };
    let ordered = (0..hosts.len()).flat_map(|a| (0..5).map(move |b| (a, b)));
    let pairs = ordered.filter(|(a, b)| a != b).map(|(a, b)| pair(a, b)).collect::<Vec<_>>();
    PingReport {
        hosts,
        summary: Summary::of(&pairs),
        findings: findings(&pairs, None),
        pairs,
        outliers: outliers(),
        warnings: warnings(),
        cells: None,
        coverage: None,
        simulated: None,
        taken_ns: None,
        elapsed_ms: 7_123,
        startup_ms: 0,
        left_behind: vec!["n2: pid\x07 17".into()],
    }
}

fn list(words: &[&str], header: bool) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let defaults = Defaults { hosts_named: true, ..Defaults::default() };
    let columns = select::<Pairs>(&words, defaults).expect("columns");
    let report = report();
    let rows = pair_rows(&report);
    let cells: Vec<_> = cells(&columns, &rows).collect();
    table(&columns, &cells, header)
}

#[test]
fn every_form_is_as_committed() {
    let report = report();
    let columns = select::<Pairs>(&[], Defaults::default()).expect("the usual columns");
    let forms = [
        ("matrix", render_matrix(&report, true)),
        ("matrix_without_header", render_matrix(&report, false)),
        ("findings", render_findings(&report)),
        ("list", list(&[], true)),
        ("columns", list(&["source", "target", "to_kernel", "stage"], false)),
        ("plain", plain(&columns, &pair_rows(&report), true)),
        ("help", column_help::<Pairs>()),
    ];
    let differences: Vec<String> = forms
        .iter()
        .filter_map(|(form, made)| {
            compare(&package(&format!("tests/golden/ping/{form}.txt")), made)
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_report_fits_the_committed_schema() {
    let text = std::fs::read(package("tests/schema/rdmactl.ping.json")).expect("the schema");
    let schema = serde_json::from_slice(&text).expect("the schema is JSON");
    let report = report();
    let json = to_json(&PingDocument::new(&report)).expect("JSON");
    assert!(json.starts_with("{\n  \"schema\": \"rdmactl.ping/1\""));
    let json = serde_json::from_str(&json).expect("JSON");
    let errors: Vec<String> = jsonschema::validator_for(&schema)
        .expect("a schema")
        .iter_errors(&json)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn of_many_single_pairs_most_are_only_counted() {
    let mut report = report();
    let single =
        Finding { host: None, failed: 1, of: 1, host_pairs: 1, ..report.findings[1].clone() };
    report.findings = vec![single; 17];
    let text = render_findings(&report);
    assert_eq!(
        text.matches("(one direction, while sending the first message)").count(),
        10,
        "{text}"
    );
    assert!(text.contains("\n! 7 more pairs of hosts: roce.udp4791_blocked 7\n"), "{text}");
}

#[test]
fn pairs_that_were_not_tested_are_neither_well_nor_failed() {
    let mut report = report();
    report.pairs.truncate(2);
    report.pairs[0].verdict = not_tested();
    report.summary = Summary::of(&report.pairs);
    let text = render_findings(&report);
    assert!(text.contains("\n2 pairs: 0 ok, 1 failed, 1 not tested; "), "{text}");
}

#[test]
fn nothing_unescaped_reaches_a_terminal() {
    let report = report();
    let everything: Vec<&str> =
        <Pairs as rdmactl::query::Listing>::COLUMNS.iter().map(|column| column.id).collect();
    let texts = [render_matrix(&report, true), render_findings(&report), list(&everything, true)];
    for text in texts {
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
        assert!(text.contains("evil\\x1b[2J\\u{202e}") && !text.contains('\u{202e}'), "{text:?}");
    }
}

#[test]
fn a_matrix_that_fits_no_screen_is_one_line() {
    let hosts = (0..41).map(|number| host(&format!("n{number}"))).collect();
    let wide = PingReport { hosts, pairs: Vec::new(), ..report() };
    assert_eq!(render_matrix(&wide, true).lines().count(), 1);
}

#[test]
fn the_manual_explains_every_verdict() {
    let manual = std::fs::read_to_string(package("docs/ping.md")).unwrap();
    let table = manual.split("## ").find(|part| part.starts_with("Verdicts")).unwrap();
    let of_rows = table.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let explained: Vec<&str> =
        of_rows.flat_map(|words| words.split('`').skip(1).step_by(2)).collect();
    for code in Code::ALL {
        let times = explained.iter().filter(|word| **word == code.word()).count();
        assert_eq!(times, 1, "{}", code.word());
    }
    assert_eq!(explained.len(), Code::ALL.len(), "{explained:?}");
}
