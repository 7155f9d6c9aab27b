use std::cmp::Ordering;

use super::select::find;
use super::{Column, ColumnError, Listing, Value};
use crate::model::Part;
use crate::names;

/// The order of rows: `--sort rate`, `--sort -rate` for the largest first.
pub struct Order<L: Listing> {
    column: &'static Column<L>,
    is_reversed: bool,
}

impl<L: Listing> Order<L> {
    /// Reads a column's name, with a minus before it for the other way round.
    ///
    /// # Errors
    /// The word names no column, or more than one.
    pub fn parse(word: &str) -> Result<Self, ColumnError> {
        let (name, is_reversed) = word.strip_prefix('-').map_or((word, false), |rest| (rest, true));
        let column = find::<L>(name)?;
        Ok(Self { column, is_reversed })
    }

    /// The order of a column.
    #[must_use]
    pub fn by(column: &'static Column<L>, is_reversed: bool) -> Self {
        Self { column, is_reversed }
    }

    /// The parts of a report that the column is made from.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.column.parts()
    }

    /// Puts rows in order; equal ones stay as they were.
    pub fn sort(&self, rows: &mut [L::Row<'_>]) {
        rows.sort_by_cached_key(|row| self.key(row));
    }

    /// Puts things in the order of their rows; what has none comes last.
    pub fn sort_by_row<'report, T>(
        &self,
        things: &mut [T],
        row: impl Fn(&T) -> Option<L::Row<'report>>,
    ) {
        let none = || Key { value: Value::Absent, is_reversed: self.is_reversed };
        things.sort_by_cached_key(|thing| row(thing).map_or_else(none, |row| self.key(&row)));
    }

    /// The column that decides, and whether the largest come first.
    #[must_use]
    pub fn column(&self) -> (&'static Column<L>, bool) {
        (self.column, self.is_reversed)
    }

    fn key(&self, row: &L::Row<'_>) -> Key {
        Key { value: self.column.value(row), is_reversed: self.is_reversed }
    }
}

#[derive(PartialEq, Eq)]
struct Key {
    value: Value,
    is_reversed: bool,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        // Unknown values come last in both orders.
        let known = self.value.is_unknown().cmp(&other.value.is_unknown());
        known.then_with(|| {
            let order = compare(&self.value, &other.value);
            if self.is_reversed { order.reverse() } else { order }
        })
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Numbers by size, everything else as text in which digits count as numbers.
fn compare(one: &Value, other: &Value) -> Ordering {
    match one.thousandths().zip(other.thousandths()) {
        Some((one, other)) => one.cmp(&other),
        None => names::compare(&one.to_string(), &other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(values: Vec<Value>, is_reversed: bool) -> Vec<String> {
        let mut keys: Vec<Key> =
            values.into_iter().map(|value| Key { value, is_reversed }).collect();
        keys.sort();
        keys.into_iter().map(|key| key.value.to_string()).collect()
    }

    #[test]
    fn numbers_are_sorted_by_size_and_names_by_their_numbers() {
        let rates = vec![Value::Bits(400_000_000_000), Value::Bits(25_000_000_000)];
        assert_eq!(sorted(rates, false), ["25 Gb/s", "400 Gb/s"]);
        let text = |text: &str| Value::Text(text.into());
        let names = vec![text("mlx5_10"), text("mlx5_2"), text("efa_0")];
        assert_eq!(sorted(names, false), ["efa_0", "mlx5_2", "mlx5_10"]);
    }

    #[test]
    fn what_is_not_known_comes_last_either_way() {
        for is_reversed in [false, true] {
            let values = vec![Value::Failed, Value::Int(1), Value::Absent, Value::Int(2)];
            assert!(sorted(values, is_reversed)[..2].iter().all(|cell| cell.parse::<u8>().is_ok()));
        }
    }
}
