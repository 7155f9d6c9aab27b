//! Draws a matrix as a heat map: each pair is a square, colored by comparison with the other
//! pairs.
//!
//! Colors run from blue over yellow to brown, so that readers with a red or green deficiency can
//! distinguish them. A failure is purple with a cross. Squares that are not blue have a mark if
//! there is space for it.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::model::ping::{Cell, Code, Grid, Pair, PingReport};
use crate::query::Value;
use crate::render::escape;
use crate::render::escape::acts_on_terminal;

const MAX_HOSTS: usize = 1_024;

/// Largest number of squares in a row. With more hosts, each square stands for several pairs.
const MAX_SQUARES: usize = 320;

/// Largest number of hosts for which squares have a title; more titles would take megabytes.
const MAX_TOLD: usize = 64;

const LONGEST_NAME: usize = 24;

/// Smallest height of the rows of a leaf switch with its name beside them.
const MIN_NAMED: usize = 12;

/// Thresholds of slow pairs, in percent of the median.
const SLOWER: [u64; 4] = [110, 150, 200, 400];

/// Appearance of a square. A later variant is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Appearance {
    /// The pair was not requested.
    Nothing,
    NotApplicable,
    NotTested,
    /// The pair works; the number is the count of thresholds that it reaches.
    Works(usize),
    /// RDMA fails; applications would continue over TCP.
    FallsBack,
    Fails,
}

impl Appearance {
    /// Returns the CSS class, the word in the legend, and the mark inside a large square.
    fn shown(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Nothing => ("none", "not requested", ""),
            Self::NotApplicable => ("na", "not applicable", "-"),
            Self::NotTested => ("nt", "not tested", "?"),
            Self::Works(0) => ("w0", "median", ""),
            Self::Works(1) => ("w1", "from 1.1x the median", "+"),
            Self::Works(2) => ("w2", "from 1.5x", "*"),
            Self::Works(3) => ("w3", "from 2x", "2"),
            Self::Works(_) => ("w4", "from 4x", "4"),
            Self::FallsBack => ("tcp", "no RDMA, TCP passes", "T"),
            Self::Fails => ("bad", "fails", "\u{d7}"),
        }
    }
}

/// Colors of both themes. The viewer chooses the theme; the default is light.
pub(super) const STYLE: &str = "\
.page{fill:#ffffff}.ink{fill:#1b1f24}.dim{fill:#57606a}.warn{fill:#8a3b00}\
.w0{fill:#9ecae1}.w1{fill:#ffeda0}.w2{fill:#feb24c}.w3{fill:#d95f0e}.w4{fill:#8c2d04}\
.tcp{fill:#756bb1}.bad{fill:#3f007d}.na{fill:#d0d4d9}.nt{fill:#eceff2}.none{fill:none}\
.on-w0,.on-w1,.on-w2,.on-na,.on-nt{fill:#1b1f24}.on-w3,.on-w4,.on-tcp,.on-bad{fill:#ffffff}\
.cross{stroke:#ffffff;fill:none}.frame{fill:none;stroke:#8c959f}\
@media(prefers-color-scheme:dark){.page{fill:#14171c}.ink{fill:#e6e9ee}.dim{fill:#9aa4b0}\
.warn{fill:#ffb37a}.na{fill:#4a515b}.nt{fill:#262b33}.on-na,.on-nt{fill:#e6e9ee}\
.bad{fill:#e7d4f5}.on-bad{fill:#1b1f24}.cross{stroke:#3f007d}.w0{fill:#4b86ad}.on-w0{fill:#ffffff}}\
rect{shape-rendering:crispEdges}text{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:11px}";

/// Width of a letter of this size, in tenths: 0.6 of its height in monospaced fonts.
pub(super) const LETTER_TENTHS: usize = 66;

pub(super) struct HeatMap<'a> {
    pub(super) report: &'a PingReport,
    grid: Grid,
    /// Hosts in the order of rows and columns: the hosts of a leaf switch together.
    order: Vec<usize>,
    /// First row of each leaf switch, with its name; empty without a topology.
    leaves: Vec<(usize, String)>,
    /// Pairs that do not work over RDMA while TCP passes.
    fall_back: HashSet<Cell>,
    /// Number of squares in a row.
    squares: usize,
    hosts_per_square: usize,
    side: usize,
}

pub(super) struct Drawing {
    pub(super) body: String,
    pub(super) width: usize,
    pub(super) height: usize,
}

