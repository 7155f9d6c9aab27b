//! Parses filter expressions by recursive descent, and rejects comparisons that can never hold.

use super::super::select::find;
use super::super::{Column, Listing, Words};
use super::{Condition, FilterError, Operand, Relation, quantity};

/// Maximum depth of nested parentheses and negations.
const DEEPEST: usize = 64;

/// Signs of the relations, the longest first, because `<=` starts with `<`.
const RELATIONS: [(&str, Relation, bool); 10] = [
    ("==", Relation::Equal, true),
    ("!=", Relation::Equal, false),
    ("<=", Relation::LessOrEqual, true),
    (">=", Relation::GreaterOrEqual, true),
    ("!~", Relation::Contains, false),
    ("=~", Relation::Contains, true),
    ("=", Relation::Equal, true),
    ("<", Relation::Less, true),
    (">", Relation::Greater, true),
    ("~", Relation::Contains, true),
];

/// Parses an expression. `is_read` is true for columns that it may name.
pub(super) fn parse<L: Listing>(
    expression: &str,
    is_read: fn(&Column<L>) -> bool,
) -> Result<Condition<L>, FilterError> {
    let mut parser = Parser { expression, at: 0, depth: 0, is_read };
    let condition = parser.any()?;
    match parser.rest() {
        "" => Ok(condition),
        rest if rest.starts_with(')') => Err(parser.error("unmatched )")),
        _ => Err(parser.error("expected || or the word or")),
    }
}

struct Parser<'text, L: Listing> {
    expression: &'text str,
    /// Offset of the next character, in bytes.
    at: usize,
    depth: usize,
    is_read: fn(&Column<L>) -> bool,
}

impl<'text, L: Listing> Parser<'text, L> {
    fn rest(&self) -> &'text str {
        self.expression.get(self.at..).unwrap_or_default()
    }

    fn error(&self, what: impl Into<String>) -> FilterError {
        self.error_at(self.at, what)
    }

    fn error_at(&self, at: usize, what: impl Into<String>) -> FilterError {
        let before = self.expression.get(..at).unwrap_or(self.expression);
        FilterError {
            expression: self.expression.to_owned(),
            at: before.chars().count(),
            what: what.into(),
        }
    }

    fn skip_blanks(&mut self) {
        self.at = self.expression.len() - self.rest().trim_start().len();
    }

    /// Consumes the sign, if it comes next.
    fn takes(&mut self, sign: &str) -> bool {
        self.skip_blanks();
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    /// Consumes a whole word in upper or lower case, if it comes next.
    fn takes_word(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let rest = self.rest();
        let is_next = rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && rest[word.len()..].chars().next().is_none_or(is_sign);
        self.at += if is_next { word.len() } else { 0 };
        is_next
    }

    fn any(&mut self) -> Result<Condition<L>, FilterError> {
        let mut parts = vec![self.all()?];
        while self.takes("||") || self.takes_word("or") {
            parts.push(self.all()?);
        }
        Ok(single(parts, Condition::Any))
    }

    fn all(&mut self) -> Result<Condition<L>, FilterError> {
        let mut parts = vec![self.one()?];
        loop {
            let is_joined = self.takes("&&") || self.takes_word("and");
            self.skip_blanks();
            let is_over = self.rest().is_empty()
                || self.rest().starts_with([')', '|'])
                || self.is_next_word("or");
            if !is_joined && is_over {
                return Ok(single(parts, Condition::All));
            }
            // Adjacent conditions must all hold.
            parts.push(self.one()?);
        }
    }

    fn is_next_word(&mut self, word: &str) -> bool {
        let before = self.at;
        let is_next = self.takes_word(word);
        self.at = before;
        is_next
    }

    fn one(&mut self) -> Result<Condition<L>, FilterError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("parentheses are nested too deeply"));
        }
        let condition = if self.takes("!") || self.takes_word("not") {
            Condition::Not(Box::new(self.one()?))
        } else if self.takes("(") {
            let inner = self.any()?;
            if !self.takes(")") {
                return Err(self.error("expected )"));
            }
            inner
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn comparison(&mut self) -> Result<Condition<L>, FilterError> {
        self.skip_blanks();
        let start = self.at;
        let Some(word) = self.word()? else {
            return Err(self.error("expected a filter expression"));
        };
        let relation = RELATIONS.iter().find(|(sign, ..)| self.takes(sign));
        let Some((_, relation, is_wanted)) = relation else {
            return Ok(Condition::Somewhere(word.to_lowercase()));
        };
        let column = find::<L>(&word).map_err(|error| self.error_at(start, error.to_string()))?;
        if !(self.is_read)(column) {
            let what = format!("top does not read {}; rdmactl {} does", column.id, L::NAME);
            return Err(self.error_at(start, what));
        }
        self.skip_blanks();
        let value_at = self.at;
        let Some(value) = self.word()? else { return Err(self.error("expected a value")) };
        let text = with_blanks(column, value.to_lowercase());
        let quantity = quantity::parse(&text);
        if let Some(what) = impossible(column, *relation, &text, quantity.is_some()) {
            return Err(self.error_at(value_at, what));
        }
        let cell = Condition::Cell(column, *relation, Operand { text, quantity });
        Ok(if *is_wanted { cell } else { Condition::Not(Box::new(cell)) })
    }

    /// Consumes a word up to a blank or sign, or any text in quotes; `None` for no word.
    fn word(&mut self) -> Result<Option<String>, FilterError> {
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|letter| matches!(letter, '\'' | '"')) {
            let inner = &rest[1..];
            let Some(end) = inner.find(quote) else {
                return Err(self.error("this quote is not closed"));
            };
            self.at += end + 2;
            return Ok(Some(inner[..end].to_owned()));
        }
        let end = rest.find(is_sign).unwrap_or(rest.len());
        self.at += end;
        Ok((end > 0).then(|| rest[..end].to_owned()))
    }
}

