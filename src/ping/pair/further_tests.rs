//! Runs the tests that follow the checked messages of a pair: messages over an unreliable
//! connection, and throughput. Each test opens its own connection. `pair` calls it.

use super::super::throughput::LATEST;
use super::{CONNECT_TIMEOUT, OPEN_TIMEOUT, PairRun, SPARE, ms, unexpected_reply};
use crate::model::ping::{Bandwidth, Side, Unreliable};
use crate::model::probe::{Act, Cause, Method, Purpose, Stage, StepError, StepResult, Streaming};

/// Acknowledge timeout of a stream, as an exponent: 4.096 us x 2^17 = 0.54 s. The timeout and the
/// retries are high, because a congested path delays acknowledgements.
const STREAM_ACK_TIMEOUT: u8 = 17;
/// Number of retries of a stream after an acknowledge timeout.
const STREAM_RETRIES: u8 = 6;

impl PairRun<'_> {
    /// Sends checked messages over an unreliable connection, if the route supports one.
    pub(super) fn run_unreliable(&mut self) {
        let is_supported = self.route.method == Method::Relay && self.route.unreliable;
        let outcome = match is_supported.then(|| self.try_unreliable()) {
            Some(Ok(result)) => (result, None),
            // An unreliable connection does not retransmit. Some messages passed, so a lost message
            // is no failure of the pair.
            Some(Err(error)) if error.done > 0 => (Unreliable::Failed(error.detail), None),
            Some(Err(error)) if error.cause != Cause::Unsupported => {
                (Unreliable::Failed(error.detail.clone()), Some(error))
            }
            Some(Err(_)) | None => (Unreliable::NotApplicable, None),
        };
        self.results.unreliable = Some(outcome);
        let _ = self.close();
    }

    fn try_unreliable(&self) -> Result<Unreliable, StepError> {
        let (source, target) = self.opening(Purpose::UnreliableMessages);
        let (here, there) = self.ask_both(source, target, Stage::Open, OPEN_TIMEOUT);
        let (here, there) = self.checked((here?, there?)).map_err(|(_side, error)| error)?;
        let mtu = self.mtu(&here, &there);
        // Unreliable connections have no acknowledgements: timeout and retries have no effect.
        let (source, target) = self.connecting(here, there, 0, 0);
        let (here, there) = self.ask_both(source, target, Stage::Connect, CONNECT_TIMEOUT + SPARE);
        here.and(there)?;
        let (ask, wait) = self.probing(mtu, 0, self.test_options.rounds);
        match self.ask_server(Act::Serve, Act::Probe(ask), wait, Stage::FirstMessage) {
            (Ok(StepResult::Probed(trips)), _) => Ok(Unreliable::Passed(trips.map(Into::into))),
            // The source does not know why a reply is missing; the target may know.
            (Err(mine), Err(theirs)) if mine.cause == Cause::NoReply => Err(theirs),
            (Err(error), _) => Err(error),
            (Ok(_), _) => Err(unexpected_reply(Stage::FirstMessage, Side::Source)),
        }
    }

    /// Measures the throughput. A stream that breaks is a failure of the pair.
    pub(super) fn run_stream(&mut self) {
        self.stream();
        let _ = self.close();
    }

    fn stream(&mut self) -> Option<()> {
        let (here, there) = self.open(Purpose::Stream)?;
        self.connect(here, there, STREAM_ACK_TIMEOUT, STREAM_RETRIES)?;
        let slot = self.test_options.stream_slot;
        let ask = Streaming {
            nonce: self.test_options.nonce,
            slot_ms: ms(slot),
            reply_ms: ms(self.test_options.reply),
        };
        let wait = slot + LATEST + self.test_options.reply * 2 + SPARE;
        let act = Act::Stream(ask);
        let (streamed, served) = self.ask_server(Act::Serve, act, wait, Stage::Bandwidth);
        match streamed {
            Ok(StepResult::Streamed(seen)) => {
                self.results.bandwidth = Some(Bandwidth::of(seen, self.route.rate_bps()));
            }
            Ok(_) => return self.record_unexpected_reply(Stage::Bandwidth, Side::Source),
            Err(error) => {
                self.results.source_failure = Some(error);
                self.results.target_failure = served.err();
            }
        }
        Some(())
    }
}
