//! Sorts rows by a column, for `--sort` and `rdmactl top`.

use std::cmp::Ordering;

use super::select::find;
use super::{Column, ColumnError, Listing, Value};
use crate::model::Part;
use crate::names;

/// Order of rows: `--sort rate`, or `--sort -rate` for the largest first.
pub struct Order<L: Listing> {
    column: &'static Column<L>,
    is_reversed: bool,
}

impl<L: Listing> Order<L> {
    /// Parses the name of a column. A minus before the name reverses the order.
    ///
    /// # Errors
    /// The word names no column, or several columns.
    pub fn parse(word: &str) -> Result<Self, ColumnError> {
        let (name, is_reversed) = word.strip_prefix('-').map_or((word, false), |rest| (rest, true));
        let column = find::<L>(name)?;
        Ok(Self { column, is_reversed })
    }

    /// Returns the order by a column.
    pub fn by(column: &'static Column<L>, is_reversed: bool) -> Self {
        Self { column, is_reversed }
    }

    /// Returns the parts of a report that the column needs.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        self.column.parts()
    }

    /// Sorts rows. Equal rows keep their order.
    pub fn sort(&self, rows: &mut [L::Row<'_>]) {
        rows.sort_by_cached_key(|row| self.key(row));
    }

    /// Sorts items by their rows. Items without a row come last.
    pub fn sort_by_row<'report, T>(
        &self,
        things: &mut [T],
        row: impl Fn(&T) -> Option<L::Row<'report>>,
    ) {
        let none = || Key { value: Value::Absent, is_reversed: self.is_reversed };
        things.sort_by_cached_key(|thing| row(thing).map_or_else(none, |row| self.key(&row)));
    }

    /// Returns the column, and true if the order is reversed.
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

/// Compares numbers by size, and other values as text in natural order.
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
    fn unknown_values_sort_last_in_both_directions() {
        for is_reversed in [false, true] {
            let values = vec![Value::Failed, Value::Int(1), Value::Absent, Value::Int(2)];
            assert!(sorted(values, is_reversed)[..2].iter().all(|cell| cell.parse::<u8>().is_ok()));
        }
    }
}
