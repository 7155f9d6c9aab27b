//! Faults that fail no pair: lost packets that retransmissions hide, and TCP that does not pass
//! where RDMA does.
//!
//! Only pairs whose messages all passed are compared. `ping::matrix` calls this module.

use std::collections::BTreeSet;

use super::duplicates::Duplicates;
use super::greedy_cover::GreedyCover;
use super::grouped;
use super::verdict::{Ends, plain_or, plain_set};
use crate::model::ping::{Code, Packets, Pair, Side, TcpFailure, Warning, WarningCode};
use crate::names;

/// Maximum number of pairs that a warning names.
const MAX_PAIRS: usize = 4;

/// Returns the warnings of a run; `names` has the names of all hosts. TCP between hosts with a
/// duplicate address may go to the wrong host. TCP of hosts that lose packets may only be too
/// slow. Neither proves that TCP is blocked.
pub fn find(names: &[&str], pairs: &[Pair], duplicates: &Duplicates) -> Vec<Warning> {
    let mut warnings = lossy(names, pairs);
    let lossy_hosts: BTreeSet<usize> =
        warnings.iter().flat_map(|warning| warning.hosts.iter().copied()).collect();
    let is_unclear = |host| duplicates.has_shared_address(host) || lossy_hosts.contains(&host);
    warnings.extend(tcp_blocked(names, pairs, is_unclear));
    warnings.extend(tcp_local_errors(names, pairs));
    warnings
}

/// Returns the warning about hosts whose packet counters are not compared, because they include
/// the packets of other programs on a device; `None` without devices.
pub fn not_counted(names: &[&str], shared_devices: &BTreeSet<(usize, String)>) -> Option<Warning> {
    if shared_devices.is_empty() {
        return None;
    }
    let hosts: BTreeSet<usize> = shared_devices.iter().map(|(host, _)| *host).collect();
    let device = |(host, device): &(usize, String)| format!("{device} of {}", name(names, *host));
    let places = names::limited(shared_devices.iter().map(device), MAX_PAIRS, "more devices");
    let detail = format!(
        "packets of {} are not counted, because other programs have queue pairs on these devices; the run does not \
         find loss that retransmissions hide there",
        places.join(", ")
    );
    let set = names::in_shell(&plain_set(names, &hosts));
    let hint = format!(
        "list the programs: rdmactl connections -H {set}; look for growing error counters: rdmactl counters -H {set} \
         --errors --watch 10 --count 1 -w 'delta>0'"
    );
    Some(Warning::new(WarningCode::NotCounted, hosts, detail, hint))
}

/// Pairs with a fault.
struct FaultyPairs<'a> {
    /// Host that explains the fault.
    host: Option<usize>,
    pairs: Vec<&'a Pair>,
}

/// Explains the pairs with a fault by as few hosts as possible.
fn explain(pairs: &[Pair], has_fault: impl Fn(&Pair) -> bool) -> Vec<FaultyPairs<'_>> {
    let passed: Vec<&Pair> = pairs.iter().filter(|pair| pair.verdict.code == Code::Ok).collect();
    let hosts = passed.iter().map(|pair| pair.source.max(pair.target) + 1).max().unwrap_or(0);
    let links = passed.iter().map(|pair| (pair.source, pair.target, has_fault(pair)));
    let mut greedy_cover = GreedyCover::new(hosts, links);
    let mut open: Vec<&Pair> = passed.iter().copied().filter(|pair| has_fault(pair)).collect();
    let mut faulty = Vec::new();
    while let Some(host) = greedy_cover.worst() {
        let (mine, others) =
            open.into_iter().partition(|pair| pair.source == host || pair.target == host);
        faulty.push(FaultyPairs { host: Some(host), pairs: mine });
        open = others;
        greedy_cover.name(host);
    }
    if !open.is_empty() {
        faulty.push(FaultyPairs { host: None, pairs: open });
    }
    faulty
}

fn lossy(names: &[&str], pairs: &[Pair]) -> Vec<Warning> {
    let has_loss = |pair: &Pair| pair.measured.packets.is_some_and(Packets::is_lossy);
    let faulty = explain(pairs, has_loss).into_iter().filter(|faulty| is_loss(&faulty.pairs));
    faulty.map(|faulty| lossy_at(names, faulty.host, &faulty.pairs)).collect()
}

