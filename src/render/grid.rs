/// On which side of a column its cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Rows of cells as aligned lines: two blanks between columns, none at the end of a line.
///
/// Cells hold no control characters: they have been through [`super::escape`].
pub(super) fn grid(rows: &[Vec<String>], align: impl Fn(usize) -> Align) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |cell: &String| cell.chars().count();
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(width).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let fill = " ".repeat(widths[column].saturating_sub(width(cell)));
            match align(column) {
                Align::Left => line.extend([cell.as_str(), &fill]),
                Align::Right => line.extend([fill.as_str(), cell]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_right_and_names_left() {
        let rows = [vec!["a".to_owned(), "1".into()], vec!["bb".into(), "22".into()]];
        let align = |column| if column == 0 { Align::Left } else { Align::Right };
        assert_eq!(grid(&rows, align), "a    1\nbb  22\n");
    }
}
