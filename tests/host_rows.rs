//! Several hosts in one listing: a dead host is one row with its reason, equal notes are said once.

use rdmactl::cmd::Outcome;
use rdmactl::model::{HostFailure, HostReport, Problem, Reason, Via};
use rdmactl::query::{Defaults, Devices, device_rows, select};
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
    let named = Defaults { hosts_named: true, verbose: false };
    let columns = select::<Devices>(&[], named).expect("the usual columns");
    let text = table(&columns[..5], &device_rows(&reports, true), true);
    assert_eq!(
        text,
        "HOST  DEVICE  PORT  STATE          LINK\n\
         n1    -          -  unreachable !  -\n\
         n2    -          -  -              -\n"
    );
}

#[test]
fn equal_notes_are_said_once() {
    let reports: Vec<HostReport> = (17..81).map(|number| dead(&format!("n{number}"))).collect();
    let notes = notes(&reports, true);
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].text, "n17 and 63 more: no route to the host");
    assert_eq!(notes[0].fix.as_deref(), Some("see whether it is switched on"));
}

#[test]
fn the_outcome_tells_nothing_from_a_part() {
    assert_eq!(Outcome::of_listing(&[dead("n1"), dead("n2")]), Outcome::Nothing);
    assert_eq!(Outcome::of_listing(&[dead("n1"), bare("n2")]), Outcome::Incomplete);
    assert_eq!(Outcome::of_listing(&[bare("n2")]), Outcome::Complete);
    let refused = Problem {
        key: "devices".into(),
        source: "/sys/class/infiniband".into(),
        errno: Some("EACCES".into()),
        detail: "cannot read it".into(),
        fix: None,
    };
    let blind = HostReport { problems: vec![refused], ..HostReport::empty("n3", Via::Local) };
    assert_eq!(Outcome::of_listing(&[blind]), Outcome::Nothing);
}
