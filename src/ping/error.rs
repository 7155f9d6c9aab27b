//! Converts errors of verbs and of the connection manager to results of a step.

use super::memory_limit;
use crate::model::probe::{Cause, Stage, StepError};
use crate::source::fixes;
use crate::sys::Errno;
use crate::sys::cm::{CmError, CmStep, EventKind, EventStatus};
use crate::sys::verbs::{VerbsError, VerbsOperation};

pub(super) fn step_error(stage: Stage, cause: Cause, detail: impl Into<String>) -> StepError {
    StepError { detail: detail.into(), ..StepError::new(stage, cause) }
}

/// Returns a verbs error as the result of a step. The table of all errors is docs/errors.tsv.
pub(super) fn verbs_error(stage: Stage, error: &VerbsError) -> StepError {
    verbs_error_of(stage, error, error.is_memory_limit() && memory_limit::applies())
}

/// `is_limited` is true if the memory that this process may lock is limited.
fn verbs_error_of(stage: Stage, error: &VerbsError, is_limited: bool) -> StepError {
    let stage = match error {
        VerbsError::Call { operation, .. } => stage_of_operation(*operation, stage),
        _ => stage,
    };
    let cause = match error {
        VerbsError::Load(_) | VerbsError::NoKernelSupport | VerbsError::NoProvider { .. } => {
            Cause::Library
        }
        // A device file can outlive its device (`ib_uverbs_open`).
        VerbsError::NoSuchDevice { .. }
        | VerbsError::Call {
            operation: VerbsOperation::Open,
            errno: Errno::NO_DEVICE | Errno::NO_SUCH_ADDRESS,
            ..
        } => Cause::DeviceGone,
        VerbsError::Call { errno, .. } if error.is_memory_limit() && is_limited => {
            Cause::MemoryLimit(errno.name().into_owned())
        }
        // The firmware of the device did not respond, for example to `wait_func` of mlx5 (cmd.c).
        VerbsError::Call { operation, errno: Errno::TIMED_OUT, .. }
            if !operation.resolves_neighbor() =>
        {
            Cause::Stuck
        }
        _ if error.is_unsupported() => Cause::Unsupported,
        _ => error.errno().map_or(Cause::Order, |errno| Cause::Errno(errno.name().into_owned())),
    };
    StepError { fix: fixes::of_verbs(error), ..step_error(stage, cause, error.to_string()) }
}

/// Returns the stage of a failed operation. A step can include operations of several stages: with
/// `rdma_cm`, the step that connects also creates the queue pair.
fn stage_of_operation(operation: VerbsOperation, of_step: Stage) -> Stage {
    match operation {
        VerbsOperation::List
        | VerbsOperation::Open
        | VerbsOperation::QueryDevice
        | VerbsOperation::QueryPort
        | VerbsOperation::QueryGid
        | VerbsOperation::QueryPkey
        | VerbsOperation::AllocateDomain
        | VerbsOperation::RegisterMemory
        | VerbsOperation::CreateChannel
        | VerbsOperation::CreateCompletionQueue
        | VerbsOperation::CreateQueuePair => Stage::Open,
        VerbsOperation::CreateAddress
        | VerbsOperation::ToInit
        | VerbsOperation::ToReceive
        | VerbsOperation::ToSend => Stage::Connect,
        VerbsOperation::PostSend
        | VerbsOperation::PostReceive
        | VerbsOperation::Poll
        | VerbsOperation::Arm
        | VerbsOperation::Wait => of_step.max(Stage::Connect),
    }
}

/// Returns the stage of a failed step of `rdma_cm`. The source opens `rdma_cm` when it connects.
fn stage_of_cm_step(step: CmStep) -> Stage {
    match step {
        CmStep::Start | CmStep::Create | CmStep::Bind | CmStep::Listen => Stage::Open,
        CmStep::Receive
        | CmStep::ResolveAddress
        | CmStep::ResolveRoute
        | CmStep::Connect
        | CmStep::Accept
        | CmStep::Watch
        | CmStep::Disconnect => Stage::Connect,
    }
}

