//! Completes the last host name of a host set, from files of this machine.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;

use clap_complete::engine::CompletionCandidate;

use crate::hosts::{Site, named_hosts};

const MAX_CANDIDATES: usize = 1_000;

pub(super) fn complete(current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let Some((before, name)) = last_term(current) else { return Vec::new() };
    let home = env::var_os("HOME").map(PathBuf::from);
    named_hosts(&Site::local(), home.as_deref())
        .into_iter()
        .filter(|host| host.name.starts_with(name))
        .take(MAX_CANDIDATES)
        .map(|host| {
            let value = format!("{before}{}", host.name);
            CompletionCandidate::new(value).help(Some(host.place.into()))
        })
        .collect()
}

/// Returns the text before the last term and the last term; `None` inside brackets.
fn last_term(set: &str) -> Option<(&str, &str)> {
    let (mut depth, mut start) = (0_u32, 0);
    for (at, letter) in set.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' | '!' | '&' | '^' | ' ' if depth == 0 => start = at + 1,
            _ => {}
        }
    }
    (depth == 0).then(|| set.split_at(start))
}

#[test]
fn only_the_last_term_is_completed() {
    assert_eq!(last_term("n[1-4],gp"), Some(("n[1-4],", "gp")));
    assert_eq!(last_term("n[1-4,"), None);
    assert_eq!(last_term(""), Some(("", "")));
}
