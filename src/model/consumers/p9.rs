//! 9p mounts.
//! `collect::consumers` fills them; `analyse::connections` judges them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mount of the Plan 9 file protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct P9Mount {
    /// Source of the mount.
    pub device: String,
    /// Mount point.
    pub mount_point: String,
    /// Transport: `rdma`, `tcp`, `virtio`, `fd`, `unix`, `xen`.
    pub transport: Option<String>,
    /// Port in the mount options.
    pub port: Option<u16>,
}
