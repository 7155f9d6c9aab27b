//! What can go wrong with verbs, with the operation and the object in it.

use std::fmt;

use thiserror::Error;

use crate::sys::dl::LoadError;
use crate::sys::errno::Errno;

/// Why a verbs operation gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VerbsError {
    /// libibverbs cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel has no RDMA support loaded; other than a kernel with support and no device.
    #[error("the kernel has no RDMA support loaded (ib_uverbs)")]
    NoKernelSupport,
    /// There is no device of that name.
    #[error("RDMA device {device} does not exist")]
    NoSuchDevice {
        /// The name that was asked for.
        device: String,
    },
    /// The device exists, and its file does not, as in a container.
    #[error("the file {file} of {device} does not exist")]
    NoFile {
        /// Name of the device.
        device: String,
        /// Path of the file.
        file: String,
    },
    /// The device and its file exist, and libibverbs has no driver for the device.
    #[error("libibverbs has no driver for {device}")]
    NoProvider {
        /// Name of the device.
        device: String,
    },
    /// The range does not lie within the queue pair's buffer.
    #[error("bytes {offset} to {offset}+{length} are outside a buffer of {size} bytes")]
    OutOfBuffer {
        /// Where the range starts.
        offset: usize,
        /// Its bytes.
        length: usize,
        /// The bytes of the buffer.
        size: usize,
    },
    /// A call failed.
    #[error("cannot {}: {errno}", operation.on(object))]
    Call {
        /// What was tried.
        operation: Operation,
        /// On what, as in `rxe0` or `rxe0/1`.
        object: String,
        /// The library's or the kernel's answer.
        errno: Errno,
    },
}

impl VerbsError {
    /// A failed call.
    #[cold]
    pub(super) fn call(operation: Operation, object: impl fmt::Display, errno: Errno) -> Self {
        Self::Call { operation, object: object.to_string(), errno }
    }

    /// The code of a failed call.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Call { errno, .. } => Some(*errno),
            Self::NoFile { .. } => Some(Errno::NO_ENTRY),
            _ => None,
        }
    }

    /// True if the limit of locked memory can be the cause: a call that pins memory failed with
    /// ENOMEM, or with EPERM, which the kernel returns for a limit of 0 (`ib_umem_get`,
    /// drivers/infiniband/core/umem.c).
    #[must_use]
    pub fn is_memory_limit(&self) -> bool {
        let Self::Call { operation, errno, .. } = self else { return false };
        matches!(*errno, Errno::NO_MEMORY | Errno::NOT_PERMITTED) && operation.pins_memory()
    }

    /// Whether the device or driver lacks the operation, so that another transport may do.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        self.errno().is_some_and(Errno::is_unsupported)
    }
}

/// What was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Listing the devices.
    List,
    /// Opening a device.
    Open,
    /// Reading a device's attributes.
    QueryDevice,
    /// Reading a port's attributes.
    QueryPort,
    /// Reading an entry of the GID table, or all of it.
    QueryGid,
    /// Reading an entry of the `P_Key` table.
    QueryPkey,
    /// Making a protection domain.
    AllocateDomain,
    /// Registering memory.
    RegisterMemory,
    /// Making a completion channel.
    CreateChannel,
    /// Making a completion queue.
    CreateCompletionQueue,
    /// Making a queue pair.
    CreateQueuePair,
    /// Making an address handle; on `RoCE` the kernel looks for the neighbour here.
    CreateAddress,
    /// Moving a queue pair to RESET.
    ToReset,
    /// Moving a queue pair to INIT.
    ToInit,
    /// Moving a queue pair to RTR; on `RoCE` the kernel looks for the neighbour here.
    ToReceive,
    /// Moving a queue pair to RTS.
    ToSend,
    /// Moving a queue pair to ERR.
    ToError,
    /// Posting a send request.
    PostSend,
    /// Posting a receive request.
    PostReceive,
    /// Polling a completion queue.
    Poll,
    /// Asking for a completion event.
    Arm,
    /// Waiting for a completion event.
    Wait,
}

impl Operation {
    /// True if a driver pins memory of the process for the operation.
    fn pins_memory(self) -> bool {
        matches!(self, Self::RegisterMemory | Self::CreateCompletionQueue | Self::CreateQueuePair)
    }

    /// The words of the operation, with its object at the right place.
    fn on(self, object: &str) -> String {
        let (before, after) = match self {
            Self::List => ("list the RDMA devices", ""),
            Self::Open => ("open ", ""),
            Self::QueryDevice | Self::QueryPort => ("query ", ""),
            Self::QueryGid => ("read the GID table of ", ""),
            Self::QueryPkey => ("read the P_Key table of ", ""),
            Self::AllocateDomain => ("create a protection domain on ", ""),
            Self::RegisterMemory => ("register memory with ", ""),
            Self::CreateChannel => ("create a completion channel on ", ""),
            Self::CreateCompletionQueue => ("create a completion queue on ", ""),
            Self::CreateQueuePair => ("create a queue pair on ", ""),
            Self::CreateAddress => ("create an address handle on ", ""),
            Self::ToReset => ("move the queue pair of ", " to RESET"),
            Self::ToInit => ("move the queue pair of ", " to INIT"),
            Self::ToReceive => ("move the queue pair of ", " to RTR"),
            Self::ToSend => ("move the queue pair of ", " to RTS"),
            Self::ToError => ("move the queue pair of ", " to ERR"),
            Self::PostSend => ("post a send request on ", ""),
            Self::PostReceive => ("post a receive request on ", ""),
            Self::Poll => ("poll the completion queue of ", ""),
            Self::Arm => ("request a completion event on ", ""),
            Self::Wait => ("wait for a completion event on ", ""),
        };
        format!("{before}{object}{after}")
    }
}

#[test]
fn an_error_tells_what_where_and_why() {
    let error = VerbsError::call(Operation::ToReceive, "rxe0/1", Errno::TIMED_OUT);
    assert_eq!(
        error.to_string(),
        "cannot move the queue pair of rxe0/1 to RTR: ETIMEDOUT (connection timed out)"
    );
}
