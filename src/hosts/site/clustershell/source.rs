//! One group source of `ClusterShell`: groups from a file, or from commands.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::command::Commands;
use super::super::{listed, output_lines, unknown};
use super::upcall::substitute;
use crate::hosts::lists::Group;
use crate::hosts::set::{AllowedTerms, GroupName, LookupError, ResolvedLine, ResolvedLines};

/// File with commands, and the users who can write to it.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) path: PathBuf,
    pub(super) metadata: Writers,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Writers {
    /// Only root and this user.
    Trusted,
    /// Other users, too, or unknown.
    Others,
}

impl From<Option<Metadata>> for Writers {
    fn from(metadata: Option<Metadata>) -> Self {
        const GROUP_OR_OTHERS: u32 = 0o022;
        let user = rustix::process::geteuid().as_raw();
        let is_owned = |file: &Metadata| file.uid() == 0 || file.uid() == user;
        match metadata {
            Some(file) if is_owned(&file) && file.mode() & GROUP_OR_OTHERS == 0 => Self::Trusted,
            _ => Self::Others,
        }
    }
}

#[derive(Debug)]
pub(in super::super) struct Source {
    pub(super) name: String,
    kind: Kind,
}

/// Shell command, and the file that has it.
pub(super) type Upcall = (String, Origin);

#[derive(Debug)]
enum Kind {
    Listed { groups: Vec<Group>, path: PathBuf },
    Asked(Upcalls),
}

/// Commands of a source, which run in a folder.
#[derive(Debug)]
pub(super) struct Upcalls {
    pub(super) folder: PathBuf,
    pub(super) map: Upcall,
    pub(super) all: Option<Upcall>,
    pub(super) list: Option<Upcall>,
}

impl Source {
    pub(super) fn listed(name: &str, groups: Vec<Group>, path: &Path) -> Self {
        Self { name: name.to_owned(), kind: Kind::Listed { groups, path: path.to_owned() } }
    }

    pub(super) fn asked(name: &str, upcalls: Upcalls) -> Self {
        Self { name: name.to_owned(), kind: Kind::Asked(upcalls) }
    }

    pub(super) fn place(&self) -> String {
        match &self.kind {
            Kind::Listed { path, .. } => path.display().to_string(),
            Kind::Asked(upcalls) => upcalls.map.1.path.display().to_string(),
        }
    }

    /// Returns the groups of a file. `None` for a source with commands.
    pub(super) fn groups(&self) -> Option<&[Group]> {
        match &self.kind {
            Kind::Listed { groups, .. } => Some(groups),
            Kind::Asked(_) => None,
        }
    }

    pub(in super::super) fn group(
        &self,
        name: &str,
        commands: &Commands,
    ) -> Result<ResolvedLines, LookupError> {
        match &self.kind {
            Kind::Listed { groups, path } => self.group_of_file(name, groups, path),
            Kind::Asked(upcalls) if name == GroupName::ALL => self.every_host(upcalls, commands),
            Kind::Asked(upcalls) => {
                let hosts = self.ask(upcalls, &upcalls.map, name, commands)?;
                if hosts.split_whitespace().next().is_none() {
                    self.refuse_unknown(name, upcalls, commands)?;
                }
                Ok(self.found(&hosts, &upcalls.map.1))
            }
        }
    }

    fn group_of_file(
        &self,
        name: &str,
        groups: &[Group],
        path: &Path,
    ) -> Result<ResolvedLines, LookupError> {
        let place = path.display().to_string();
        let of_name = |name: &str| groups.iter().find(|group| group.name == name);
        if let Some(group) = of_name(if name == GroupName::ALL { "all" } else { name }) {
            return Ok(listed(&place, group, &self.name));
        }
        let names = groups.iter().map(|group| group.name.as_str());
        if name == GroupName::ALL {
            return Ok(self.every_group(names, &place));
        }
        Err(unknown(name, &format!("{} ({place})", self.name), names))
    }

    fn every_host(
        &self,
        upcalls: &Upcalls,
        commands: &Commands,
    ) -> Result<ResolvedLines, LookupError> {
        if let Some(all) = &upcalls.all {
            return Ok(self.found(&self.ask(upcalls, all, "", commands)?, &all.1));
        }
        let Some(list) = &upcalls.list else {
            let (name, path) = (&self.name, self.place());
            let message = format!("group source {name} has no `all` and no `list` command");
            return Err(LookupError::new(message)
                .fix(format!("write `all: COMMAND` below [{name}] in {path}")));
        };
        let groups = self.ask(upcalls, list, "", commands)?;
        Ok(self.every_group(groups.split_whitespace(), &self.place()))
    }

    fn every_group<'a>(&self, names: impl Iterator<Item = &'a str>, place: &str) -> ResolvedLines {
        let line = |name| ResolvedLine { text: format!("@{name}"), place: place.to_owned() };
        ResolvedLines {
            lines: names.map(line).collect(),
            within: AllowedTerms::Groups(Some(self.name.clone())),
        }
    }

    /// Refuses an unknown group. An empty reply is valid only for a known group.
    fn refuse_unknown(
        &self,
        name: &str,
        upcalls: &Upcalls,
        commands: &Commands,
    ) -> Result<(), LookupError> {
        let Some(list) = &upcalls.list else {
            let message = format!("group source {} returned no host for group {name}", self.name);
            return Err(LookupError::new(message).fix("check the group name, or write the hosts"));
        };
        let known = self.ask(upcalls, list, "", commands)?;
        if known.split_whitespace().any(|known| known == name) {
            return Ok(());
        }
        let place = format!("{} ({})", self.name, self.place());
        Err(unknown(name, &place, known.split_whitespace()))
    }

    /// Runs a command of the configuration in a shell.
    fn ask(
        &self,
        Upcalls { folder, .. }: &Upcalls,
        (template, origin): &Upcall,
        group: &str,
        commands: &Commands,
    ) -> Result<String, LookupError> {
        let path = origin.path.display();
        if let Writers::Others = origin.metadata {
            return Err(LookupError::new(format!(
                "the commands in {path} are not run, because other users own the file or can write to it"
            ))
            .fix(format!("restrict the file: sudo chown root {path}; sudo chmod go-w {path}")));
        }
        // Group names are harmless in a shell, but a slash would end an expression of sed.
        if group.contains('/') {
            let message = format!("group names of source {} cannot contain `/`", self.name);
            return Err(LookupError::new(message));
        }
        let directory = folder.display().to_string();
        let values = [("GROUP", group), ("CFGDIR", &*directory), ("SOURCE", &*self.name)];
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(substitute(template, &values)).current_dir(folder);
        let name = format!("the command of group source {} in {path}", self.name);
        let ended = commands.run(command, &name)?;
        if ended.is_success {
            return Ok(ended.text);
        }
        Err(LookupError::new(format!("{name} failed: {}", ended.last_line))
            .fix("check the group name, or run the command by hand"))
    }

    /// Returns the lines of a reply. Each line is one host set, as in `ClusterShell`.
    fn found(&self, answer: &str, origin: &Origin) -> ResolvedLines {
        let place = format!("the output of group source {} ({})", self.name, origin.path.display());
        let within = AllowedTerms::Groups(Some(self.name.clone()));
        ResolvedLines { lines: output_lines(answer, &place), within }
    }
}
