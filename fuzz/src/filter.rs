//! Fuzz target for filter expressions (`--where`) and sort orders.

use std::sync::OnceLock;

use rdmactl::capture::Capture;
use rdmactl::collect::host_report;
use rdmactl::model::{HostReport, Parts, Via};
use rdmactl::query::{Devices, Filter, Gids, Listing, Order, device_rows, gid_rows};

const FIXTURE: &[u8] = include_bytes!("../../tests/fixtures/mlx5_roce/capture.ndjson");

/// Parses a filter expression and applies it to rows. The negated expression selects the other
/// rows, and an error points into the text.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let reports = std::slice::from_ref(report());
    judge::<Devices>(text, &device_rows(reports, true));
    judge::<Gids>(text, &gid_rows(reports, true));
    let mut rows = device_rows(reports, true);
    if let Ok(order) = Order::<Devices>::parse(text) {
        order.sort(&mut rows);
    }
}

fn judge<L: Listing>(text: &str, rows: &[L::Row<'_>]) {
    let filter = match Filter::<L>::parse(text) {
        Ok(filter) => filter,
        Err(error) => {
            assert!(error.at <= text.chars().count() + 1, "{error:?}");
            assert!(error.to_string().len() <= 3 * text.len() + 200);
            return;
        }
    };
    let opposite = Filter::<L>::parse(&format!("!({text})"));
    for row in rows {
        let is_wanted = filter.matches(row);
        // The negated expression is one level deeper, so the parser may reject it.
        assert!(
            opposite.as_ref().is_ok_and(|opposite| opposite.matches(row) != is_wanted)
                || opposite.is_err()
        );
    }
}

fn report() -> &'static HostReport {
    static REPORT: OnceLock<HostReport> = OnceLock::new();
    REPORT.get_or_init(|| {
        let capture = Capture::parse(FIXTURE, std::path::Path::new("fixture")).expect("a fixture");
        let (host, source) = capture.into_sources().remove(0);
        host_report(&source, &Parts::default(), host.host, Via::File)
    })
}
