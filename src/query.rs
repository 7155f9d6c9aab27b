//! The column registry: what each column is called, what it shows, and when it is shown.
//!
//! It works on the model only. Table, plain text and (later) filters, sorting and the TUI read the
//! same columns, and the form of a value is made here once. It never escapes: `render` does.

mod columns;
mod row;
mod select;
mod value;

pub use columns::{Align, Column, DEVICES, Shown};
pub use row::{Row, rows};
pub use select::{ColumnError, Defaults, select};
pub use value::Value;
