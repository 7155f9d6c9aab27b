//! What all tables have in common, whatever they list: what keys do to them, and what is drawn of them.

use std::time::Instant;

use super::detail::Piece;
use super::rows::{Graph, RowKey, Said, Target};
use super::scene::Scene;
use super::view::{Narrow, View};
use crate::model::Subject;
use crate::query::{Align, Described, FilterError, Meaning, Value};

/// A row that is in view.
pub(super) struct Line<'scene> {
    pub(super) cells: Vec<Value>,
    /// Why its host is silent, and for how long.
    pub(super) silent: Option<Silent>,
    pub(super) is_fresh: bool,
    pub(super) graph: Option<Graph<'scene>>,
}

/// Of a row whose host is silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Silent {
    /// How old it is; `None` where the host never answered.
    pub(super) age: Option<Value>,
    /// Why.
    pub(super) word: &'static str,
}

/// What is chosen, to be chosen again later.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Choice {
    pub(super) key: Option<RowKey>,
    pub(super) is_at_top: bool,
}

/// A column that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) align: Align,
    /// Whether the rows stand in its order, and the largest first.
    pub(super) order: Option<bool>,
    /// The lower, the longer it is kept where there is no room.
    pub(super) rank: usize,
    /// What its values are about.
    pub(super) meaning: Meaning,
}

/// A table of any listing.
pub(super) trait Sheet {
    /// The view.
    fn view(&self) -> View;
    /// Takes the rows of a scene, and finds the chosen one again.
    fn rebuild(&mut self, scene: Option<&Scene>, narrow: &Narrow, at: Instant);
    /// How many rows are shown.
    fn len(&self) -> usize;
    /// How many there are without conditions.
    fn total(&self) -> usize;
    /// The number of the chosen row.
    fn at(&self) -> Option<usize>;
    /// The first row in view.
    fn top(&self) -> usize;
    /// Chooses a row by its number, the last one beyond the end.
    fn choose(&mut self, scene: &Scene, row: usize, at: Instant);
    /// Chooses the first row, and whatever comes first from now on.
    fn go_to_top(&mut self, scene: &Scene, at: Instant);
    /// What is chosen.
    fn choice(&self) -> Choice;
    /// Chooses the same again: the next rebuild finds it.
    fn restore(&mut self, choice: Choice);
    /// Chooses the row with this key, if it is there.
    fn choose_key(
        &mut self,
        scene: &Scene,
        is_wanted: &dyn Fn(&RowKey) -> bool,
        at: Instant,
    ) -> bool;
    /// Chooses the first row that is about what a finding is about, if there is one.
    fn choose_subject(&mut self, scene: &Scene, subject: &Subject, at: Instant);
    /// Has the chosen row in view, of which so many lines are seen.
    fn scroll(&mut self, lines: usize);
    /// Keeps rows for which a condition holds; an empty one keeps all.
    fn set_filter(&mut self, text: &str) -> Result<(), FilterError>;
    /// The condition.
    fn filter(&self) -> &str;
    /// Takes all conditions off.
    fn clear(&mut self);
    /// Keeps problems only, or not.
    fn set_only_problems(&mut self, only: bool);
    /// Whether only problems are kept.
    fn only_problems(&self) -> bool;
    /// Puts rows in the order of a column: the other way round where it is in its order already, else the
    /// largest first where it holds numbers.
    fn sort_by(&mut self, id: &str);
    /// Turns the order round, where there is one.
    fn turn_order(&mut self);
    /// The column that decides on the order, and whether the largest come first.
    fn order(&self) -> Option<(&'static str, bool)>;
    /// All columns, and whether each is shown.
    fn all_columns(&self, scene: Option<&Scene>) -> Vec<(Described, bool)>;
    /// Shows the usual columns.
    fn reset_columns(&mut self);
    /// Shows a column, or hides it.
    fn toggle_column(&mut self, scene: Option<&Scene>, index: usize);
    /// The columns that are shown.
    fn headings(&self, scene: Option<&Scene>) -> Vec<Heading>;
    /// The heading of what is drawn beside the cells.
    fn graph_title(&self) -> Option<&'static str>;
    /// Whether some rows are of silent hosts, and have an age.
    fn has_ages(&self, scene: &Scene) -> bool;
    /// Some rows, with the cells of the columns of these ids.
    fn lines<'scene>(
        &self,
        scene: &'scene Scene,
        first: usize,
        count: usize,
        ids: &[&'static str],
        at: Instant,
    ) -> Vec<Line<'scene>>;
    /// What is said of the chosen row.
    fn said(&self, scene: &Scene, at: Instant) -> Option<Said>;
    /// Where Enter leads from the chosen row.
    fn target(&self, scene: &Scene, at: Instant) -> Option<Target>;
    /// The key and the name of the chosen row.
    fn chosen(&self, scene: &Scene, at: Instant) -> Option<(RowKey, String)>;
    /// All that is known of the row with this key; `None` when it is gone.
    fn detail(&self, scene: &Scene, key: &RowKey, at: Instant) -> Option<Vec<Piece>>;
}