pub(super) fn cm_error(stage: Stage, error: &CmError) -> StepError {
    let errno = |errno: &Errno| Cause::Errno(errno.name().into_owned());
    let cause = match error {
        CmError::Load(_) => Cause::Library,
        CmError::Verbs(error) => return verbs_error(stage, error),
        _ if error.is_rejected() => Cause::Refused,
        // This step waits only for ARP or neighbor discovery.
        CmError::TimedOut { step: CmStep::ResolveAddress, .. } => errno(&Errno::TIMED_OUT),
        // librdmacm reports a missing device file with this errno.
        CmError::Call { step: CmStep::Start, errno: Errno::NO_DEVICE, .. } => {
            errno(&Errno::NO_ENTRY)
        }
        // An identifier whose device was removed (`ucma_get_ctx`, ucma.c).
        CmError::Call { step, errno: Errno::NO_SUCH_ADDRESS, .. } if *step != CmStep::Start => {
            Cause::DeviceGone
        }
        CmError::Call { step: CmStep::Connect, errno: Errno::RESET, .. } => Cause::Refused,
        // This call waits for the TCP connection of iWARP. EHOSTUNREACH: ARP got no reply;
        // ETIMEDOUT: the connection got no reply.
        CmError::Call { step: CmStep::Connect, errno: Errno::HOST_UNREACHABLE, .. } => {
            errno(&Errno::TIMED_OUT)
        }
        // Treated as a timeout: the peer did not reply, or ended the connection (`siw_accept`).
        CmError::NotThePeer { .. }
        | CmError::TimedOut { .. }
        | CmError::Call { step: CmStep::Connect, errno: Errno::TIMED_OUT, .. }
        | CmError::Call { step: CmStep::Accept, errno: Errno::RESET, .. } => Cause::Timeout,
        CmError::Call { errno: code, .. } => errno(code),
        CmError::Event { event, .. } => match (event.kind, event.status) {
            (EventKind::RouteError, _) => Cause::NoRoute,
            (EventKind::DeviceRemoval, _) => Cause::DeviceGone,
            (EventKind::AddressChange, _) => errno(&Errno::NO_DEVICE),
            (EventKind::AddressError, EventStatus::Failed(code)) => errno(&code),
            (EventKind::AddressError, _) => errno(&Errno::TIMED_OUT),
            (EventKind::Unreachable | EventKind::ConnectError | EventKind::Disconnected, _) => {
                Cause::Timeout
            }
            _ => Cause::Order,
        },
    };
    let stage = error.step().map_or(stage, stage_of_cm_step);
    let fix = fixes::of_connection_manager(error);
    StepError { fix, ..step_error(stage, cause, error.to_string()) }
}

#[cfg(test)]
mod table;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::cm::CmEvent;

    fn cause(step: CmStep, kind: EventKind, status: EventStatus) -> Cause {
        let event = CmEvent { kind, status };
        let error = CmError::Event { step, object: "10.0.0.2:5000".into(), event };
        let failure = cm_error(Stage::Connect, &error);
        assert!(failure.detail.contains("10.0.0.2:5000"), "{}", failure.detail);
        failure.cause
    }

    #[test]
    fn an_error_of_a_device_has_its_cause() {
        let errno = |name: &str| Cause::Errno(name.into());
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
        let errno = |name: &str| Cause::Errno(name.into());
        let failed = EventStatus::Failed;
        let (address_error, no_device) = (EventKind::AddressError, failed(Errno::NO_DEVICE));
        for (step, kind, status, wanted) in [
            (CmStep::ResolveAddress, address_error, failed(Errno::TIMED_OUT), errno("ETIMEDOUT")),
            (CmStep::ResolveAddress, address_error, no_device, errno("ENODEV")),
            (CmStep::ResolveRoute, EventKind::RouteError, EventStatus::Reason(1), Cause::NoRoute),
            (CmStep::Connect, EventKind::Unreachable, failed(Errno::TIMED_OUT), Cause::Timeout),
            (CmStep::Connect, EventKind::ConnectError, EventStatus::Good, Cause::Timeout),
            (CmStep::Connect, EventKind::Rejected, EventStatus::Reason(8), Cause::Refused),
            (CmStep::Accept, EventKind::DeviceRemoval, EventStatus::Good, Cause::DeviceGone),
            (CmStep::Connect, EventKind::TimewaitExit, EventStatus::Good, Cause::Order),
        ] {
            assert_eq!(cause(step, kind, status), wanted, "{kind:?}");
        }
    }

    #[test]
    fn iwarp_connect_errno_separates_missing_neighbor_from_firewall() {
        let cause = |errno| {
            let object = "10.0.0.2:5000".to_owned();
            cm_error(Stage::Connect, &CmError::Call { step: CmStep::Connect, object, errno }).cause
        };
        assert_eq!(cause(Errno::HOST_UNREACHABLE), Cause::Errno("ETIMEDOUT".into()));
        assert_eq!(cause(Errno::TIMED_OUT), Cause::Timeout);
        assert_eq!(cause(Errno::REFUSED), Cause::Refused);
    }
}
