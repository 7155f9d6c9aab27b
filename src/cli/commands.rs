//! Arguments of the commands that have no file of their own.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::host_sets::{HostSets, WordOrSet};
use crate::model::Object;

/// The arguments of `devices`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl devices\n  rdmactl devices -o +pci,numa\n  rdmactl devices -v --json\n  rdmactl devices -o help"
)]
pub struct DevicesArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    #[command(flatten)]
    /// Saved fabric.
    pub fabric: FabricFile,
}

/// The arguments of `ports`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl ports\n  rdmactl ports -H n[1-4] -w 'state!=active'\n  rdmactl ports -v\n  rdmactl ports --lossless\n  rdmactl ports -o device,port,cnp_sent,cnp_handled,ecn_marked\n  rdmactl ports -o help"
)]
pub struct PortsArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    #[command(flatten)]
    /// Saved fabric.
    pub fabric: FabricFile,
    /// Check that RoCE uses a lossless traffic class
    ///
    /// rdmactl prints for each RoCE port the traffic class of RoCE packets, whether PFC protects
    /// this class, and the command that fixes the configuration.
    #[arg(long)]
    pub lossless: bool,
}

/// The arguments of `gids`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl gids\n  rdmactl gids -H n[1-4]\n  rdmactl gids -o device,index,gid,kind"
)]
pub struct GidsArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
}

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

/// The arguments of `counters`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl counters\n  rdmactl counters n[1-4] --errors\n  rdmactl counters n[1-4] --errors --watch 10 --count 1 -w 'delta>0'\n  rdmactl counters --all -f csv\n  rdmactl counters --watch=1 -w 'delta>0'\n\nNotes: the kernel caches the counters of group hardware, for 10 ms by default. The sysfs file lifespan holds this time in milliseconds. Two samples within this time show equal values."
)]
pub struct CountersArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    /// List counters that are zero, too
    #[arg(short, long)]
    pub all: bool,
    /// List only counters of errors: of links, receivers, lost packets and refused requests
    #[arg(long)]
    pub errors: bool,
    /// List the counters of every port of the InfiniBand subnet
    ///
    /// rdmactl sweeps the subnet and reads all ports at the same time. Traffic is in bytes. rdmactl
    /// reads 64-bit counters if the node has them. To list only counters above a threshold, run
    /// rdmactl fabric errors.
    #[arg(long)]
    pub fabric: bool,
}

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

/// The arguments of `hosts`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Sets:\n  n[01-16,20]  n[0-8/2]  r[1-4]n[01-16]  user@n1:2222  [fe80::1]:22\n  a,b union   a!b difference   a&b intersection   a^b symmetric difference\n  @GROUP  @SOURCE:GROUP  @SOURCE:*  ClusterShell groups\n  @genders:ATTR[=VALUE]  @dsh:GROUP  @slurm:PARTITION  @slurmstate:STATE\n  @job  the nodes of the current Slurm or PBS job\n  ^FILE  hosts of a file, like --hosts-file   -  hosts on standard input\n\nExamples:\n  rdmactl hosts 'n[01-16]!n07'\n  rdmactl hosts --fold n1 n2 n3\n  rdmactl hosts --size @compute\n  squeue -h -o %N | rdmactl hosts --fold -\n  rdmactl hosts --hosts-file ansible:inventory --json"
)]
pub struct HostsArgs {
    /// Host sets to expand; several sets are united
    #[arg(value_name = "SET")]
    pub sets: Vec<String>,
    /// Print one folded set instead of one host per line
    #[arg(long, conflicts_with = "size")]
    pub fold: bool,
    /// Print the number of hosts
    #[arg(long)]
    pub size: bool,
}

/// The arguments of `capture`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl capture --save n17.ndjson\n  rdmactl devices --from n17.ndjson\n  rdmactl capture -H n[01-64] --save cluster.ndjson\n  rdmactl capture --from cluster.ndjson --redact --save redacted.ndjson\n\nNotes: rdmactl never reads the command line of a process and never records its environment."
)]
pub struct CaptureArgs {
    #[command(flatten)]
    /// Host sets given as arguments.
    pub hosts: HostSets,
    /// Replace names, addresses, GUIDs and serial numbers
    ///
    /// Host names, addresses, GUIDs, serial numbers, paths and program names become pseudonyms.
    /// Equal values get equal pseudonyms. The key is random and is not stored, so two runs give
    /// different pseudonyms.
    #[arg(long)]
    pub redact: bool,
}

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

/// The arguments of `compat`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Tools: ibstat, ibstatus, ibv_devices, ibv_devinfo, ibdev2netdev, show_gids, beegfs-net,\n\
                  ibnetdiscover, ibhosts, ibswitches, sminfo, smpquery, perfquery, iblinkinfo,\n\
                  ibqueryerrors, ibroute, ibtracert, saquery.\n\
                  A symbolic link with one of these names to rdmactl behaves like the tool.\n\n\
                  Examples:\n  rdmactl compat ibstat\n  rdmactl compat --as 33 ibv_devinfo -v -d mlx5_0\n  \
                  rdmactl compat --from n17.ndjson ibstatus\n  rdmactl compat -H n1 show_gids\n  ln -s rdmactl /usr/local/bin/show_gids"
)]
pub struct CompatArgs {
    /// Print the output of this rdma-core release, 33 to 65
    ///
    /// Default: the installed release; 65 if rdma-core is not installed.
    #[arg(long = "as", value_name = "RELEASE", value_parser = clap::value_parser!(u32).range(33..=65))]
    pub release: Option<u32>,
    /// Name of the tool, and the options of the tool
    ///
    /// Write flags of rdmactl before the name of the tool: rdmactl compat -H n1 show_gids.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "TOOL"
    )]
    pub words: Vec<OsString>,
}

/// The arguments of `completions`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  rdmactl completions bash > ~/.local/share/bash-completion/completions/rdmactl\n  rdmactl completions zsh > ~/.zfunc/_rdmactl\n  rdmactl completions fish > ~/.config/fish/completions/rdmactl.fish\n\nNotes: create the directory first. For zsh, write fpath+=(~/.zfunc) before compinit in ~/.zshrc. The script takes effect in a new shell. For all users, the directories are /usr/share/bash-completion/completions, /usr/share/zsh/site-functions and /usr/share/fish/vendor_completions.d."
)]
pub struct CompletionsArgs {
    /// Name of the shell
    pub shell: CompletionShell,
}

/// Shells with a completion script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompletionShell {
    /// Bash.
    Bash,
    /// Zsh.
    Zsh,
    /// Fish.
    Fish,
}

/// The arguments of `man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// Existing directory to write the pages to
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// The arguments of the hidden `agent` command.
#[derive(Debug, Clone, Args)]
pub struct AgentArgs {
    /// `verbs`, `worker`, or the nonce of a session.
    pub role: String,
    /// Remove the own program file before anything is read.
    #[arg(long)]
    pub unlink: bool,
    /// Use lines of text, for launchers that split or label lines.
    #[arg(long)]
    pub lines: bool,
    /// Process that waits for the reply; the agent ends without it.
    #[arg(long)]
    pub parent: Option<u32>,
}
