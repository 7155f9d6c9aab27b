//! Sets of hosts as operators write them: `n[01-16],gpu[1-4]!gpu3`.
//!
//! The grammar, read left to right with equal precedence, as `ClusterShell` does:
//!
//! ```text
//! set    := term { (',' | blank | '!' | '&' | '^') term }
//! term   := '@' [source ':'] group | '^' file | '-' | [user '@'] name [':' port]
//! group  := '*' | parts of A-Z a-z 0-9 _ - . + = / and '[' range {',' range} ']'
//! name   := IPv6 in [] | parts of text and '[' range {',' range} ']'
//! range  := digits ['-' digits ['/' digits]]
//! text   := A-Z a-z 0-9 . _ - :       ':' only in a bare IPv6 address, '-' never first
//! ```
//!
//! `,` and blanks form the union, `!` removes hosts, `&` keeps the common hosts, `^` keeps hosts
//! that are in exactly one of both sets. A [`Lookup`] resolves groups, files and a lone `-`,
//! which is stdin. Their lines have the same grammar.

mod cursor;
mod error;
mod expansion;
mod host;
mod lookup;
mod part;
mod range;
mod special;
mod term;

use std::collections::BTreeSet;

pub use error::HostSetError;
pub use host::Host;
pub use lookup::{
    AllowedTerms, GroupName, Lookup, LookupError, ResolvedLine, ResolvedLineError, ResolvedLines,
};

use crate::names;
use cursor::Cursor;
use error::HostSetFault;
use expansion::Expansion;
use lookup::NoLookup;

/// Hosts in natural order (`n2` before `n10`), without duplicates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSet {
    hosts: BTreeSet<Host>,
}

impl HostSet {
    /// Limit of the number of hosts, checked before they are built.
    pub const MAX_HOSTS: usize = 65_536;

    /// Parses an expression without groups, files and stdin.
    ///
    /// # Errors
    /// The expression is invalid, or names a group, a file or stdin. The error shows its place
    /// and a fix.
    pub fn parse(expression: &str) -> Result<Self, HostSetError> {
        Self::find(expression, &NoLookup)
    }

    /// Parses an expression and resolves its groups and files.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), or a group or file is not found or has invalid content.
    pub fn find(expression: &str, lookup: &dyn Lookup) -> Result<Self, HostSetError> {
        Expansion::new(lookup).expression(expression)
    }

    /// Parses the lines of a file as one set.
    ///
    /// # Errors
    /// Returns the first invalid line with its place.
    pub fn of_lines(found: ResolvedLines, lookup: &dyn Lookup) -> Result<Self, ResolvedLineError> {
        Expansion::new(lookup).lines(None, found).map(Self::from_iter)
    }

    /// Returns the hosts in natural order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Host> {
        self.hosts.iter()
    }

    /// Returns the number of hosts.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// True if the operators removed all hosts.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Returns the shortest known expression for this set. [`HostSet::parse`] accepts it.
    pub fn fold(&self) -> String {
        names::fold(self.iter().map(ToString::to_string))
    }

    fn combine(&mut self, operator: Operator, term: Vec<Host>) {
        let term: BTreeSet<Host> = term.into_iter().collect();
        match operator {
            Operator::Union => self.hosts.extend(term),
            Operator::Without => {
                for host in &term {
                    self.hosts.remove(host);
                }
            }
            Operator::And => self.hosts.retain(|host| term.contains(host)),
            Operator::Xor => {
                for host in term {
                    if !self.hosts.remove(&host) {
                        self.hosts.insert(host);
                    }
                }
            }
        }
    }
}

impl FromIterator<Host> for HostSet {
    fn from_iter<I: IntoIterator<Item = Host>>(hosts: I) -> Self {
        Self { hosts: hosts.into_iter().collect() }
    }
}

impl IntoIterator for HostSet {
    type Item = Host;
    type IntoIter = std::collections::btree_set::IntoIter<Host>;

    fn into_iter(self) -> Self::IntoIter {
        self.hosts.into_iter()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Union,
    Without,
    And,
    Xor,
}

fn too_many(term: std::ops::Range<usize>) -> HostSetFault {
    HostSetFault::new(term, "more than 65,536 hosts").fix("split the set into several runs")
}

fn read_set(
    cursor: &mut Cursor<'_>,
    expansion: &mut Expansion<'_>,
) -> Result<HostSet, HostSetFault> {
    let mut set = HostSet::default();
    let mut operator = Operator::Union;
    let mut some = false;
    loop {
        cursor.skip_while(|c| c.is_whitespace() || (operator == Operator::Union && c == ','));
        let start = cursor.at;
        let term = match cursor.peek() {
            None if operator == Operator::Union && some => return Ok(set),
            None if operator == Operator::Union => {
                return Err(HostSetFault::new(0..start.max(1), "no host")
                    .fix("write a host or a set, for example n[1-4]"));
            }
            None => {
                let sign = start.saturating_sub(1)..start;
                return Err(HostSetFault::new(sign, "no host follows this operator"));
            }
            Some(c @ ('!' | '&' | ',')) => {
                return Err(HostSetFault::at(start, format!("no host before `{c}`")));
            }
            Some(_) => term::read(cursor, expansion)?,
        };
        set.combine(operator, term);
        some = true;
        if set.len() > HostSet::MAX_HOSTS {
            return Err(too_many(start..cursor.at));
        }
        operator = read_operator(cursor);
    }
}

/// Reads the operator after a term. Blanks alone mean the union.
fn read_operator(cursor: &mut Cursor<'_>) -> Operator {
    let blanks = cursor.skip_while(char::is_whitespace) > 0;
    let operator = match cursor.peek() {
        Some(',') => Operator::Union,
        Some('!') => Operator::Without,
        Some('&') => Operator::And,
        // `a ^file` names a file, while `a^b` and `a ^ b` contain the operator.
        Some('^') if !blanks || cursor.peek_next().is_none_or(char::is_whitespace) => Operator::Xor,
        _ => return Operator::Union,
    };
    cursor.at += 1;
    operator
}
