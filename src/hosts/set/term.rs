//! Parser for one term of a set: `[user@]name[:port]`, where the name may have brackets.

use std::net::Ipv6Addr;
use std::ops::Range;

use super::cursor::Cursor;
use super::error::HostSetFault;
use super::expansion::Expansion;
use super::part::{Part, combine, count, refuse_length};
use super::range::read_bracket;
use super::{Host, special};

/// Name with brackets that is not expanded yet.
struct Pattern {
    parts: Vec<Part>,
    /// Positions of the colons outside of brackets.
    colons: Vec<usize>,
}

/// Reads one term and expands it. The limit is checked before names are built.
pub(super) fn read(
    cursor: &mut Cursor<'_>,
    expansion: &mut Expansion<'_>,
) -> Result<Vec<Host>, HostSetFault> {
    let start = cursor.at;
    let end = find_end(cursor)?;
    if let Some(hosts) = special::read(cursor, end, expansion)? {
        return Ok(hosts);
    }
    let mut inner = cursor.until(end);
    let user = read_user(&mut inner)?;
    cursor.at = end;
    if let Some((name, port)) = read_bracketed_ipv6(&mut inner)? {
        expansion.take(1, &(start..end))?;
        return Ok(vec![Host { user, name, port }]);
    }
    let name_start = inner.at;
    let pattern = read_pattern(&mut inner)?;
    let (pattern, port) = split_port(pattern, &inner, name_start)?;
    let names = pattern.spell_out(expansion, name_start..end)?;
    Ok(names.into_iter().map(|name| Host { user: user.clone(), name, port }).collect())
}

/// Returns the end of the term: a separator or operator outside of brackets.
fn find_end(cursor: &Cursor<'_>) -> Result<usize, HostSetFault> {
    let mut ahead = cursor.until(cursor.end());
    while let Some(c) = ahead.peek() {
        match c {
            '[' => {
                let open = ahead.at;
                ahead.at = ahead.find(|c| c == ']').ok_or_else(|| {
                    HostSetFault::new(open..ahead.end(), "unclosed bracket").fix("add `]`")
                })?;
            }
            ',' | '!' | '&' => break,
            '^' if ahead.at > cursor.at => break,
            c if c.is_whitespace() => break,
            _ => {}
        }
        ahead.at += 1;
    }
    Ok(ahead.at)
}

fn read_user(inner: &mut Cursor<'_>) -> Result<Option<String>, HostSetFault> {
    let Some(at) = inner.find(|c| c == '@' || c == '[').filter(|at| inner.text(*at, at + 1) == "@")
    else {
        return Ok(None);
    };
    let user = inner.text(inner.at, at);
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    if let Some(bad) = user.chars().position(|c| !legal(c)) {
        let message = "this character is not allowed in a user name";
        return Err(HostSetFault::at(inner.at + bad, message));
    }
    inner.at = at + 1;
    if matches!(inner.peek(), None | Some('-')) {
        return Err(HostSetFault::at(at, "no host name after `@`"));
    }
    Ok(Some(user))
}

/// Reads `[::1]` or `[::1]:22`. Other text in brackets is a range.
fn read_bracketed_ipv6(
    inner: &mut Cursor<'_>,
) -> Result<Option<(String, Option<u16>)>, HostSetFault> {
    let Some(close) = inner.find(|c| c == ']').filter(|_| inner.peek() == Some('[')) else {
        return Ok(None);
    };
    let name = inner.text(inner.at + 1, close);
    if name.parse::<Ipv6Addr>().is_err() {
        return Ok(None);
    }
    inner.at = close + 1;
    let port = match inner.peek() {
        None => None,
        Some(':') => Some(read_port(inner, close + 1)?),
        Some(_) => {
            let rest = close + 1..inner.end();
            return Err(HostSetFault::new(rest, "only :PORT can follow an address"));
        }
    };
    Ok(Some((name, port)))
}

fn read_port(inner: &Cursor<'_>, colon: usize) -> Result<u16, HostSetFault> {
    let text = inner.text(colon + 1, inner.end());
    match text.parse() {
        Ok(port) if port > 0 && text.bytes().all(|b| b.is_ascii_digit()) => Ok(port),
        _ => Err(HostSetFault::new(colon..inner.end(), "not a port")
            .fix("write a number from 1 to 65535")),
    }
}

