//! Screen of `rdmactl top`: state, keys and drawing, without access to terminal, files or
//! network.
//!
//! [`State`] changes only in [`State::update`], with an [`Event`] and its time. Actions for the
//! caller are returned as [`Effect`]s. [`draw()`] changes only the frame. `cmd::top` reads keys,
//! gathers [`Sample`]s and performs effects.

mod changes;
mod columns;
mod detail;
mod draw;
mod errors;
mod event;
mod glyphs;
mod help;
mod history;
mod keys;
mod layout;
mod lines;
mod matrix;
mod measure;
mod mode;
mod pair;
mod past_problems;
mod prepared;
mod rows;
mod sample;
mod snapshot;
mod state;
mod table;
mod table_state;
mod table_view;
mod text;
mod theme;
mod update;
mod view;

pub use draw::draw;
pub use event::{Effect, Event, Notice};
pub use glyphs::Glyphs;
pub use keys::{KEYS, Key, Press, Scope};
pub use prepared::{Past, Prepared};
pub use sample::{LastResponse, RecordingPosition, Sample, Timeline};
pub use snapshot::{Snapshot, Snapshots};
pub use state::{State, ViewSettings};
pub use theme::Theme;
pub use view::View;