/// True if packets were lost. One missing packet alone proves no loss: a busy host may receive
/// the packet after its counters were read. A missing packet and TCP without a reply prove it.
fn is_loss(pairs: &[&Pair]) -> bool {
    // `None` if the ports do not count packets.
    let lost = pairs.iter().try_fold(0_u64, |sum, pair| {
        let packets = pair.measured.packets?;
        let lost = packets.lost_to_target?.saturating_add(packets.lost_to_source?);
        Some(sum.saturating_add(lost))
    });
    lost != Some(1) || pairs.iter().any(|pair| is_without_tcp_reply(pair))
}

fn lossy_at(names: &[&str], host: Option<usize>, pairs: &[&Pair]) -> Warning {
    let mut warning = if let Some(host) = host {
        let (sent, received) = (lost(host, pairs, true), lost(host, pairs, false));
        let name = name(names, host);
        let what = match (sent, received) {
            (Some(sent), Some(received)) => format!(
                "{} that {name} sent and {} to {name} were lost",
                packets(sent),
                packets(received)
            ),
            _ => format!("{} were retransmitted", packets((retransmissions(pairs), 0))),
        };
        let detail = format!("{what} in {} pairs; retransmissions hid the loss", pairs.len());
        let port = pairs.iter().find_map(|pair| {
            let route = pair.route.as_ref()?;
            Some(if pair.source == host { &route.source } else { &route.target })
        });
        let netdev = port.and_then(|port| port.netdev.as_deref()).unwrap_or("NETDEV");
        let netdev = plain_or(netdev, "NETDEV");
        let plain = plain_or(name, "HOST");
        let hint = format!(
            "find what drops or damages packets of {plain}: on {plain}: ip -s link show {netdev}; tc -s \
                 qdisc show dev {netdev}; ethtool -S {netdev}; then the counters of its switch port and cable"
        );
        Warning::new(WarningCode::Lossy, [host], detail, hint)
    } else {
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
    };
    let without_tcp = pairs.iter().filter(|pair| is_without_tcp_reply(pair)).count();
    if without_tcp > 0 {
        let more = format!("; TCP connections of {without_tcp} pairs got no reply");
        warning.detail.push_str(&more);
    }
    warning
}

