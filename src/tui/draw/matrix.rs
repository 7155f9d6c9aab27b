//! Draws the ping matrix: one row per source, one column per target, and the selected cell in
//! words.

use std::fmt::Write as _;

use ratatui::layout::Rect;

use super::canvas::{Canvas, fit, width};
use crate::clock::utc_text;
use crate::model::ping::Pair;
use crate::names;
use crate::query::Value;
use crate::render::escape;
use crate::tui::event::Effect;
use crate::tui::glyphs::Glyphs;
use crate::tui::matrix::{Cell, MatrixGrid, MatrixOrigin, half_rtt_ns};
use crate::tui::mode::{Mode, Question};
use crate::tui::state::State;
use crate::tui::theme::Token;

/// Maximum of letters of a target name above its column.
const TOP: usize = 4;

type Word = (String, Token);

const LONGEST_FILE_NAME: usize = 24;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    if let Some((since, hosts)) = state.pinging {
        let ns = state.at.saturating_duration_since(since).as_nanos();
        let age = Value::Age(u64::try_from(ns).unwrap_or(u64::MAX));
        let text = format!("testing RDMA between {hosts} hosts for {age} ... p stops the test");
        canvas.message(area, &text, Token::Dim);
        return;
    }
    let Some(grid) = state.grid.as_ref().filter(|grid| grid.size() > 0) else {
        let text = "No matrix yet. p tests every pair of hosts in the Hosts view, after a \
                    confirmation. O opens a matrix that was saved with W or with \
                    rdmactl ping --matrix HOSTS --json > FILE.";
        canvas.message(area, text, Token::Plain);
        return;
    };
    let names: Vec<&str> = grid.report.hosts.iter().map(|host| host.name.as_str()).collect();
    let label = names.iter().map(|name| width(name)).max().unwrap_or(0).min(16);
    let tails = tails(&names);
    let tall = tails.iter().map(Vec::len).max().unwrap_or(0);
    let left = 2 + label + 1;
    let room = usize::from(area.width).saturating_sub(left);
    // Cells have a gap if all columns fit with gaps.
    let cell = if grid.size() * 2 <= room { 2 } else { 1 };
    let columns = room / cell;
    let rows = usize::from(area.height).saturating_sub(tall + 2);
    let first_row = first(grid.row, rows, grid.size());
    let first_column = first(grid.column, columns, grid.size());
    let mut more = Vec::new();
    if rows < grid.size() || columns < grid.size() {
        let range = |first: usize, shown: usize| {
            format!("{}-{}", first + 1, (first + shown).min(grid.size()))
        };
        let (rows, columns) = (range(first_row, rows), range(first_column, columns));
        more.push((format!("{rows} x {columns} of {}", grid.size()), Token::Dim));
    }
    let median = grid.median_ns.map(|median| format!("median {} us", Value::Nanoseconds(median)));
    more.extend(median.map(|text| (text, Token::Plain)));
    summary(state, canvas, area, grid, more);
    for (at, target) in (first_column..grid.size()).take(columns).enumerate() {
        let token = if target == grid.column { Token::Accent } else { Token::Dim };
        let letters = &tails[target];
        for (y, letter) in letters.iter().enumerate() {
            let y = 1 + tall - letters.len() + y;
            canvas.put(area, left + at * cell, y, letter, token);
        }
    }
    for (line, source) in (first_row..grid.size()).take(rows).enumerate() {
        let y = 1 + tall + line;
        let token = if source == grid.row { Token::Accent } else { Token::Plain };
        canvas.put(area, 2, y, &fit(names[source], label, canvas.glyphs()), token);
        if source == grid.row {
            canvas.put(area, 0, y, ">", Token::Plain);
        }
        for (at, target) in (first_column..grid.size()).take(columns).enumerate() {
            let (sign, token) = sign(grid.cell(source, target), canvas.glyphs());
            let x = left + at * cell;
            canvas.put(area, x, y, sign, token);
            if (source, target) == (grid.row, grid.column) {
                canvas.mark(area, x, y, 1, Token::Selected);
            }
        }
    }
    legend(canvas, area, 1 + tall + rows.min(grid.size()));
}

