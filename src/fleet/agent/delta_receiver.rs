//! Delta receiver: applies the changes that an agent sends to its last report.

use serde::de::DeserializeOwned;

use super::super::memory_budget::{MemoryShare, OverBudget};
use crate::model::{HostFailure, HostReport, Reason};
use crate::wire::limits::{JsonLimits, OverLimit, REPORT};
use crate::wire::{BASE_LIMIT, DeltaMismatch, TextDelta};

/// Last report of an agent that is queried repeatedly, to which its deltas are applied. The
/// report is kept as text, whose length bounds the memory of a host. A report over [`BASE_LIMIT`]
/// is not kept and is requested in full the next time.
#[derive(Debug, Default)]
pub(super) struct DeltaReceiver {
    report_count: u64,
    last: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum DeltaError {
    #[error("the agent sent a delta instead of a full report")]
    NotAsked,
    #[error("the agent sent a delta of report {0}, but the last report is {1}")]
    OtherBase(u64, u64),
    #[error(transparent)]
    DeltaMismatch(#[from] DeltaMismatch),
    #[error(transparent)]
    OverLimit(#[from] OverLimit),
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl DeltaError {
    /// Returns the failure of the host that sent `what`. A text over a limit is not invalid.
    pub(super) fn failure(self, what: &str) -> HostFailure {
        match self {
            Self::OverBudget(error) => error.into(),
            Self::OverLimit(error) => HostFailure::new(Reason::TooBig, error.to_string()),
            error => HostFailure::new(Reason::Garbage, format!("invalid {what}: {error}")),
        }
    }
}

/// Parses a report or a recording within its limits. The share then holds its memory.
pub(super) fn parse<T: DeserializeOwned>(
    text: &str,
    limits: &JsonLimits,
    share: &mut MemoryShare,
) -> Result<T, DeltaError> {
    share.resize(limits.check(text.as_bytes())?)?;
    Ok(serde_json::from_str(text)?)
}

impl DeltaReceiver {
    /// Returns the number of the report to which deltas may refer; 0 for none.
    pub(super) fn base(&self) -> u64 {
        if self.last.is_some() { self.report_count } else { 0 }
    }

    pub(super) fn take_whole(
        &mut self,
        text: String,
        share: &mut MemoryShare,
    ) -> Result<HostReport, DeltaError> {
        self.last = None;
        let report = parse(&text, &REPORT, share)?;
        self.keep(text);
        Ok(report)
    }

    pub(super) fn take_change(
        &mut self,
        base: u64,
        text: &str,
        share: &mut MemoryShare,
    ) -> Result<HostReport, DeltaError> {
        // If an error occurs below, no report is kept.
        let last = self.last.take().filter(|_| base == self.report_count);
        let last = last.ok_or(DeltaError::OtherBase(base, self.report_count))?;
        let text = serde_json::from_str::<TextDelta>(text)?.apply(&last)?;
        let report = parse(&text, &REPORT, share)?;
        self.keep(text);
        Ok(report)
    }

    fn keep(&mut self, mut text: String) {
        self.report_count += 1;
        // The text grew piece by piece, to up to twice its length.
        text.shrink_to_fit();
        self.last = Some(text).filter(|text| text.len() <= BASE_LIMIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Via;

    fn text(host: &str) -> String {
        serde_json::to_string(&HostReport::empty(host, Via::Agent)).unwrap()
    }

    const TO_N2: &str = r#"[[10,1,"2"]]"#;

    #[test]
    fn a_change_makes_the_next_report_of_the_last_one() {
        let mut delta_receiver = DeltaReceiver::default();
        assert_eq!(delta_receiver.base(), 0);
        assert_eq!(
            delta_receiver.take_whole(text("n1"), &mut MemoryShare::default()).unwrap().host,
            "n1"
        );
        assert_eq!(delta_receiver.base(), 1);
        assert_eq!(
            delta_receiver.take_change(1, TO_N2, &mut MemoryShare::default()).unwrap().host,
            "n2"
        );
        assert_eq!(
            delta_receiver.take_change(2, "[]", &mut MemoryShare::default()).unwrap().host,
            "n2"
        );
        assert_eq!(delta_receiver.base(), 3);
    }

    #[test]
    fn a_change_that_cannot_be_one_of_the_last_answer_is_refused_and_nothing_is_kept() {
        for (base, change) in [
            (0, TO_N2),
            (2, TO_N2),
            (1, r#"[[0,1,""]]"#),
            (1, r#"[[0,13,"{"]]"#),
            (1, r#"[[90000,1,""]]"#),
            (1, "{}"),
            (1, "null"),
            (1, ""),
        ] {
            let mut delta_receiver = DeltaReceiver::default();
            delta_receiver.take_whole(text("n1"), &mut MemoryShare::default()).unwrap();
            assert!(
                delta_receiver.take_change(base, change, &mut MemoryShare::default()).is_err(),
                "{base} {change}"
            );
            assert_eq!(delta_receiver.base(), 0, "{base} {change}");
        }
        assert!(
            DeltaReceiver::default().take_change(0, "[]", &mut MemoryShare::default()).is_err()
        );
    }

    #[test]
    fn report_over_the_base_limit_is_requested_in_full() {
        let mut delta_receiver = DeltaReceiver::default();
        delta_receiver.take_whole(text("n1"), &mut MemoryShare::default()).unwrap();
        let long = format!(r#"[[9,2,"{}"]]"#, "x".repeat(BASE_LIMIT));
        delta_receiver.take_change(1, &long, &mut MemoryShare::default()).unwrap();
        assert_eq!(delta_receiver.base(), 0);
    }
}
