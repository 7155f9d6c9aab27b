//! State of parsing one expression with all its groups and files, and its limits.

use std::collections::HashMap;
use std::ops::Range;

use super::error::HostSetFault;
use super::lookup::{
    AllowedTerms, GroupName, Lookup, LookupError, ResolvedLine, ResolvedLineError, ResolvedLines,
};
use super::{Host, HostSet, HostSetError};

const MAX_GROUP_DEPTH: usize = 32;
/// Limit of the number of groups. Each of them may run a command.
const MAX_GROUPS: usize = 4_096;

pub(super) struct Expansion<'lookup> {
    lookup: &'lookup dyn Lookup,
    /// Number of hosts built so far. A set may name the same hosts repeatedly.
    built: usize,
    /// Groups and files that are being read, without the expression itself.
    levels: Vec<Level>,
    /// Hosts of the groups read so far, so that each group is looked up once.
    groups: HashMap<GroupName, Vec<Host>>,
}

/// Group, file or stdin that is being read.
struct Level {
    group: Option<GroupName>,
    within: AllowedTerms,
}

impl<'lookup> Expansion<'lookup> {
    pub(super) fn new(lookup: &'lookup dyn Lookup) -> Self {
        Self { lookup, built: 0, levels: Vec::new(), groups: HashMap::new() }
    }

    /// Counts hosts before they are built. Fails above the limit of hosts.
    pub(super) fn take(&mut self, hosts: usize, term: &Range<usize>) -> Result<(), HostSetFault> {
        self.built = self.built.saturating_add(hosts);
        if hosts > HostSet::MAX_HOSTS || self.built > 16 * HostSet::MAX_HOSTS {
            return Err(super::too_many(term.clone()));
        }
        Ok(())
    }

    pub(super) fn group(
        &mut self,
        mut group: GroupName,
        term: &Range<usize>,
    ) -> Result<Vec<Host>, HostSetFault> {
        match self.levels.last().map(|level| &level.within) {
            None => {}
            Some(AllowedTerms::Groups(source)) => {
                group.source = group.source.or_else(|| source.clone());
            }
            Some(AllowedTerms::Hosts) => {
                return Err(HostSetFault::new(term, "this kind of file cannot contain groups")
                    .fix("write the hosts, or read it as list:FILE"));
            }
        }
        if let Some(hosts) = self.groups.get(&group) {
            let hosts = hosts.clone();
            self.take(hosts.len(), term)?;
            return Ok(hosts);
        }
        let open = self.levels.iter().filter_map(|level| level.group.as_ref());
        if open.clone().any(|one| *one == group) {
            let way: Vec<String> = open.chain([&group]).map(ToString::to_string).collect();
            let message = format!("the group contains itself: {}", way.join(" > "));
            return Err(HostSetFault::new(term, message));
        }
        if self.levels.len() >= MAX_GROUP_DEPTH {
            return Err(HostSetFault::new(term, "groups are nested more than 32 levels deep"));
        }
        if self.groups.len() >= MAX_GROUPS {
            return Err(HostSetFault::new(term, "more than 4,096 groups"));
        }
        let hosts = self.found(Some(group.clone()), self.lookup.group(&group), term)?;
        self.groups.insert(group, hosts.clone());
        Ok(hosts)
    }

    pub(super) fn file(
        &mut self,
        name: &str,
        term: &Range<usize>,
    ) -> Result<Vec<Host>, HostSetFault> {
        if !self.levels.is_empty() {
            return Err(HostSetFault::new(term, "files can be named only on the command line"));
        }
        self.found(None, self.lookup.file(name), term)
    }

    pub(super) fn stdin(&mut self, term: &Range<usize>) -> Result<Vec<Host>, HostSetFault> {
        if !self.levels.is_empty() {
            let message = "standard input can be named only on the command line";
            return Err(HostSetFault::new(term, message).fix("to remove hosts, write `!`"));
        }
        self.found(None, self.lookup.stdin(), term)
    }

    fn found(
        &mut self,
        group: Option<GroupName>,
        found: Result<ResolvedLines, LookupError>,
        term: &Range<usize>,
    ) -> Result<Vec<Host>, HostSetFault> {
        let found = found.map_err(|LookupError { message, fix }| {
            let mut fault = HostSetFault::new(term, message);
            fault.fix = fix;
            fault
        })?;
        let hosts = self.lines(group, found).map_err(|ResolvedLineError { place, error }| {
            HostSetFault::new(term, format!("invalid host set in {place}")).within(error)
        })?;
        self.take(hosts.len(), term)?;
        Ok(hosts)
    }

    pub(super) fn lines(
        &mut self,
        group: Option<GroupName>,
        found: ResolvedLines,
    ) -> Result<Vec<Host>, ResolvedLineError> {
        let ResolvedLines { lines, within } = found;
        self.levels.push(Level { group, within });
        let mut all = HostSet::default();
        for ResolvedLine { text, place } in lines {
            let read = self.expression(&text).and_then(|set| {
                all.hosts.extend(set.hosts);
                let fault = || HostSetError::new(&text, super::too_many(0..text.chars().count()));
                if all.len() > HostSet::MAX_HOSTS { Err(fault()) } else { Ok(()) }
            });
            read.map_err(|error| ResolvedLineError { place, error })?;
        }
        self.levels.pop();
        Ok(all.into_iter().collect())
    }

    /// Parses an expression. Its groups belong to the innermost level.
    pub(super) fn expression(&mut self, text: &str) -> Result<HostSet, HostSetError> {
        let chars: Vec<char> = text.chars().collect();
        super::read_set(&mut super::Cursor::new(&chars), self)
            .map_err(|fault| HostSetError::new(text, fault))
    }
}
