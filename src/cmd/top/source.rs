//! Thread that produces the samples of `top`, and its channels. It takes orders between two
//! samples.
//!
//! `origin` starts it with the work of a `sampler`, a `player` or a saved `matrix`.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;

use super::input::{Input, InputSender};
use super::latest_snapshot::LatestSnapshot;
use super::recorder::SampleSender;
use super::sample_builder::SampleBuilder;
use crate::fleet::Watchdog;
use crate::tui::Snapshots;

/// Time for the thread to end before its connections are closed.
const TIMEOUT: Duration = Duration::from_secs(2);

pub(super) enum SourceCommand {
    /// Write every sample from this one on to a recording.
    Record(SampleSender),
    StopRecording,
    /// Show the sample that many places before or after the visible one, and pause there.
    Step(i32),
    PlayOrPause,
}

pub(super) struct SampleSource {
    orders: Sender<SourceCommand>,
    thread: JoinHandle<SourceResult>,
    done: Receiver<()>,
    watchdog: Watchdog,
}

/// State that a source passes to the next one.
#[derive(Default)]
pub(super) struct SourceState {
    pub(super) samples: SampleBuilder,
    pub(super) snapshots: Snapshots,
    pub(super) recording: Option<SampleSender>,
}

#[derive(Default)]
pub(super) struct SourceResult {
    pub(super) source_state: SourceState,
    pub(super) left: Vec<String>,
}

pub(super) struct Channels {
    pub(super) orders: Receiver<SourceCommand>,
    pub(super) latest: LatestSnapshot,
    pub(super) teller: InputSender,
}

impl SampleSource {
    /// Starts the thread, which runs `work` until the sender of the orders is dropped.
    pub(super) fn start(
        work: impl FnOnce(&Channels) -> SourceResult + Send + 'static,
        watchdog: Watchdog,
        latest: LatestSnapshot,
        inputs: Sender<Input>,
    ) -> anyhow::Result<Self> {
        let (orders, taken) = mpsc::channel();
        let (is_done, done) = mpsc::channel();
        let channels = Channels { orders: taken, latest, teller: InputSender(inputs) };
        let run = move || {
            // Dropped at the end of this thread, also after a panic; that signals the end.
            let _is_done: Sender<()> = is_done;
            work(&channels)
        };
        let thread = thread::Builder::new().name("samples".into()).spawn(run);
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { orders, thread, done, watchdog })
    }

    /// Sends an order. A source that ended has already reported the reason.
    pub(super) fn order(&self, order: SourceCommand) {
        let _ = self.orders.send(order);
    }

    /// Ends the source and its agents. Connections that delay the end are closed; a thread that
    /// still hangs, for example at a disk, is left running.
    pub(super) fn end(self) -> SourceResult {
        let Self { orders, thread, done, watchdog } = self;
        drop(orders);
        let hangs = || done.recv_timeout(TIMEOUT) == Err(RecvTimeoutError::Timeout);
        if hangs() {
            watchdog.cancel();
            if hangs() {
                return SourceResult::default();
            }
        }
        // The panic hook has already printed the message of a panic.
        thread.join().unwrap_or_default()
    }
}
