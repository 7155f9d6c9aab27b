//! Where pictures come from: hosts that are asked, or a recording that is played. Either has a thread of
//! its own, which takes orders between two pictures.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;

use super::gatherer::Gatherer;
use super::input::{Input, Teller};
use super::matrix::Saved;
use super::pictures::Pictures;
use super::player::Player;
use super::recorder::Feed;
use super::slot::Slot;
use crate::fleet::Watchdog;
use crate::tui::Scenes;

/// How long whoever makes pictures may take to come to an end before its connections are cut.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is asked of whoever makes pictures.
pub(super) enum Order {
    /// Have every picture from this one on written.
    Record(Feed),
    /// Stop that.
    StopRecording,
    /// Show the picture that many before or behind the one that is shown, and stay there.
    Step(i32),
    /// Stay at the picture that is shown, or go on from there.
    PlayOrPause,
}

/// The thread that makes pictures.
pub(super) struct Supply {
    orders: Sender<Order>,
    thread: JoinHandle<Ended>,
    done: Receiver<()>,
    watchdog: Watchdog,
}

/// What is handed from one that has ended to the next.
#[derive(Default)]
pub(super) struct Baton {
    /// The pictures to go on from.
    pub(super) pictures: Pictures,
    /// What is made of them.
    pub(super) scenes: Scenes,
    /// Where they are recorded.
    pub(super) recording: Option<Feed>,
}

/// What is left when it has ended.
#[derive(Default)]
pub(super) struct Ended {
    /// What to go on with.
    pub(super) baton: Baton,
    /// Agents that could not be ended.
    pub(super) left: Vec<String>,
}

/// How whoever makes pictures reaches the others.
pub(super) struct Ways {
    pub(super) orders: Receiver<Order>,
    pub(super) slot: Slot,
    pub(super) teller: Teller,
}

/// Who makes pictures.
pub(super) enum Maker {
    Gatherer(Box<Gatherer>),
    Player(Box<Player>),
    Matrix(Saved),
}

impl Supply {
    /// Starts it.
    pub(super) fn start(
        maker: Maker,
        watchdog: Watchdog,
        slot: Slot,
        inputs: Sender<Input>,
    ) -> anyhow::Result<Self> {
        let (orders, taken) = mpsc::channel();
        let (is_done, done) = mpsc::channel();
        let ways = Ways { orders: taken, slot, teller: Teller(inputs) };
        let make = move || {
            // Says by its end that this thread is at its own, also when it panics.
            let _is_done: Sender<()> = is_done;
            match maker {
                Maker::Gatherer(gatherer) => gatherer.run(&ways),
                Maker::Player(player) => player.run(&ways),
                Maker::Matrix(saved) => saved.show(&ways),
            }
        };
        let thread = thread::Builder::new().name("pictures".into()).spawn(make);
        let thread = thread.context("cannot start a thread")?;
        Ok(Self { orders, thread, done, watchdog })
    }

    /// Asks something of it. One that has ended has said why.
    pub(super) fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Ends it: agents are said goodbye to, and connections that hold that up are cut. What hangs even then,
    /// at a disk, is left alone.
    pub(super) fn end(self) -> Ended {
        let Self { orders, thread, done, watchdog } = self;
        drop(orders);
        let hangs = || done.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        if hangs() {
            watchdog.cancel();
            if hangs() {
                return Ended::default();
            }
        }
        // What it panicked of has been said by the panic.
        thread.join().unwrap_or_default()
    }
}
