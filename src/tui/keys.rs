//! The one table of keys: it says what a key does, what the footer shows, and what the help tells.

mod press;
mod table;

pub use press::Press;
pub use table::KEYS;

use super::view::View;

/// A key, where it is heard, and what it does.
#[derive(Debug)]
pub struct Key {
    /// Where.
    pub scope: Scope,
    /// The key, and others that do the same.
    pub presses: &'static [Press],
    /// What it does.
    pub action: Action,
    /// A word for the footer; empty for what is not shown there.
    pub label: &'static str,
    /// One sentence for the help.
    pub help: &'static str,
}

/// Where a key is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Wherever the operator is.
    Everywhere,
    /// In every view, while nothing is typed or chosen.
    Views,
    /// In views that are tables.
    Tables,
    /// In the matrix.
    Matrix,
    /// In the detail pane.
    Detail,
    /// While something is typed.
    Prompt,
    /// While a column is chosen.
    Picker,
    /// While the help is read.
    Help,
    /// While a question waits.
    Ask,
}

impl Scope {
    /// The heading of its keys in the help.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Everywhere => "Everywhere",
            Self::Views => "In every view",
            Self::Tables => "In tables",
            Self::Matrix => "In the matrix",
            Self::Detail => "In the detail pane",
            Self::Prompt => "While typing",
            Self::Picker => "While a column is selected",
            Self::Help => "In this help",
            Self::Ask => "While a question is open",
        }
    }
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Leave, and keep the last frame.
    QuitKeeping,
    /// Give the terminal back until the shell says so.
    Suspend,
    /// Show a view.
    Show(View),
    /// Show the next view.
    NextView,
    /// Show the view before.
    PreviousView,
    /// Go back to where the operator came from.
    Back,
    /// Hold the picture, or let it go on.
    Freeze,
    /// Go to something by its name.
    Jump,
    /// Show the help.
    Help,
    /// Copy what is chosen.
    Copy,
    /// Save the view.
    Save,
    /// Record, or stop it.
    Record,
    /// That many pictures back (negative) or on.
    Step(i32),
    /// Follow the mouse, or not.
    Mouse,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One screen up.
    PageUp,
    /// One screen down.
    PageDown,
    /// To the first row.
    First,
    /// To the last row.
    Last,
    /// One cell to the left.
    Left,
    /// One cell to the right.
    Right,
    /// Go into what is chosen.
    Open,
    /// All that is known of the row.
    Inspect,
    /// Type a condition.
    Filter,
    /// Problems only, or all.
    OnlyProblems,
    /// Choose the column that decides on the order.
    Sort,
    /// The other way round.
    Reverse,
    /// Choose which columns are shown.
    Columns,
    /// To the worst cell.
    Worst,
    /// Ping all hosts.
    Ping,
    /// Read a saved matrix.
    OpenMatrix,
    /// Take what was typed or chosen.
    Accept,
    /// Leave it.
    Cancel,
    /// Fill in the name.
    Complete,
    /// Delete the letter before the cursor.
    DeleteBefore,
    /// Delete the letter at the cursor.
    DeleteAt,
    /// Delete all.
    Clear,
    /// Choose and stay.
    Toggle,
    /// Show the usual columns.
    Usual,
    /// Count errors from this moment on.
    Zero,
}

/// The key of the table that a press means in these scopes, the innermost first.
pub(super) fn find(scopes: &[Scope], press: Press) -> Option<&'static Key> {
    scopes.iter().find_map(|scope| {
        KEYS.iter().find(|key| key.scope == *scope && key.presses.contains(&press))
    })
}

/// The scopes that can be active together, the innermost first.
#[cfg(test)]
const TOGETHER: [&[Scope]; 7] = [
    &[Scope::Tables, Scope::Views, Scope::Everywhere],
    &[Scope::Matrix, Scope::Views, Scope::Everywhere],
    &[Scope::Detail, Scope::Views, Scope::Everywhere],
    &[Scope::Prompt, Scope::Everywhere],
    &[Scope::Picker, Scope::Everywhere],
    &[Scope::Help, Scope::Everywhere],
    &[Scope::Ask, Scope::Everywhere],
];

#[test]
fn no_key_means_two_things_at_once() {
    for scopes in TOGETHER {
        let mut known: Vec<Press> = Vec::new();
        for key in KEYS.iter().filter(|key| scopes.contains(&key.scope)) {
            for press in key.presses {
                assert!(!known.contains(press), "{press} in {scopes:?}");
                known.push(*press);
            }
        }
    }
}

#[test]
fn every_key_is_told_in_the_help() {
    for key in KEYS {
        assert!(!key.help.is_empty() && !key.presses.is_empty(), "{:?}", key.action);
        assert!(key.help.starts_with(char::is_uppercase), "{}", key.help);
        assert!(!key.help.ends_with('.'), "{}", key.help);
    }
}

#[test]
fn control_c_always_leaves() {
    for scopes in TOGETHER {
        let key = find(scopes, Press::Control('c')).unwrap();
        assert_eq!(key.action, Action::Quit, "{scopes:?}");
    }
}
