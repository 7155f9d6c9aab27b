//! Properties of each printed report, independent of the data of the machine.

use rdmactl::analyse::check::{self, CheckOptions};
use rdmactl::analyse::connections::connections;
use rdmactl::model::HostReport;
use rdmactl::query::{
    Checks, Column, Counters, Devices, Gids, Listing, Lossless, Ports, Resources, cells,
    check_rows, counter_rows, device_rows, fold, gid_rows, lossless_rows, resource_rows,
};
use rdmactl::render::{
    CheckDocument, ReportDocument, csv, nagios, nhc, notes, plain, prom, render_checks, table,
    to_json,
};

/// True if text contains no control, direction or zero-width character except line breaks.
pub(crate) fn is_harmless(text: &str) -> bool {
    let turns = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    !text.chars().any(|letter| {
        (letter.is_control() && letter != '\n')
            || letter == '\u{feff}'
            || turns.iter().any(|range| range.contains(&letter))
    })
}

/// Prints reports in each format. No format controls the terminal, and JSON is read back
/// unchanged. Returns the length of the JSON.
pub(crate) fn print(reports: &[HostReport]) -> usize {
    rows::<Devices>(&device_rows(reports, true));
    rows::<Ports>(&device_rows(reports, true));
    rows::<Gids>(&gid_rows(reports, true));
    rows::<Counters>(&counter_rows(reports, true));
    rows::<Resources>(&resource_rows(reports));
    rows::<Lossless>(&lossless_rows(reports, true));
    checks(reports);
    for note in notes(reports, true, false) {
        assert!(is_harmless(&note.text), "{:?}", note.text);
        assert!(note.fix.is_none_or(|fix| is_harmless(&fix)));
    }
    for report in reports {
        let json = serde_json::to_vec(report).expect("a report has a JSON form");
        assert!(serde_json::from_slice::<HostReport>(&json).expect("and back") == *report);
    }
    to_json(&ReportDocument::new(None, reports)).expect("a document has a JSON form").len()
}

/// Checks reports, and prints the findings in each format.
fn checks(reports: &[HostReport]) {
    let report = check::run(reports, &connections(reports), &CheckOptions::default());
    rows::<Checks>(&check_rows(&report));
    for text in [render_checks(&report, true, true), nagios(&report, true).0, nhc(&report, true).0]
    {
        assert!(is_harmless(&text), "{text:?}");
    }
    assert!(to_json(&CheckDocument::new(None, &report)).is_ok());
}

/// Prints rows with all columns, as a table, Prometheus text, plain lines and CSV.
pub(crate) fn rows<L: Listing>(rows: &[L::Row<'_>]) {
    let columns: Vec<&Column<L>> = L::COLUMNS.iter().collect();
    let text = table(&columns, &fold(&columns, cells(&columns, rows)), true);
    assert!(is_harmless(&text), "{text:?}");
    let text = prom(&columns, rows, &[], true);
    assert!(is_harmless(&text), "{text:?}");
    let text = plain(&columns, rows, true);
    for line in text.lines() {
        // A tab separates cells: the value of a cell contains no tab.
        assert_eq!(line.split('\t').count(), columns.len(), "{line:?}");
        assert!(is_harmless(&line.replace('\t', " ")), "{line:?}");
    }
    assert_eq!(text.lines().count(), rows.len() + 1, "{text:?}");
    assert!(csv(&columns, rows, true).is_ok());
}
