//! Draws the table of a view. Only visible rows are turned into cells.

use ratatui::layout::Rect;

use super::canvas::{Canvas, fit, width};
use super::empty_table;
use crate::analyse::transport_counts::TransportCounts;
use crate::query::Align;
use crate::tui::columns::{Columns, Fitted, in_view};
use crate::tui::glyphs::Glyphs;
use crate::tui::history::{PortTraffic, Track, Unit};
use crate::tui::rows::{Graph, StaleData};
use crate::tui::state::State;
use crate::tui::table_view::{Heading, VisibleRow};
use crate::tui::theme::{Token, tone};
use crate::tui::view::View;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    if state.snapshot().is_none() {
        let text = format!("querying {} ...", state.settings.waiting_for);
        canvas.message(area, &text, Token::Dim);
        return;
    }
    let Some(table) = state.table() else { return };
    let rows = table.state();
    if rows.len() == 0 {
        let (text, token) = empty_table::text(state, rows.total > 0);
        canvas.message(area, &text, token);
        return;
    }
    let count = usize::from(area.height).saturating_sub(1);
    let Some((columns, lines)) = in_view(state, area.width.into(), count) else { return };
    for one in &columns.fitted {
        heading(canvas, area, one);
    }
    if columns.has_ages {
        canvas.put(area, 2, 0, "AGE", Token::Heading);
    }
    if let (Some((x, width)), Some(title)) = (columns.graph, table.graph_title()) {
        canvas.put(area, x, 0, title, Token::Heading);
        if let (View::Ports, Some(second)) = (table.view(), second_trend(width)) {
            canvas.put(area, x + second, 0, "TX TREND", Token::Heading);
        }
    }
    let chosen = rows.selected_index().and_then(|at| at.checked_sub(rows.top));
    for (index, line) in lines.iter().enumerate() {
        let y = index + 1;
        row(canvas, area, y, line, &columns);
        if chosen == Some(index) {
            canvas.put(area, 0, y, ">", Token::Plain);
            // An inverted graph would show no data as full.
            let graph = columns.graph.filter(|_| {
                matches!(line.graph, Some(Graph::Trend(..) | Graph::Share(_)))
                    && line.stale.is_none()
            });
            let width = usize::from(area.width);
            let (end, begin) = graph.map_or((width, width), |(x, wide)| (x, x + wide));
            canvas.mark(area, 0, y, end, Token::Selected);
            canvas.mark(area, begin, y, width.saturating_sub(begin), Token::Selected);
        }
    }
}

fn heading(canvas: &mut Canvas<'_>, area: Rect, one: &Fitted) {
    let Heading { title, order, .. } = one.heading;
    let order = order.map(|is_reversed| format!(" {}", canvas.glyphs().order(is_reversed)));
    let text = format!("{title}{}", order.unwrap_or_default());
    put_aligned(canvas, area, 0, one, &text, Token::Heading);
}

fn put_aligned(
    canvas: &mut Canvas<'_>,
    area: Rect,
    y: usize,
    one: &Fitted,
    text: &str,
    token: Token,
) {
    let x = match one.heading.align {
        Align::Left => one.x,
        Align::Right => (one.x + one.width).saturating_sub(width(text)),
    };
    canvas.put(area, x, y, text, token);
}

fn row(canvas: &mut Canvas<'_>, area: Rect, y: usize, line: &VisibleRow<'_>, columns: &Columns) {
    let mark = match (line.is_fresh, line.stale.is_some()) {
        (true, _) => ("*", Token::Warn),
        (_, true) => ("~", Token::Warn),
        _ => (" ", Token::Plain),
    };
    canvas.put(area, 1, y, mark.0, mark.1);
    if let Some(stale) = line.stale.as_ref().filter(|_| columns.has_ages) {
        canvas.put(area, 1, y, &age(stale), Token::Warn);
    }
    for one in &columns.fitted {
        let Some(value) = line.cells.get(one.index) else { continue };
        let text = fit(&crate::render::escape(&value.to_string()), one.width, canvas.glyphs());
        let token = match tone(one.heading.meaning, value) {
            // Stale values stay legible in a dim style.
            token if line.stale.is_some() && token != Token::Bad => Token::Dim,
            token => token,
        };
        put_aligned(canvas, area, y, one, &text, token);
    }
    let Some((x, width)) = columns.graph else { return };
    match (&line.stale, &line.graph) {
        (Some(stale), _) => {
            let text = match &stale.age {
                Some(_) => format!("{} {}", age(stale), stale.word),
                None => stale.word.to_owned(),
            };
            canvas.put(area, x, y, &fit(&text, width, canvas.glyphs()), Token::Warn);
        }
        (None, Some(Graph::Trend(track, rate_bps))) => {
            trends(canvas, area, (x, y, width), *track, *rate_bps);
        }
        (None, Some(Graph::Share(share))) => bar(canvas, area, (x, y, width), *share),
        (None, Some(Graph::Words(words))) => {
            let words = crate::render::escape(words);
            canvas.put(area, x, y, &fit(&words, width, canvas.glyphs()), Token::Bad);
        }
        (None, None) => {}
    }
}

