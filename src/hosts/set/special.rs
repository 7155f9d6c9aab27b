//! Parser for terms that refer to other data: `@group`, `^file`, and `-` for stdin.

use super::Host;
use super::cursor::Cursor;
use super::error::HostSetFault;
use super::expansion::Expansion;
use super::lookup::GroupName;
use super::part::{self, Part};
use super::range::read_bracket;

/// Reads a term of this module; `None` for any other term.
pub(super) fn read(
    cursor: &mut Cursor<'_>,
    end: usize,
    expansion: &mut Expansion<'_>,
) -> Result<Option<Vec<Host>>, HostSetFault> {
    let start = cursor.at;
    let span = start..end;
    let hosts = match cursor.peek() {
        Some('@') => read_group(&mut cursor.until(end), expansion)?,
        Some('^') if end == start + 1 => {
            return Err(HostSetFault::new(span, "no file after `^`").fix("write ^FILE"));
        }
        Some('^') => expansion.file(&cursor.text(start + 1, end), &span)?,
        // The author of `a - b` means removal. Reading stdin would wait without end.
        Some('-') if end == start + 1 && cursor.is_behind_blanks() => {
            return Err(HostSetFault::new(span, "`-` is not an operator")
                .fix("write `!` to remove hosts, `,-` for standard input"));
        }
        Some('-') if end == start + 1 => expansion.stdin(&span)?,
        Some('-') => {
            return Err(HostSetFault::at(start, "a host name cannot start with `-`"));
        }
        _ => return Ok(None),
    };
    cursor.at = end;
    Ok(Some(hosts))
}

/// Reads a group: `@group`, `@source:group`, `@racks:rack[1-3]`, `@*`, `@source:*`.
fn read_group(
    inner: &mut Cursor<'_>,
    expansion: &mut Expansion<'_>,
) -> Result<Vec<Host>, HostSetFault> {
    let (start, end) = (inner.at, inner.end());
    inner.at += 1;
    if inner.peek() == Some('@') {
        return Err(HostSetFault::new(start..end, "`@@` is not supported")
            .fix("write one `@` for the hosts of a group"));
    }
    let source = read_source(inner)?;
    let mut hosts = Vec::new();
    for name in read_names(inner, start, expansion)? {
        hosts.extend(expansion.group(GroupName { source: source.clone(), name }, &(start..end))?);
    }
    Ok(hosts)
}

fn read_source(inner: &mut Cursor<'_>) -> Result<Option<String>, HostSetFault> {
    let Some(colon) = inner.find(|c| c == ':' || c == '[') else { return Ok(None) };
    if inner.text(colon, colon + 1) != ":" {
        return Ok(None);
    }
    let source = inner.text(inner.at, colon);
    if source.is_empty() {
        return Err(HostSetFault::at(colon, "no group source before `:`"));
    }
    while inner.at < colon {
        refuse_character(inner)?;
    }
    inner.at = colon + 1;
    Ok(Some(source))
}

fn read_names(
    inner: &mut Cursor<'_>,
    start: usize,
    expansion: &mut Expansion<'_>,
) -> Result<Vec<String>, HostSetFault> {
    let (from, end) = (inner.at, inner.end());
    match inner.text(from, end).as_str() {
        "" => return Err(HostSetFault::new(start..end, "no group after `@`").fix("write @GROUP")),
        GroupName::ALL => return Ok(vec![GroupName::ALL.into()]),
        _ => {}
    }
    let mut parts = Vec::new();
    while let Some(c) = inner.peek() {
        if c == '[' {
            parts.push(Part::Numbers(read_bracket(inner)?));
        } else {
            let at = inner.at;
            // A command for the group would take a name with `-` as an option.
            if at == from && c == '-' {
                return Err(HostSetFault::at(at, "a group name cannot start with `-`"));
            }
            refuse_character(inner)?;
            parts.push(Part::Text(inner.text(at, inner.at)));
        }
    }
    let names = from..end;
    part::refuse_length(&parts, &names)?;
    expansion.take(part::count(&parts), &names)?;
    Ok(part::combine(&parts))
}

/// Skips a character of a group name. Other characters could inject code into a shell command.
fn refuse_character(inner: &mut Cursor<'_>) -> Result<(), HostSetFault> {
    let at = inner.at;
    match inner.peek() {
        Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '=' | '/') => {
            inner.at += 1;
            Ok(())
        }
        Some('*' | '?') => Err(HostSetFault::at(at, "wildcards are not supported")
            .fix("write @* or @SOURCE:* for every host, or a range, for example @rack[1-4]")),
        _ => Err(HostSetFault::at(at, "this character is not allowed in a group name")),
    }
}