impl<'a> HeatMap<'a> {
    /// Returns the map of a run.
    ///
    /// # Errors
    /// The reason why there is no map.
    pub(super) fn new(report: &'a PingReport) -> Result<Self, String> {
        let hosts = report.hosts.len();
        if hosts > MAX_HOSTS {
            let limit = format!("the limit is {MAX_HOSTS}");
            return Err(format!("{hosts} hosts are too many for a heat map; {limit}"));
        }
        let grid = report.grid();
        let told: usize = (0..grid.rails()).map(|rail| grid.verdicts(rail).count()).sum();
        if told == 0 {
            return Err("no pair was tested".into());
        }
        let tried = report.summary.pairs - report.summary.not_tested.min(report.summary.pairs);
        if report.cells.is_none() && told < tried {
            return Err(format!(
                "the file holds only {told} of the {tried} pairs that were tested"
            ));
        }
        let fall_back = report.pairs.iter().filter(|pair| pair.falls_back());
        let cell = |&Pair { rail, source, target, .. }: &Pair| Cell { rail, source, target };
        let fall_back = fall_back.map(cell).collect();
        let hosts_per_square = hosts.div_ceil(MAX_SQUARES).max(1);
        let squares = hosts.div_ceil(hosts_per_square);
        let side = (900 / squares.max(1)).clamp(3, 24);
        let order = report.by_leaf();
        let leaves = leaves(report, &order);
        Ok(Self { report, grid, order, leaves, fall_back, squares, hosts_per_square, side })
    }

    pub(super) fn rails(&self) -> usize {
        self.grid.rails()
    }

    /// Returns a line about squares that stand for several pairs; `None` if there are none.
    pub(super) fn fold_note(&self) -> Option<String> {
        let fold = self.hosts_per_square;
        (fold > 1).then(|| format!("each square shows the worst of {fold} x {fold} pairs"))
    }

    /// Formats the heading: `rail 1: 4032 pairs, 12 fail, median 1.72 us half round trip`.
    pub(super) fn heading(&self, rail: usize) -> String {
        let all = self.grid.verdicts(rail).count();
        let failed = self.grid.verdicts(rail).filter(|(_, code)| code.is_failure()).count();
        let name = if self.rails() > 1 { format!("rail {rail}: ") } else { String::new() };
        let median = self.median(rail).map_or(String::new(), |ns| {
            format!(", median {} us half round trip", Value::Nanoseconds(ns))
        });
        let fails = if failed == 0 { "none fails".to_owned() } else { format!("{failed} fail") };
        format!("{name}{all} pairs, {fails}{median}")
    }

    fn median(&self, rail: usize) -> Option<u64> {
        let known = self.grid.medians(rail).iter().copied().filter(|&ns| ns > 0);
        let mut all: Vec<u32> = known.collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied().map(u64::from)
    }

    fn look(&self, cell: Cell, median: Option<u64>) -> Appearance {
        let Some(code) = self.grid.code(cell) else { return Appearance::Nothing };
        match code {
            Code::NoTransport => Appearance::NotApplicable,
            Code::NotTested => Appearance::NotTested,
            // This verdict is only made if TCP passes.
            Code::Udp4791Blocked => Appearance::FallsBack,
            code if code.is_failure() && self.fall_back.contains(&cell) => Appearance::FallsBack,
            code if code.is_failure() => Appearance::Fails,
            _ => {
                let mine = self.grid.median_ns(cell).map(u128::from);
                let percent =
                    mine.zip(median).map(|(mine, median)| mine * 100 / u128::from(median.max(1)));
                let slower = |least: &&u64| percent.is_some_and(|it| it >= u128::from(**least));
                Appearance::Works(SLOWER.iter().filter(slower).count())
            }
        }
    }

    fn cell(&self, rail: usize, row: usize, column: usize) -> Cell {
        let host = |at: usize| self.order.get(at).copied().unwrap_or(usize::MAX);
        Cell { rail, source: host(row), target: host(column) }
    }

    /// Returns the worst appearance of the pairs of a square.
    fn square(&self, rail: usize, row: usize, column: usize, median: Option<u64>) -> Appearance {
        let hosts = self.grid.hosts();
        let within = |square: usize| {
            square * self.hosts_per_square..((square + 1) * self.hosts_per_square).min(hosts)
        };
        within(row)
            .flat_map(|row| within(column).map(move |column| self.cell(rail, row, column)))
            .map(|cell| self.look(cell, median))
            .max()
            .unwrap_or(Appearance::Nothing)
    }

