//! The table of a view: only what is in view is turned into cells.

use ratatui::layout::Rect;

use super::canvas::{Canvas, fit};
use super::columns::{Columns, Fitted};
use crate::model::PerSecond;
use crate::query::{Align, Share, Value};
use crate::tui::glyphs::Glyphs;
use crate::tui::history::{Sample, Track, Unit};
use crate::tui::rows::Graph;
use crate::tui::sheet::Line;
use crate::tui::state::State;
use crate::tui::theme::Token;
use crate::tui::view::View;

/// The columns and the lines in view.
pub(super) fn columns(
    state: &State,
    room: usize,
    count: usize,
) -> Option<(Columns, Vec<Line<'_>>)> {
    let (table, scene) = (state.table()?, state.scene()?);
    let headings = table.headings(Some(scene));
    let ids: Vec<&'static str> = headings.iter().map(|heading| heading.id).collect();
    let lines = table.lines(scene, table.top(), count, &ids, state.moment());
    Some((Columns::fit(&headings, &lines, table.graph_title(), room), lines))
}

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    if state.scene().is_none() {
        let text = format!("asking {} ...", state.settings.waiting_for);
        canvas.message(area, &text, Token::Dim);
        return;
    }
    let Some(table) = state.table() else { return };
    if table.len() == 0 {
        let (text, token) = nothing(state, table.total() > 0);
        canvas.message(area, text, token);
        return;
    }
    let count = usize::from(area.height).saturating_sub(1);
    let Some((columns, lines)) = columns(state, area.width.into(), count) else { return };
    for one in &columns.fitted {
        heading(canvas, area, one);
    }
    if let (Some((x, width)), Some(title)) = (columns.graph, table.graph_title()) {
        canvas.put(area, x, 0, title, Token::Heading);
        if let (View::Ports, Some(second)) = (table.view(), second_trend(width)) {
            canvas.put(area, x + second, 0, "TX TREND", Token::Heading);
        }
    }
    let chosen = table.at().and_then(|at| at.checked_sub(table.top()));
    for (index, line) in lines.iter().enumerate() {
        let y = index + 1;
        row(canvas, area, y, line, &columns);
        if chosen == Some(index) {
            canvas.put(area, 0, y, ">", Token::Plain);
            canvas.mark(area, 0, y, area.width.into(), Token::Selected);
        }
    }
}

/// What to say where there is no row.
fn nothing(state: &State, is_kept_out: bool) -> (&'static str, Token) {
    if is_kept_out {
        return (
            "No row fits. / changes the condition, x shows more than problems, Esc takes all off.",
            Token::Plain,
        );
    }
    match state.view() {
        View::Problems => (
            "Nothing is wrong: all hosts are there, all ports are active, nobody fell back.",
            Token::Ok,
        ),
        View::Connections => {
            ("Nobody uses RDMA, and nobody who could uses TCP instead.", Token::Plain)
        }
        View::Resources => {
            ("No process holds a queue pair or memory of an RDMA device.", Token::Plain)
        }
        View::Ports => ("There is no port.", Token::Plain),
        View::Hosts | View::Matrix => ("There is no host.", Token::Plain),
    }
}

fn heading(canvas: &mut Canvas<'_>, area: Rect, one: &Fitted) {
    let order = one.heading.order.map(|is_reversed| canvas.glyphs().order(is_reversed));
    let text = order.map_or_else(
        || one.heading.title.to_owned(),
        |sign| format!("{} {sign}", one.heading.title),
    );
    match one.heading.align {
        Align::Left => {
            canvas.put(area, one.x, 0, &text, Token::Heading);
        }
        Align::Right => canvas.put_right(area, one.x + one.width, 0, &text, Token::Heading),
    }
}

fn row(canvas: &mut Canvas<'_>, area: Rect, y: usize, line: &Line<'_>, columns: &Columns) {
    let mark = match (line.is_fresh, line.silent.is_some()) {
        (true, _) => ("*", Token::Warn),
        (_, true) => ("~", Token::Warn),
        _ => (" ", Token::Plain),
    };
    canvas.put(area, 1, y, mark.0, mark.1);
    for one in &columns.fitted {
        let Some(value) = line.cells.get(one.index) else { continue };
        let text = fit(&crate::render::escape(&value.to_string()), one.width, canvas.glyphs());
        let token = match tone(one.heading.id, value) {
            // What is old stays legible, and is less important than what is not.
            token if line.silent.is_some() && token != Token::Bad => Token::Dim,
            token => token,
        };
        match one.heading.align {
            Align::Left => {
                canvas.put(area, one.x, y, &text, token);
            }
            Align::Right => canvas.put_right(area, one.x + one.width, y, &text, token),
        }
    }
    let Some((x, width)) = columns.graph else { return };
    match (&line.silent, &line.graph) {
        (Some(words), _) => {
            let words = fit(words, width, canvas.glyphs());
            canvas.put(area, x, y, &words, Token::Warn);
        }
        (None, Some(Graph::Trend(track, rate_bps))) => {
            trends(canvas, area, (x, y, width), track, *rate_bps);
        }
        (None, Some(Graph::Share(share))) => bar(canvas, area, (x, y, width), *share),
        (None, None) => {}
    }
}

