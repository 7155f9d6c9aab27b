//! Lustre targets of a client, and peers of a Lustre server.
//! `collect::consumers` fills them; `analyse::connections` judges them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lustre target, as the client sees it (file `import` of an `osc`, `mdc` or `mgc`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LustreImport {
    /// Name of the directory: `fs-OST0000-osc-ffff8880`.
    pub name: String,
    /// Target: `fs-OST0000_UUID`.
    pub target: Option<String>,
    /// State: `FULL`, `DISCONN`, `IDLE`.
    pub state: Option<String>,
    /// Network identifiers (NIDs) of the servers that have the target.
    pub nids: Vec<String>,
    /// NID in use.
    pub current: Option<String>,
}

/// Client or server that is connected to a Lustre server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LustrePeer {
    /// Target that the peer uses: `fs-OST0000`.
    pub target: String,
    /// Network identifier (NID) of the peer: `10.0.0.7@o2ib`.
    pub nid: String,
}
