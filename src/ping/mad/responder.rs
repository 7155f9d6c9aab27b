//! Replies to requests of `ibping`; the worker of a target uses it.

use std::time::{Duration, Instant};

use super::{HOP_LIMIT, MadEnd, MadWire, Q_KEY, exchange_error, let_pass};
use crate::clock;
use crate::mad::ping_reply;
use crate::model::GidValue;
use crate::model::probe::{MadRoute, StepError};
use crate::sys::umad::{MadAddress, MadGrh, Received, Sending};

/// Largest number of replies per [`WINDOW`]. Further requests get no reply.
const MAX_REPLIES: u32 = 10_000;
const WINDOW: Duration = Duration::from_millis(100);
/// Longest wait for a request before the next call of `is_over`.
const RECEIVE_TIMEOUT: Duration = Duration::from_millis(50);

impl<W: MadWire> MadEnd<W> {
    /// Replies to requests with the name of the host until `is_over` returns true. Returns the
    /// number of replies.
    ///
    /// Any host of the fabric may send requests. On soft-RoCE only the peer of the route gets
    /// replies, because the firewall of this host was checked for the peer only.
    ///
    /// # Errors
    /// The firewall of this host drops the replies, the kernel refused each reply, or the device is
    /// gone.
    pub fn serve(
        &self,
        route: &MadRoute,
        host: &str,
        is_over: &dyn Fn() -> bool,
    ) -> Result<u64, StepError> {
        let_pass(route)?;
        let (mut replies, mut refused) = (0, None);
        let mut rate_limit = RateLimit::from(clock::now());
        while !is_over() {
            let received =
                self.wire.receive(RECEIVE_TIMEOUT).map_err(|error| exchange_error(&error))?;
            let (Some(received), Some(agent)) = (received, self.agent) else { continue };
            let is_for_us = received.failure.is_none() && may_answer(route, &received.address);
            if !is_for_us || !rate_limit.allows(clock::now()) {
                continue;
            }
            let Some(mad) = ping_reply(&received.mad, host) else { continue };
            let address = reply_address(&received);
            match self.wire.send(&Sending { agent, address, timeout_ms: 0, retries: 0 }, &mad) {
                Ok(()) => replies += 1,
                Err(error) => refused = Some(exchange_error(&error)),
            }
        }
        refused.filter(|_| replies == 0).map_or(Ok(replies), Err)
    }
}

/// True if the sender of a request may get a reply; on soft-RoCE, only the peer of the route.
fn may_answer(route: &MadRoute, from: &MadAddress) -> bool {
    match &route.gids {
        Some(gids) if gids.soft_roce => {
            from.grh.is_some_and(|grh| GidValue(grh.gid.into()) == gids.peer)
        }
        _ => true,
    }
}

fn reply_address(received: &Received) -> MadAddress {
    let from = received.address;
    // Routers decremented the hop limit of the request.
    let reply_grh = |grh: MadGrh| MadGrh { hop_limit: HOP_LIMIT, ..grh };
    MadAddress { q_key: Q_KEY, grh: from.grh.map(reply_grh), ..from }
}

struct RateLimit {
    window_start: Instant,
    requests: u32,
}

impl RateLimit {
    fn from(window_start: Instant) -> Self {
        Self { window_start, requests: 0 }
    }

    fn allows(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.window_start) >= WINDOW {
            *self = Self::from(now);
        }
        self.requests = self.requests.saturating_add(1);
        self.requests <= MAX_REPLIES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::probe::MadGids;

    #[test]
    fn on_soft_roce_only_the_peer_gets_replies() {
        let gid = |text: &str| GidValue(text.parse().unwrap());
        let route = |soft_roce| MadRoute {
            lid: 0,
            gids: Some(MadGids {
                index: 0,
                own: gid("fe80::1"),
                peer: gid("fe80::2"),
                netdev: None,
                soft_roce,
            }),
            pkey_index: 0,
            service_level: 0,
            traffic_class: 0,
        };
        let from = |text: &str| {
            let grh = MadGrh { gid: gid(text).0.octets(), ..MadGrh::default() };
            MadAddress { grh: Some(grh), ..MadAddress::default() }
        };
        let soft = route(true);
        assert!(may_answer(&soft, &from("fe80::2")));
        assert!(!may_answer(&soft, &from("fe80::3")));
        assert!(!may_answer(&soft, &MadAddress::default()));
        assert!(may_answer(&route(false), &from("fe80::3")));
    }

    #[test]
    fn a_flood_gets_no_more_replies_than_the_limit() {
        let start = clock::now();
        let mut rate_limit = RateLimit::from(start);
        let allowed = (0..3 * MAX_REPLIES).filter(|_| rate_limit.allows(start)).count();
        assert_eq!(allowed, MAX_REPLIES as usize);
        assert!(rate_limit.allows(start + WINDOW), "a new window begins");
    }
}
