use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is there but could not be read: it costs one cell, never a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The model key that stays empty: `mlx5_0/1/state`; the device or host when all of it does.
    pub key: String,
    /// Where the value would have come from: a path, or the name of a library.
    pub source: String,
    /// Name of the error number, `EACCES`; `None` when the text itself was wrong.
    pub errno: Option<String>,
    /// What happened, in one sentence.
    pub detail: String,
    /// What to type to mend it, where there is such a thing.
    pub fix: Option<String>,
}
