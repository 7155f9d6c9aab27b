//! Formats the outliers of a report, one line for each outlier. `render::ping` uses it.

use std::fmt::Write as _;

use super::{MAX_PAIRS, escape};
use crate::model::ping::{Outlier, OutlierKind, PingReport, name_rails};

/// Writes all outliers except pairs, then the slowest pairs.
pub(super) fn write(text: &mut String, report: &PingReport) {
    let (pairs, others): (Vec<&Outlier>, Vec<_>) =
        report.outliers.iter().partition(|outlier| outlier.kind == OutlierKind::Pair);
    let (shown, counted) = pairs.split_at(pairs.len().min(MAX_PAIRS));
    for outlier in others.iter().chain(shown) {
        let _ = writeln!(text, "~ {}", line(report, outlier));
    }
    if !counted.is_empty() {
        let _ = writeln!(text, "~ {} more slow pairs", counted.len());
    }
}

/// Formats an outlier: `n3: slow host, +25.0% (0.40 us), z 11.2, 15 of 15 pairs, retested`.
fn line(report: &PingReport, outlier: &Outlier) -> String {
    let who = outlier.place(report) + &name_rails(&outlier.rails);
    format!("{}: {}", escape(&who), outlier.description())
}
