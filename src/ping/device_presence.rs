//! Distinguishes the removal of a device from other failures.
//!
//! libibverbs reports a removed device as EIO, as ENODEV, as flushed requests, or not at all.
//! sysfs shows whether the kernel still has the device that was opened. The connections of a
//! worker use this module.

use crate::model::probe::{Cause, StepError};
use crate::sys::device_file::device_identity;

/// Device and its identity from the time before a connection opened the device.
#[derive(Debug)]
pub(super) struct DevicePresence {
    device: String,
    /// `None` if the device did not exist.
    identity: Option<u64>,
}

impl DevicePresence {
    pub(super) fn of(device: &str) -> Self {
        Self { device: device.to_owned(), identity: device_identity(device) }
    }

    /// Replaces the cause of a failure if the device was removed or replaced since [`Self::of`].
    pub(super) fn explain(&self, failure: StepError) -> StepError {
        self.explain_by(device_identity(&self.device), failure)
    }

    /// `now` is the identity of the device after the failure.
    fn explain_by(&self, now: Option<u64>, failure: StepError) -> StepError {
        let Some(before) = self.identity else { return failure };
        let what = match now {
            None => "was removed during the test",
            Some(now) if now != before => "was removed and added again during the test",
            Some(_) => return failure,
        };
        let detail = format!("{} {what}; {}", self.device, failure.detail);
        StepError { cause: Cause::DeviceGone, detail, fix: None, ..failure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::probe::Stage;

    #[test]
    fn removal_of_the_device_replaces_the_cause_of_the_failure() {
        let presence = DevicePresence { device: "rxe0".into(), identity: Some(7) };
        for cause in [Cause::Errno("EIO".into()), Cause::NoCompletion, Cause::Library] {
            let failure = StepError {
                detail: "cannot post a send request on rxe0: EIO".into(),
                fix: Some(crate::model::KnownFix::InstallVerbs.into()),
                ..StepError::new(Stage::Latency, cause)
            };
            assert_eq!(presence.explain_by(Some(7), failure.clone()), failure);
            let removed = presence.explain_by(None, failure.clone());
            assert_eq!((&removed.cause, removed.stage), (&Cause::DeviceGone, Stage::Latency));
            assert!(removed.detail.starts_with("rxe0 was removed during the test; cannot post"));
            assert_eq!(removed.fix, None);
            let again = presence.explain_by(Some(8), failure.clone());
            assert!(again.detail.contains("removed and added again"), "{}", again.detail);
            let unknown = DevicePresence { device: "rxe0".into(), identity: None };
            assert_eq!(unknown.explain_by(None, failure.clone()), failure);
        }
    }
}
