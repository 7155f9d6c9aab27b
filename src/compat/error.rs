//! Reasons why a compat tool has no output. `cmd` prints them with their fix.

/// Reason why the output of the original cannot be produced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompatError {
    /// The original has the option, but rdmactl does not support it.
    #[error("compat {tool} does not support {option}")]
    NotOffered {
        /// Name of the tool.
        tool: &'static str,
        /// Option as written on the command line.
        option: String,
        /// Alternative command; `None` without one.
        instead: Option<&'static str>,
    },
    /// The required answers are not in the recording or the root directory.
    #[error(
        "compat {tool}: {} not recorded{}",
        missing[0],
        more(missing.len() - 1)
    )]
    NotRecorded {
        /// Name of the tool.
        tool: &'static str,
        /// Missing items; never empty.
        missing: Vec<String>,
    },
    /// libibverbs cannot be used: the original would fail to start, or would hang.
    #[error("compat {tool}: {detail}")]
    Unavailable {
        /// Name of the tool.
        tool: &'static str,
        /// Description of the failure.
        detail: String,
        /// Fix; `None` for the default fix.
        fix: Option<String>,
    },
}

/// Reason why a tool ends before its last line.
#[derive(Debug)]
pub(super) enum ToolError {
    /// The transcript contains the reason, as the original prints it.
    Said,
    /// Output like that of the original is not possible.
    Refused(CompatError),
}

impl From<CompatError> for ToolError {
    fn from(error: CompatError) -> Self {
        Self::Refused(error)
    }
}

/// Converts the end of a tool to the result of the run.
pub(super) fn ended(result: Result<(), ToolError>) -> Result<(), CompatError> {
    match result {
        Ok(()) | Err(ToolError::Said) => Ok(()),
        Err(ToolError::Refused(error)) => Err(error),
    }
}

fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    }
}

impl CompatError {
    /// Returns the fix.
    pub fn fix(&self) -> String {
        match self {
            Self::NotOffered { instead: Some(instead), .. } => (*instead).to_owned(),
            Self::NotOffered { tool, .. } => {
                format!("remove it; docs/compat.md lists the options of {tool}")
            }
            Self::NotRecorded { tool, .. }
                if super::Tool::from_name(tool).is_some_and(super::Tool::queries_fabric) =>
            {
                format!("run it on a host of the subnet, without --from: rdmactl compat {tool}")
            }
            Self::NotRecorded { .. } => {
                "record a new capture on that host: rdmactl capture --save FILE".to_owned()
            }
            Self::Unavailable { fix, .. } => {
                fix.clone().unwrap_or_else(|| "use rdmactl devices, which needs no library".into())
            }
        }
    }
}
