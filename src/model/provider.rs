//! Userspace provider of an RDMA device.
//! `collect::provider` searches for it; `query` shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Userspace provider of a device, which libibverbs loads. Without a provider, only the kernel
/// can use the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provider {
    /// Name: `mlx5`, `rxe`.
    pub name: String,
    /// Path of the library; `None` if it is not installed.
    pub file: Option<String>,
    /// True if a file in `/etc/libibverbs.d` lists the provider.
    pub is_listed: bool,
    /// Package of the provider and of its list entry on this distribution; `None` on an unknown
    /// distribution.
    pub package: Option<String>,
}
