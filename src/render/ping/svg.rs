//! Renders a heat map as one SVG image without external files.

use std::fmt::Write as _;

use super::heat::{Drawing, HeatMap, LETTER_TENTHS, STYLE, legend, xml};
use super::{render_findings, render_origin};
use crate::clock::utc_text;
use crate::model::ping::PingReport;

/// Largest number of lines of findings in an image; a page has all lines.
const MAX_LINES: usize = 24;

const LINE_HEIGHT: usize = 16;

const BORDER: usize = 16;

/// Smallest width, with which the lines of the legend are readable.
const MIN_WIDTH: usize = 640;

/// Largest width to which findings widen an image, so that commands are not truncated.
const TEXT_WIDTH: usize = 1_200;

/// Renders the heat map of a run as SVG.
///
/// # Errors
/// The reason why there is no map: too many hosts, or no pairs.
pub fn render_svg(report: &PingReport) -> Result<String, String> {
    let map = HeatMap::new(report)?;
    let drawings: Vec<Drawing> = (0..map.rails()).map(|rail| map.draw(rail)).collect();
    let widest = drawings.iter().map(|drawing| drawing.width).max().unwrap_or(0);
    let findings = render_findings(report);
    let longest = findings.lines().take(MAX_LINES).map(|line| line.chars().count()).max();
    let text = (longest.unwrap_or(0) * LETTER_TENTHS).div_ceil(10);
    let width = widest.max(MIN_WIDTH).max(text.min(TEXT_WIDTH));
    let mut y = BORDER;
    let mut body = String::new();
    let line = |body: &mut String, y: &mut usize, class: &str, text: &str| {
        *y += LINE_HEIGHT;
        let letters = width * 10 / LETTER_TENTHS;
        let cut: String = if text.chars().count() > letters {
            text.chars().take(letters.saturating_sub(1)).chain(['\u{2026}']).collect()
        } else {
            text.to_owned()
        };
        let _ = write!(
            body,
            r#"<text class="{class}" xml:space="preserve" x="{BORDER}" y="{y}">{}</text>"#,
            xml(&cut),
            y = *y - 4,
        );
    };
    line(&mut body, &mut y, "ink", &title(report));
    for text in render_origin(report).lines() {
        line(&mut body, &mut y, "warn", text);
    }
    if let Some(text) = map.fold_note() {
        line(&mut body, &mut y, "warn", &text);
    }
    y += LINE_HEIGHT / 2;
    let signs = legend(width);
    let _ = write!(body, r#"<g transform="translate({BORDER} {y})">{}</g>"#, signs.body);
    y += signs.height;
    for (rail, drawing) in drawings.iter().enumerate() {
        line(&mut body, &mut y, "ink", &map.heading(rail));
        y += LINE_HEIGHT / 2;
        let _ = write!(body, r#"<g transform="translate({BORDER} {y})">{}</g>"#, drawing.body);
        y += drawing.height + LINE_HEIGHT;
    }
    let told = findings.lines().count();
    for text in findings.lines().take(MAX_LINES) {
        line(&mut body, &mut y, "ink", text);
    }
    if told > MAX_LINES {
        let text = format!("{} more lines: --format html has all", told - MAX_LINES);
        line(&mut body, &mut y, "dim", &text);
    }
    let (width, height) = (width + 2 * BORDER, y + BORDER);
    Ok(format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"><title>{}</title><style>{STYLE}</style><rect class="page" width="{width}" height="{height}"/>{body}</svg>
"#,
        xml(&title(report)),
    ))
}

/// Formats the title: `rdmactl ping: 8 hosts, 2026-11-22 08:02:40Z`.
pub(super) fn title(report: &PingReport) -> String {
    let hosts = report.hosts.len();
    let when = match (&report.simulated, report.taken_ns) {
        (Some(_), _) => ", SIMULATED".to_owned(),
        (None, Some(ns)) => format!(", {}", utc_text(ns)),
        (None, None) => String::new(),
    };
    format!("rdmactl ping: {hosts} hosts{when}")
}
