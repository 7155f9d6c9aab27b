use std::time::Duration;

/// The shortest acknowledge timeout, 4.096 us x 2^14 = 67 ms: with four attempts a dead peer is
/// known in 0.27 s.
const SHORTEST: u8 = 14;

/// The longest, 4.096 us x 2^19 = 2.1 s.
const LONGEST: u8 = 19;

/// The acknowledge timeout for a path with such a round trip: a slow path is not a dead one.
///
/// Four round trips of datagrams, which take as long as an acknowledgement; of TCP's, which has
/// two processes in it, one and a half must do. Doubled so often beyond that, up to the longest.
pub(super) fn exponent(datagram_ns: Option<u64>, tcp_ns: Option<u64>, doublings: u8) -> u8 {
    let wanted = match (datagram_ns, tcp_ns) {
        (Some(ns), _) => u128::from(ns) * 4,
        (None, Some(ns)) => u128::from(ns) * 3 / 2,
        (None, None) => 0,
    };
    let enough = (SHORTEST..LONGEST).find(|&it| time(it).as_nanos() >= wanted);
    enough.map_or(LONGEST, |it| it.saturating_add(doublings).min(LONGEST))
}

/// IBA 9.7.6.1.3: 4.096 us times two to the power of the exponent.
pub(super) fn time(exponent: u8) -> Duration {
    Duration::from_nanos(4_096_u64.checked_shl(exponent.into()).unwrap_or(u64::MAX))
}

#[test]
fn a_slow_path_gets_a_longer_timeout_and_a_dead_one_the_shortest() {
    let ms = |ms: u64| Some(ms * 1_000_000);
    assert_eq!(exponent(None, None, 0), 14);
    assert_eq!(exponent(None, ms(2), 0), 14);
    assert_eq!(exponent(None, ms(300), 0), 17);
    assert_eq!(exponent(ms(2), ms(300), 0), 14);
    assert_eq!(exponent(ms(300), None, 0), 19);
    assert!(time(exponent(ms(300), None, 0)).as_millis() >= 4 * 300);
    assert_eq!(exponent(Some(u64::MAX), None, 0), 19);
    assert_eq!(exponent(None, None, 2), 16);
    assert_eq!(exponent(None, None, u8::MAX), 19);
}
