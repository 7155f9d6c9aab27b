//! Rows of the Resources view: one per process or kernel module that holds RDMA objects.

use std::borrow::Cow;

use super::{Listed, RowContext, RowPosition, RowText, beginning};
use crate::model::Owner;
use crate::query::{ProcessRow, Processes, Resources, resource_rows};
use crate::tui::detail::{DetailPart, columns, table};
use crate::tui::snapshot::Snapshot;
use crate::tui::theme::Token;
use crate::tui::view::{HostFilter, View};

impl Listed for Processes {
    const VIEW: View = View::Resources;

    const IMPORTANT: &'static str = "host process.name process.pid process.qps process.failed_qps \
                                     process.mrs process.mr_bytes process.cqs process.pds \
                                     process.cm_ids process.devices";

    fn places(snapshot: &Snapshot, narrow: &HostFilter) -> Vec<RowPosition> {
        let mut places = Vec::new();
        for (host, report) in snapshot.admitted(narrow) {
            let count = snapshot.derived.holdings.get(host).map_or(0, Vec::len);
            // A host whose resources could not be read has a row, too.
            if count == 0 && report.resources.is_none() {
                places.push(RowPosition::of_host(host));
            }
            places.extend((0..count).map(|first| RowPosition::of(host, first)));
        }
        places
    }

    fn row(context: RowContext<'_>) -> Option<ProcessRow<'_>> {
        let RowContext { snapshot, place, .. } = context;
        let report = context.report()?;
        let holdings = snapshot.derived.holdings.get(place.host)?;
        let Some(first) = place.first else { return Some(ProcessRow { report, holding: None }) };
        Some(ProcessRow { report, holding: Some(Cow::Borrowed(holdings.get(first)?)) })
    }

    fn is_problem(context: RowContext<'_>, row: &ProcessRow<'_>) -> bool {
        context.failure().is_some() || row.holding.as_deref().is_none_or(|one| one.failed_qps > 0)
    }

    fn said(context: RowContext<'_>, row: &ProcessRow<'_>) -> Option<RowText> {
        context.unresponsive_text().or_else(|| {
            if row.holding.as_deref().is_some_and(|one| one.failed_qps > 0) {
                let what = "queue pairs are in the error state and transfer nothing".into();
                let fix =
                    Some("read the log of the process; restart it if it does not reconnect".into());
                return Some(RowText { what, fix, tone: Token::Bad });
            }
            let problem = row.report.problems.within("resources").first()?;
            let (what, fix) = (problem.detail.clone(), problem.fix.clone());
            Some(RowText { what, fix: fix.map(String::from), tone: Token::Unknown })
        })
    }

    fn name(row: &ProcessRow<'_>) -> String {
        match row.holding.as_deref().and_then(|one| one.owner.as_ref()) {
            Some(Owner::Process { pid, name: Some(name) }) => format!("{name}[{pid}]"),
            Some(Owner::Process { pid, name: None }) => format!("pid {pid}"),
            Some(Owner::Kernel { name }) => format!("[{name}]"),
            None => row.report.host.clone(),
        }
    }

    fn detail(context: RowContext<'_>, row: &ProcessRow<'_>) -> Vec<DetailPart> {
        let mut parts = beginning(Self::said(context, row));
        parts.push(columns::<Processes>(row, &[]));
        let Some(holding) = row.holding.as_deref() else { return parts };
        let mut rows = resource_rows(std::slice::from_ref(row.report));
        rows.retain(|row| row.resource.is_some_and(|resource| holding.has(resource)));
        parts.extend([DetailPart::Gap, DetailPart::Heading("Objects".into())]);
        let ids = "resource.device resource.kind resource.number resource.qp_type resource.state \
                   resource.rqpn resource.destination resource.length_bytes";
        parts.extend(table::<Resources>(ids, &rows));
        parts
    }
}
