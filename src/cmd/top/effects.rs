//! What is to be done outside of the state, done.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::input::Input;
use super::matrix::{self, Pinging};
use super::new_file;
use super::origin::Origin;
use super::session::{Quit, Session};
use super::supply::Order;
use crate::fleet::Host;
use crate::tui::Effect;

/// The most bytes that are put into the clipboard: terminals leave out longer sequences.
const MOST_COPIED: usize = 50_000;

impl Session<'_> {
    /// Does what the state asks for. What takes time is done by another thread.
    pub(super) fn carry_out(&mut self, effect: Effect) -> ControlFlow<Quit> {
        match effect {
            Effect::Quit { keep_frame } => return ControlFlow::Break(Quit { keep_frame }),
            Effect::Copy(text) => self.copy(&text),
            Effect::Save { stem, extension, text } => self.save(&stem, extension, text),
            Effect::Record(true) => {
                self.order(Order::Record(new_file::name("rdmactl-top", "rec")));
            }
            Effect::Record(false) => self.order(Order::StopRecording),
            Effect::Step(by) => self.order(Order::Step(by)),
            Effect::Pause(pauses) => self.order(Order::Pause(pauses)),
            Effect::FollowMouse(follows) => {
                self.follows_mouse = follows;
                // A terminal that is gone is told by the next frame.
                let _ = self.stage.screen().follow_mouse(follows);
            }
            // The loop suspends, which reads what comes meanwhile.
            Effect::Suspend => {}
            Effect::Ping(names) => self.ping(&names),
            Effect::OpenMatrix(path) => self.open_matrix(path),
        }
        ControlFlow::Continue(())
    }

    fn order(&self, order: Order) {
        if let Some(supply) = &self.supply {
            supply.order(order);
        }
    }

    /// Has the terminal take a text (OSC 52), also one at the other end of an SSH session.
    fn copy(&self, text: &str) {
        if text.len() > MOST_COPIED {
            self.teller().complain("too much for the clipboard of a terminal: save it instead");
            return;
        }
        let sequence = format!("\x1b]52;c;{}\x07", BASE64.encode(text));
        if self.stage.screen().write(sequence.as_bytes()).is_ok() {
            self.teller().say("copied, where the terminal allows it");
        }
    }

    fn ping(&mut self, names: &[String]) {
        if self.pinging.as_ref().is_some_and(Pinging::is_running) {
            self.teller().complain("a ping is running already");
            return;
        }
        let Origin::Hosts(hosts, _) = &self.origin else {
            self.teller().complain("a matrix needs hosts that can be asked: start with -H");
            return;
        };
        let is_named = |host: &&Host| names.contains(&host.to_string());
        let hosts = hosts.iter().filter(is_named).cloned().collect();
        match Pinging::start(self.global, hosts, self.teller()) {
            Ok(pinging) => self.pinging = Some(pinging),
            Err(error) => self.teller().complain(format!("cannot start a thread: {error}")),
        }
    }

    fn open_matrix(&self, path: PathBuf) {
        let teller = self.teller();
        self.beside("open", move || match matrix::open(&path) {
            Ok(report) => teller.send(Input::Matrix(Arc::new(report))),
            Err(error) => teller.complain(format!("{error:#}")),
        });
    }

    /// Does something that a disk may hold up.
    fn beside(&self, name: &str, work: impl FnOnce() + Send + 'static) {
        if let Err(error) = thread::Builder::new().name(name.into()).spawn(work) {
            self.teller().complain(format!("cannot start a thread: {error}"));
        }
    }

    fn save(&self, stem: &str, extension: &'static str, text: String) {
        let (path, teller) = (new_file::name(stem, extension), self.teller());
        self.beside("save", move || match new_file::save(&path, &text) {
            Ok(()) => teller.say(format!("saved as {}", path.display())),
            Err(error) => teller.complain(format!("cannot write {}: {error}", path.display())),
        });
    }
}
