//! Input modes of the screen: browsing, typing, selecting a column, help, question.
//!
//! `update` switches between them; `draw` shows them.

use super::event::Effect;
use super::table_state::Selection;
use super::view::HostFilter;
use super::{rows::RowKey, view::View};
use crate::query::FilterError;

#[derive(Debug, Clone, Default)]
pub(super) enum Mode {
    #[default]
    Browse,
    Prompt(Prompt),
    Picker(Picker),
    Help(Help),
    Ask(Question),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Help {
    pub(super) line: usize,
    pub(super) search: String,
}

#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub(super) kind: PromptKind,
    pub(super) text: String,
    /// Position of the cursor, in letters.
    pub(super) cursor: usize,
    /// Error of the text; the last valid filter expression applies meanwhile.
    pub(super) error: Option<FilterError>,
    /// Index of the selected suggestion.
    pub(super) chosen: usize,
    /// Text and selection before editing.
    pub(super) before: String,
    pub(super) selection: Selection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptKind {
    Filter,
    Jump,
    OpenMatrix,
    /// Search text of the help.
    Help,
}

#[derive(Debug, Clone)]
pub(super) struct Picker {
    pub(super) kind: PickerKind,
    /// Index of the selected column.
    pub(super) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PickerKind {
    Columns,
    Sort,
}

#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) effect: Effect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) word: String,
    pub(super) kind: JumpTarget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JumpTarget {
    View(View),
    Host,
    Column(&'static str),
}

/// Filters of a table, saved while another page of the same view is shown without filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SavedFilters {
    pub(super) view: View,
    pub(super) filter: String,
    pub(super) only_problems: bool,
    pub(super) selection: Selection,
}

/// Page that is open; pages are stacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    Rows(View, HostFilter),
    /// Detail pane of one row: view, key and name of the row, and first visible line.
    Detail(View, RowKey, String, usize),
}

impl Prompt {
    pub(super) fn new(kind: PromptKind, text: &str) -> Self {
        let (text, before) = (text.to_owned(), text.to_owned());
        let (cursor, selection) = (text.chars().count(), Selection::default());
        Self { kind, cursor, text, error: None, chosen: 0, before, selection }
    }

    fn byte_offset(&self, letter: usize) -> usize {
        self.text.char_indices().nth(letter).map_or(self.text.len(), |(at, _)| at)
    }

    pub(super) fn write(&mut self, letter: char) {
        // Limit for pasted text.
        const LONGEST: usize = 1_000;
        if self.text.len() < LONGEST && !letter.is_control() {
            self.text.insert(self.byte_offset(self.cursor), letter);
            self.cursor += 1;
            self.chosen = 0;
        }
    }

    /// Replaces the text, and moves the cursor to its end.
    pub(super) fn replace(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.cursor = self.text.chars().count();
        self.chosen = 0;
    }

    /// Deletes the letter at an index; does nothing without an index or beyond the end.
    pub(super) fn delete(&mut self, letter: Option<usize>) {
        let Some(letter) = letter.filter(|letter| *letter < self.text.chars().count()) else {
            return;
        };
        self.text.remove(self.byte_offset(letter));
        if letter < self.cursor {
            self.cursor -= 1;
        }
        self.chosen = 0;
    }

    pub(super) fn go(&mut self, letter: usize) {
        self.cursor = letter.min(self.text.chars().count());
    }
}

#[test]
fn letters_of_many_bytes_are_edited_as_one() {
    let mut prompt = Prompt::new(PromptKind::Filter, "aé");
    prompt.write('日');
    prompt.go(1);
    prompt.write('x');
    assert_eq!((prompt.text.as_str(), prompt.cursor), ("axé日", 2));
    prompt.delete(Some(2));
    assert_eq!((prompt.text.as_str(), prompt.cursor), ("ax日", 2));
    prompt.delete(prompt.cursor.checked_sub(1));
    prompt.delete(Some(9));
    prompt.delete(None);
    assert_eq!((prompt.text.as_str(), prompt.cursor), ("a日", 1));
    prompt.write('\x1b');
    assert_eq!(prompt.text, "a日");
}
