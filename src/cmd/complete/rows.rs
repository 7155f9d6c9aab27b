//! Completes column names and filter expressions of a listing.

use std::fs;

use clap_complete::engine::CompletionCandidate;

use crate::query::{ColumnDescription, Words, words_of};

const DEVICE_COLUMNS: [&str; 2] = ["device.name", "resource.device"];

/// Completes a column of `-o`: `port.state`, `+port.state`, and `help`.
pub(super) fn columns(all: &[ColumnDescription], current: &str) -> Vec<CompletionCandidate> {
    let plus = if current.starts_with('+') { "+" } else { "" };
    let mut found = named(all, current, plus, "");
    if "help".starts_with(current) && !all.is_empty() {
        found.push(CompletionCandidate::new("help").help(Some("list all columns".into())));
    }
    found
}

/// Completes a column of `-s`: `port.rate_bps`, `-port.rate_bps`.
pub(super) fn order(all: &[ColumnDescription], current: &str) -> Vec<CompletionCandidate> {
    named(all, current, if current.starts_with('-') { "-" } else { "" }, "")
}

/// Completes the end of a filter expression: a column, or a value that the column can have.
pub(super) fn condition(all: &[ColumnDescription], current: &str) -> Vec<CompletionCandidate> {
    let start = current.rfind([' ', '(', '!', '&', '|']).map_or(0, |at| at + 1);
    // In `a!=b`, the `!` starts no negation.
    let start = if current[start..].starts_with(['=', '~']) {
        current[..start].rfind([' ', '(']).map_or(0, |at| at + 1)
    } else {
        start
    };
    let (before, last) = current.split_at(start);
    let Some(at) = last.find(['=', '~', '<', '>', '!']) else {
        return named(all, current, before, "=");
    };
    let column = &last[..at];
    let value = last[at..].trim_start_matches(['=', '~', '<', '>', '!']);
    let Some(column) = all.iter().find(|one| one.is_called(column)) else { return Vec::new() };
    let typed = &current[..current.len() - value.len()];
    let names = values_of(column.id).into_iter().filter(|name| name.starts_with(value));
    names.map(|name| CompletionCandidate::new(format!("{typed}{name}"))).collect()
}

/// Returns the values of a column that has only a few: words, or the devices of this host.
fn values_of(id: &str) -> Vec<String> {
    if DEVICE_COLUMNS.contains(&id) {
        return devices();
    }
    // Filters ignore case. A value with a space would need quotes.
    match words_of(id) {
        Words::Few { words, .. } => {
            let words = words.into_iter().filter(|word| !word.contains(' '));
            words.map(str::to_lowercase).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the columns whose name starts with the text after `before`. The name is the id, or a
/// unique short name: the lower-case heading or the last part of the id.
fn named(
    all: &[ColumnDescription],
    current: &str,
    before: &str,
    after: &str,
) -> Vec<CompletionCandidate> {
    let Some(begun) = current.strip_prefix(before) else { return Vec::new() };
    let is_only = |name: &str| all.iter().filter(|one| one.is_called(name)).count() == 1;
    let name_of = |one: &ColumnDescription| {
        let short = [one.title.to_lowercase(), one.last_part().to_owned()];
        let mut short = short.into_iter().filter(|_| !begun.is_empty());
        if one.id.starts_with(begun) {
            return Some(one.id.to_owned());
        }
        short.find(|name| name.starts_with(begun) && !name.contains(' ') && is_only(name))
    };
    let candidate = |one: &ColumnDescription| {
        let value = format!("{before}{}{after}", name_of(one)?);
        Some(CompletionCandidate::new(value).help(Some(one.help.into())))
    };
    all.iter().filter_map(candidate).collect()
}

fn devices() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/sys/class/infiniband") else { return Vec::new() };
    let names = entries.take(4096).flatten().map(|entry| entry.file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort_by(|one, other| crate::names::compare(one, other));
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::listings_of;

    fn found(
        complete: fn(&[ColumnDescription], &str) -> Vec<CompletionCandidate>,
        current: &str,
    ) -> Vec<String> {
        let all = complete(&listings_of("devices")[0].1, current);
        all.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn columns_are_named_with_what_stands_before_them() {
        assert_eq!(found(columns, "port.st"), ["port.state"]);
        assert_eq!(found(columns, "+port.st"), ["+port.state"]);
        assert_eq!(found(columns, "he"), ["help"]);
        assert_eq!(found(columns, "sta"), ["state"]);
        assert_eq!(found(columns, "+phys_p"), ["+phys_port_cnt"]);
        assert_eq!(found(order, "-rat"), ["-rate", "-rate_text"]);
        assert_eq!(found(order, "-port.st"), ["-port.state"]);
    }

    #[test]
    fn a_condition_is_completed_at_its_end() {
        assert_eq!(found(condition, "port.st"), ["port.state="]);
        assert_eq!(found(condition, "port.lid>4 and port.st"), ["port.lid>4 and port.state="]);
        assert_eq!(found(condition, "!(port.st"), ["!(port.state="]);
        assert_eq!(found(condition, "lid>4 and sta"), ["lid>4 and state="]);
        assert_eq!(found(condition, "port.state!=active_"), ["port.state!=active_defer"]);
        assert_eq!(found(condition, "state=="), {
            ["nop", "down", "init", "armed", "active", "active_defer", "gone"]
                .map(|it| format!("state=={it}"))
        });
        assert_eq!(found(condition, "port.lid="), [""; 0]);
        assert_eq!(found(condition, "nothing="), [""; 0]);
    }
}
