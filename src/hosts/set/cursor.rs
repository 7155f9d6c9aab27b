//! Position in an expression, counted in characters so that the carets of an error fit.

#[derive(Debug)]
pub(super) struct Cursor<'a> {
    chars: &'a [char],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(chars: &'a [char]) -> Self {
        Self { chars, at: 0 }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn peek_next(&self) -> Option<char> {
        self.chars.get(self.at + 1).copied()
    }

    /// Skips the next character if it is `wanted`. Returns true if it was.
    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// Skips characters while the test holds. Returns their number.
    pub(super) fn skip_while(&mut self, test: impl Fn(char) -> bool) -> usize {
        let start = self.at;
        while self.peek().is_some_and(&test) {
            self.at += 1;
        }
        self.at - start
    }

    /// Returns a cursor over the text up to `end`.
    pub(super) fn until(&self, end: usize) -> Cursor<'a> {
        Cursor { chars: self.chars.get(..end).unwrap_or(self.chars), at: self.at }
    }

    /// Returns the position of the next character that passes the test.
    pub(super) fn find(&self, test: impl Fn(char) -> bool) -> Option<usize> {
        let rest = self.chars.get(self.at..)?;
        rest.iter().position(|c| test(*c)).map(|offset| self.at + offset)
    }

    /// True if only blanks separate the cursor from a preceding term.
    pub(super) fn is_behind_blanks(&self) -> bool {
        let before = self.chars.get(..self.at).unwrap_or_default();
        let last = before.iter().rposition(|c| !c.is_whitespace()).map(|last| (last, before[last]));
        last.is_some_and(|(at, c)| at + 1 < self.at && !matches!(c, ',' | '!' | '&' | '^'))
    }

    pub(super) fn text(&self, start: usize, end: usize) -> String {
        self.chars.get(start..end).unwrap_or_default().iter().collect()
    }

    pub(super) fn end(&self) -> usize {
        self.chars.len()
    }
}
