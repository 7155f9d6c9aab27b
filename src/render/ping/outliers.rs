//! Formats the outliers of a report, one line for each outlier. `render::ping` uses it.

use std::fmt::Write as _;

use super::{MAX_PAIRS, name, name_leaves, name_rails};
use crate::model::ping::{Metric, Outlier, OutlierKind, PingReport};

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

/// Formats the difference: `+25.0% (0.40 us)`, `bandwidth -45.3%`.
fn difference(outlier: &Outlier) -> String {
    let Outlier { slower_permille, slower_ns, .. } = *outlier;
    match outlier.metric {
        Metric::Latency => {
            let (percent, tenth) = (slower_permille / 10, slower_permille % 10);
            let (us, hundredths) = (slower_ns / 1_000, slower_ns % 1_000 / 10);
            format!("+{percent}.{tenth}% ({us}.{hundredths:02} us)")
        }
        // A transfer that takes twice as long has half of the bandwidth.
        Metric::Bandwidth => {
            let left_permille = 1_000_000 / slower_permille.saturating_add(1_000);
            let (percent, tenth) = ((1_000 - left_permille) / 10, (1_000 - left_permille) % 10);
            format!("bandwidth -{percent}.{tenth}%")
        }
    }
}

/// Formats an outlier: `n3: slow host, +25.0% (0.40 us), z 11.2, 15 of 15 peers, retested`.
fn line(report: &PingReport, outlier: &Outlier) -> String {
    let host = |host: Option<usize>| host.map_or("?".into(), |host| name(report, host));
    let who = match outlier.kind {
        OutlierKind::Leaf | OutlierKind::Path => name_leaves(&outlier.leaves),
        OutlierKind::Pair => {
            let way = if outlier.both_ways { "<->" } else { "->" };
            format!("{} {way} {}", host(outlier.host), host(outlier.target))
        }
        _ => host(outlier.host),
    };
    let (what, peers) = match outlier.kind {
        OutlierKind::Leaf => ("slow leaf switch", "other leaf switches"),
        OutlierKind::Path => ("slow path", ""),
        OutlierKind::Host => ("slow host", "pairs"),
        OutlierKind::Rail => ("slow rail", "pairs"),
        OutlierKind::Transmit => ("slow as source only", "pairs"),
        OutlierKind::Receive => ("slow as target only", "pairs"),
        OutlierKind::Pair => ("slow pair", ""),
    };
    let mut line = format!(
        "{who}{}: {what}, {}, z {}.{}",
        name_rails(&outlier.rails),
        difference(outlier),
        outlier.z_tenths / 10,
        outlier.z_tenths % 10,
    );
    if !peers.is_empty() {
        let _ = write!(line, ", {} of {} {peers}", outlier.slow, outlier.of);
    }
    line.push_str(if outlier.retested { ", retested" } else { ", not retested" });
    if outlier.software {
        line.push_str("; software RDMA, which CPU load slows down as well");
    }
    line
}
