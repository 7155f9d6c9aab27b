//! Formats results as text: tables, plain lines, CSV, JSON, Prometheus, HTML, SVG and notes.
//! `tui` draws `top`; `compat` formats the output of older tools.
//!
//! This module returns strings and writes to no stream; `cmd` passes the strings to `term`. The
//! text of a cell or note may come from another machine: this module escapes it for the terminal.
//! A caller that makes a [`Note`] itself calls [`escape`]. JSON has its own escapes.

mod check;
mod connections;
mod csv;
mod escape;
mod fabric;
mod groups;
mod hosts;
mod json;
mod notes;
mod ping;
mod plain;
mod problems;
mod prom;
mod table;

pub use check::{
    CheckDocument, check_page, explain_check, list_checks, nagios, nhc, render_checks, without_bar,
};
pub use connections::render_connections;
pub use csv::csv;
pub use escape::escape;
pub use fabric::{FabricDocument, fabric_dot, fabric_tree};
pub use hosts::{HostEntry, HostsDocument, hosts_csv};
pub use json::{
    ConnectionsDocument, PingDocument, ReportDocument, SettingsDocument, schema_of, to_json,
    to_json_lines,
};
pub use notes::{Note, notes};
pub use ping::{
    PingDiffDocument, PingEvent, PingPlanDocument, render_change, render_diff, render_findings,
    render_html, render_matrix, render_origin, render_plan, render_svg,
};
pub use plain::plain;
pub use problems::render_problems;
pub use prom::prom;
pub use table::{blocks, column_help, table};
