//! The arguments of `rdmactl fabric`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// The arguments of `fabric`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Views: subnets (default), nodes, links, switches, routes A B, partitions, sm, problems, errors.\n\nExamples:\n  rdmactl fabric\n  rdmactl fabric -H sm1 --upload\n  rdmactl fabric links -w 'state!=active or width==1X'\n  rdmactl fabric routes n1 n2\n  rdmactl fabric errors --thresholds /etc/infiniband-diags/error_thresholds\n  rdmactl fabric errors -w 'node=leaf001' --clear\n  rdmactl fabric --save monday.ndjson\n  rdmactl fabric links --from ibnetdiscover.txt\n  rdmactl fabric --format dot | dot -Tsvg > fabric.svg\n\nExit codes: 0 the subnet was read; 1 errors found a counter above its threshold, or a route does not reach its target; 2 usage error, or no subnet could be read; 3 a node did not reply, or a host could not be read."
)]
pub struct FabricArgs {
    /// View: nodes, links, routes, problems, errors, ...
    #[arg(value_enum, value_name = "VIEW", default_value_t = FabricView::Subnets, hide_default_value = true)]
    pub view: FabricView,
    /// Two nodes for routes: names, GUIDs or LIDs
    #[arg(value_name = "NODE", num_args = 0..=2)]
    pub ends: Vec<String>,
    /// Method of the sweep
    ///
    /// Default: sa; smp if the tables are missing or contradict each other.
    #[arg(long, value_enum, value_name = "METHOD", help_heading = "Sweep")]
    pub via: Option<SweepVia>,
    /// Requests in flight at the same time, 1 to 1024
    ///
    /// Default: 32. A larger number shortens the sweep of a large subnet; a smaller number reduces
    /// the load of slow switches. The flag applies to sweeps from this host.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), help_heading = "Sweep")]
    pub window: Option<u16>,
    /// Take node names from a node name map
    ///
    /// The names replace node descriptions. A line holds a GUID and a name: 0x0002c90200000001
    /// "leaf001". The tools of infiniband-diags read the same file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Sweep")]
    pub node_name_map: Option<PathBuf>,
    /// Ignore error counters up to the values in FILE
    ///
    /// For the view errors. A line holds a counter and a value: SymbolErrorCounter=10. Default: 0
    /// for every counter.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Sweep")]
    pub thresholds: Option<PathBuf>,
    /// Set the listed error counters to zero
    ///
    /// For the view errors, from this host. rdmactl lists the counters, then sets exactly the listed
    /// counters to zero; -w selects the counters. No other flag of rdmactl changes a subnet.
    #[arg(long, help_heading = "Sweep")]
    pub clear: bool,
}

/// Views of a subnet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FabricView {
    /// One row for each subnet, and the findings
    Subnets,
    /// Channel adapters, switches and routers
    Nodes,
    /// Links with width, speed and state
    Links,
    /// Switches with the number of their links
    Switches,
    /// The routes between two nodes, hop by hop
    Routes,
    /// Partitions and their members
    Partitions,
    /// Subnet managers
    Sm,
    /// Findings, one per row
    Problems,
    /// Error counters above their thresholds
    Errors,
}

/// Method of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SweepVia {
    /// Tables of subnet administration
    Sa,
    /// Directed routes
    Smp,
}
