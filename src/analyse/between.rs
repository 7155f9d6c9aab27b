//! Corrects the fix of a pair on which nothing passes, if both ports pass other pairs.
//!
//! The cables and switch ports of such a pair work, so the fault concerns the two hosts only:
//! a neighbor entry, a route or a filter for one address. `ping::matrix` calls this module.

use std::collections::BTreeSet;

use super::verdict::Ends;
use crate::model::Protocol;
use crate::model::ping::{Code, FIX_BETWEEN, Pair, Side};

/// Changes detail and fix of the pairs with [`Code::RailDown`] whose ports pass other pairs of
/// their rail. Returns the positions of the changed pairs. `names` has the names of all hosts.
pub fn correct(names: &[&str], pairs: &mut [Pair]) -> Vec<usize> {
    let passed = pairs.iter().filter(|pair| pair.verdict.code == Code::Ok);
    let works: BTreeSet<(usize, usize)> =
        passed.flat_map(|pair| [(pair.rail, pair.source), (pair.rail, pair.target)]).collect();
    let mut changed = Vec::new();
    let is_down = |(_, pair): &(usize, &mut Pair)| pair.verdict.code == Code::RailDown;
    for (at, pair) in pairs.iter_mut().enumerate().filter(is_down) {
        let is_ip = |protocol| matches!(protocol, Protocol::Roce | Protocol::Iwarp);
        let has_addresses = pair.route.as_ref().is_some_and(|route| is_ip(route.protocol));
        let works = |host| works.contains(&(pair.rail, host));
        if !(has_addresses && works(pair.source) && works(pair.target)) {
            continue;
        }
        pair.verdict.hint = Some(Ends::of(pair, names).fill(FIX_BETWEEN, Side::Source));
        pair.verdict.detail.push_str("; both ports pass messages to other hosts");
        changed.push(at);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::verdict::not_tested;
    use crate::model::ping::{Cell, Route, RoutePort, Verdict};
    use crate::model::probe::Method;

    fn pair(source: usize, target: usize, code: Code, protocol: Protocol) -> Pair {
        let port = |host: usize| RoutePort {
            netdev: Some("eth1".into()),
            ..RoutePort::example(&format!("::ffff:10.10.1.{}", host + 1))
        };
        let route = Route {
            method: Method::Relay,
            protocol,
            unreliable: false,
            mtu: None,
            source: port(source),
            target: port(target),
        };
        let hint = Some("check the link".into());
        let verdict = Verdict { code, hint, ..not_tested() };
        let pair = Pair::of_verdict(Cell { rail: 0, source, target }, verdict);
        Pair { route: Some(route), ..pair }
    }

    fn hint(others: Code, protocol: Protocol) -> String {
        let mut pairs = vec![
            pair(0, 1, Code::RailDown, protocol),
            pair(0, 2, Code::Ok, protocol),
            pair(1, 2, others, protocol),
        ];
        let changed = correct(&["n1", "n2", "n3"], &mut pairs);
        assert_eq!(!changed.is_empty(), pairs[0].verdict.detail.contains("both ports"));
        pairs[0].verdict.hint.clone().unwrap()
    }

    #[test]
    fn a_pair_between_working_ports_is_no_broken_link() {
        assert_eq!(
            hint(Code::Ok, Protocol::Roce),
            "compare the neighbor entry with the MAC address of the peer, and the route; on n1: ip neigh show \
             10.10.1.2; ip route get 10.10.1.2 from 10.10.1.1; on n2: ip neigh show 10.10.1.1; ip route get 10.10.1.1 \
             from 10.10.1.2; ip link show eth1"
        );
    }

    #[test]
    fn a_port_that_passes_nothing_keeps_the_fix_of_the_link() {
        assert_eq!(hint(Code::RailDown, Protocol::Roce), "check the link");
        assert_eq!(hint(Code::Ok, Protocol::Ib), "check the link", "no IP address");
        assert_eq!(correct(&[], &mut []), [0; 0]);
    }
}
