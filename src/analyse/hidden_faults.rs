//! Faults that fail no pair: lost packets that retransmissions hide, and TCP that does not pass
//! where RDMA does.
//!
//! Only pairs whose messages all passed are compared. `ping::matrix` calls this module.

use std::collections::BTreeSet;

use super::duplicates::Duplicates;
use super::greedy_cover::GreedyCover;
use super::verdict::{plain_or, plain_set};
use crate::model::ping::{Code, Packets, Pair, PairTransport, RoutePort, Warning, WarningCode};
use crate::names;

/// Maximum number of names in a warning.
const MAX_PAIRS: usize = 4;

/// Returns the warnings of a run; `names` has the names of all hosts. TCP between hosts with a
/// duplicate address may go to the wrong host. TCP of hosts that lose packets may only be too
/// slow. Neither proves that TCP is blocked.
#[must_use]
pub fn find(names: &[&str], pairs: &[Pair], duplicates: &Duplicates) -> Vec<Warning> {
    let mut warnings = lossy(names, pairs);
    let lossy_hosts: BTreeSet<usize> =
        warnings.iter().flat_map(|warning| warning.hosts.iter().copied()).collect();
    let is_unclear = |host| duplicates.has_shared_address(host) || lossy_hosts.contains(&host);
    warnings.extend(tcp_blocked(names, pairs, is_unclear));
    warnings
}

/// Place of a fault.
enum Place<'a> {
    /// A host, and its pairs with the fault.
    Host(usize, Vec<&'a Pair>),
    /// Pairs that no host explains.
    Pairs(Vec<&'a Pair>),
}

/// Explains the pairs with a fault by as few hosts as possible, with the method for failed pairs.
fn places(pairs: &[Pair], has_fault: impl Fn(&Pair) -> bool) -> Vec<Place<'_>> {
    let passed: Vec<&Pair> = pairs.iter().filter(|pair| pair.verdict.code == Code::Ok).collect();
    let hosts = passed.iter().map(|pair| pair.source.max(pair.target) + 1).max().unwrap_or(0);
    let links = passed.iter().map(|pair| (pair.source, pair.target, has_fault(pair)));
    let mut greedy_cover = GreedyCover::new(hosts, links);
    let mut open: Vec<&Pair> = passed.iter().copied().filter(|pair| has_fault(pair)).collect();
    let mut places = Vec::new();
    while let Some(host) = greedy_cover.worst() {
        let (mine, others) =
            open.into_iter().partition(|pair| pair.source == host || pair.target == host);
        places.push(Place::Host(host, mine));
        open = others;
        greedy_cover.name(host);
    }
    if !open.is_empty() {
        places.push(Place::Pairs(open));
    }
    places
}

fn lossy(names: &[&str], pairs: &[Pair]) -> Vec<Warning> {
    let has_loss = |pair: &Pair| pair.measured.packets.is_some_and(Packets::is_lossy);
    places(pairs, has_loss).into_iter().map(|place| lossy_at(names, &place)).collect()
}

fn lossy_at(names: &[&str], place: &Place<'_>) -> Warning {
    match place {
        Place::Host(host, pairs) => {
            let (sent, received) = (lost(*host, pairs, true), lost(*host, pairs, false));
            let name = names.get(*host).copied().unwrap_or("?");
            let what = match (sent, received) {
                (Some(sent), Some(received)) => format!(
                    "{} that {name} sent and {} to {name} were lost",
                    packets(sent),
                    packets(received)
                ),
                _ => format!("{} were retransmitted", packets((retransmissions(pairs), 0))),
            };
            let detail = format!("{what} in {} pairs; retransmissions hid the loss", pairs.len());
            let netdev = port(*host, pairs).and_then(|port| port.netdev.as_deref());
            let netdev = plain_or(netdev.unwrap_or("NETDEV"), "NETDEV");
            let plain = plain_or(name, "HOST");
            let hint = format!(
                "find what drops or damages packets of {plain}: on {plain}: ip -s link show {netdev}; tc -s \
                 qdisc show dev {netdev}; ethtool -S {netdev}; then the counters of its switch port and cable"
            );
            Warning::new(WarningCode::Lossy, [*host], detail, hint)
        }
        Place::Pairs(pairs) => {
            let hosts = hosts(pairs);
            let detail = format!(
                "packets between {} were lost; retransmissions hid the loss",
                listed(names, pairs)
            );
            let hint = format!(
                "find the port whose error counters grow: rdmactl counters -H {} --errors --watch 10 --count 1 -w 'delta>0'",
                names::in_shell(&plain_set(names, &hosts))
            );
            Warning::new(WarningCode::Lossy, hosts, detail, hint)
        }
    }
}