/// Returns the reason why no value of the column can match; `None` if a value can.
fn impossible<L: Listing>(
    column: &Column<L>,
    relation: Relation,
    text: &str,
    is_quantity: bool,
) -> Option<String> {
    // `-` and `?` stand for absent and unreadable values.
    if matches!(relation, Relation::Equal | Relation::Contains) && matches!(text, "-" | "?") {
        return None;
    }
    let words = column.words();
    let is_known =
        |is_it: &dyn Fn(&str) -> bool| words.all().iter().any(|word| is_it(&word.to_lowercase()));
    let title = column.title;
    match (&words, relation) {
        (Words::Few { words: few, has_reasons }, Relation::Equal | Relation::Contains) => {
            let is_possible = match relation {
                Relation::Equal => is_known(&|word| word == text),
                _ => is_known(&|word| word.contains(text)),
            };
            let more = if *has_reasons {
                ", or the reason of a host that did not respond: timeout, refused, ..."
            } else {
                ""
            };
            (!is_possible).then(|| {
                let few: Vec<String> = few.iter().map(|word| in_quotes(word)).collect();
                format!("{title} is one of: {}{more}", few.join(", "))
            })
        }
        // A part of a number is text.
        (Words::Number(_), Relation::Contains) => None,
        (Words::Number(_), relation) => {
            let is_word = relation == Relation::Equal && is_known(&|word| word == text);
            let what = || format!("{title} is a number; write for example 4096, 0x3a4 or 400G");
            (!is_quantity && !is_word).then(what)
        }
        _ => None,
    }
}

/// Returns the column's word for a word of the JSON output: `RoCE v2` for `roce_v2`.
fn with_blanks<L: Listing>(column: &Column<L>, text: String) -> String {
    let words = column.words();
    let is_word = |text: &str| words.all().iter().any(|word| word.to_lowercase() == text);
    let spaced = text.replace('_', " ");
    if !is_word(&text) && is_word(&spaced) { spaced } else { text }
}

fn in_quotes(word: &str) -> String {
    if word.contains(is_sign) { format!("\"{word}\"") } else { word.to_owned() }
}

fn is_sign(letter: char) -> bool {
    letter.is_whitespace() || "()<>=!~&|'\"".contains(letter)
}

fn single<L: Listing>(
    mut parts: Vec<Condition<L>>,
    join: fn(Vec<Condition<L>>) -> Condition<L>,
) -> Condition<L> {
    if parts.len() == 1 { parts.remove(0) } else { join(parts) }
}
