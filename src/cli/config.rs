use clap::Args;

/// The arguments of `config`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Order: a later source replaces the values of an earlier one: the default, /etc/rdmactl/config.toml, ~/.config/rdmactl/config.toml, the variables, the flags. The variable RDMACTL_CONFIG names one file to read instead of both files; an empty value means no file.\n\nExample of a line in the file: hosts = \"n[1-4]\"\n\nExamples:\n  rdmactl config\n  rdmactl config --init\n  rdmactl config -w 'origin!=default'\n  rdmactl config -v\n  rdmactl config --schema > rdmactl.schema.json\n  RDMACTL_CONFIG= rdmactl devices"
)]
pub struct ConfigArgs {
    /// Print the JSON Schema of the configuration file
    #[arg(long)]
    pub schema: bool,
    /// Write an example configuration file
    ///
    /// The file has every setting as a comment. The path is ~/.config/rdmactl/config.toml, or the
    /// path in RDMACTL_CONFIG. --init never overwrites a file.
    #[arg(long, conflicts_with = "schema")]
    pub init: bool,
}
