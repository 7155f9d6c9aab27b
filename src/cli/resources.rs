use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::model::Object;

/// The arguments of `resources`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Kinds: qp queue pairs, cm_id connections, cq completion queues, mr memory regions, pd protection domains, ctx processes that opened a device, srq shared receive queues.\n\nExamples:\n  rdmactl resources\n  rdmactl resources qp cm_id -H n[1-4]\n  rdmactl resources mr -o pid,name,bytes"
)]
pub struct ResourcesArgs {
    /// Only objects of these kinds
    #[arg(value_name = "KIND", value_parser = PossibleValuesParser::new(Object::WORDS))]
    pub kinds: Vec<String>,
}
