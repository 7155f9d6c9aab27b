//! Starts a ping matrix of the visible hosts after a confirmation, or cancels the running one.

use crate::tui::event::Effect;
use crate::tui::mode::{Mode, Page, Question};
use crate::tui::state::State;
use crate::tui::view::{HostFilter, View};

impl State {
    /// Asks for confirmation of a ping; cancels the ping if one is running.
    pub(super) fn ping(&mut self) -> Vec<Effect> {
        if self.pinging.is_some() {
            self.say("stopping the test", false);
            return vec![Effect::CancelPing];
        }
        if !self.settings.timeline.is_live() {
            self.say("a matrix needs a host set: start rdmactl top with -H", true);
            return Vec::new();
        }
        let hosts = self.hosts_to_ping();
        let is_alone = self.snapshot().is_some_and(|snapshot| snapshot.sample.reports.len() < 2);
        match hosts.len() {
            _ if is_alone => {
                self.say("a matrix needs at least two hosts: start rdmactl top with -H", true);
            }
            0 | 1 => {
                self.say("a matrix needs at least two responding hosts in the Hosts view", true);
            }
            count => {
                let pairs = count * (count - 1);
                // A ping sends messages, pins memory and may upload a program.
                let upload =
                    if self.settings.may_upload { ", uploading rdmactl if missing" } else { "" };
                let text = format!("Test RDMA between {count} hosts ({pairs} pairs){upload}?");
                self.mode = Mode::Ask(Question { text, effect: Effect::Ping(hosts) });
            }
        }
        Vec::new()
    }

    /// Returns the responding hosts that the Hosts view shows with its filters.
    fn hosts_to_ping(&mut self) -> Vec<String> {
        let narrow = match self.page() {
            Page::Rows(_, narrow) => narrow.clone(),
            Page::Detail(..) => HostFilter::All,
        };
        let moment = self.moment();
        let Some(snapshot) = self.frozen.as_ref().or(self.live.as_ref()) else { return Vec::new() };
        let Some(table) = self.tables.of_mut(View::Hosts) else { return Vec::new() };
        table.rebuild(Some(snapshot), &narrow, moment);
        let lines = table.lines(snapshot, 0, table.state().len(), &["host"], moment).into_iter();
        let there = lines.filter(|line| line.stale.is_none());
        there.filter_map(|line| line.cells.first()?.name()).collect()
    }
}
