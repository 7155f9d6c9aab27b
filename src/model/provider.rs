use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The user's half of a device's driver, which libibverbs loads: without it the device is there for
/// the kernel alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provider {
    /// Its name: `mlx5`, `rxe`.
    pub name: String,
    /// Its file; `None` where it is not installed.
    pub file: Option<String>,
    /// Whether a file of `/etc/libibverbs.d` tells libibverbs to load it.
    pub is_listed: bool,
    /// The package that brings both on this distribution; `None` on those that are not known.
    pub package: Option<String>,
}