    /// Draws a rail: sources down, targets across, with their names.
    pub(super) fn draw(&self, rail: usize) -> Drawing {
        let median = self.median(rail);
        let names: Vec<String> = self.report.hosts.iter().map(|host| short(&host.name)).collect();
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let margin = longest * LETTER_TENTHS / 10 + 10;
        let (top, side) = (margin + 14, self.side);
        let whole = self.squares * side;
        let mut body = String::new();
        let _ = write!(
            body,
            r#"<text class="dim" x="0" y="11">source (down), target (across)</text><rect class="frame" x="{}" y="{}" width="{}" height="{}"/>"#,
            margin - 1,
            top - 1,
            whole + 2,
            whole + 2
        );
        self.write_names(&mut body, &names, margin, top);
        let is_told = self.hosts_per_square == 1 && self.squares <= MAX_TOLD;
        for row in 0..self.squares {
            let looks: Vec<Appearance> =
                (0..self.squares).map(|column| self.square(rail, row, column, median)).collect();
            let y = top + row * side;
            if is_told {
                for (column, &look) in looks.iter().enumerate() {
                    let (x, cell) = (margin + column * side, self.cell(rail, row, column));
                    self.write_told(&mut body, (x, y), look, &names, cell);
                }
            } else {
                self.write_row(&mut body, (margin, y), &looks);
            }
        }
        let right = self.write_leaves(&mut body, margin, top);
        Drawing { body, width: margin + whole + 2 + right, height: top + whole + 2 }
    }

