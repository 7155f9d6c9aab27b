//! Table of all keys of `top`. Key handling, footer and help read the same table.

mod press;
mod table;

pub use press::Press;
pub use table::KEYS;

use super::view::View;

/// Entry of the table: a key and its action in a scope.
#[derive(Debug)]
pub struct Key {
    /// Scope in which the key is active.
    pub scope: Scope,
    /// The key and its alternatives.
    pub presses: &'static [Press],
    pub(super) action: Action,
    /// Label in the footer; empty if the footer does not show the key.
    pub label: &'static str,
    /// One sentence in the help.
    pub help: &'static str,
}

/// Part of the screen in which a key is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All parts of the screen.
    Everywhere,
    /// Every view, except while the operator types or selects a column.
    Views,
    /// Views that are tables.
    Tables,
    /// Matrix view.
    Matrix,
    /// Detail pane.
    Detail,
    /// Prompt.
    Prompt,
    /// List of columns.
    Picker,
    /// Help.
    Help,
    /// Open question.
    Ask,
}

impl Scope {
    /// Returns the heading in the help.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Quit,
    /// Exit, and keep the last frame on the normal screen.
    QuitKeeping,
    Suspend,
    Show(View),
    NextView,
    PreviousView,
    Back,
    /// Hold the current sample, or continue.
    Freeze,
    Jump,
    Help,
    Copy,
    Save,
    Record,
    /// Go back (negative) or forward by a number of samples.
    Step(i32),
    Mouse,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Left,
    Right,
    Open,
    /// Open the detail pane of the row.
    Inspect,
    Filter,
    OnlyProblems,
    Sort,
    Reverse,
    Columns,
    Worst,
    Ping,
    OpenMatrix,
    Accept,
    Cancel,
    Complete,
    DeleteBefore,
    DeleteAt,
    Clear,
    /// Show or hide the selected column, and keep the list open.
    Toggle,
    Usual,
    /// Reset the error counts.
    Zero,
}

/// Returns the entry for a key press; the innermost scope is searched first.
pub(super) fn find(scopes: &[Scope], press: Press) -> Option<&'static Key> {
    scopes.iter().find_map(|scope| {
        KEYS.iter().find(|key| key.scope == *scope && key.presses.contains(&press))
    })
}

/// Combinations of active scopes, the innermost first.
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
fn every_key_has_help() {
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
