//! Splits a file into logical lines: joins continued lines and removes comments.

pub(super) struct LogicalLine {
    /// Number of its first line in the file.
    pub(super) number: usize,
    pub(super) text: String,
}

/// Returns the lines that are not empty. A `\` at the end continues a line, also in a comment.
/// `#` starts a comment unless `\` precedes it. Slurm applies the two rules in this order.
pub(super) fn logical(text: &str) -> Vec<LogicalLine> {
    let mut lines = Vec::new();
    let mut open: Option<LogicalLine> = None;
    for (index, raw) in text.lines().enumerate() {
        let mut line =
            open.take().unwrap_or_else(|| LogicalLine { number: index + 1, text: String::new() });
        let raw = raw.trim_end();
        let backslashes = raw.bytes().rev().take_while(|&letter| letter == b'\\').count();
        if backslashes % 2 == 1 {
            line.text.push_str(&raw[..raw.len() - 1]);
            open = Some(line);
            continue;
        }
        line.text.push_str(raw);
        lines.push(line);
    }
    // The last line of a file cannot be continued.
    lines.extend(open);
    lines.into_iter().filter_map(without_comment).collect()
}

fn without_comment(mut line: LogicalLine) -> Option<LogicalLine> {
    let mut before = ' ';
    let comment = line.text.char_indices().find(|&(_, letter)| {
        let starts = letter == '#' && before != '\\';
        before = letter;
        starts
    });
    if let Some((at, _)) = comment {
        line.text.truncate(at);
    }
    (!line.text.trim().is_empty()).then_some(line)
}

#[test]
fn a_continued_line_has_the_number_of_its_first_line() {
    let text = "a \\\n b # c\n\n# d \\\n e\nf \\# g\\\\\nh\\";
    let lines: Vec<(usize, String)> =
        logical(text).into_iter().map(|line| (line.number, line.text)).collect();
    let expected = [(1, "a  b "), (6, "f \\# g\\\\"), (7, "h")];
    assert_eq!(lines, expected.map(|(number, text)| (number, text.to_owned())));
}
