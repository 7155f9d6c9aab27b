//! Acknowledge timeout of the queue pairs of a connection.

use std::time::Duration;

/// Exponent of the shortest acknowledge timeout, 4.096 us x 2^14 = 67 ms. With four attempts, a
/// dead peer is known after 0.27 s.
const SHORTEST: u8 = 14;

/// Exponent of the longest acknowledge timeout, 4.096 us x 2^19 = 2.1 s.
const LONGEST: u8 = 19;

/// Returns the exponent of the acknowledge timeout for the round trip times of a path, so that a
/// slow path does not look dead.
///
/// The timeout is at least four round trips of datagrams, which take as long as an
/// acknowledgement. Without datagrams, it is at least one and a half TCP round trips, which
/// include the time of two processes. The doublings are added to the exponent, up to the longest
/// timeout.
pub(super) fn exponent(datagram_ns: Option<u64>, tcp_ns: Option<u64>, doublings: u8) -> u8 {
    let wanted = match (datagram_ns, tcp_ns) {
        (Some(ns), _) => u128::from(ns) * 4,
        (None, Some(ns)) => u128::from(ns) * 3 / 2,
        (None, None) => 0,
    };
    let enough = (SHORTEST..LONGEST).find(|&it| time(it).as_nanos() >= wanted);
    enough.map_or(LONGEST, |it| it.saturating_add(doublings).min(LONGEST))
}

/// Returns the timeout of an exponent: 4.096 us times two to the power of it (IBA 9.7.6.1.3).
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
