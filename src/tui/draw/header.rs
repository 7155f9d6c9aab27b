//! Draws the first line: numbers of hosts, problems and connections; time and state of the data.

use std::time::Duration;

use ratatui::layout::Rect;

use super::canvas::{Canvas, width};
use crate::clock::{utc_text, utc_time};
use crate::model::Severity;
use crate::query::Value;
use crate::tui::sample::{RecordingPosition, Timeline};
use crate::tui::state::State;
use crate::tui::theme::Token;

/// Minimum width that shows the program name.
const WIDE: u16 = 100;

/// Minimum age of a sample that is shown as old.
const MIN_AGE: Duration = Duration::from_secs(2);

type Word = (String, Token);

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let right = right(state);
    let needed: usize = right.iter().map(|(text, _)| width(text) + 2).sum();
    let start = usize::from(area.width).saturating_sub(needed);
    // On a narrow screen, numbers are more useful than the program name.
    let title = if area.width >= WIDE { "rdmactl top" } else { "" };
    let mut x = canvas.put(area, 1, 0, title, Token::Heading);
    x += if title.is_empty() { 0 } else { 2 };
    for (text, token) in left(state) {
        // A cut number looks like another number.
        if x + width(&text) + 1 > start {
            break;
        }
        x = canvas.put(area, x, 0, &text, token) + 2;
    }
    let mut x = start + 1;
    for (text, token) in right {
        x = canvas.put(area, x, 0, &text, token) + 2;
    }
}

/// Returns the numbers on the left, the most important first.
fn left(state: &State) -> Vec<Word> {
    let Some(snapshot) = state.snapshot() else { return Vec::new() };
    let (all, up) = (snapshot.sample.reports.len(), snapshot.hosts_up());
    if all == 0 {
        return Vec::new();
    }
    let mut words = Vec::new();
    // If no host responded, the number of hosts that are up is unknown.
    let known = if up == 0 { "?".to_owned() } else { up.to_string() };
    words.push(match (all, all - up) {
        (1, 0) => (snapshot.sample.reports[0].host.clone(), Token::Ok),
        (all, 0) => (format!("{all} hosts up"), Token::Ok),
        (all, missing) if snapshot.is_connecting() => {
            (format!("{known}/{all} hosts up, {missing} connecting"), Token::Warn)
        }
        (all, _) => (format!("{known}/{all} hosts up !"), Token::Bad),
    });
    let findings = &snapshot.findings.all;
    let of = |severity| findings.iter().filter(|one| one.severity == severity).count();
    let (fail, unread) = (of(Severity::Fail), of(Severity::Unknown));
    words.push(match (fail, fail + of(Severity::Warn)) {
        (0, 0) if up == 0 => ("problems ?".to_owned(), Token::Unknown),
        (0, 0) if up == all => ("no problem".to_owned(), Token::Ok),
        // Hosts that are still connecting may have problems.
        (0, 0) => ("no problem yet".to_owned(), Token::Plain),
        (0, some) => (format!("problems {some}"), Token::Warn),
        (_, some) => (format!("problems {some} !"), Token::Bad),
    });
    let share = snapshot.share();
    if share.fallen > 0 {
        words.push((format!("fallbacks {} !", share.fallen), Token::Bad));
    }
    let count = |count: u32| {
        if snapshot.knows_connections() { count.to_string() } else { "?".to_owned() }
    };
    words.push((format!("RDMA {}", count(share.rdma)), Token::Plain));
    words.push((format!("TCP {}", count(share.tcp)), Token::Plain));
    // Unreadable data may be without problems.
    if unread > 0 {
        words.push((format!("unreadable {unread} ?"), Token::Unknown));
    }
    if up < all && !snapshot.is_connecting() {
        let noun = if all - up == 1 { "host" } else { "hosts" };
        words.push((format!("{} {noun} not read", all - up), Token::Warn));
    }
    words
}

fn right(state: &State) -> Vec<Word> {
    let mut words = Vec::new();
    if state.is_recording {
        words.push(("REC".to_owned(), Token::Bad));
    }
    if state.frozen.is_some() {
        words.push(("FROZEN".to_owned(), Token::Warn));
    }
    let Some(snapshot) = state.snapshot() else { return words };
    let taken_ns = snapshot.sample.taken_ns;
    let Timeline::Live(every) = state.settings.timeline else {
        // Data from the past has a date and a mark, so that it is not taken for live data.
        let mark = match (state.settings.timeline, snapshot.position) {
            (Timeline::Recording, Some(RecordingPosition { is_paused: true, .. })) => "PAUSED",
            (Timeline::Recording, _) => "REPLAY",
            _ => "CAPTURE",
        };
        let position = snapshot.position.map(|at| format!("{}/{}", at.position, at.count));
        words.push((mark.to_owned(), Token::Warn));
        words.extend(position.map(|text| (text, Token::Accent)));
        words.push((utc_text(taken_ns), Token::Plain));
        return words;
    };
    words.push((utc_time(taken_ns), Token::Plain));
    let age = state.moment().saturating_duration_since(snapshot.sample.at);
    // Between two samples, the age grows anyway.
    if age >= MIN_AGE.max(every * 2) {
        let ns = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        words.push((format!("{} old", Value::Age(ns)), Token::Warn));
    }
    words
}
