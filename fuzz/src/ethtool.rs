//! Fuzz target for ethtool netlink replies about interfaces.

use rdmactl::model::Ethernet;
use rdmactl::source::Question;

use super::messages::read_interfaces;

/// Maximum length of a word that a number is shown as.
const WORD: usize = 80;

/// Bytes of an attribute that holds a counter.
const COUNTER: usize = 12;

/// Reads interfaces. The number of a record in the input is the number of the ethtool command
/// that it replies to.
pub fn run(data: &[u8]) {
    let report = read_interfaces(data, |question| match question {
        Question::Ethtool(query) => Some(query.command as u8),
        _ => None,
    });
    for netdev in report.netdevs.iter().flatten() {
        if let Some(ethernet) = &netdev.ethernet {
            check(ethernet, data.len());
        }
    }
}

/// Checks that an unknown speed is `None`, that words are short, and that the report holds no
/// more counters than the input.
fn check(ethernet: &Ethernet, length: usize) {
    let unknown = 1_000_000 * u64::from(u32::MAX);
    assert!(
        ethernet
            .speed_bps
            .is_none_or(|bps| { bps > 0 && bps < unknown && bps.is_multiple_of(1_000_000) })
    );
    assert!(ethernet.lanes != Some(0) && ethernet.lanes != Some(u32::MAX));
    let words = [&ethernet.connector, &ethernet.down_reason];
    assert!(words.into_iter().flatten().all(|word| word.len() <= WORD));
    assert!(ethernet.counters.len() * COUNTER <= length);
    if let Some(fec) = &ethernet.fec {
        assert!(fec.configured.len() <= 8 * length);
        assert!(fec.active.as_ref().is_none_or(|word| word.len() <= WORD));
    }
}
