//! Reduces a report to the size that an operator reads.

use crate::model::{HostReport, KnownFix, Problem};
use crate::wire::limits::REPORT;

/// Returns the JSON of a report, without its longest lists if it exceeds the operator's limits.
pub(super) fn within_limit(mut report: HostReport, limit: usize) -> serde_json::Result<String> {
    let mut json = serde_json::to_string(&report)?;
    if let Some(why) = excess(&json, limit)
        && let Some(resources) = report.resources.take()
    {
        leave_out(&mut report, "resources", resources.len(), "objects", &why);
        json = serde_json::to_string(&report)?;
    }
    if let Some(why) = excess(&json, limit)
        && let Some(consumers) = report.consumers.take()
    {
        let count = consumers.sockets.map_or(0, |sockets| sockets.len());
        leave_out(&mut report, "connections", count, "sockets and related entries", &why);
        json = serde_json::to_string(&report)?;
    }
    Ok(json)
}

/// Returns the limit that a report exceeds; `None` if the operator accepts the report.
fn excess(json: &str, limit: usize) -> Option<String> {
    if json.len() > limit {
        return Some(format!("the report would exceed the limit of {limit} bytes"));
    }
    REPORT.check(json.as_bytes()).err().map(|over| over.to_string())
}

fn leave_out(report: &mut HostReport, command: &str, count: usize, what: &str, why: &str) {
    report.problems.push(Problem {
        key: command.into(),
        source: "the agent".into(),
        errno: None,
        detail: format!("{count} {what} omitted: {why}"),
        fix: Some(KnownFix::LogIn.with(&[command])),
        not_recorded: false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Object, Resource, Via};

    #[test]
    fn list_over_the_report_limit_becomes_a_problem() {
        let mut report = HostReport::empty("n1", Via::Agent);
        let object = Object::Ctx { ctxn: Some(1) };
        let one = Resource { device: "rxe0".into(), owner: None, object };
        report.resources = Some(vec![one; 100]);
        assert!(within_limit(report.clone(), 100_000).unwrap().contains("\"ctx\""));
        let cut: HostReport = serde_json::from_str(&within_limit(report, 1_000).unwrap()).unwrap();
        assert_eq!(cut.resources, None);
        assert!(cut.problems[0].detail.starts_with("100 objects"), "{:?}", cut.problems);
    }

    #[test]
    fn a_list_that_no_operator_reads_is_left_out_with_its_limit() {
        let mut report = HostReport::empty("n1", Via::Agent);
        let one = Resource { device: "r".into(), owner: None, object: Object::Ctx { ctxn: None } };
        report.resources = Some(vec![one; 131_073]);
        let cut = within_limit(report, usize::MAX).unwrap();
        let cut: HostReport = serde_json::from_str(&cut).unwrap();
        let text = "131073 objects omitted: a list \"resources\" of the report has more than \
                    131072 entries";
        assert_eq!(cut.problems[0].detail, text);
    }
}
