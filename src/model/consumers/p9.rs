use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mount of the Plan 9 file protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct P9Mount {
    /// What is mounted.
    pub device: String,
    /// Where.
    pub mount_point: String,
    /// `rdma`, `tcp`, `virtio`, `fd`, `unix`, `xen`.
    pub transport: Option<String>,
    /// Port among the options.
    pub port: Option<u16>,
}
