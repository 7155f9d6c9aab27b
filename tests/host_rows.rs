//! Listings of several hosts. A host that failed is one row with its reason, and equal notes are
//! printed once.
#![expect(clippy::expect_used, reason = "a test without its rows fails")]

use rdmactl::cmd::Outcome;
use rdmactl::model::{HostFailure, HostReport, Problem, Reason, Via};
use rdmactl::query::{Defaults, Devices, cells, device_rows, fold, select};
use rdmactl::render::{notes, table};

fn dead(host: &str) -> HostReport {
    let failure = HostFailure::new(Reason::Unreachable, "no route to the host");
    HostReport::failed(host, failure.fix("see whether it is switched on"))
}

fn bare(host: &str) -> HostReport {
    HostReport { rdma_core: Some(true), ..HostReport::empty(host, Via::Agent) }
}

#[test]
fn a_dead_host_is_one_row_with_its_reason() {
    let reports = [dead("n1"), bare("n2")];
    let named = Defaults { hosts_named: true, ..Defaults::default() };
    let columns = select::<Devices>(&[], named).expect("the usual columns");
    let rows = device_rows(&reports, true);
    let cells: Vec<_> = cells(&columns[..5], &rows).collect();
    let text = table(&columns[..5], &cells, true);
    assert_eq!(
        text,
        "HOST  DEVICE  PORT  STATE          LINK\n\
         n1    -          -  unreachable !  -\n\
         n2    -          -  -              -\n"
    );
}

#[test]
fn equal_notes_are_printed_once() {
    let reports: Vec<HostReport> = (17..81).map(|number| dead(&format!("n{number}"))).collect();
    let notes = notes(&reports, true, false);
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].text, "n[17-80]: no route to the host");
    assert_eq!(notes[0].fix.as_deref(), Some("see whether it is switched on"));
}

#[test]
fn hosts_with_equal_failures_share_a_line_despite_their_addresses() {
    let timed_out = |number: u32| {
        let detail = format!("10.1.0.{number}:22: n{number} did not answer in time");
        let failure = HostFailure::new(Reason::Timeout, detail).fix(format!("ssh n{number}"));
        HostReport::failed(format!("n{number}"), failure)
    };
    let mut reports: Vec<HostReport> = (1..=512).map(timed_out).collect();
    reports.push(dead("n600"));
    let notes = notes(&reports, true, false);
    let texts: Vec<&str> = notes.iter().map(|note| note.text.as_str()).collect();
    let first = "n1 and 511 more: 10.1.0.1:22: n1 did not answer in time";
    assert_eq!(texts, [first, "n600: no route to the host"]);
    let named = Defaults { hosts_named: true, ..Defaults::default() };
    let columns = select::<Devices>(&[], named).expect("the usual columns");
    let columns = &columns[..4];
    let rows = fold(columns, cells(columns, &device_rows(&reports, true)));
    assert_eq!(
        table(columns, &rows, false),
        "n[1-512]  -  -  timeout !\nn600      -  -  unreachable !\n"
    );
}

/// Returns a host with eight active devices. On host 17, the port of one device is down.
fn node(number: usize) -> HostReport {
    let device = |index: usize| {
        let state = if (number, index) == (17, 3) { "down" } else { "active" };
        let port = serde_json::json!({ "number": 1, "state": state, "gids": [] });
        let device = serde_json::json!({ "name": format!("mlx5_{index}"), "ports": [port] });
        serde_json::from_value(device).expect("a device")
    };
    let devices = (0..8).map(device).collect();
    HostReport {
        rdma_core: Some(true),
        devices,
        ..HostReport::empty(format!("n{number}"), Via::Agent)
    }
}

#[test]
fn a_table_of_512_hosts_shows_the_one_that_differs() {
    let reports: Vec<HostReport> = (1..=512).map(node).collect();
    let named = Defaults { hosts_named: true, folded: true, ..Defaults::default() };
    let columns = select::<Devices>(&[], named).expect("the usual columns");
    let columns = &columns[..4];
    let rows = fold(columns, cells(columns, &device_rows(&reports, true)));
    let text = table(columns, &rows, false);
    assert_eq!(text.lines().count(), 9, "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "n[1-512]        mlx5_0  1  ACTIVE");
    assert_eq!(lines[3], "n[1-16,18-512]  mlx5_3  1  ACTIVE");
    assert_eq!(lines[8], "n17             mlx5_3  1  DOWN !");
}

#[test]
fn outcome_separates_no_data_from_incomplete_data() {
    assert_eq!(Outcome::of_listing(&[dead("n1"), dead("n2")]), Outcome::Nothing);
    assert_eq!(Outcome::of_listing(&[dead("n1"), bare("n2")]), Outcome::Incomplete);
    assert_eq!(Outcome::of_listing(&[bare("n2")]), Outcome::Complete);
    let refused = Problem {
        key: "devices".into(),
        source: "/sys/class/infiniband".into(),
        errno: Some("EACCES".into()),
        detail: "cannot read it".into(),
        fix: None,
        not_recorded: false,
    };
    let blind =
        HostReport { problems: vec![refused].into(), ..HostReport::empty("n3", Via::Local) };
    assert_eq!(Outcome::of_listing(&[blind]), Outcome::Nothing);
}