    /// Writes lines between leaf switches, and their names on the right; returns their width.
    fn write_leaves(&self, body: &mut String, left: usize, top: usize) -> usize {
        let whole = self.squares * self.side;
        let place = |row: usize| row * self.side / self.hosts_per_square;
        let ends = self.leaves.iter().skip(1).map(|&(row, _)| row).chain([self.order.len()]);
        let mut longest = 0;
        for ((row, name), end) in self.leaves.iter().zip(ends) {
            let (start, end) = (place(*row), place(end).min(whole));
            if *row > 0 {
                let (x, y) = (left + start, top + start);
                let (right, bottom) = (left + whole, top + whole);
                let _ = write!(
                    body,
                    r#"<path class="frame" d="M{left} {y}H{right}M{x} {top}V{bottom}"/>"#
                );
            }
            // Names that would touch each other are left out; the titles of the squares have them.
            if end - start >= MIN_NAMED {
                let (x, y) = (left + whole + 6, top + start.midpoint(end) + 4);
                let _ = write!(body, r#"<text class="dim" x="{x}" y="{y}">{}</text>"#, xml(name));
                longest = longest.max(name.chars().count());
            }
        }
        if longest > 0 { longest * LETTER_TENTHS / 10 + 10 } else { 0 }
    }

    /// Writes names at both edges, as many as fit without touching each other.
    fn write_names(&self, body: &mut String, names: &[String], margin: usize, top: usize) {
        let every = 12_usize.div_ceil(self.side).max(1);
        for square in (0..self.squares).step_by(every) {
            let host = self.order.get(square * self.hosts_per_square);
            let Some(name) = host.and_then(|&host| names.get(host)) else { break };
            let name = xml(name);
            let middle = square * self.side + self.side / 2 + 4;
            let (x, y) = (margin - 5, top + middle);
            let _ = write!(
                body,
                r#"<text class="ink" text-anchor="end" x="{x}" y="{y}">{name}</text>"#
            );
            let (x, y) = (margin + middle, top - 5);
            let _ = write!(
                body,
                r#"<text class="ink" transform="translate({x} {y}) rotate(-90)">{name}</text>"#
            );
        }
    }

    /// Writes a square with a title, which a browser shows under the pointer.
    fn write_told(
        &self,
        body: &mut String,
        (x, y): (usize, usize),
        look: Appearance,
        names: &[String],
        cell: Cell,
    ) {
        if look == Appearance::Nothing {
            return;
        }
        let name = |host: usize| names.get(host).map_or("?", String::as_str);
        let code = self.grid.code(cell).map_or("", Code::word);
        let leaf = |host: usize| {
            let leaf = self.report.hosts.get(host).and_then(|host| host.leaf.as_deref());
            leaf.map_or(String::new(), |leaf| format!(" ({})", short(leaf)))
        };
        let (source, target) = (cell.source, cell.target);
        let (class, word, _) = look.shown();
        let mut words =
            format!("{}{} -> {}{}: {code}", name(source), leaf(source), name(target), leaf(target));
        if let Some(ns) = self.grid.median_ns(cell) {
            let _ = write!(words, ", {} us, {word}", Value::Nanoseconds(ns.into()));
        }
        let side = self.side - usize::from(self.side > 6);
        let _ = write!(
            body,
            r#"<g><title>{}</title><rect class="{class}" x="{x}" y="{y}" width="{side}" height="{side}"/>{}</g>"#,
            xml(&words),
            mark(look, (x, y), side),
        );
    }

    /// Writes a row. Equal squares next to each other are one rectangle.
    fn write_row(&self, body: &mut String, (left, y): (usize, usize), looks: &[Appearance]) {
        let side = self.side;
        let mut x = left;
        for alike in looks.chunk_by(|one, next| one == next) {
            let (look, width) = (alike[0], alike.len() * side);
            if look != Appearance::Nothing {
                let (class, ..) = look.shown();
                let _ = write!(
                    body,
                    r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{side}"/>"#
                );
            }
            if look >= Appearance::FallsBack {
                let squares = (x..x + width).step_by(side);
                body.extend(squares.map(|x| mark(look, (x, y), side)));
            }
            x += width;
        }
    }
}

/// Returns the mark of a square: a letter if it is readable, a cross for a failure.
fn mark(look: Appearance, (x, y): (usize, usize), side: usize) -> String {
    let (class, _, letter) = look.shown();
    if letter.is_empty() {
        return String::new();
    }
    if look == Appearance::Fails {
        let inset = side / 4;
        let (left, top) = (x + inset, y + inset);
        let (right, bottom) = (x + side - inset, y + side - inset);
        let width = (side / 8).max(1);
        return format!(
            r#"<path class="cross" stroke-width="{width}" d="M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}"/>"#
        );
    }
    if side < 10 {
        return String::new();
    }
    let (x, y) = (x + side / 2, y + side / 2 + 4);
    format!(r#"<text class="on-{class}" text-anchor="middle" x="{x}" y="{y}">{letter}</text>"#)
}

/// Draws the legend of colors and marks, in lines of this width.
pub(super) fn legend(width: usize) -> Drawing {
    let (side, line) = (14, 22);
    let (mut x, mut y) = (0, 0);
    let mut body = String::new();
    let others = [
        Appearance::FallsBack,
        Appearance::Fails,
        Appearance::NotApplicable,
        Appearance::NotTested,
    ];
    for look in (0..=SLOWER.len()).map(Appearance::Works).chain(others) {
        let (class, word, _) = look.shown();
        let wide = side + 6 + word.chars().count() * LETTER_TENTHS / 10 + 16;
        if x > 0 && x + wide > width {
            (x, y) = (0, y + line);
        }
        let _ = write!(
            body,
            r#"<rect class="{class}" x="{x}" y="{y}" width="{side}" height="{side}"/>{}<text class="ink" x="{}" y="{}">{word}</text>"#,
            mark(look, (x, y), side),
            x + side + 6,
            y + 11,
        );
        x += wide;
    }
    Drawing { body, width, height: y + line }
}

/// Returns the first row and the name of each leaf switch; empty without a topology.
fn leaves(report: &PingReport, order: &[usize]) -> Vec<(usize, String)> {
    let leaf = |&host: &usize| report.hosts.get(host).and_then(|host| host.leaf.as_deref());
    let mut leaves = Vec::new();
    let mut row = 0;
    for hosts in order.chunk_by(|one, other| leaf(one) == leaf(other)) {
        leaves.extend(hosts.first().and_then(leaf).map(|name| (row, short(name))));
        row += hosts.len();
    }
    leaves
}

fn short(name: &str) -> String {
    let name = escape(name);
    if name.chars().count() <= LONGEST_NAME {
        return name.into_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['\u{2026}']).collect()
}

/// Escapes text for XML and HTML; a character that neither allows becomes a question mark.
pub(in crate::render) fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push('\n'),
            '\u{fffe}' | '\u{ffff}' => safe.push('?'),
            letter if letter.is_control() => safe.push('?'),
            // A direction mark would reverse the text of other hosts.
            letter if acts_on_terminal(letter) => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(letter));
            }
            letter => safe.push(letter),
        }
    }
    safe
}

#[test]
fn a_digit_as_a_mark_is_the_factor() {
    let marks = [1, 2, 3, 4].map(|at| Appearance::Works(at).shown().2);
    assert_eq!((marks, SLOWER), (["+", "*", "2", "4"], [110, 150, 200, 400]));
    let words = [1, 2, 3, 4].map(|at| Appearance::Works(at).shown().1);
    assert_eq!(words, ["from 1.1x the median", "from 1.5x", "from 2x", "from 4x"]);
}

#[test]
fn nothing_of_a_name_is_taken_for_markup() {
    assert_eq!(xml("a\u{202e}b\u{2066}\u{200f}"), "a\\u{202e}b\\u{2066}\\u{200f}");
    assert_eq!(xml("<a href='x'>&\"\x1b\u{ffff}"), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;??");
    assert_eq!(short("n1"), "n1");
    assert_eq!(short(&"x".repeat(30)).chars().count(), LONGEST_NAME);
}
