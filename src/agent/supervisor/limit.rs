use crate::model::{HostReport, KnownFix, Problem};

/// The JSON of a report; without its longest lists where it would be larger than an operator reads.
pub(super) fn within_limit(mut report: HostReport, limit: usize) -> serde_json::Result<String> {
    let mut json = serde_json::to_string(&report)?;
    if json.len() > limit
        && let Some(resources) = report.resources.take()
    {
        leave_out(&mut report, "resources", resources.len(), "objects", limit);
        json = serde_json::to_string(&report)?;
    }
    if json.len() > limit
        && let Some(consumers) = report.consumers.take()
    {
        let count = consumers.sockets.map_or(0, |sockets| sockets.len());
        leave_out(&mut report, "connections", count, "sockets and related entries", limit);
        json = serde_json::to_string(&report)?;
    }
    Ok(json)
}

fn leave_out(report: &mut HostReport, command: &str, count: usize, what: &str, limit: usize) {
    report.problems.push(Problem {
        key: command.into(),
        source: "the agent".into(),
        errno: None,
        detail: format!(
            "{count} {what} omitted: the report would exceed the limit of {limit} bytes"
        ),
        fix: Some(KnownFix::LogIn.with(&[command])),
        not_recorded: false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Object, Resource, Via};

    #[test]
    fn what_is_over_the_limit_is_left_out_with_a_word() {
        let mut report = HostReport::empty("n1", Via::Agent);
        let object = Object::Ctx { ctxn: Some(1) };
        let one = Resource { device: "rxe0".into(), owner: None, object };
        report.resources = Some(vec![one; 100]);
        assert!(within_limit(report.clone(), 100_000).unwrap().contains("\"ctx\""));
        let cut: HostReport = serde_json::from_str(&within_limit(report, 1_000).unwrap()).unwrap();
        assert_eq!(cut.resources, None);
        assert!(cut.problems[0].detail.starts_with("100 objects"), "{:?}", cut.problems);
    }
}
