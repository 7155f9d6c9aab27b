//! Handles Ctrl-Z: restores the terminal and stops the process until the shell resumes it.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Signal, getpgrp, kill_process_group};

use super::input::Input;
use super::matrix::Pinging;
use super::session::{Flow, Session};
use super::source::{SampleSource, SourceState};
use crate::clock::Deadline;
use crate::term::screen;

/// Time to wait for the stop; the kernel does not stop an orphaned process group.
const STOP: Duration = Duration::from_millis(300);

impl Session<'_> {
    /// Ends the agents before the stop, because its length is unknown.
    pub(super) fn suspend(&mut self) -> Flow {
        self.try_suspend().unwrap_or_else(|error| ControlFlow::Break(Err(error)))
    }

    fn try_suspend(&mut self) -> anyhow::Result<Flow> {
        screen::restore();
        self.left_by_ping.extend(self.pinging.take().map(Pinging::end).unwrap_or_default());
        let mut source_state = SourceState::default();
        if self.origin.has_agents() {
            let ended = self.source.take().map(SampleSource::end).unwrap_or_default();
            self.left.extend(ended.left);
            source_state = ended.source_state;
        }
        // The whole group stops, as by the terminal: the shell waits for the parent processes.
        kill_process_group(getpgrp(), Signal::TSTP).context("cannot stop")?;
        let mut kept = Vec::new();
        if let Some(end) = wait_to_go_on(&self.inputs, &mut kept) {
            return Ok(self.take(end));
        }
        let flow = self.reclaim();
        if flow.is_break() {
            return Ok(flow);
        }
        if self.source.is_none() {
            let (latest, sender) = (self.latest.clone(), self.sender.clone());
            self.source = Some(self.origin.source(self.global, source_state, latest, sender)?);
        }
        Ok(kept.into_iter().try_for_each(|input| self.take(input)))
    }
}

/// Waits until the stopped process is resumed, and keeps inputs meanwhile. Keys are dropped,
/// because they were for the shell. Returns an input that requests the end.
fn wait_to_go_on(inputs: &Receiver<Input>, kept: &mut Vec<Input>) -> Option<Input> {
    let deadline = Deadline::after(STOP);
    loop {
        match inputs.recv_timeout(deadline.remaining()) {
            Ok(Input::Continued) | Err(RecvTimeoutError::Timeout) => return None,
            Ok(end @ (Input::Signal | Input::Hangup | Input::Panicked)) => return Some(end),
            Err(RecvTimeoutError::Disconnected) => return Some(Input::Hangup),
            Ok(Input::Terminal(_)) => {}
            Ok(input) => kept.push(input),
        }
    }
}

#[test]
fn inputs_other_than_keys_are_kept_while_top_is_suspended() {
    use std::sync::mpsc;

    use crossterm::event::Event as TerminalEvent;

    let key = || Input::Terminal(TerminalEvent::FocusGained);
    let (sender, inputs) = mpsc::channel();
    for input in [Input::Fresh, key(), Input::PingEnded, Input::Continued, Input::Resized] {
        sender.send(input).unwrap();
    }
    let mut kept = Vec::new();
    assert!(wait_to_go_on(&inputs, &mut kept).is_none());
    assert!(matches!(kept[..], [Input::Fresh, Input::PingEnded]));
    for input in [key(), Input::Hangup] {
        sender.send(input).unwrap();
    }
    let end = loop {
        if let Some(end) = wait_to_go_on(&inputs, &mut kept) {
            break end;
        }
    };
    assert!(matches!(end, Input::Hangup));
}
