//! Performs the effects that the state requests: clipboard, files, recordings, pings.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::input::Input;
use super::matrix::{Pinging, Saved};
use super::new_file;
use super::origin::SampleOrigin;
use super::recorder::Recorder;
use super::session::{Flow, Quit, Session};
use super::source::SourceCommand;
use crate::hosts::Host;
use crate::render::PingDocument;
use crate::tui::Effect;

/// Terminals ignore longer sequences.
const MAX_COPIED_BYTES: usize = 50_000;

const NO_HOSTS: &str = "a matrix needs a host set: start rdmactl top with -H";

impl Session<'_> {
    /// Performs an effect. Slow work runs in another thread.
    pub(super) fn carry_out(&mut self, effect: Effect) -> Flow {
        match effect {
            Effect::Quit { keep_frame } => return ControlFlow::Break(Ok(Quit { keep_frame })),
            Effect::Copy(text) => self.copy(&text),
            Effect::Save { stem, extension, text } => {
                self.save(stem, extension, move |out| out.write_all(text.as_bytes()));
            }
            Effect::SaveMatrix(report) => self.save("rdmactl-matrix".into(), "json", move |out| {
                serde_json::to_writer_pretty(&mut *out, &PingDocument::new(&report))?;
                out.write_all(b"\n")
            }),
            Effect::Record(true) => self.record(),
            Effect::Record(false) => {
                self.active_recorder = None;
                self.order(SourceCommand::StopRecording);
            }
            Effect::Step(by) => self.order(SourceCommand::Step(by)),
            Effect::PlayOrPause => self.order(SourceCommand::PlayOrPause),
            Effect::FollowMouse(follows) => {
                self.follows_mouse = follows;
                // If the terminal is closed, the next frame reports it.
                let _ = self.display.screen().report_mouse(follows);
            }
            // The main loop handles `Suspend`, because it receives the inputs during the stop.
            Effect::Suspend => {}
            Effect::Ping(names) => self.ping(&names),
            Effect::CancelPing => {
                if let Some(pinging) = &self.pinging {
                    pinging.cancel();
                }
            }
            Effect::OpenMatrix(path) => self.open_matrix(path),
        }
        ControlFlow::Continue(())
    }

    fn order(&self, order: SourceCommand) {
        if let Some(source) = &self.source {
            source.order(order);
        }
    }

    /// Copies a text to the clipboard of the terminal with OSC 52, which also works over SSH.
    fn copy(&self, text: &str) {
        if text.len() > MAX_COPIED_BYTES {
            self.input_sender()
                .complain("too much text for the clipboard of a terminal: save it with W");
            return;
        }
        let sequence = format!("\x1b]52;c;{}\x07", BASE64.encode(text));
        if self.display.screen().write(sequence.as_bytes()).is_ok() {
            self.input_sender().say("copied, if the terminal allows it");
        }
    }

    fn record(&mut self) {
        self.recorders.retain(|recorder| !recorder.is_done());
        self.recorders_so_far += 1;
        match Recorder::start(self.recorders_so_far, &self.input_sender()) {
            Ok((feed, recorder)) => {
                self.active_recorder = Some(recorder.number);
                self.recorders.push(recorder);
                self.order(SourceCommand::Record(feed));
            }
            Err(error) => {
                self.active_recorder = Some(self.recorders_so_far);
                self.input_sender().complain(format!("cannot start a thread: {error}"));
                self.input_sender().send(Input::RecordingEnded(self.recorders_so_far));
            }
        }
    }

    fn ping(&mut self, names: &[String]) {
        if let Err(why) = self.start_ping(names) {
            self.input_sender().complain(why);
            self.input_sender().send(Input::PingEnded);
        }
    }

    fn start_ping(&mut self, names: &[String]) -> Result<(), String> {
        // The state requests a ping only for live hosts.
        let SampleOrigin::Hosts(hosts, _) = &self.origin else { return Err(NO_HOSTS.into()) };
        let is_named = |host: &&Host| names.contains(&host.to_string());
        let hosts = hosts.iter().filter(is_named).cloned().collect();
        let pinging = Pinging::start(self.global, hosts, self.input_sender());
        self.pinging = Some(pinging.map_err(|error| format!("cannot start a thread: {error}"))?);
        Ok(())
    }

    fn open_matrix(&self, path: PathBuf) {
        let input_sender = self.input_sender();
        self.run_in_thread("open", move || match Saved::read(&path) {
            Ok(saved) => input_sender.send(Input::Event(saved.event())),
            Err(error) => input_sender.complain(error.to_string()),
        });
    }

    fn run_in_thread(&self, name: &str, work: impl FnOnce() + Send + 'static) {
        if let Err(error) = thread::Builder::new().name(name.into()).spawn(work) {
            self.input_sender().complain(format!("cannot start a thread: {error}"));
        }
    }

    fn save(
        &self,
        stem: String,
        extension: &'static str,
        write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()> + Send + 'static,
    ) {
        let input_sender = self.input_sender();
        self.run_in_thread("save", move || match new_file::save(&stem, extension, write) {
            Ok(path) => input_sender.say(format!("saved as {}", path.display())),
            Err(error) => {
                input_sender
                    .complain(format!("cannot create a file in the current directory: {error}"));
            }
        });
    }
}
