//! Errors of verbs, with the failed operation and its object.

use std::fmt;

use thiserror::Error;

use crate::sys::dl::LoadError;
use crate::sys::errno::Errno;

/// Reason why a verbs operation failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VerbsError {
    /// libibverbs cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The kernel has loaded no RDMA support. Support without a device is no error.
    #[error("the kernel has no RDMA support loaded (ib_uverbs)")]
    NoKernelSupport,
    /// No device has this name.
    #[error("RDMA device {device} does not exist")]
    NoSuchDevice {
        /// Requested name.
        device: String,
    },
    /// The device exists, but its file does not, for example in a container.
    #[error("the file {file} of {device} does not exist")]
    NoFile {
        /// Name of the device.
        device: String,
        /// Path of the file.
        file: String,
    },
    /// The device and its file exist, but libibverbs has no driver for the device.
    #[error("libibverbs has no driver for {device}")]
    NoProvider {
        /// Name of the device.
        device: String,
    },
    /// The range does not lie within the queue pair's buffer.
    #[error("bytes {offset} to {offset}+{length} are outside a buffer of {size} bytes")]
    OutOfBuffer {
        /// First byte of the range.
        offset: usize,
        /// Length of the range, in bytes.
        length: usize,
        /// Size of the buffer, in bytes.
        size: usize,
    },
    /// A call failed.
    #[error("cannot {}: {errno}", operation.on(object))]
    Call {
        /// Failed operation.
        operation: VerbsOperation,
        /// Object of the operation, for example `rxe0` or `rxe0/1`.
        object: String,
        /// Error of the library or the kernel.
        errno: Errno,
    },
}

impl VerbsError {
    /// Returns the error of a failed call.
    #[cold]
    pub(super) fn call(operation: VerbsOperation, object: impl fmt::Display, errno: Errno) -> Self {
        Self::Call { operation, object: object.to_string(), errno }
    }

    /// Returns the errno of a failed call; ENOENT for a missing device file; else `None`.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Call { errno, .. } => Some(*errno),
            Self::NoFile { .. } => Some(Errno::NO_ENTRY),
            _ => None,
        }
    }

    /// True if a low limit of locked memory is a possible cause: a call that pins memory failed
    /// with ENOMEM or EPERM. The kernel returns EPERM for a limit of 0 (`ib_umem_get`,
    /// drivers/infiniband/core/umem.c).
    pub fn is_memory_limit(&self) -> bool {
        let Self::Call { operation, errno, .. } = self else { return false };
        matches!(*errno, Errno::NO_MEMORY | Errno::NOT_PERMITTED) && operation.pins_memory()
    }

    /// True if device or driver does not support the operation. Other transports can still work.
    pub fn is_unsupported(&self) -> bool {
        self.errno().is_some_and(Errno::is_unsupported)
    }
}

/// Declares the operations with their words in an error; `{}` is the object, such as `rxe0/1`.
macro_rules! operations {
    ($($name:ident = $words:literal;)*) => {
        /// Verbs operation that failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum VerbsOperation {
            $(#[doc = concat!("The operation \"", $words, "\".")] $name,)*
        }

        impl VerbsOperation {
            const WORDS: &[&str] = &[$($words),*];

            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

operations! {
    List = "list the RDMA devices";
    Open = "open {}";
    QueryDevice = "query {}";
    QueryPort = "query {}";
    QueryGid = "read the GID table of {}";
    QueryPkey = "read the P_Key table of {}";
    AllocateDomain = "create a protection domain on {}";
    RegisterMemory = "register memory with {}";
    CreateChannel = "create a completion channel on {}";
    CreateCompletionQueue = "create a completion queue on {}";
    CreateQueuePair = "create a queue pair on {}";
    // On RoCE the kernel resolves the neighbor here, and when the queue pair moves to RTR.
    CreateAddress = "create an address handle on {}";
    ToInit = "move the queue pair of {} to INIT";
    ToReceive = "move the queue pair of {} to RTR";
    ToSend = "move the queue pair of {} to RTS";
    PostSend = "post a send request on {}";
    PostReceive = "post a receive request on {}";
    Poll = "poll the completion queue of {}";
    Arm = "request a completion event on {}";
    Wait = "wait for a completion event on {}";
}

impl VerbsOperation {
    fn pins_memory(self) -> bool {
        matches!(self, Self::RegisterMemory | Self::CreateCompletionQueue | Self::CreateQueuePair)
    }

    /// True if the kernel resolves the neighbor of a `RoCE` path in this operation.
    pub fn resolves_neighbor(self) -> bool {
        matches!(self, Self::CreateAddress | Self::ToReceive)
    }

    /// Formats the operation with its object: `open rxe0`.
    fn on(self, object: &str) -> String {
        Self::WORDS[self as usize].replace("{}", object)
    }
}

#[test]
fn a_failed_call_names_operation_object_and_errno() {
    let error = VerbsError::call(VerbsOperation::ToReceive, "rxe0/1", Errno::TIMED_OUT);
    assert_eq!(
        error.to_string(),
        "cannot move the queue pair of rxe0/1 to RTR: ETIMEDOUT (connection timed out)"
    );
}
