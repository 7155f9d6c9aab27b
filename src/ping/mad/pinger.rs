//! Sends requests one after the other, counts the replies and measures their round trips.

use std::time::{Duration, Instant};

use super::{MadEnd, MadWire, exchange_error, let_pass, request_address};
use crate::clock::{self, Deadline};
use crate::mad::{Class, Header, PingReplyBy, Status, ping_replied, ping_request};
use crate::model::probe::{Cause, MadPinged, MadPinging, MadRoute, Stage, StepError};
use crate::ping::error::step_error;
use crate::ping::statistics::Samples;
use crate::ping::stop_flag::STOP_CHECK_INTERVAL;
use crate::sys::umad::Sending;

/// Number of requests after which no more are sent if the peer replied to none.
const MAX_WITHOUT_REPLY: u32 = 3;
/// Extra wait beyond the timeout of the kernel, because the kernel itself can lose a MAD.
const GRACE: Duration = Duration::from_millis(100);

/// Host name or refusal in a reply, and the time when the reply arrived.
type Reply = (Result<String, Status>, Instant);

impl<W: MadWire> MadEnd<W> {
    /// Sends requests until their number or their time is reached, or until `is_over`.
    ///
    /// A request is lost if no reply arrives in time. If none of the first requests is answered,
    /// no more requests are sent. Times are those of the monotonic clock.
    ///
    /// # Errors
    /// The firewall of this host drops the requests, the kernel refuses a request, or the device is
    /// gone.
    pub fn ping(
        &self,
        ask: &MadPinging,
        is_over: &dyn Fn() -> bool,
    ) -> Result<MadPinged, StepError> {
        let agent = self.agent.ok_or_else(|| {
            step_error(Stage::Mad, Cause::Order, "the port is not registered for replies")
        })?;
        let_pass(&ask.route)?;
        // A random number only separates late replies of earlier runs, so 0 serves as well.
        let first = getrandom::u32().unwrap_or(0);
        let slot = Deadline::after(Duration::from_millis(ask.slot_ms.into()));
        let (mut seen, mut samples) = (MadPinged::default(), Samples::new());
        while seen.sent < ask.rounds && !(seen.sent > 0 && slot.is_over()) && !is_over() {
            let start = clock::now();
            let transaction = first.wrapping_add(seen.sent);
            seen.sent += 1;
            match self.round(agent, ask, transaction, is_over)? {
                Some((Ok(host), end)) => {
                    seen.answered += 1;
                    seen.host.get_or_insert(host);
                    samples.add(end - start);
                }
                Some((Err(status), _)) => seen.refused = Some(status.text()),
                None => {}
            }
            if seen.answered == 0 && seen.sent >= MAX_WITHOUT_REPLY {
                break;
            }
            if seen.sent < ask.rounds {
                let next = start + Duration::from_millis(ask.interval_ms.into());
                let due = Deadline::after(next.saturating_duration_since(clock::now()));
                self.pause(due.earlier(slot), is_over)?;
            }
        }
        seen.trips = samples.summary();
        Ok(seen)
    }

    /// Sends one request; returns the reply, `None` if no reply arrives.
    fn round(
        &self,
        agent: u32,
        ask: &MadPinging,
        transaction: u32,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Reply>, StepError> {
        let reply_by = reply_by(&ask.route);
        // The kernel applies its timeout to responses only.
        let timeout_ms = if reply_by == PingReplyBy::Response { ask.reply_ms.max(1) } else { 0 };
        let how = Sending { agent, address: request_address(&ask.route), timeout_ms, retries: 0 };
        let fail = |error| exchange_error(&error);
        self.wire.send(&how, &ping_request(transaction, reply_by)).map_err(fail)?;
        let deadline = Deadline::after(Duration::from_millis(ask.reply_ms.into()) + GRACE);
        while !deadline.is_over() && !is_over() {
            // One millisecond is added because the timeout of poll(2) has no finer unit.
            let wait = deadline.remaining().min(STOP_CHECK_INTERVAL) + Duration::from_millis(1);
            let Some(received) = self.wire.receive(wait).map_err(fail)? else { continue };
            let end = clock::now();
            if received.failure.is_some() {
                if is_request(&received.mad, transaction) {
                    return Ok(None);
                }
            } else if let Some(reply) = ping_replied(&received.mad, transaction) {
                return Ok(Some((reply, end)));
            }
        }
        Ok(None)
    }

    /// Waits until a time and drops late replies.
    fn pause(&self, due: Deadline, is_over: &dyn Fn() -> bool) -> Result<(), StepError> {
        while !due.is_over() && !is_over() {
            self.wire
                .receive(due.remaining().min(STOP_CHECK_INTERVAL))
                .map_err(|error| exchange_error(&error))?;
        }
        Ok(())
    }
}

/// Returns the method of replies. Over IPv4 GIDs the kernel matches no response to its request.
fn reply_by(route: &MadRoute) -> PingReplyBy {
    match &route.gids {
        Some(gids) if gids.own.ip().is_ipv4() => PingReplyBy::Send,
        _ => PingReplyBy::Response,
    }
}

/// True if a MAD is the request, which the kernel returns when no response arrived.
fn is_request(mad: &[u8], transaction: u32) -> bool {
    Header::decode_start(mad)
        .is_ok_and(|header| header.class == Class::PING && header.low_transaction() == transaction)
}
