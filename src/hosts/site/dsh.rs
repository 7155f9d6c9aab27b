//! Groups of dsh: one file per group, with one host per line and `#include GROUP` (pdsh(1),
//! "dshgroup").

use std::fs;
use std::path::{Path, PathBuf};

use super::{ListedGroup, text, unknown};
use crate::hosts::set::{AllowedTerms, GroupName, LookupError, ResolvedLine, ResolvedLines};

const SOURCE: &str = "dsh";

pub(super) fn group(folders: &[PathBuf], name: &str) -> Result<ResolvedLines, LookupError> {
    let within = AllowedTerms::Groups(Some(SOURCE.into()));
    if name == GroupName::ALL {
        let lines = listed(folders).into_iter();
        let lines = lines.map(|one| ResolvedLine { text: one.group.to_string(), place: one.place });
        return Ok(ResolvedLines { lines: lines.collect(), within });
    }
    let is_name = !name.contains('/') && !name.starts_with('.');
    let mut paths = folders.iter().map(|folder| folder.join(name));
    let Some(path) = paths.find(|path| is_name && path.is_file()) else {
        let known = listed(folders);
        return Err(unknown(name, "dsh", known.iter().map(|one| one.group.name.as_str())));
    };
    let place = path.display().to_string();
    let line = |(index, line): (usize, &str)| {
        let text = match line.trim().strip_prefix("#include") {
            Some(group) => format!("@{}", group.trim()),
            None => line.split('#').next().unwrap_or_default().trim().to_owned(),
        };
        (!text.is_empty()).then(|| ResolvedLine { text, place: format!("{place}:{}", index + 1) })
    };
    let text = text::read_file(&path)?;
    Ok(ResolvedLines { lines: text.lines().enumerate().filter_map(line).collect(), within })
}

/// Returns the existing groups, each with its file.
pub(super) fn listed(folders: &[PathBuf]) -> Vec<ListedGroup> {
    const MAX: usize = 4_096;
    let files = |folder: &PathBuf| fs::read_dir(folder).into_iter().flatten().take(MAX).flatten();
    let named = |path: &Path| {
        let name = path.file_name()?.to_str().filter(|name| !name.starts_with('.'))?.to_owned();
        let group = GroupName { source: Some(SOURCE.into()), name };
        let place = path.display().to_string();
        path.is_file().then(|| ListedGroup { group, place, hosts: Vec::new() })
    };
    let mut groups: Vec<_> =
        folders.iter().flat_map(files).filter_map(|entry| named(&entry.path())).collect();
    groups.sort_by(|one, other| crate::names::compare(&one.group.name, &other.group.name));
    // A file of the first folder hides files with the same name.
    groups.dedup_by(|one, other| one.group == other.group);
    groups
}
