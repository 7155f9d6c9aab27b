//! Exchanges datagrams between two ports: an end finds its peer, then measures round trips.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::endpoint::Endpoint;
use super::{Datagram, DatagramKind};
use crate::clock::{self, Deadline};
use crate::model::probe::{Cause, DatagramCounts, DatagramExchange, RoundTrips, Stage, StepError};
use crate::ping::error::{step_error, verbs_error};
use crate::ping::exchange::{Failure, PollWait};
use crate::ping::statistics::{Samples, WarmUp};
use crate::ping::stop_flag::StopFlag;
use crate::sys::verbs::{AddressHandle, Addressed, Path};

/// Times at which an end sends its first datagrams, as long as no reply arrives.
const TRIES: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(150)];

/// Longest time that an end replies, beyond the measurement. The operator stops it long before.
const MAX_RESPONSE_TIME: Duration = Duration::from_secs(30);

/// Number of datagrams that are handled before anything else is checked. Further datagrams are
/// dropped, as the network may do.
const MAX_AT_ONCE: u32 = 64;

/// Duration of a round trip beyond which a path is not measured again: the samples would be few.
const SLOW: Duration = Duration::from_millis(150);

const SHORTEST_REPLY_WAIT: Duration = Duration::from_millis(50);

/// Datagram queue pair of a port, for any transport.
pub(in crate::ping) trait DatagramEndpoint: Send {
    fn queue_pair(&self) -> u32;

    fn is_broken(&self) -> bool;

    /// Sends datagrams to a peer and replies to the datagrams of the peer: first up to three
    /// until a reply arrives, then as many as are to be measured. An end without a measurement
    /// replies until it is stopped.
    ///
    /// Missing replies are a result and no error.
    fn exchange_datagrams(
        &mut self,
        path: &Path,
        ask: &DatagramExchange,
        stop_flag: &StopFlag<'_>,
    ) -> Result<DatagramCounts, StepError>;
}

impl<T: Addressed> DatagramEndpoint for Endpoint<T> {
    fn queue_pair(&self) -> u32 {
        self.qp.number()
    }

    fn is_broken(&self) -> bool {
        self.is_broken
    }

    fn exchange_datagrams(
        &mut self,
        path: &Path,
        ask: &DatagramExchange,
        stop_flag: &StopFlag<'_>,
    ) -> Result<DatagramCounts, StepError> {
        let address = self.address(path).map_err(|error| verbs_error(Stage::Connect, &error))?;
        let exchange = Exchange {
            endpoint: self,
            address,
            ask,
            heard: Vec::new(),
            open: Vec::new(),
            sequence: 0,
            counts: DatagramCounts::default(),
        };
        exchange.run(stop_flag).map_err(|failure| send_error(failure, ask))
    }
}

fn send_error(failure: Failure, ask: &DatagramExchange) -> StepError {
    if let Failure::Verbs(error) = failure {
        return verbs_error(Stage::Connect, &error);
    }
    let detail = format!("a datagram to queue pair {} was not sent", ask.queue_pair);
    step_error(Stage::Connect, Cause::NoCompletion, detail)
}

struct Exchange<'a, T: Addressed> {
    endpoint: &'a mut Endpoint<T>,
    address: Arc<AddressHandle>,
    ask: &'a DatagramExchange,
    heard: Vec<Datagram>,
    /// Requests without a reply, with the time at which they were sent.
    open: Vec<(u16, Instant)>,
    sequence: u16,
    counts: DatagramCounts,
}