/// Returns the first of `shown` visible items, so that item `at` is in the middle.
fn first(at: usize, shown: usize, all: usize) -> usize {
    at.saturating_sub(shown / 2).min(all.saturating_sub(shown))
}

/// Returns the last letters of each name, without the common prefix; drawn one below the other.
fn tails(names: &[&str]) -> Vec<Vec<String>> {
    let letters = |name: &&str| name.chars().map(String::from).collect::<Vec<String>>();
    let all: Vec<Vec<String>> = names.iter().map(letters).collect();
    let is_same = |at: &usize| {
        all.first()
            .and_then(|one| one.get(*at))
            .is_some_and(|letter| all.iter().all(|other| other.get(*at) == Some(letter)))
    };
    let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
    let common = (0..shortest).take_while(is_same).count();
    // A single host keeps its prefix.
    let common = if all.len() < 2 { 0 } else { common };
    let tail = |letters: Vec<String>| {
        let start = common.max(letters.len().saturating_sub(TOP)).min(letters.len());
        letters[start..].to_vec()
    };
    all.into_iter().map(tail).collect()
}

fn sign(cell: Cell, glyphs: Glyphs) -> (&'static str, Token) {
    match cell {
        Cell::Nothing => (" ", Token::Plain),
        Cell::Works(heat) => {
            let token = match heat {
                0 | 1 => Token::Ok,
                2 | 3 => Token::Warn,
                _ => Token::Bad,
            };
            (glyphs.heat()[heat.min(glyphs.heat().len() - 1)], token)
        }
        Cell::Fails => ("!", Token::Bad),
        Cell::NotApplicable => ("-", Token::Dim),
        Cell::NotTested => ("?", Token::Unknown),
    }
}

/// Draws the number of working or failed pairs, the time of the test, and `more` if it fits.
fn summary(state: &State, canvas: &mut Canvas<'_>, area: Rect, grid: &MatrixGrid, more: Vec<Word>) {
    let (works, fails, others) = grid.counts;
    let all = works + fails + others;
    let (text, token) = match fails {
        0 => (format!("RDMA works for {works} of {all} pairs"), Token::Ok),
        _ => (format!("RDMA fails for {fails} of {all} pairs !"), Token::Bad),
    };
    let mut x = canvas.put(area, 2, 0, &text, token) + 3;
    for (text, token) in std::iter::once(taken(state, grid)).chain(more) {
        if x + width(&text) <= usize::from(area.width) {
            x = canvas.put(area, x, 0, &text, token) + 3;
        }
    }
}

/// Returns the time of a matrix: `tested 3min ago`, `ping.json of 2026-11-22 08:02:40Z`.
fn taken(state: &State, grid: &MatrixGrid) -> Word {
    let (text, token) = match &grid.taken {
        MatrixOrigin::Live(at) => {
            let ns = state.at.saturating_duration_since(*at).as_nanos();
            let age = Value::Age(u64::try_from(ns).unwrap_or(u64::MAX));
            (format!("tested {age} ago"), Token::Plain)
        }
        MatrixOrigin::Saved { name, written_ns } => {
            let name = fit(&escape(name), LONGEST_FILE_NAME, state.settings.glyphs);
            let at = written_ns.map(|ns| format!(" of {}", utc_text(ns))).unwrap_or_default();
            (format!("{name}{at}"), Token::Warn)
        }
    };
    match &grid.report.simulated {
        Some(_) => (format!("SIMULATED {text}"), Token::Warn),
        None => (text, token),
    }
}

fn legend(canvas: &mut Canvas<'_>, area: Rect, y: usize) {
    let works = ["median", "1.1x", "1.5x", "2x", "4x"].into_iter().enumerate();
    let works = works.map(|(level, text)| (Cell::Works(level), text));
    let others =
        [(Cell::Fails, "fails"), (Cell::NotApplicable, "n/a"), (Cell::NotTested, "not tested")];
    let mut x = 2;
    for (cell, text) in works.chain(others) {
        let (sign, token) = sign(cell, canvas.glyphs());
        x = canvas.put(area, x, y, sign, token);
        x = canvas.put(area, x + 1, y, text, Token::Dim) + 2;
    }
}

