use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The saved fabric of `devices`, `ports` and `connections`.
#[derive(Debug, Clone, Default, Args)]
pub struct FabricFile {
    /// Show the other ends of InfiniBand links, from a saved fabric
    ///
    /// FILE is a file of rdmactl fabric --save, the output of ibnetdiscover, or opensm-subnet.lst.
    /// The flag adds the columns remote and remote_port. Without a file, use -o
    /// +remote,remote_port: each host then requests the other ends with MADs, which needs access to
    /// /dev/infiniband/umad*.
    #[arg(long = "fabric", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
}
