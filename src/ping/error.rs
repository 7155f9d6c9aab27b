use crate::model::probe::{Cause, Stage, StepError};
use crate::sys::cm::CmError;
use crate::sys::verbs::VerbsError;

/// A verbs error as the answer to a step.
pub(super) fn verbs_error(stage: Stage, error: &VerbsError) -> StepError {
    let cause = match error {
        VerbsError::Load(_) | VerbsError::NoKernelSupport => Cause::Library,
        _ if error.is_unsupported() => Cause::Unsupported,
        _ => error.errno().map_or(Cause::Order, |errno| Cause::Errno(errno.name().into_owned())),
    };
    let fix = error.fix().map(str::to_owned);
    StepError { detail: error.to_string(), fix, ..StepError::new(stage, cause) }
}

/// An `rdma_cm` error as the answer to a step.
pub(super) fn cm_error(stage: Stage, error: &CmError) -> StepError {
    let cause = match error {
        CmError::Load(_) => Cause::Library,
        CmError::Verbs(error) => verbs_error(stage, error).cause,
        _ if error.is_rejected() => Cause::Refused,
        CmError::TimedOut { .. } => Cause::Timeout,
        CmError::Call { errno, .. } => Cause::Errno(errno.name().into_owned()),
        CmError::Event { .. } => Cause::Errno("ENETUNREACH".into()),
    };
    let fix = error.fix().map(str::to_owned);
    StepError { detail: error.to_string(), fix, ..StepError::new(stage, cause) }
}
