use crate::model::probe::{Cause, Stage, StepError};
use crate::source::fixes;
use crate::sys::Errno;
use crate::sys::cm::{CmError, EventKind, EventStatus, Step};
use crate::sys::verbs::VerbsError;

/// A verbs error as the answer to a step.
pub(super) fn verbs_error(stage: Stage, error: &VerbsError) -> StepError {
    let cause = match error {
        VerbsError::Load(_) | VerbsError::NoKernelSupport | VerbsError::NoProvider { .. } => {
            Cause::Library
        }
        VerbsError::NoSuchDevice { .. } => Cause::DeviceGone,
        VerbsError::Call { errno, .. } if error.is_memory_limit() => {
            Cause::MemoryLimit(errno.name().into_owned())
        }
        _ if error.is_unsupported() => Cause::Unsupported,
        _ => error.errno().map_or(Cause::Order, |errno| Cause::Errno(errno.name().into_owned())),
    };
    let fix = fixes::of_verbs(error);
    StepError { detail: error.to_string(), fix, ..StepError::new(stage, cause) }
}

/// An `rdma_cm` error as the answer to a step.
pub(super) fn cm_error(stage: Stage, error: &CmError) -> StepError {
    let errno = |errno: &Errno| Cause::Errno(errno.name().into_owned());
    let cause = match error {
        CmError::Load(_) => Cause::Library,
        CmError::Verbs(error) => verbs_error(stage, error).cause,
        _ if error.is_rejected() => Cause::Refused,
        // Only ARP or neighbour discovery is waited for there.
        CmError::TimedOut { step: Step::ResolveAddress, .. } => errno(&Errno::TIMED_OUT),
        // The TCP connection of iWARP, which the call itself waits for: nobody answers ARP; nobody
        // answers the connection.
        CmError::Call { step: Step::Connect, errno: Errno::HOST_UNREACHABLE, .. } => {
            errno(&Errno::TIMED_OUT)
        }
        CmError::TimedOut { .. }
        | CmError::Call { step: Step::Connect, errno: Errno::TIMED_OUT, .. } => Cause::Timeout,
        CmError::Call { errno: code, .. } => errno(code),
        CmError::Event { event, .. } => match (event.kind, event.status) {
            (EventKind::RouteError, _) => Cause::NoRoute,
            (EventKind::DeviceRemoval | EventKind::AddressChange, _) => errno(&Errno::NO_DEVICE),
            (EventKind::AddressError, EventStatus::Failed(code)) => errno(&code),
            (EventKind::AddressError, _) => errno(&Errno::TIMED_OUT),
            (EventKind::Unreachable | EventKind::ConnectError | EventKind::Disconnected, _) => {
                Cause::Timeout
            }
            _ => Cause::Order,
        },
    };
    let fix = fixes::of_connection_manager(error);
    StepError { detail: error.to_string(), fix, ..StepError::new(stage, cause) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cm::Event;
    use crate::sys::verbs::Operation;

    fn cause(step: Step, kind: EventKind, status: EventStatus) -> Cause {
        let event = Event { kind, status };
        let error = CmError::Event { step, object: "10.0.0.2:5000".into(), event };
        let told = cm_error(Stage::Connect, &error);
        assert!(told.detail.contains("10.0.0.2:5000"), "{}", told.detail);
        told.cause
    }

    /// Table of operations, their error codes and causes. The kernel function `ib_umem_get` returns
    /// EPERM if the limit of locked memory is 0.
    #[test]
    fn each_error_of_an_operation_has_its_cause() {
        let errno = |name: &str| Cause::Errno(name.into());
        let limit = |name: &str| Cause::MemoryLimit(name.into());
        for (operation, code, wanted) in [
            (Operation::Open, Errno::ACCESS, errno("EACCES")),
            (Operation::Open, Errno::NOT_PERMITTED, errno("EPERM")),
            (Operation::Open, Errno::NO_ENTRY, errno("ENOENT")),
            (Operation::AllocateDomain, Errno::NO_MEMORY, errno("ENOMEM")),
            (Operation::RegisterMemory, Errno::NOT_PERMITTED, limit("EPERM")),
            (Operation::RegisterMemory, Errno::NO_MEMORY, limit("ENOMEM")),
            (Operation::RegisterMemory, Errno::INVALID, errno("EINVAL")),
            (Operation::CreateCompletionQueue, Errno::NOT_PERMITTED, limit("EPERM")),
            (Operation::CreateQueuePair, Errno::NO_MEMORY, limit("ENOMEM")),
            (Operation::ToReceive, Errno::TIMED_OUT, errno("ETIMEDOUT")),
            (Operation::ToReceive, Errno::NOT_PERMITTED, errno("EPERM")),
            (Operation::PostSend, Errno::IO, errno("EIO")),
        ] {
            let error = VerbsError::Call { operation, object: "rxe0".into(), errno: code };
            assert_eq!(verbs_error(Stage::Open, &error).cause, wanted, "{error}");
        }
        let device = "mlx5_0".to_owned();
        let file = "/dev/infiniband/uverbs0".to_owned();
        for (error, wanted) in [
            (VerbsError::NoSuchDevice { device: device.clone() }, Cause::DeviceGone),
            (VerbsError::NoFile { device: device.clone(), file }, errno("ENOENT")),
            (VerbsError::NoProvider { device }, Cause::Library),
            (VerbsError::NoKernelSupport, Cause::Library),
        ] {
            assert_eq!(verbs_error(Stage::Open, &error).cause, wanted, "{error}");
        }
    }

    #[test]
    fn each_event_of_a_connection_manager_has_its_cause() {
        let timed_out = Cause::Errno("ETIMEDOUT".into());
        let failed = EventStatus::Failed;
        for (step, kind, status, wanted) in [
            (Step::ResolveAddress, EventKind::AddressError, failed(Errno::TIMED_OUT), timed_out),
            (
                Step::ResolveAddress,
                EventKind::AddressError,
                failed(Errno::NO_DEVICE),
                Cause::Errno("ENODEV".into()),
            ),
            (Step::ResolveRoute, EventKind::RouteError, EventStatus::Reason(1), Cause::NoRoute),
            (Step::Connect, EventKind::Unreachable, failed(Errno::TIMED_OUT), Cause::Timeout),
            (Step::Connect, EventKind::ConnectError, EventStatus::Good, Cause::Timeout),
            (Step::Connect, EventKind::Rejected, EventStatus::Reason(8), Cause::Refused),
            (
                Step::Accept,
                EventKind::DeviceRemoval,
                EventStatus::Good,
                Cause::Errno("ENODEV".into()),
            ),
            (Step::Connect, EventKind::TimewaitExit, EventStatus::Good, Cause::Order),
        ] {
            assert_eq!(cause(step, kind, status), wanted, "{kind:?}");
        }
    }

    #[test]
    fn the_tcp_connection_of_iwarp_tells_a_neighbour_from_a_filter() {
        let cause = |errno| {
            let object = "10.0.0.2:5000".to_owned();
            cm_error(Stage::Connect, &CmError::Call { step: Step::Connect, object, errno }).cause
        };
        assert_eq!(cause(Errno::HOST_UNREACHABLE), Cause::Errno("ETIMEDOUT".into()));
        assert_eq!(cause(Errno::TIMED_OUT), Cause::Timeout);
        assert_eq!(cause(Errno::REFUSED), Cause::Refused);
    }
}