/// Returns the number of lost packets and of all packets that a host sent, or that were sent to
/// the host; `None` if the ports do not count packets.
fn lost(host: usize, pairs: &[&Pair], is_sent: bool) -> Option<(u64, u64)> {
    let counts = pairs.iter().filter_map(|pair| {
        let packets = pair.measured.packets?;
        if (pair.source == host) == is_sent {
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

/// Returns the warnings of hosts whose own kernel stops TCP: one for each host and errno.
fn tcp_local_errors(names: &[&str], pairs: &[Pair]) -> Vec<Warning> {
    let passed = pairs.iter().filter(|pair| pair.verdict.code == Code::Ok);
    let by_errno = grouped(passed.filter_map(|pair| {
        let TcpFailure { side, error, .. } = pair.measured.tcp_failure.as_ref()?;
        let host = match side {
            Side::Source => pair.source,
            Side::Target => pair.target,
            Side::Path => return None,
        };
        Some(((host, error.as_deref()), pair))
    }));
    let by_errno = by_errno.into_iter();
    by_errno.map(|((host, errno), pairs)| tcp_local_error(names, host, errno, &pairs)).collect()
}

fn tcp_local_error(names: &[&str], host: usize, errno: Option<&str>, pairs: &[&Pair]) -> Warning {
    const ROUTE: &str = "on {host}, find the route or rule: ip route get {address} from {own_address}; ip rule; ip \
                         route show table all | grep -E 'blackhole|prohibit|unreachable'";
    const PORTS: &str = "on {host}, compare the ports in use with the range, and check the address: ss -s; sysctl \
                         net.ipv4.ip_local_port_range; ip addr show to {own_address}";
    const LIMITS: &str =
        "on {host}, show the limits and the kernel log: ulimit -a; dmesg | tail -50";
    let (cause, hint) = match errno {
        None => ("its TCP packets leave through another network interface", ROUTE),
        Some("EACCES") => ("likely a route or rule of type prohibit covers the peer", ROUTE),
        Some("EINVAL") => ("likely a route or rule of type blackhole covers the peer", ROUTE),
        Some("EHOSTUNREACH") => {
            ("likely a route or rule of type unreachable covers the peer", ROUTE)
        }
        Some("ENETUNREACH") => ("likely no route leads to the peer", ROUTE),
        Some("EAGAIN") => ("the host allows no further process or thread", LIMITS),
        Some("EADDRINUSE") => ("no local port is free", PORTS),
        Some("EADDRNOTAVAIL") => ("no local port is free, or the host lost the address", PORTS),
        Some(_) => ("the kernel refuses the call", LIMITS),
    };
    let (between, name) = (listed(names, pairs), name(names, host));
    let error = errno.map_or_else(String::new, |errno| format!(" with {errno}"));
    let detail = format!("TCP between {between} fails on {name}{error}: {cause}; RDMA passes");
    let hint = filled(names, Some(host), pairs, hint);
    Warning::new(WarningCode::TcpLocalError, [host], detail, hint)
}

fn tcp_blocked(names: &[&str], pairs: &[Pair], is_unclear: impl Fn(usize) -> bool) -> Vec<Warning> {
    let is_blocked = |pair: &Pair| {
        is_without_tcp_reply(pair) && !is_unclear(pair.source) && !is_unclear(pair.target)
    };
    let faulty = explain(pairs, is_blocked).into_iter();
    faulty.map(|faulty| tcp_blocked_at(names, faulty.host, &faulty.pairs)).collect()
}

/// True if the source tried a TCP connection, and the path let none through.
fn is_without_tcp_reply(pair: &Pair) -> bool {
    let failure = pair.measured.tcp_failure.as_ref();
    pair.tcp.is_none() && failure.is_some_and(TcpFailure::is_without_connection)
}

fn tcp_blocked_at(names: &[&str], host: Option<usize>, pairs: &[&Pair]) -> Warning {
    const REJECTED: &str = "on {host}, find the rule that rejects TCP on {netdev}: nft list ruleset; iptables -S; \
                            ip6tables -S";
    const NO_REPLY: &str = "on {host}, check that replies leave through {netdev}: ip route get {address} from \
                            {own_address}; ip rule; if they do, find the rule that drops TCP: nft list ruleset; \
                            iptables -S; ip6tables -S; tc filter show dev {netdev} ingress; tc filter show dev \
                            {netdev} egress; look for a full neighbor table: dmesg | grep 'table overflow'";
    let between = match host {
        Some(host) => {
            let name = name(names, host);
            let direction = if pairs.iter().all(|pair| pair.target == host) {
                format!("to {name} from")
            } else if pairs.iter().all(|pair| pair.source == host) {
                format!("from {name} to")
            } else {
                format!("between {name} and")
            };
            format!("{direction} {} other hosts", hosts(pairs).len() - 1)
        }
        None => format!("between {}", listed(names, pairs)),
    };
    let is_rejected = |pair: &&Pair| {
        pair.measured.tcp_failure.as_ref().is_some_and(|failure| failure.error.is_some())
    };
    let (cause, hint) = if pairs.iter().all(is_rejected) {
        ("connections are rejected, likely by a packet filter", REJECTED)
    } else {
        (
            "connections get no reply: a packet filter drops TCP, a route sends the replies elsewhere, or a neighbor \
             table is full",
            NO_REPLY,
        )
    };
    let detail = format!(
        "{between}, RDMA passes and TCP on the same network interface does not; {cause}; programs that connect by \
         TCP first fail, and nothing can fall back to TCP"
    );
    let hint = filled(names, host, pairs, hint);
    let hosts = host.map_or_else(|| hosts(pairs), |host| BTreeSet::from([host]));
    Warning::new(WarningCode::TcpBlocked, hosts, detail, hint)
}

/// Fills a fix with the names of one of the pairs; `{host}` is the host, or else the target of
/// the pair. Prefers a pair whose target is the host, because its replies may be lost.
fn filled(names: &[&str], host: Option<usize>, pairs: &[&Pair], fix: &str) -> String {
    let example = pairs.iter().max_by_key(|pair| host == Some(pair.target));
    example.map_or_else(String::new, |pair| {
        let side = if host == Some(pair.source) { Side::Source } else { Side::Target };
        Ends::of(pair, names).fill(fix, side)
    })
}

fn hosts(pairs: &[&Pair]) -> BTreeSet<usize> {
    pairs.iter().flat_map(|pair| [pair.source, pair.target]).collect()
}

fn name<'a>(names: &[&'a str], host: usize) -> &'a str {
    names.get(host).copied().unwrap_or("?")
}

/// Formats host pairs: `n1 and n2, n3 and n4`.
fn listed(names: &[&str], pairs: &[&Pair]) -> String {
    let ends = |pair: &&Pair| (pair.source.min(pair.target), pair.source.max(pair.target));
    let ends: BTreeSet<(usize, usize)> = pairs.iter().map(ends).collect();
    let ends = ends.into_iter();
    let ends = ends.map(|(a, b)| format!("{} and {}", name(names, a), name(names, b)));
    names::limited(ends, MAX_PAIRS, "more pairs").join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::verdict::not_tested;
    use crate::model::ping::{Cell, Measured, Verdict};
    use crate::model::probe::RoundTrips;

    const NAMES: [&str; 4] = ["n1", "n2", "n3", "n4"];

    fn found(pairs: &[Pair]) -> Vec<Warning> {
        find(&NAMES, pairs, &Duplicates::default())
    }

    fn only(pairs: &[Pair]) -> Warning {
        let [one] = <[Warning; 1]>::try_from(found(pairs)).unwrap();
        one
    }

    fn matrix(measured: impl Fn(usize, usize) -> Measured) -> Vec<Pair> {
        let ordered = (0..4).flat_map(|a| (0..4).map(move |b| (a, b)));
        let pair = |(source, target)| {
            let verdict = Verdict { code: Code::Ok, ..not_tested() };
            let pair = Pair::of_verdict(Cell { rail: 0, source, target }, verdict);
            Pair { measured: measured(source, target), ..pair }
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
    fn devices_with_queue_pairs_of_other_programs_are_one_warning() {
        assert_eq!(not_counted(&NAMES, &BTreeSet::new()), None);
        let shared = BTreeSet::from([(1, "rxe0".to_owned()), (2, "rxe0".to_owned())]);
        let one = not_counted(&NAMES, &shared).unwrap();
        assert_eq!((one.code, one.hosts.as_slice()), (WarningCode::NotCounted, &[1, 2][..]));
        let detail = "packets of rxe0 of n2, rxe0 of n3 are not counted, because other programs";
        assert!(one.detail.starts_with(detail), "{}", one.detail);
        assert!(one.hint.contains("rdmactl connections -H 'n[2-3]'; look"), "{}", one.hint);
    }

    #[test]
    fn a_host_that_loses_what_it_sends_is_named_with_counts() {
        let one = only(&matrix(|a, b| match (a, b) {
            (1, _) => losing(5, 0, 2),
            (_, 1) => losing(0, 5, 2),
            _ => losing(0, 0, 0),
        }));
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

    fn tcp(failure: Option<(Side, Option<&str>)>) -> Measured {
        let tcp_failure = failure.map(|(side, error)| TcpFailure {
            side,
            error: error.map(str::to_owned),
            detail: "seen".into(),
        });
        Measured { tcp_failure, ..Measured::default() }
    }

    const NO_REPLY: Option<(Side, Option<&str>)> = Some((Side::Path, None));

    #[test]
    fn pairs_without_tcp_give_a_warning() {
        let one = only(&matrix(|a, b| tcp(NO_REPLY.filter(|_| a == 2 || b == 2))));
        assert_eq!((one.code, one.hosts.as_slice()), (WarningCode::TcpBlocked, &[2][..]));
        assert!(
            one.detail.starts_with("between n3 and 3 other hosts, RDMA passes"),
            "{}",
            one.detail
        );
        assert!(one.detail.contains("drops TCP, a route sends the replies"), "{}", one.detail);
        assert!(one.hint.starts_with("on n3, check that replies leave"), "{}", one.hint);
        let all = found(&matrix(|_, _| tcp(NO_REPLY)));
        assert_eq!(all[0].hosts, [0, 1, 2, 3]);
        assert_eq!(found(&matrix(|_, _| tcp(None))), []);
        // The round trips passed, and the test of throughput failed.
        let mut pairs = matrix(|_, _| tcp(NO_REPLY));
        for pair in &mut pairs {
            pair.tcp = Some(RoundTrips::default().into());
        }
        assert_eq!(found(&pairs), []);
    }

    #[test]
    fn a_rejected_connection_differs_from_a_missing_reply() {
        let rejected = Some((Side::Path, Some("ECONNREFUSED")));
        let one = only(&matrix(|_, b| tcp(rejected.filter(|_| b == 2))));
        assert_eq!((one.code, one.hosts.as_slice()), (WarningCode::TcpBlocked, &[2][..]));
        assert!(one.detail.starts_with("to n3 from 3 other hosts"), "{}", one.detail);
        assert!(one.detail.contains("connections are rejected"), "{}", one.detail);
        let mixed = found(&matrix(|a, b| {
            tcp(if a == 2 { NO_REPLY } else { rejected }.filter(|_| a == 2 || b == 2))
        }));
        assert!(mixed[0].detail.contains("get no reply"), "{mixed:?}");
    }

    #[test]
    fn replies_with_other_bytes_are_no_firewall() {
        let corrupted = Some((Side::Path, Some("EBADMSG")));
        assert_eq!(found(&matrix(|_, _| tcp(corrupted))), []);
    }

    #[test]
    fn an_error_of_the_own_host_is_no_firewall() {
        for (errno, words, command) in [
            ("EINVAL", "type blackhole", "on n2, find the route or rule: ip route get ADDRESS"),
            ("EACCES", "type prohibit", "ip rule"),
            ("EHOSTUNREACH", "type unreachable", "ip rule"),
            ("ENETUNREACH", "no route", "ip route show table all"),
            ("EADDRINUSE", "no local port is free", "net.ipv4.ip_local_port_range"),
            ("EADDRNOTAVAIL", "no local port is free", "ss -s"),
            ("EMFILE", "the kernel refuses", "ulimit -a"),
            ("EAGAIN", "allows no further process or thread", "ulimit -a"),
        ] {
            let one = only(&matrix(|a, b| {
                tcp(Some((Side::Source, Some(errno))).filter(|_| (a, b) == (1, 3)))
            }));
            assert_eq!((one.code, one.hosts.as_slice()), (WarningCode::TcpLocalError, &[1][..]));
            assert!(one.detail.contains("n2 and n4") && one.detail.contains(words), "{one:?}");
            assert!(one.hint.contains("on n2, ") && one.hint.contains(command), "{one:?}");
        }
        let elsewhere = Some((Side::Target, None));
        let seen = found(&matrix(|_, b| tcp(elsewhere.filter(|_| b == 0))));
        assert_eq!((seen.len(), seen[0].code), (1, WarningCode::TcpLocalError));
        assert!(seen[0].detail.contains("fails on n1: its TCP packets leave through"), "{seen:?}");
        let target = Some((Side::Target, Some("EADDRINUSE")));
        let seen = found(&matrix(|_, b| tcp(target.filter(|_| b == 3))));
        assert_eq!((seen.len(), seen[0].hosts.as_slice()), (1, &[3][..]), "one for each host");
    }

    #[test]
    fn one_packet_that_was_not_counted_is_no_loss() {
        let one_pair = |lost| {
            found(&matrix(move |a, b| match (a, b) {
                (0, 2) => losing(lost, 0, 1),
                _ => losing(0, 0, 0),
            }))
        };
        assert_eq!(one_pair(1), []);
        let seen = one_pair(2);
        assert_eq!((seen.len(), seen[0].code), (1, WarningCode::Lossy));
    }

    #[test]
    fn one_lost_packet_and_tcp_without_a_reply_are_loss() {
        let seen = found(&matrix(|a, b| match (a, b) {
            (0, 2) => Measured { tcp_failure: tcp(NO_REPLY).tcp_failure, ..losing(1, 0, 1) },
            _ => losing(0, 0, 0),
        }));
        assert_eq!((seen.len(), seen[0].code), (1, WarningCode::Lossy), "{seen:?}");
    }

    #[test]
    fn a_lossy_host_is_not_accused_of_blocking_tcp() {
        let one = only(&matrix(|a, b| {
            let is_lossy = a == 1 || b == 1;
            let lost = u64::from(is_lossy);
            Measured {
                tcp_failure: tcp(NO_REPLY.filter(|_| is_lossy)).tcp_failure,
                ..losing(lost, 0, lost)
            }
        }));
        assert_eq!(one.code, WarningCode::Lossy);
        assert!(one.detail.ends_with("TCP connections of 6 pairs got no reply"), "{}", one.detail);
    }
}
