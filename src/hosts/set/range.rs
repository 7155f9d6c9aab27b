//! Numbers in one pair of brackets: `[01-16,20-30/2]`.

use super::cursor::Cursor;
use super::error::HostSetFault;

/// Numbers from `low` to `high` in steps of `step`, each padded to `width` digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    low: u64,
    high: u64,
    step: u64,
    width: usize,
}

impl Numbers {
    pub(super) fn count(&self) -> u64 {
        // The parser guarantees `high >= low` and `step > 0`. Only 0..=u64::MAX saturates.
        ((self.high - self.low) / self.step).saturating_add(1)
    }

    /// Returns the number of digits of the longest number.
    pub(super) fn digits(&self) -> usize {
        self.width.max(self.high.checked_ilog10().map_or(1, |log| log as usize + 1))
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        let Self { low, step, width, .. } = *self;
        (0..self.count()).map(move |index| format!("{:0width$}", low + index * step))
    }
}

/// Reads the ranges from `[` up to and including `]`.
pub(super) fn read_bracket(cursor: &mut Cursor<'_>) -> Result<Vec<Numbers>, HostSetFault> {
    let open = cursor.at;
    cursor.at += 1;
    let mut ranges = Vec::new();
    loop {
        cursor.skip_while(char::is_whitespace);
        ranges.push(read_range(cursor, open)?);
        cursor.skip_while(char::is_whitespace);
        match cursor.peek() {
            Some(',') => cursor.at += 1,
            Some(']') => {
                cursor.at += 1;
                return Ok(ranges);
            }
            Some(c) => {
                let message = format!("`{c}` is not allowed in a range");
                return Err(
                    HostSetFault::at(cursor.at, message).fix("write [1-3], [1,5] or [1-9/2]")
                );
            }
            None => return Err(unclosed(open, cursor)),
        }
    }
}

fn read_range(cursor: &mut Cursor<'_>, open: usize) -> Result<Numbers, HostSetFault> {
    let start = cursor.at;
    let (low_text, low) = read_number(cursor, open)?;
    cursor.skip_while(char::is_whitespace);
    if !cursor.eat('-') {
        return Ok(Numbers { low, high: low, step: 1, width: padding(&low_text) });
    }
    cursor.skip_while(char::is_whitespace);
    let (high_text, high) = read_number(cursor, open)?;
    let bounds = start..cursor.at;
    if padding(&high_text) > 0 && low_text.len() != high_text.len() {
        let width = high_text.len();
        return Err(HostSetFault::new(bounds, "the bounds have different widths")
            .fix(format!("write [{low:0width$}-{high:0width$}] or [{low}-{high}]")));
    }
    if high < low {
        return Err(HostSetFault::new(bounds, "the range is descending")
            .fix(format!("write [{high_text}-{low_text}]")));
    }
    cursor.skip_while(char::is_whitespace);
    let step = if cursor.eat('/') {
        cursor.skip_while(char::is_whitespace);
        let at = cursor.at;
        match read_number(cursor, open)? {
            (_, 0) => return Err(HostSetFault::new(at..cursor.at, "the step must not be 0")),
            (_, step) => step,
        }
    } else {
        1
    };
    Ok(Numbers { low, high, step, width: padding(&low_text) })
}

fn read_number(cursor: &mut Cursor<'_>, open: usize) -> Result<(String, u64), HostSetFault> {
    let start = cursor.at;
    if cursor.skip_while(|c| c.is_ascii_digit()) == 0 {
        return Err(match cursor.peek() {
            None => unclosed(open, cursor),
            Some(']' | ',') => HostSetFault::at(start, "a number is missing"),
            Some('-') => HostSetFault::at(start, "a range starts with a number").fix("write [1-3]"),
            Some(c) => HostSetFault::at(start, format!("`{c}` is not a digit"))
                .fix("write decimal numbers, for example [1-3]"),
        });
    }
    let text = cursor.text(start, cursor.at);
    let Ok(number) = text.parse() else {
        return Err(HostSetFault::new(start..cursor.at, "the number is too large"));
    };
    Ok((text, number))
}

/// Returns the width that leading zeros imply; 0 without leading zeros.
fn padding(digits: &str) -> usize {
    if digits.len() > 1 && digits.starts_with('0') { digits.len() } else { 0 }
}

fn unclosed(open: usize, cursor: &Cursor<'_>) -> HostSetFault {
    HostSetFault::new(open..cursor.at, "unclosed bracket").fix("add `]`")
}
