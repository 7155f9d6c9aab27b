//! Delta sender: sends the changes since the last report to an operator that kept it.

use crate::wire::{BASE_LIMIT, TextDelta};

/// Last report that was sent to an operator that requests reports repeatedly.
#[derive(Default)]
pub(super) struct DeltaSender {
    report_count: u64,
    /// JSON of the last report; `None` if it was too large to keep.
    last: Option<String>,
}

/// JSON of a report, or of the changes since the report with the number `base`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DeltaReply {
    Whole(String),
    Change { base: u64, json: String },
}

impl DeltaSender {
    /// Returns the reply to an operator that has kept the report with the number `base`.
    pub(super) fn reply(&mut self, json: String, base: u64) -> serde_json::Result<DeltaReply> {
        let last = self.last.take().filter(|_| base == self.report_count);
        self.report_count += 1;
        if json.len() > BASE_LIMIT {
            return Ok(DeltaReply::Whole(json));
        }
        self.last = Some(json.clone());
        let change = last.map(|last| serde_json::to_string(&TextDelta::between(&last, &json)));
        Ok(match change.transpose()?.filter(|change| change.len() < json.len()) {
            Some(change) => DeltaReply::Change { base, json: change },
            None => DeltaReply::Whole(json),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(json: &str) -> DeltaReply {
        DeltaReply::Whole(json.into())
    }

    fn change(base: u64, json: &str) -> DeltaReply {
        DeltaReply::Change { base, json: json.into() }
    }

    #[test]
    fn delta_is_sent_only_to_an_operator_with_the_last_report() {
        let mut delta_sender = DeltaSender::default();
        let [first, second] = [
            r#"{"a":1,"b":"much that stays as it is"}"#,
            r#"{"a":2,"b":"much that stays as it is"}"#,
        ];
        let mut answer = |json: &str, base| delta_sender.reply(json.into(), base).unwrap();
        assert_eq!(answer(first, 0), whole(first));
        assert_eq!(answer(second, 1), change(1, r#"[[5,1,"2"]]"#));
        assert_eq!(answer(second, 2), change(2, "[]"));
        // The operator has another report, or requests a full one.
        assert_eq!(answer(first, 1), whole(first));
        assert_eq!(answer(first, 0), whole(first));
        assert_eq!(answer(first, 5), change(5, "[]"));
        // The delta is longer than the report.
        assert_eq!(answer("1", 6), whole("1"));
    }

    #[test]
    fn an_answer_over_the_limit_is_not_kept() {
        let mut delta_sender = DeltaSender::default();
        let large = format!("[\"{}\"]", "x".repeat(BASE_LIMIT));
        assert_eq!(delta_sender.reply(large.clone(), 0).unwrap(), whole(&large));
        assert_eq!(delta_sender.reply(large.clone(), 1).unwrap(), whole(&large));
    }
}