impl<T: Addressed> Exchange<'_, T> {
    fn run(mut self, stop_flag: &StopFlag<'_>) -> Result<DatagramCounts, Failure> {
        match self.exchange(stop_flag) {
            Ok(trips) => self.counts.trips = trips,
            // A firewall of this host can make the request itself fail (soft-RoCE of Linux 6.12).
            // The counts are reported, as for datagrams that were lost on the way.
            Err(Failure::Completion(_)) => {}
            Err(failure) => return Err(failure),
        }
        Ok(self.counts)
    }

    fn exchange(&mut self, stop_flag: &StopFlag<'_>) -> Result<Option<RoundTrips>, Failure> {
        if self.ask.rounds == 0 {
            self.respond(stop_flag)?;
            return Ok(None);
        }
        let mut found = Samples::new();
        let measured = match self.find_peer(stop_flag, &mut found)? {
            // The first reply includes the startup of the peer. A slow path has no other one.
            Some(took) if took < self.slot().max(SLOW) => self.measure(took, stop_flag)?,
            _ => None,
        };
        Ok(measured.or_else(|| found.summary()))
    }

    fn slot(&self) -> Duration {
        Duration::from_millis(self.ask.slot_ms.into())
    }

    /// Replies until it is stopped, and sends requests until the peer is heard.
    fn respond(&mut self, stop_flag: &StopFlag<'_>) -> Result<(), Failure> {
        let since = clock::now();
        let end = Deadline::after(MAX_RESPONSE_TIME + self.slot() * 2);
        let mut tries = TRIES.iter().peekable();
        loop {
            // A new wait for each datagram: the next one may arrive at any moment.
            PollWait::exact(end.remaining()).unless(stop_flag).until(|_| {
                if self.counts.heard == 0 && tries.next_if(|&&at| since.elapsed() >= at).is_some() {
                    self.send_request()?;
                }
                let before = self.counts;
                self.receive(&mut |_| {})?;
                Ok((before != self.counts).then_some(()))
            })?;
            // A peer that never stops sending must not keep this end in the loop.
            if stop_flag.is_set() || end.is_over() {
                return Ok(());
            }
        }
    }

    /// Sends requests until the peer replies; returns the time that the first reply took.
    fn find_peer(
        &mut self,
        stop_flag: &StopFlag<'_>,
        found: &mut Samples,
    ) -> Result<Option<Duration>, Failure> {
        let since = clock::now();
        let reply = Duration::from_millis(self.ask.reply_ms.into());
        let mut tries = TRIES.iter().peekable();
        let first = PollWait::exact(reply).unless(stop_flag).until(|_| {
            if tries.next_if(|&&at| since.elapsed() >= at).is_some() {
                self.send_request()?;
            }
            let mut first = None;
            self.receive(&mut |took| {
                first.get_or_insert(took);
                found.add(took);
            })?;
            Ok(first)
        })?;
        if let Some(took) = first {
            // Replies that are only late are not lost.
            PollWait::exact(took * 2 + SHORTEST_REPLY_WAIT).until(|_| {
                self.receive(&mut |took| found.add(took))?;
                Ok(self.open.is_empty().then_some(()))
            })?;
        }
        Ok(first)
    }

    /// Measures one round trip after the other. Each waits until its reply arrives or is overdue.
    fn measure(
        &mut self,
        usual: Duration,
        stop_flag: &StopFlag<'_>,
    ) -> Result<Option<RoundTrips>, Failure> {
        let mut samples = Samples::new();
        let mut start = clock::now();
        let mut warm_up = WarmUp::from(start);
        let mut end = start + self.slot();
        let mut rounds = 0;
        while rounds < self.ask.rounds && start < end && !stop_flag.is_set() {
            self.open.clear();
            let is_warm_up = warm_up.takes(start);
            self.send_request()?;
            let answer = PollWait::exact((usual * 4).max(SHORTEST_REPLY_WAIT)).until(|_| {
                let mut answer = None;
                self.receive(&mut |took| answer = Some(took))?;
                Ok(answer)
            })?;
            start = clock::now();
            match answer {
                Some(_) if is_warm_up => samples.add_warm_up(),
                Some(took) => samples.add(took),
                None => {}
            }
            if is_warm_up {
                end = start + self.slot();
            } else {
                rounds += 1;
            }
        }
        Ok(samples.summary())
    }

    fn send_request(&mut self) -> Result<(), Failure> {
        self.sequence = self.sequence.wrapping_add(1);
        self.open.push((self.sequence, clock::now()));
        self.counts.sent += 1;
        self.send(self.sequence, DatagramKind::Request)
    }

    fn send(&mut self, sequence: u16, kind: DatagramKind) -> Result<(), Failure> {
        let &DatagramExchange { nonce, connection, queue_pair, .. } = self.ask;
        let datagram = Datagram { nonce, connection, sequence, kind };
        let heard = &mut self.heard;
        self.endpoint.send(datagram, &self.address, queue_pair, &mut |one| heard.push(one))
    }

    /// Replies to received requests, and passes the duration of each round trip to `answered`.
    fn receive(&mut self, answered: &mut dyn FnMut(Duration)) -> Result<(), Failure> {
        let heard = &mut self.heard;
        self.endpoint.poll(&mut |one| heard.push(one))?;
        let now = clock::now();
        // Sending a reply may receive more datagrams, without end if a peer floods this host.
        for _ in 0..MAX_AT_ONCE {
            let Some(Datagram { nonce, connection, sequence, kind }) = self.heard.pop() else {
                return Ok(());
            };
            // A late datagram belongs to an earlier pair or run and is ignored.
            if (nonce, connection) != (self.ask.nonce, self.ask.connection) {
                continue;
            }
            match kind {
                DatagramKind::Request => {
                    self.counts.heard += 1;
                    self.send(sequence, DatagramKind::Reply)?;
                }
                DatagramKind::Reply => {
                    let at = self.open.iter().position(|&(one, _)| one == sequence);
                    if let Some((_, left)) = at.map(|at| self.open.swap_remove(at)) {
                        self.counts.answered += 1;
                        answered(now.saturating_duration_since(left));
                    }
                }
            }
        }
        self.heard.clear();
        Ok(())
    }
}
