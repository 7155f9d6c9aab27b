use clap::Args;

/// The arguments of `hosts`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Sets: n[01-16,20]  n[0-8/2]  r[1-4]n[01-16]  user@n1:2222  [fe80::1]:22\n  a,b both   a!b without   a&b in both   a^b in one of two   left to right\n  @GROUP  @SOURCE:GROUP  @SOURCE:*  groups of ClusterShell\n  @genders:ATTR[=VALUE]  @dsh:GROUP  @slurm:PARTITION  @slurmstate:STATE\n  @job  the nodes of this job (Slurm, PBS)\n  ^FILE  a file, as --hosts-file reads it   -  lines of stdin\n\nExamples:\n  rdmactl hosts 'n[01-16]!n07'\n  rdmactl hosts --fold n1 n2 n3\n  rdmactl hosts --size @compute\n  squeue -h -o %N | rdmactl hosts --fold -\n  rdmactl hosts --hosts-file ansible:inventory --json"
)]
pub struct HostsArgs {
    /// Host sets; all of them together are listed
    #[arg(value_name = "SET")]
    pub sets: Vec<String>,
    /// Print one short expression instead of a host a line
    #[arg(long, conflicts_with = "size")]
    pub fold: bool,
    /// Print how many there are
    #[arg(long)]
    pub size: bool,
}