/// Returns the number of lost packets and of all packets that a host sent, or that were sent to
/// the host; `None` if the ports do not count packets.
fn lost(host: usize, pairs: &[&Pair], is_sent: bool) -> Option<(u64, u64)> {
    let counts = pairs.iter().filter_map(|pair| {
        let packets = pair.measured.packets?;
        let is_to_target = (pair.source == host) == is_sent;
        if is_to_target {
            packets.lost_to_target.zip(packets.sent_to_target)
        } else {
            packets.lost_to_source.zip(packets.sent_to_source)
        }
    });
    counts.reduce(|(lost, of), (more, all)| (lost.saturating_add(more), of.saturating_add(all)))
}

fn retransmissions(pairs: &[&Pair]) -> u64 {
    let counts = pairs.iter().filter_map(|pair| pair.measured.packets);
    counts.fold(0, |sum, packets| sum.saturating_add(packets.retransmissions))
}

/// Formats `12 of 400 packets`, or `12 packets` if the total is unknown.
fn packets((part, of): (u64, u64)) -> String {
    if of == 0 { format!("{part} packets") } else { format!("{part} of {of} packets") }
}

fn tcp_blocked(names: &[&str], pairs: &[Pair], is_unclear: impl Fn(usize) -> bool) -> Vec<Warning> {
    let is_blocked = |pair: &Pair| {
        pair.measured.transport == Some(PairTransport::RdmaOnly)
            && !is_unclear(pair.source)
            && !is_unclear(pair.target)
    };
    places(pairs, is_blocked).into_iter().map(|place| tcp_blocked_at(names, &place)).collect()
}

fn tcp_blocked_at(names: &[&str], place: &Place<'_>) -> Warning {
    let (hosts, between) = match place {
        Place::Host(host, pairs) => {
            let name = names.get(*host).copied().unwrap_or("?");
            let others = hosts(pairs).len() - 1;
            (BTreeSet::from([*host]), format!("between {name} and {others} other hosts"))
        }
        Place::Pairs(pairs) => (hosts(pairs), format!("between {}", listed(names, pairs))),
    };
    let detail = format!(
        "{between}, RDMA passes and TCP on the same network interface does not: programs that connect by TCP first \
         fail, and nothing can fall back to TCP"
    );
    let hint = format!(
        "on {}, allow TCP on the RDMA network interface, or accept this on purpose; list the rules: nft list \
         ruleset; iptables -L; ip6tables -L",
        plain_set(names, &hosts)
    );
    Warning::new(WarningCode::TcpBlocked, hosts, detail, hint)
}

fn port<'a>(host: usize, pairs: &[&'a Pair]) -> Option<&'a RoutePort> {
    let route = |pair: &&'a Pair| {
        let route = pair.route.as_ref()?;
        Some(if pair.source == host { &route.source } else { &route.target })
    };
    pairs.iter().find_map(route)
}

fn hosts(pairs: &[&Pair]) -> BTreeSet<usize> {
    pairs.iter().flat_map(|pair| [pair.source, pair.target]).collect()
}

