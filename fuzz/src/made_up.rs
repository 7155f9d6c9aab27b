//! Groups from the fuzzer's input.

use rdmactl::hosts::lists::Group;
use rdmactl::hosts::{AllowedTerms, GroupName, Lookup, LookupError, ResolvedLine, ResolvedLines};

/// Group sources: the name and the groups of each source.
#[derive(Debug, Default)]
pub struct MadeUp(pub Vec<(String, Vec<Group>)>);

impl Lookup for MadeUp {
    fn group(&self, group: &GroupName) -> Result<ResolvedLines, LookupError> {
        let is_of = |name: &str| group.source.as_deref().is_none_or(|source| source == name);
        let source = self.0.iter().find(|(name, _)| is_of(name));
        let (source, groups) = source.ok_or_else(|| LookupError::new("no such source"))?;
        let is_wanted = |one: &&Group| group.name == GroupName::ALL || one.name == group.name;
        let lines: Vec<ResolvedLine> = groups
            .iter()
            .filter(is_wanted)
            .flat_map(|group| &group.entries)
            .map(|entry| ResolvedLine { text: entry.hosts.clone(), place: entry.line.to_string() })
            .collect();
        if lines.is_empty() {
            return Err(LookupError::new("no such group"));
        }
        Ok(ResolvedLines { lines, within: AllowedTerms::Groups(Some(source.clone())) })
    }

    fn file(&self, _: &str) -> Result<ResolvedLines, LookupError> {
        Err(LookupError::new("no file is read"))
    }

    fn stdin(&self) -> Result<ResolvedLines, LookupError> {
        Err(LookupError::new("stdin is not read"))
    }
}
