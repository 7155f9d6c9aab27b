//! Folds equal rows of several hosts into one row: `n[01-16,18-64]`. `render` prints the rows.

use std::collections::HashMap;

use super::{Column, Listing, Value};
use crate::names;

/// Returns the cells of each row.
pub fn cells<'row, L: Listing>(
    columns: &'row [&Column<L>],
    rows: &'row [L::Row<'_>],
) -> impl Iterator<Item = Vec<Value>> + 'row {
    rows.iter().map(|row| columns.iter().map(|column| column.value(row)).collect())
}

/// Rows that are equal but for the host.
#[derive(Default)]
struct EqualRows {
    /// Number of such rows of each host.
    counts: HashMap<String, usize>,
    /// Group of the first, second and each further row of a host.
    groups: Vec<usize>,
}

/// Folds rows that are equal in every cell except the host. The folded rows keep the order of
/// their first rows.
///
/// Several equal rows of one host stay separate: the second row of a host is folded only with the
/// second rows of other hosts. For many hosts with equal rows, only their names are kept in
/// memory.
pub fn fold<L: Listing>(
    columns: &[&Column<L>],
    cells: impl Iterator<Item = Vec<Value>>,
) -> Vec<Vec<Value>> {
    let Some(at) = columns.iter().position(|column| column.id == "host") else {
        return cells.collect();
    };
    let mut groups: Vec<(Vec<Value>, Vec<String>)> = Vec::new();
    let mut kinds: HashMap<Vec<Value>, EqualRows> = HashMap::new();
    for mut row in cells {
        let host = std::mem::replace(&mut row[at], Value::Absent).to_string();
        let EqualRows { counts, groups: places } = kinds.entry(row.clone()).or_default();
        let nth = counts.entry(host.clone()).or_default();
        if *nth == places.len() {
            places.push(groups.len());
            groups.push((row, Vec::new()));
        }
        groups[places[*nth]].1.push(host);
        *nth += 1;
    }
    let unfold = |(mut row, hosts): (Vec<Value>, Vec<String>)| {
        row[at] = Value::Text(names::fold(hosts));
        row
    };
    groups.into_iter().map(unfold).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Defaults, Devices, select};
    use super::*;

    fn folded(rows: &[(&str, &str)]) -> Vec<String> {
        let words = ["host".to_owned(), "state".to_owned()];
        let columns = select::<Devices>(&words, Defaults::default()).unwrap();
        let text = |text: &str| Value::Text(text.into());
        let cells = rows.iter().map(|(host, state)| vec![text(host), text(state)]);
        fold(&columns, cells).iter().map(|row| format!("{} {}", row[0], row[1])).collect()
    }

    #[test]
    fn equal_hosts_are_one_row_where_the_first_of_them_stood() {
        let rows = [("n1", "UP"), ("n3", "DOWN"), ("n2", "UP"), ("n10", "UP")];
        assert_eq!(folded(&rows), ["n[1-2,10] UP", "n3 DOWN"]);
    }

    #[test]
    fn a_host_with_more_of_the_same_is_seen() {
        let rows = [("n1", "UP"), ("n1", "UP"), ("n2", "UP")];
        assert_eq!(folded(&rows), ["n[1-2] UP", "n1 UP"]);
    }
}
