use clap::{Args, ValueEnum};

/// The arguments of `resources`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl resources\n  rdmactl resources qp cm_id -H n[1-4]\n  rdmactl resources mr -o pid,name,bytes"
)]
pub struct ResourcesArgs {
    /// Only objects of these kinds
    #[arg(value_name = "KIND", value_enum)]
    pub kinds: Vec<ResourceKind>,
}

/// The kinds of objects, by the words of `rdma resource`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ResourceKind {
    /// Queue pairs
    Qp,
    /// Connection identifiers of `rdma_cm`
    CmId,
    /// Completion queues
    Cq,
    /// Memory regions
    Mr,
    /// Protection domains
    Pd,
    /// User contexts: processes that have opened a device
    Ctx,
    /// Shared receive queues
    Srq,
}

impl ResourceKind {
    /// The word of the KIND column.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Qp => "qp",
            Self::CmId => "cm_id",
            Self::Cq => "cq",
            Self::Mr => "mr",
            Self::Pd => "pd",
            Self::Ctx => "ctx",
            Self::Srq => "srq",
        }
    }
}
