use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A target of Lustre, as the client sees it (`osc`, `mdc`, `mgc`, file `import`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LustreImport {
    /// Directory: `fs-OST0000-osc-ffff8880`.
    pub name: String,
    /// The target: `fs-OST0000_UUID`.
    pub target: Option<String>,
    /// `FULL`, `DISCONN`, `IDLE`.
    pub state: Option<String>,
    /// Network identifiers of the servers that have it.
    pub nids: Vec<String>,
    /// The one in use.
    pub current: Option<String>,
}

/// A client or server that talks with a Lustre server, by its network identifier.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct LustrePeer {
    /// The target that it uses: `fs-OST0000`.
    pub target: String,
    /// Its network identifier: `10.0.0.7@o2ib`.
    pub nid: String,
}
