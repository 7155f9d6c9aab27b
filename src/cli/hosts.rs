use clap::Args;

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