/// Returns the offset of the second sparkline, if the width has room for two.
fn second_trend(width: usize) -> Option<usize> {
    (width > 20).then_some(width / 2 + 1)
}

/// Draws the received traffic and, if there is room, the sent traffic.
fn trends(
    canvas: &mut Canvas<'_>,
    area: Rect,
    (x, y, width): (usize, usize, usize),
    track: Track<'_>,
    rate_bps: Option<u64>,
) {
    let second = second_trend(width);
    let first = second.map_or(width, |second| second - 1);
    let rx = trend(track, first, rate_bps, PortTraffic::rx, canvas.glyphs());
    canvas.put(area, x, y, &rx, Token::Rx);
    if let Some(second) = second {
        let tx = trend(track, width - second, rate_bps, PortTraffic::tx, canvas.glyphs());
        canvas.put(area, x + second, y, &tx, Token::Tx);
    }
}

/// Returns a sparkline. Bits are scaled to the rate of the port, packets to their own maximum.
fn trend(
    track: Track<'_>,
    width: usize,
    rate_bps: Option<u64>,
    get: fn(PortTraffic) -> Option<u64>,
    glyphs: Glyphs,
) -> String {
    let rate = rate_bps.filter(|_| track.unit == Unit::Kilobits).map(|rate| rate / 1_000);
    let most = track.last(width).filter_map(get).max().unwrap_or(0);
    // If all samples are 0, no maximum exists.
    let sign = if rate.is_none() && most > 0 { "^" } else { "" };
    let room = width.saturating_sub(sign.len());
    let samples: Vec<Option<u64>> = track.last(room).map(get).collect();
    let whole = rate.unwrap_or(most);
    let before = format!("{sign}{}", " ".repeat(room.saturating_sub(samples.len())));
    samples
        .iter()
        .fold(before, |line, sample| line + sample.map_or(" ", |part| glyphs.level(part, whole)))
}

/// Formats the age of a row whose host does not respond, without spaces: `~2min`.
fn age(stale: &StaleData) -> String {
    let age = stale.age.as_ref().map(ToString::to_string).unwrap_or_default();
    format!("~{}", age.replace(' ', ""))
}

/// Draws the share of connections that use RDMA: `######..  6/8`.
fn bar(
    canvas: &mut Canvas<'_>,
    area: Rect,
    (x, y, width): (usize, usize, usize),
    share: TransportCounts,
) {
    let text = format!(" {}/{}", share.rdma, share.all());
    let cells = width.saturating_sub(text.len()).min(16);
    let filled = filled_cells(share, cells);
    let [full, empty] = canvas.glyphs().bar();
    let x = canvas.put(area, x, y, &full.repeat(filled), Token::Ok);
    let rest = if share.fallen > 0 { Token::Bad } else { Token::Dim };
    let x = canvas.put(area, x, y, &empty.repeat(cells.saturating_sub(filled)), rest);
    canvas.put(area, x, y, &text, Token::Plain);
}

/// Returns the number of filled cells of a bar. A small share fills at least one cell; an
/// incomplete share leaves at least one cell empty.
fn filled_cells(share: TransportCounts, cells: usize) -> usize {
    let all = share.all();
    match share.rdma {
        0 => 0,
        rdma if rdma == all => cells,
        rdma => {
            let part = usize::try_from(rdma).unwrap_or(usize::MAX).saturating_mul(cells);
            let part = part / usize::try_from(all).unwrap_or(usize::MAX).max(1);
            part.clamp(1, cells.saturating_sub(1).max(1))
        }
    }
}

#[test]
fn a_bar_is_full_only_if_all_connections_use_rdma_alone() {
    let filled = |rdma, tcp, mixed| {
        filled_cells(TransportCounts { rdma, tcp, mixed, ..TransportCounts::default() }, 16)
    };
    assert_eq!(filled(8, 0, 0), 16);
    assert_eq!((filled(0, 0, 1), filled(0, 1, 0)), (0, 0));
    assert_eq!((filled(3, 0, 1), filled(3, 1, 0)), (12, 12));
    assert_eq!((filled(1_000, 0, 1), filled(1, 1_000, 0)), (15, 1));
    let to_udp = TransportCounts { rdma: 3, udp: 1, fallen: 1, ..TransportCounts::default() };
    assert_eq!(filled_cells(to_udp, 16), 12);
}