fn read_pattern(inner: &mut Cursor<'_>) -> Result<Pattern, HostSetFault> {
    let mut pattern = Pattern { parts: Vec::new(), colons: Vec::new() };
    let mut text = String::new();
    while let Some(c) = inner.peek() {
        let at = inner.at;
        if c == '[' {
            if !text.is_empty() {
                pattern.parts.push(Part::Text(std::mem::take(&mut text)));
            }
            pattern.parts.push(Part::Numbers(read_bracket(inner)?));
            continue;
        }
        inner.at += 1;
        match c {
            ':' => pattern.colons.push(at),
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => {}
            c => return Err(refuse_character(c, at)),
        }
        text.push(c);
    }
    if !text.is_empty() {
        pattern.parts.push(Part::Text(text));
    }
    Ok(pattern)
}

fn refuse_character(c: char, at: usize) -> HostSetFault {
    let fault = |message: &str| HostSetFault::at(at, message);
    match c {
        ']' => fault("no opening bracket"),
        '*' | '?' => fault("wildcards are not supported").fix("write a range, for example n[1-4]"),
        '(' | ')' => fault("parentheses are not supported")
            .fix("write operators in order; they apply from left to right"),
        '{' | '}' => fault("braces are not supported").fix("write [1-3]"),
        '@' => fault("a second `@`"),
        _ => fault("this character is not allowed in a host name"),
    }
}

/// Splits off the port after a single colon. Several colons belong to an IPv6 address.
fn split_port(
    mut pattern: Pattern,
    inner: &Cursor<'_>,
    start: usize,
) -> Result<(Pattern, Option<u16>), HostSetFault> {
    let [colon] = pattern.colons[..] else { return Ok((pattern, None)) };
    let port = read_port(inner, colon)?;
    // If the port is valid, the last part is a text that ends in `:port`.
    if let Some(Part::Text(text)) = pattern.parts.last_mut() {
        let keep = text.find(':').unwrap_or(text.len());
        text.truncate(keep);
    }
    if colon == start {
        return Err(HostSetFault::at(colon, "no host name before the port"));
    }
    pattern.colons.clear();
    Ok((pattern, Some(port)))
}

impl Pattern {
    fn spell_out(
        &self,
        expansion: &mut Expansion<'_>,
        span: Range<usize>,
    ) -> Result<Vec<String>, HostSetFault> {
        self.refuse_address_range(&span)?;
        refuse_length(&self.parts, &span)?;
        expansion.take(count(&self.parts), &span)?;
        let names = combine(&self.parts);
        let legal = |name: &String| match self.colons.len() {
            0 => name.bytes().any(|byte| byte.is_ascii_alphanumeric()),
            _ => name.parse::<Ipv6Addr>().is_ok(),
        };
        match names.iter().find(|name| !legal(name)) {
            None => Ok(names),
            Some(_) if self.colons.is_empty() => Err(HostSetFault::new(span, "not a host name")),
            Some(name) => Err(HostSetFault::new(span, format!("`{name}` is not an IPv6 address"))
                .fix("write an address with a port as [ADDRESS]:PORT")),
        }
    }

    /// Rejects `10.0.0.1-3`: it looks like a range of addresses, but would be resolved as a name.
    fn refuse_address_range(&self, span: &Range<usize>) -> Result<(), HostSetFault> {
        let sketch = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Numbers(_) => "0",
        });
        let sketch: String = sketch.collect();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let octets: Vec<&str> = sketch.split('.').collect();
        let [first @ .., last] = octets.as_slice() else { return Ok(()) };
        match last.split_once('-') {
            Some((low, high))
                if first.len() == 3
                    && first.iter().all(|octet| is_number(octet))
                    && is_number(low)
                    && is_number(high) =>
            {
                Err(HostSetFault::new(span, "a range of addresses needs brackets")
                    .fix(format!("write [{low}-{high}]")))
            }
            _ => Ok(()),
        }
    }
}
