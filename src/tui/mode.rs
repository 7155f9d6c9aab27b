//! What the keys are for at the moment.

use super::event::Effect;
use super::sheet::Choice;
use super::view::Narrow;
use super::{rows::RowKey, view::View};
use crate::query::FilterError;

/// What the keys are for.
#[derive(Debug, Clone, Default)]
pub(super) enum Mode {
    /// Looking around.
    #[default]
    Browse,
    /// Typing.
    Prompt(Prompt),
    /// Choosing a column.
    Picker(Picker),
    /// Reading the help.
    Help(Help),
    /// Answering a question.
    Ask(Question),
}

impl Mode {
    /// Whether words are typed that the help is searched for.
    pub(super) fn searches_help(&self) -> bool {
        matches!(self, Self::Prompt(Prompt { kind: PromptKind::Help, .. }))
    }
}

/// Which lines of the help are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Help {
    /// The first in view.
    pub(super) line: usize,
    /// The words that they have.
    pub(super) search: String,
}

/// A line that is typed.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub(super) kind: PromptKind,
    pub(super) text: String,
    /// Before which letter the cursor stands.
    pub(super) cursor: usize,
    /// What is wrong with it; the last good condition stays meanwhile.
    pub(super) error: Option<FilterError>,
    /// Which of the names that fit is chosen.
    pub(super) chosen: usize,
    /// The condition there was before.
    pub(super) before: String,
    /// The row that was chosen before.
    pub(super) choice: Choice,
}

/// What is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptKind {
    /// A condition on rows.
    Filter,
    /// Where to go.
    Jump,
    /// The name of a file with a matrix.
    OpenMatrix,
    /// Words that the help is searched for.
    Help,
}

/// A list of columns.
#[derive(Debug, Clone)]
pub(super) struct Picker {
    pub(super) kind: PickerKind,
    /// The column that is chosen.
    pub(super) at: usize,
}

/// What a column is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PickerKind {
    /// To be shown, or not.
    Columns,
    /// To decide on the order.
    Sort,
}

/// Something that is not done without a yes.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) text: String,
    pub(super) effect: Effect,
}

/// Something that can be gone to by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) word: String,
    pub(super) kind: Goal,
}

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// A view.
    View(View),
    /// A host.
    Host,
    /// A column, which then decides on the order.
    Column(&'static str),
}

impl Goal {
    /// Its word beside the name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::View(_) => "view",
            Self::Host => "host",
            Self::Column(_) => "sort by",
        }
    }
}

/// The conditions of a table, while another page of the same view is looked at without them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) view: View,
    pub(super) filter: String,
    pub(super) only_problems: bool,
    pub(super) choice: Choice,
}

/// Where the operator is, one for each step into something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    /// Rows of a view.
    Rows(View, Narrow),
    /// All that is known of one row of a view, from this line on.
    Detail(View, RowKey, String, usize),
}

impl Prompt {
    /// An empty line, or one with what was there before.
    pub(super) fn new(kind: PromptKind, text: &str) -> Self {
        let (text, before) = (text.to_owned(), text.to_owned());
        let (cursor, choice) = (text.chars().count(), Choice::default());
        Self { kind, cursor, text, error: None, chosen: 0, before, choice }
    }

    /// The byte before which a letter stands.
    fn byte(&self, letter: usize) -> usize {
        self.text.char_indices().nth(letter).map_or(self.text.len(), |(at, _)| at)
    }

    /// Writes a letter at the cursor.
    pub(super) fn write(&mut self, letter: char) {
        // Nobody types a line that is longer.
        const LONGEST: usize = 1_000;
        if self.text.len() < LONGEST && !letter.is_control() {
            self.text.insert(self.byte(self.cursor), letter);
            self.cursor += 1;
            self.chosen = 0;
        }
    }

    /// Takes another text, and goes behind it.
    pub(super) fn replace(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.cursor = self.text.chars().count();
        self.chosen = 0;
    }

    /// Deletes the letter at some place, if there is one.
    pub(super) fn delete(&mut self, letter: Option<usize>) {
        let Some(letter) = letter.filter(|letter| *letter < self.text.chars().count()) else {
            return;
        };
        self.text.remove(self.byte(letter));
        if letter < self.cursor {
            self.cursor -= 1;
        }
        self.chosen = 0;
    }

    /// Moves the cursor.
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
