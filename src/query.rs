//! Contains the column registry: the names, values and default visibility of the columns of each
//! listing.
//!
//! This module reads only the model, and does not escape text; `render` does. Tables, plain text,
//! filters and sorting share the columns, so a value has one form in all of them. `cmd`, `cli`
//! and `tui` use it.

mod checks;
mod column;
mod connections;
mod counters;
mod device_row;
mod devices;
mod fabric;
mod filter;
mod findings;
mod fold;
mod gids;
mod link_cells;
mod live_hosts;
mod live_parts;
mod live_ports;
mod lossless;
mod metric;
mod pairs;
mod place_columns;
mod ports;
mod processes;
mod registry;
mod resources;
mod select;
mod settings;
mod sort;
mod value;
mod verbs_columns;
mod words;

pub use checks::{CheckRow, Checks, check_rows};
pub use column::{Align, Column, Listing, ShowCondition, ValueMeaning};
pub use connections::{ConnectionRow, Connections, connection_rows};
pub use counters::{CounterRow, Counters, counter_rows};
pub use device_row::{DeviceRow, device_rows};
pub use devices::Devices;
pub use fabric::{
    FabricCounters, FabricErrorRow, FabricErrors, FabricLinks, FabricManagers, FabricNodes,
    FabricPartitions, FabricProblems, FabricRoutes, FabricRow, FabricSubnets, FabricSwitches,
    HopRow, fabric_counter_rows, fabric_error_rows, fabric_link_rows, fabric_node_rows,
    fabric_problem_rows, fabric_switch_rows, hop_rows, manager_rows, partition_rows, subnet_rows,
    subnets,
};
pub use filter::{Filter, FilterError};
pub use findings::{FindingRow, Findings};
pub use fold::{cells, fold};
pub use gids::{GidRow, Gids, gid_rows};
pub use live_hosts::{LiveHostRow, LiveHosts};
pub use live_parts::{LIVE_PARTS, is_live, live_columns};
pub use live_ports::{LivePortRow, LivePorts};
pub use lossless::{Lossless, LosslessRow, lossless_rows};
pub use metric::{MetricKind, MetricLabel, MetricValue, metric_value, noun};
pub use pairs::{PairRow, Pairs, pair_rows};
pub use ports::Ports;
pub use processes::{ProcessRow, Processes, process_rows};
pub use registry::{
    ColumnDescription, NamedListing, describe, describe_live, help_of, listings_of,
};
pub use resources::{ResourceRow, Resources, resource_rows};
pub use select::{ColumnError, Defaults, drop_common, drop_unknown, select};
pub use settings::Settings;
pub use sort::Order;
pub use value::Value;
pub use words::{Words, words_of};
