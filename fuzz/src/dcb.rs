//! What DCB says of interfaces, of any content.

use rdmactl::model::{Dcb, HostReport, Netdev};
use rdmactl::query::lossless_rows;
use rdmactl::source::{Question, RouteCommand};

use super::messages::read_interfaces;

/// Bytes of an attribute with a rule in it, and with a selector.
const RULE: usize = 8;
const SELECTOR: usize = 5;

/// Of the answers, a record 0 is the DCB of an interface, 1 the mode of its protocol.
pub fn run(data: &[u8]) {
    let report = read_interfaces(data, |asked| match asked {
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
    judged(&report);
}

/// Nothing is made up, and no priority is none.
fn check(dcb: &Dcb, length: usize) {
    for pfc in [&dcb.pfc, &dcb.peer_pfc].into_iter().flatten() {
        assert!(pfc.enabled.is_sorted() && pfc.enabled.iter().all(|priority| *priority < 8));
    }
    assert!(dcb.apps.len() * RULE <= length);
    assert!(dcb.trust.as_ref().is_none_or(|trust| trust.len() * SELECTOR <= length));
    assert!(dcb.dcbx.as_ref().is_none_or(|words| words.len() <= 5));
}

/// Whatever the interface says, a lossless priority is one with flow control, and what to type instead
/// of another is a type of service.
fn judged(report: &HostReport) {
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
