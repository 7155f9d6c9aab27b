//! Subnet manager and its state.
//! `collect` reads it; `query` shows it and `analyse` compares the subnet managers of a subnet.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Guid;

/// Subnet manager (specification 14.2.5.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SubnetManager {
    /// GUID of the port that the subnet manager uses.
    pub guid: Guid,
    /// Priority. The subnet manager with the highest priority becomes master.
    pub priority: u8,
    /// State: 0 not active, 1 discovering, 2 standby, 3 master.
    pub state: u8,
    /// Activity counter. It increases while the subnet manager works.
    pub activity: u32,
}

impl SubnetManager {
    /// Returns true if the subnet manager is the master.
    pub fn is_master(&self) -> bool {
        self.state == 3
    }

    /// Returns the word of the STATE column.
    pub fn state_word(&self) -> Cow<'static, str> {
        match self.state {
            0 => "not_active".into(),
            1 => "discovering".into(),
            2 => "standby".into(),
            3 => "master".into(),
            code => format!("state {code}").into(),
        }
    }
}
