//! Fuzz target for DCB netlink replies about interfaces.

use rdmactl::model::{Dcb, HostReport, Netdev};
use rdmactl::query::lossless_rows;
use rdmactl::source::{Question, RouteCommand};

use super::messages::read_interfaces;

/// Bytes of an attribute that holds an application priority rule, and of one that holds a
/// selector.
const RULE: usize = 8;
const SELECTOR: usize = 5;

/// Reads interfaces. Record 0 of the input is the DCB reply of an interface, and record 1 is the
/// reply about its DCBX mode.
pub fn run(data: &[u8]) {
    let report = read_interfaces(data, |question| match question {
        Question::Route(query) => match query.command {
            RouteCommand::Link => None,
            RouteCommand::Dcb => Some(0),
            RouteCommand::Dcbx => Some(1),
        },
        _ => None,
    });
    for netdev in report.netdevs.iter().flatten() {
        if let Some(dcb) = netdev.ethernet.as_ref().and_then(|ethernet| ethernet.dcb.as_ref()) {
            check(dcb, data.len());
        }
    }
    check_judgements(&report);
}

/// Checks that the report holds no more rules and selectors than the input, and only priorities 0
/// to 7.
fn check(dcb: &Dcb, length: usize) {
    for pfc in [&dcb.pfc, &dcb.peer_pfc].into_iter().flatten() {
        assert!(pfc.enabled.is_sorted() && pfc.enabled.iter().all(|priority| *priority < 8));
    }
    assert!(dcb.apps.len() * RULE <= length);
    assert!(dcb.trust.as_ref().is_none_or(|trust| trust.len() * SELECTOR <= length));
    assert!(dcb.dcbx.as_ref().is_none_or(|words| words.len() <= 5));
}

/// Checks the judgements of an interface. A priority that is judged lossless has flow control. A
/// fix writes a type of service below 256.
fn check_judgements(report: &HostReport) {
    for row in lossless_rows(std::slice::from_ref(report), true) {
        let Some(judgement) = row.judgement else { continue };
        assert!(judgement.dscp.is_none_or(|dscp| dscp < 64));
        assert!(judgement.why.len() <= 400, "{}", judgement.why);
        if let Some(fix) = judgement.fix.as_deref().and_then(|fix| fix.split_once("echo ")) {
            let tos = fix.1.split(' ').next().and_then(|word| word.parse().ok());
            assert!(tos.is_some_and(|tos: u32| tos < 256), "{judgement:?}");
        }
        if judgement.verdict.word() == "lossless"
            && let Some(priority) = judgement.priority
        {
            let mut all = report.netdevs.iter().flatten();
            assert!(all.any(|netdev| has_flow_control(netdev, priority)), "{judgement:?}");
        }
    }
}

fn has_flow_control(netdev: &Netdev, priority: u8) -> bool {
    let dcb = netdev.ethernet.as_ref().and_then(|ethernet| ethernet.dcb.as_ref());
    let pfc = dcb.and_then(|dcb| dcb.pfc.as_ref());
    pfc.is_some_and(|pfc| pfc.enabled.contains(&priority))
}
