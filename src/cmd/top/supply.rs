//! Where pictures come from: hosts that are asked, or a recording that is played. Either has a thread of
//! its own, which takes orders between two pictures.

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;

use super::gatherer::Gatherer;
use super::input::{Input, Teller};
use super::pictures::Pictures;
use super::player::Player;
use super::slot::Slot;
use crate::fleet::Watchdog;

/// How long whoever makes pictures may take to come to an end before its connections are cut.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is asked of whoever makes pictures.
pub(super) enum Order {
    /// Write every picture from the next one on into this file.
    Record(PathBuf),
    /// Stop that.
    StopRecording,
    /// Show the picture that many before or behind the one that is shown, and stay there.
    Step(i32),
    /// Stay at the picture that is shown, or go on.
    Pause(bool),
}

/// The thread that makes pictures.
pub(super) struct Supply {
    orders: Sender<Order>,
    thread: JoinHandle<Ended>,
    done: Receiver<()>,
    watchdog: Watchdog,
}

/// What is left when it has ended.
#[derive(Default)]
pub(super) struct Ended {
    /// What to go on with.
    pub(super) pictures: Pictures,
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

    /// Ends it: agents are said goodbye to, and connections that hold that up are cut.
    pub(super) fn end(self) -> Ended {
        let Self { orders, thread, done, watchdog } = self;
        drop(orders);
        if done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            watchdog.cancel();
        }
        // What it panicked of has been said by the panic.
        thread.join().unwrap_or_default()
    }
}
