//! What must hold of a report, whatever its machine said.

use rdmactl::model::HostReport;
use rdmactl::query::{
    Column, Counters, Devices, Gids, Listing, Lossless, Ports, Resources, cells, counter_rows,
    device_rows, fold, gid_rows, lossless_rows, resource_rows,
};
use rdmactl::render::{ReportDocument, csv, notes, plain, prom, table, to_json};

/// Whether text can do nothing to a terminal but fill its lines.
pub(crate) fn is_harmless(text: &str) -> bool {
    let turns = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    !text.chars().any(|letter| {
        (letter.is_control() && letter != '\n')
            || letter == '\u{feff}'
            || turns.iter().any(|range| range.contains(&letter))
    })
}

/// Prints reports in every form: none does anything to a terminal, and JSON loses nothing. Gives
/// the length of the JSON.
pub(crate) fn print(reports: &[HostReport]) -> usize {
    rows::<Devices>(&device_rows(reports, true));
    rows::<Ports>(&device_rows(reports, true));
    rows::<Gids>(&gid_rows(reports, true));
    rows::<Counters>(&counter_rows(reports, true));
    rows::<Resources>(&resource_rows(reports));
    rows::<Lossless>(&lossless_rows(reports, true));
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

/// Prints rows with all their columns.
pub(crate) fn rows<L: Listing>(rows: &[L::Row<'_>]) {
    let columns: Vec<&Column<L>> = L::COLUMNS.iter().collect();
    let text = table(&columns, &fold(&columns, cells(&columns, rows)), true);
    assert!(is_harmless(&text), "{text:?}");
    let text = prom(&columns, rows, &[], true);
    assert!(is_harmless(&text), "{text:?}");
    let text = plain(&columns, rows, true);
    for line in text.lines() {
        // Of the tabs between cells none is made up.
        assert_eq!(line.split('\t').count(), columns.len(), "{line:?}");
        assert!(is_harmless(&line.replace('\t', " ")), "{line:?}");
    }
    assert_eq!(text.lines().count(), rows.len() + 1, "{text:?}");
    assert!(csv(&columns, rows, true).is_ok());
}
