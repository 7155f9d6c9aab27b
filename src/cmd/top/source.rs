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
use crate::hosts::Host;
use crate::names;
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
    /// Agents that are reported if the thread gives no result.
    in_doubt: Vec<String>,
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
    pub(super) input_sender: InputSender,
}

impl SampleSource {
    /// Starts the thread, which runs `work` until the sender of the orders is dropped. `hosts` are
    /// the hosts on which `work` runs agents.
    pub(super) fn start(
        work: impl FnOnce(&Channels) -> SourceResult + Send + 'static,
        hosts: &[Host],
        watchdog: Watchdog,
        latest: LatestSnapshot,
        inputs: Sender<Input>,
    ) -> anyhow::Result<Self> {
        let (orders, taken) = mpsc::channel();
        let (is_done, done) = mpsc::channel();
        let channels = Channels { orders: taken, latest, input_sender: InputSender(inputs) };
        let run = move || {
            // Dropped at the end of this thread, also after a panic; that signals the end.
            let _is_done: Sender<()> = is_done;
            work(&channels)
        };
        let thread = thread::Builder::new().name("samples".into()).spawn(run);
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { orders, thread, done, watchdog, in_doubt: agents_in_doubt(hosts) })
    }

    /// Sends an order. A source that ended has already reported the reason.
    pub(super) fn order(&self, order: SourceCommand) {
        let _ = self.orders.send(order);
    }

    /// Ends the source and its agents. Connections that delay the end are closed; a thread that
    /// still hangs, for example at a disk, is left running. The agents of a thread that hangs or
    /// that panicked may still run.
    pub(super) fn end(self) -> SourceResult {
        let Self { orders, thread, done, watchdog, in_doubt } = self;
        drop(orders);
        let lost = SourceResult { left: in_doubt, ..SourceResult::default() };
        let hangs = || done.recv_timeout(TIMEOUT) == Err(RecvTimeoutError::Timeout);
        if hangs() {
            watchdog.cancel();
            if hangs() {
                return lost;
            }
        }
        // The panic hook has already printed the message of a panic.
        thread.join().unwrap_or(lost)
    }
}

/// Describes the agents on hosts after a thread that gave no list of the agents that it left.
pub(super) fn agents_in_doubt(hosts: &[Host]) -> Vec<String> {
    if hosts.is_empty() {
        return Vec::new();
    }
    let names = names::fold(hosts.iter().map(ToString::to_string));
    vec![format!(
        "agents may still be running on {names}; list them on each host: pgrep -a rdmactl"
    )]
}

#[test]
fn the_agents_of_a_thread_that_panicked_are_reported() {
    const KNOWN: &str = "agent still running on n1 (pid 7)";
    let left = |work: fn(&Channels) -> SourceResult, hosts: &[Host]| {
        let (inputs, _taken) = mpsc::channel();
        let (watchdog, latest) = (Watchdog::start().unwrap(), LatestSnapshot::new(inputs.clone()));
        SampleSource::start(work, hosts, watchdog, latest, inputs).unwrap().end().left
    };
    let hosts = ["n1", "n2"].map(Host::named);
    let in_doubt = left(|_| panic!("a fault of this test"), &hosts).concat();
    assert!(in_doubt.starts_with("agents may still be running on n[1-2]; "), "{in_doubt}");
    let work = |_: &Channels| SourceResult { left: vec![KNOWN.into()], ..SourceResult::default() };
    assert_eq!(left(work, &hosts), [KNOWN]);
    // A source of this host has no agents.
    assert_eq!(left(|_| panic!("a fault of this test"), &[]), [""; 0]);
}
