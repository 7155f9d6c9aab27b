/// Why there is no output like the original's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompatError {
    /// The original has the option, and it is not offered here.
    #[error("compat {tool} does not support {option}")]
    NotOffered {
        /// The tool.
        tool: &'static str,
        /// The option, as it was written.
        option: String,
        /// Command with the same facts; `None` if no command has them.
        instead: Option<&'static str>,
    },
    /// The answers that the tool needs are in no recording, nor in another root directory.
    #[error(
        "compat {tool}: {} not recorded{}",
        missing[0],
        more(missing.len() - 1)
    )]
    NotRecorded {
        /// The tool.
        tool: &'static str,
        /// What is missing; never empty.
        missing: Vec<String>,
    },
    /// libibverbs could not be asked; the original could not even start, or would hang.
    #[error("compat {tool}: {detail}")]
    Unavailable {
        /// The tool.
        tool: &'static str,
        /// What went wrong.
        detail: String,
        /// What brings it.
        fix: Option<String>,
    },
}

fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    }
}

impl CompatError {
    /// What to type.
    #[must_use]
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
