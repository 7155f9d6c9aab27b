//! Matches the two queue pairs of a connection between two hosts.

use std::collections::HashMap;

use super::addresses::Hosts;
use super::channel::Channel;
use super::index::Index;
use crate::analyse::grouped;

/// Packet sequence numbers have 24 bits.
const PSN_BITS: u32 = 0x00ff_ffff;
/// Maximum difference of the packet sequence numbers of two ends, which are read at different
/// times. 24 bits wrap in less than two seconds on the fastest links, so a match proves something
/// on idle links only.
const MAX_PSN_DRIFT: u32 = 4096;

/// Queue pair: index of its host, device, queue pair number.
type End<'reports> = (usize, &'reports str, u32);

/// Remote end of each queue pair whose peer is among the hosts.
pub(super) struct RemoteQueuePairs<'reports>(HashMap<End<'reports>, End<'reports>>);

struct Known<'index, 'reports> {
    end: End<'reports>,
    rqpn: u32,
    channel: &'index Channel<'reports>,
}

impl<'reports> RemoteQueuePairs<'reports> {
    pub(super) fn new(indices: &[Option<Index<'reports>>], hosts: &Hosts) -> Self {
        let mut known = Vec::new();
        for (host, index) in indices.iter().enumerate() {
            for channel in index.iter().flat_map(|index| &index.channels) {
                let Some((lqpn, rqpn)) = channel.numbers() else { continue };
                known.push(Known { end: (host, channel.device, lqpn), rqpn, channel });
            }
        }
        let by_numbers = grouped(known.iter().map(|one| ((one.end.2, one.rqpn), one)));
        let other = |one: &Known<'_, 'reports>| {
            let candidates = by_numbers.get(&(one.rqpn, one.end.2))?.iter().copied();
            let mut fits = candidates.filter(|other| is_mirror(one, other, hosts));
            // Two candidates prove neither.
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
        Self(others)
    }

    pub(super) fn of(&self, host: usize, device: &str, lqpn: u32) -> Option<End<'reports>> {
        self.0.get(&(host, device, lqpn)).copied()
    }
}

/// True if two queue pairs with mirrored numbers are the ends of one connection. Many hosts
/// choose equal numbers, so the remote address of each end must not contradict. If no remote
/// address is known, the packet sequence numbers have to match.
fn is_mirror(one: &Known<'_, '_>, other: &Known<'_, '_>, hosts: &Hosts) -> bool {
    if one.end.0 == other.end.0 {
        return false;
    }
    let leads_to = |from: &Known<'_, '_>, to: &Known<'_, '_>| {
        Some(hosts.at(from.channel.remote?.ip())? == to.end.0)
    };
    match (leads_to(one, other), leads_to(other, one)) {
        (None, None) => {
            let (ours, theirs) = (one.channel.sequence_numbers(), other.channel.sequence_numbers());
            is_near(ours.0, theirs.1) && is_near(ours.1, theirs.0)
        }
        (there, back) => there != Some(false) && back != Some(false),
    }
}

fn is_near(one: Option<u32>, other: Option<u32>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let ahead = one.wrapping_sub(other) & PSN_BITS;
    ahead.min(PSN_BITS + 1 - ahead) <= MAX_PSN_DRIFT
}
