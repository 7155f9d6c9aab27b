use clap::{Args, ValueEnum};

use super::WordOrSet;
use crate::model::Object;

/// The arguments of `resources`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Kinds: qp queue pairs, cm_id connections, cq completion queues, mr memory regions, pd protection domains, ctx open device contexts, srq shared receive queues.\n\nExamples:\n  rdmactl resources\n  rdmactl resources qp cm_id -H n[1-4]\n  rdmactl resources mr -o pid,name,bytes\n  rdmactl resources --by process -s -mr_bytes"
)]
pub struct ResourcesArgs {
    /// Kinds of objects to list, and hosts to query over SSH
    ///
    /// KIND is qp, cm_id, cq, mr, pd, ctx or srq; default: all kinds. Other words are host sets.
    #[arg(value_name = "KIND|SET", value_parser = |text: &str| WordOrSet::parse(text, "kind", &Object::WORDS))]
    pub words: Vec<WordOrSet>,
    /// Print one row for each process or kernel module
    #[arg(long, value_enum, value_name = "GROUP")]
    pub by: Option<By>,
}

/// Groups of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The objects of one process or kernel module
    Process,
}