/// Draws the selected cell in words.
pub(super) fn note(state: &State, canvas: &mut Canvas<'_>, area: Rect) {
    if let Mode::Ask(Question { effect: Effect::Ping(hosts), .. }) = &state.mode {
        return before_ping(state, canvas, area, hosts);
    }
    let Some(grid) = state.grid.as_ref().filter(|_| state.pinging.is_none()) else { return };
    let name = |at: usize| grid.report.hosts.get(at).map_or("?", |host| host.name.as_str());
    let who = format!("{} -> {}", name(grid.row), name(grid.column));
    let x = canvas.put(area, 1, 0, &who, Token::Heading);
    let room = usize::from(area.width);
    let Some(pair) = grid.pair(grid.row, grid.column) else {
        let text = if grid.row == grid.column {
            ": source and target are one host"
        } else {
            ": not requested"
        };
        canvas.put(area, x, 0, text, Token::Dim);
        return;
    };
    let code = pair.verdict.code;
    let (mark, token) = if code.is_failure() { (" !", Token::Bad) } else { ("", Token::Ok) };
    let x = canvas.put(area, x, 0, &format!(": {}{mark}", code.word()), token) + 2;
    let detail = if code.is_failure() { pair.verdict.detail.clone() } else { figures(pair, grid) };
    canvas.put(area, x, 0, &fit(&detail, room.saturating_sub(x), canvas.glyphs()), Token::Plain);
    let (text, token) = match (&pair.verdict.hint, &pair.route) {
        (Some(hint), _) if code.is_failure() => (format!("fix: {hint}"), Token::Accent),
        (_, Some(route)) => {
            let end = |port: &crate::model::ping::RoutePort| {
                let software = if port.is_software() { " (software)" } else { "" };
                format!("{}/{} gid {}{software}", port.device, port.port, port.gid_index)
            };
            let ends = format!("{} to {}", end(&route.source), end(&route.target));
            (format!("{} {ends}", route.protocol.word()), Token::Dim)
        }
        _ => return,
    };
    canvas.put(area, 1, 1, &fit(&text, room.saturating_sub(2), canvas.glyphs()), token);
}

/// Draws the details of a question about a ping: the hosts, and the end of an upload.
fn before_ping(state: &State, canvas: &mut Canvas<'_>, area: Rect, hosts: &[String]) {
    let room = usize::from(area.width).saturating_sub(2);
    let all = state.snapshot().map_or(0, |snapshot| snapshot.sample.reports.len());
    let who = match names::fold(hosts) {
        who if hosts.len() < all => {
            format!("{who}: the hosts of the Hosts view that respond ({} of {all})", hosts.len())
        }
        who => who,
    };
    canvas.put(area, 1, 0, &fit(&escape(&who), room, canvas.glyphs()), Token::Plain);
    if state.settings.may_upload {
        let text = "An uploaded program removes itself at the end. --no-upload forbids the upload.";
        canvas.put(area, 1, 1, &fit(text, room, canvas.glyphs()), Token::Dim);
    }
}

/// Formats the times of a pair: `2.31 us, 110% of the median; TCP 41.20 us`.
fn figures(pair: &Pair, grid: &MatrixGrid) -> String {
    let Some(mine) = half_rtt_ns(pair) else { return pair.verdict.detail.clone() };
    let mut text = format!("{} us", Value::Nanoseconds(mine));
    // Writing to a string cannot fail.
    if let Some(median) = grid.median_ns.filter(|median| *median > 0) {
        let percent = u128::from(mine) * 100 / u128::from(median);
        let _ = write!(text, ", {percent}% of the median");
    }
    if let Some(tcp) = pair.tcp {
        let _ = write!(text, "; TCP {} us", Value::Nanoseconds(tcp.half_rtt_ns.p50));
    }
    text
}

#[test]
fn names_are_distinguished_by_their_ends() {
    let ends = |names: &[&str]| -> Vec<String> {
        tails(names).into_iter().map(|letters| letters.concat()).collect()
    };
    assert_eq!(ends(&["n01", "n02", "n10"]), ["01", "02", "10"]);
    assert_eq!(ends(&["node-001", "node-002"]), ["1", "2"]);
    assert_eq!(ends(&["login.cluster.example"]), ["mple"]);
    assert_eq!(ends(&["a", "ab"]), ["", "b"]);
}