/// Formats host pairs: `n1 and n2, n3 and n4`.
fn listed(names: &[&str], pairs: &[&Pair]) -> String {
    let name = |host: usize| names.get(host).copied().unwrap_or("?");
    let ends =
        pairs.iter().map(|pair| (pair.source.min(pair.target), pair.source.max(pair.target)));
    let ends: BTreeSet<(usize, usize)> = ends.collect();
    let ends = ends.into_iter().map(|(a, b)| format!("{} and {}", name(a), name(b)));
    names::limited(ends, MAX_PAIRS, "more pairs").join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::{Measured, Side, Verdict};

    const NAMES: [&str; 4] = ["n1", "n2", "n3", "n4"];

    fn found(pairs: &[Pair]) -> Vec<Warning> {
        find(&NAMES, pairs, &Duplicates::default())
    }

    fn matrix(measured: impl Fn(usize, usize) -> Measured) -> Vec<Pair> {
        let ordered = (0..4).flat_map(|a| (0..4).map(move |b| (a, b)));
        let pair = |(source, target)| Pair {
            rail: 0,
            source,
            target,
            verdict: Verdict {
                code: Code::Ok,
                stage: None,
                side: Side::Path,
                error: None,
                detail: String::new(),
                hint: None,
            },
            route: None,
            rdma: None,
            tcp: None,
            measured: measured(source, target),
            first: None,
        };
        ordered.filter(|(a, b)| a != b).map(pair).collect()
    }

    fn losing(lost_to_target: u64, lost_to_source: u64, retransmissions: u64) -> Measured {
        let packets = Packets {
            sent_to_target: Some(100),
            lost_to_target: Some(lost_to_target),
            sent_to_source: Some(100),
            lost_to_source: Some(lost_to_source),
            retransmissions,
        };
        Measured { packets: Some(packets), ..Measured::default() }
    }

    #[test]
    fn a_host_that_loses_what_it_sends_is_named_with_counts() {
        let seen = found(&matrix(|a, b| match (a, b) {
            (1, _) => losing(5, 0, 2),
            (_, 1) => losing(0, 5, 2),
            _ => losing(0, 0, 0),
        }));
        let [one] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!((one.code, one.hosts.as_slice()), (WarningCode::Lossy, &[1][..]));
        assert_eq!(
            one.detail,
            "30 of 600 packets that n2 sent and 0 of 600 packets to n2 were lost in 6 pairs; retransmissions hid the \
             loss"
        );
        assert!(one.hint.contains("on n2: ip -s link show NETDEV"), "{}", one.hint);
    }

    #[test]
    fn neither_a_late_packet_nor_a_difference_alone_is_loss() {
        assert_eq!(found(&matrix(|_, _| losing(0, 0, 3))), [], "packets were late");
        assert_eq!(found(&matrix(|_, _| losing(1, 0, 0))), [], "another program sent");
        assert_eq!(found(&[]), []);
    }

    #[test]
    fn hardware_is_judged_by_retransmissions() {
        let hardware = |retransmissions| Measured {
            packets: Some(Packets { retransmissions, ..Packets::default() }),
            ..Measured::default()
        };
        let seen = found(&matrix(|a, b| hardware(if a == 3 || b == 3 { 7 } else { 0 })));
        assert_eq!(seen[0].hosts, [3]);
        assert!(seen[0].detail.starts_with("42 packets were retransmitted in 6 pairs"), "{seen:?}");
        let one = found(&matrix(|a, b| hardware(u64::from((a, b) == (0, 2)))));
        assert_eq!(one[0].hosts, [0, 2], "a single pair accuses no host");
        assert!(one[0].detail.starts_with("packets between n1 and n3 were lost"), "{one:?}");
    }

    #[test]
    fn pairs_without_tcp_are_told() {
        let transport = |is_blocked| Measured {
            transport: Some(if is_blocked { PairTransport::RdmaOnly } else { PairTransport::Rdma }),
            ..Measured::default()
        };
        let seen = found(&matrix(|a, b| transport(a == 2 || b == 2)));
        let [one] = seen.as_slice() else { panic!("{seen:?}") };
        assert_eq!((one.code, one.hosts.as_slice()), (WarningCode::TcpBlocked, &[2][..]));
        assert!(
            one.detail.starts_with("between n3 and 3 other hosts, RDMA passes"),
            "{}",
            one.detail
        );
        let all = found(&matrix(|_, _| transport(true)));
        assert_eq!(all[0].hosts, [0, 1, 2, 3]);
        assert_eq!(found(&matrix(|_, _| transport(false))), []);
    }
}
