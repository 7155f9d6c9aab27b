//! The first line: how everything is, in numbers.

use ratatui::layout::Rect;

use super::canvas::{Canvas, width};
use crate::model::Severity;
use crate::query::Value;
use crate::tui::state::State;
use crate::tui::theme::Token;

/// From this width on the name of the program is shown.
const WIDE: u16 = 100;

/// A word and its look.
type Word = (String, Token);

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    let right = right(state);
    let needed: usize = right.iter().map(|(text, _)| width(text) + 2).sum();
    let start = usize::from(area.width).saturating_sub(needed);
    // Where there is little room, numbers go before the name that was typed a moment ago.
    let title = if area.width >= WIDE { "rdmactl top" } else { "" };
    let mut x = canvas.put(area, 1, 0, title, Token::Heading);
    x += if title.is_empty() { 0 } else { 2 };
    for (text, token) in left(state) {
        // Half a number would be another one.
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

/// What is there, and what is wrong with it; the most important first.
fn left(state: &State) -> Vec<Word> {
    let Some(scene) = state.scene() else { return Vec::new() };
    let (all, up) = (scene.picture.reports.len(), scene.hosts_up());
    let mut words = Vec::new();
    words.push(match (all, all - up) {
        (1, 0) => (scene.picture.reports[0].host.clone(), Token::Ok),
        (all, 0) => (format!("{all} hosts up"), Token::Ok),
        (all, missing) if scene.is_connecting() => {
            (format!("{up}/{all} hosts up, {missing} connecting"), Token::Warn)
        }
        (all, _) => (format!("{up}/{all} hosts up !"), Token::Bad),
    });
    let findings = &scene.findings.all;
    let of = |severity| findings.iter().filter(|one| one.severity == severity).count();
    words.push(match (of(Severity::Fail), findings.len()) {
        (0, 0) => ("no problem".to_owned(), Token::Ok),
        (0, some) => (format!("problems {some}"), Token::Warn),
        (_, some) => (format!("problems {some} !"), Token::Bad),
    });
    let share = scene.share();
    if share.fallen > 0 {
        words.push((format!("fallen back {} !", share.fallen), Token::Bad));
    }
    words.push((format!("RDMA {}", share.rdma), Token::Plain));
    words.push((format!("TCP {}", share.tcp), Token::Plain));
    words
}

/// Of which moment the picture is, and what is done with it.
fn right(state: &State) -> Vec<Word> {
    let mut words = Vec::new();
    if state.is_recording {
        words.push(("REC".to_owned(), Token::Bad));
    }
    if state.frozen.is_some() {
        words.push(("FROZEN".to_owned(), Token::Warn));
    }
    if state.is_paused {
        words.push(("PAUSED".to_owned(), Token::Warn));
    }
    let Some(scene) = state.scene() else { return words };
    if let Some((position, count)) = state.position {
        words.push((format!("{position}/{count}"), Token::Accent));
    }
    let second = scene.picture.taken_ns / 1_000_000_000 % 86_400;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    words.push((format!("{hour:02}:{minute:02}:{second:02}"), Token::Plain));
    let age = state.moment().saturating_duration_since(scene.picture.at);
    if age.as_secs() >= 2 {
        let ns = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        words.push((format!("{} old", Value::Age(ns)), Token::Warn));
    }
    words
}