/// What a value means, by its kind and its column; the word is there anyway.
pub(super) fn tone(id: &str, value: &Value) -> Token {
    match (id, value) {
        (_, Value::Bad(_)) => Token::Bad,
        ("finding.severity", Value::Text(word)) if word == "warn" => Token::Warn,
        (_, Value::Failed) | ("finding.severity", Value::Text(_)) => Token::Unknown,
        // Of what should not be there, nothing is nothing to look at.
        (_, Value::Absent)
        | ("live.findings" | "live.fallen" | "process.failed_qps", Value::Int(0))
        | ("traffic.errors_per_s" | "live.errors_per_s", Value::PerSecond(PerSecond(0))) => {
            Token::Dim
        }
        ("live.state" | "port.state" | "verdict" | "transport", Value::Text(word)) => {
            match word.as_str() {
                "up" | "ACTIVE" | "ok" | "RDMA" => Token::Ok,
                "connecting" => Token::Warn,
                _ => Token::Plain,
            }
        }
        ("traffic.rx_bps" | "live.rx_bps", _) => Token::Rx,
        ("traffic.tx_bps" | "live.tx_bps", _) => Token::Tx,
        ("traffic.errors_per_s" | "live.errors_per_s", Value::PerSecond(rate)) if rate.0 > 0 => {
            Token::Bad
        }
        ("live.findings", Value::Int(some)) if *some > 0 => Token::Warn,
        ("finding.fix" | "cause.fix", _) => Token::Accent,
        _ => Token::Plain,
    }
}

/// Where the second of two trends begins, where there is room for two.
fn second_trend(width: usize) -> Option<usize> {
    (width > 20).then_some(width / 2 + 1)
}

/// What came in and, where there is room, what went out.
fn trends(
    canvas: &mut Canvas<'_>,
    area: Rect,
    (x, y, width): (usize, usize, usize),
    track: &Track,
    rate_bps: Option<u64>,
) {
    let second = second_trend(width);
    let first = second.map_or(width, |second| second - 1);
    let rx = trend(track, first, rate_bps, Sample::rx, canvas.glyphs());
    canvas.put(area, x, y, &rx, Token::Rx);
    if let Some(second) = second {
        let tx = trend(track, width - second, rate_bps, Sample::tx, canvas.glyphs());
        canvas.put(area, x + second, y, &tx, Token::Tx);
    }
}

/// The last samples, the latest on the right: scaled to the rate of the port; packets, which have no such
/// rate, to their own most.
fn trend(
    track: &Track,
    width: usize,
    rate_bps: Option<u64>,
    get: fn(Sample) -> Option<u64>,
    glyphs: Glyphs,
) -> String {
    let rate = rate_bps.filter(|_| track.unit == Unit::Kilobits).map(|rate| rate / 1_000);
    let most = track.last(width).filter_map(get).max().unwrap_or(0);
    // Of nothing but zeros there is no most.
    let sign = if rate.is_none() && most > 0 { "^" } else { "" };
    let room = width.saturating_sub(sign.len());
    let samples: Vec<Option<u64>> = track.last(room).map(get).collect();
    let whole = rate.unwrap_or(most);
    let before = format!("{sign}{}", " ".repeat(room.saturating_sub(samples.len())));
    samples
        .iter()
        .fold(before, |line, sample| line + sample.map_or(" ", |part| glyphs.level(part, whole)))
}

/// `######..  6/8`: how much of the connections goes by RDMA.
fn bar(canvas: &mut Canvas<'_>, area: Rect, (x, y, width): (usize, usize, usize), share: Share) {
    let all = share.rdma + share.tcp;
    let text = format!(" {}/{all}", share.rdma);
    let cells = width.saturating_sub(text.len()).min(16);
    // One of many is not nothing, and all but one is not all.
    let filled = match (share.rdma, share.tcp) {
        (0, _) => 0,
        (_, 0) => cells,
        (rdma, _) => {
            let part = usize::try_from(rdma).unwrap_or(usize::MAX).saturating_mul(cells);
            let part = part / usize::try_from(all).unwrap_or(usize::MAX).max(1);
            part.clamp(1, cells.saturating_sub(1).max(1))
        }
    };
    let [full, empty] = canvas.glyphs().bar();
    let x = canvas.put(area, x, y, &full.repeat(filled), Token::Ok);
    let rest = if share.fallen > 0 { Token::Bad } else { Token::Dim };
    let x = canvas.put(area, x, y, &empty.repeat(cells.saturating_sub(filled)), rest);
    canvas.put(area, x, y, &text, Token::Plain);
}
