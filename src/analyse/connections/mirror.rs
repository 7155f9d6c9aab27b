//! Which queue pairs of different hosts are the two ends of one connection.

use std::collections::HashMap;

use super::addresses::Hosts;
use super::channel::Channel;
use super::index::Index;

/// Packet sequence numbers have 24 bits.
const PSN_BITS: u32 = 0x00ff_ffff;
/// How far the numbers of two ends may be apart, which were not read at the same moment: 24 bits wrap
/// in less than two seconds on the fastest links, so that this proves something on idle ones only.
const DRIFT: u32 = 4096;

/// A queue pair: number of its host, its device, its own number.
type End<'reports> = (usize, &'reports str, u32);

/// The other end of each queue pair that has one among the hosts.
pub(super) struct Mirrors<'reports> {
    others: HashMap<End<'reports>, End<'reports>>,
}

/// A channel with both numbers, and where it is.
struct Known<'index, 'reports> {
    end: End<'reports>,
    rqpn: u32,
    channel: &'index Channel<'reports>,
}

impl<'reports> Mirrors<'reports> {
    pub(super) fn new(indices: &[Option<Index<'reports>>], hosts: &Hosts) -> Self {
        let mut known = Vec::new();
        let mut by_numbers: HashMap<(u32, u32), Vec<usize>> = HashMap::new();
        for (host, index) in indices.iter().enumerate() {
            for channel in index.iter().flat_map(|index| &index.channels) {
                let Some((lqpn, rqpn)) = channel.numbers() else { continue };
                by_numbers.entry((lqpn, rqpn)).or_default().push(known.len());
                known.push(Known { end: (host, channel.device, lqpn), rqpn, channel });
            }
        }
        let other = |one: &Known<'_, 'reports>| {
            let candidates = by_numbers.get(&(one.rqpn, one.end.2))?.iter().map(|at| &known[*at]);
            let mut fits = candidates.filter(|other| is_mirror(one, other, hosts));
            // Two that fit prove neither.
            fits.next().filter(|_| fits.next().is_none())
        };
        let mut others = HashMap::new();
        for one in &known {
            if let Some(found) = other(one)
                && other(found).is_some_and(|back| back.end == one.end)
            {
                others.insert(one.end, found.end);
            }
        }
        Self { others }
    }

    /// The other end of a queue pair of a host: number of the host, device, number of the queue pair.
    pub(super) fn of(&self, host: usize, device: &str, lqpn: u32) -> Option<End<'reports>> {
        self.others.get(&(host, device, lqpn)).copied()
    }
}

/// Whether two queue pairs with mirrored numbers are two ends of one connection. Numbers are chosen
/// alike on many hosts: the addresses of the connection manager have to say so, too, or the packet
/// sequence numbers where it made neither end.
fn is_mirror(one: &Known<'_, '_>, other: &Known<'_, '_>, hosts: &Hosts) -> bool {
    if one.end.0 == other.end.0 {
        return false;
    }
    let leads_to = |from: &Known<'_, '_>, to: &Known<'_, '_>| {
        Some(hosts.at(from.channel.remote?.ip())? == to.end.0)
    };
    match (leads_to(one, other), leads_to(other, one)) {
        (None, None) => {
            let (ours, theirs) = (one.channel.sequence(), other.channel.sequence());
            is_near(ours.0, theirs.1) && is_near(ours.1, theirs.0)
        }
        (there, back) => there != Some(false) && back != Some(false),
    }
}

fn is_near(one: Option<u32>, other: Option<u32>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let ahead = one.wrapping_sub(other) & PSN_BITS;
    ahead.min(PSN_BITS + 1 - ahead) <= DRIFT
}
