//! One group source of `ClusterShell`: groups from a file, or from commands.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::command::Commands;
use super::super::{listed, unknown};
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
        match metadata {
            Some(file)
                if (file.uid() == 0 || file.uid() == user)
                    && file.mode() & GROUP_OR_OTHERS == 0 =>
            {
                Self::Trusted
            }
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
type Upcall = (String, Origin);

#[derive(Debug)]
enum Kind {
    Listed { groups: Vec<Group>, path: PathBuf },
    Asked { folder: PathBuf, map: Upcall, all: Option<Upcall>, list: Option<Upcall> },
}

impl Source {
    pub(super) fn listed(name: &str, groups: Vec<Group>, path: &Path) -> Self {
        Self { name: name.to_owned(), kind: Kind::Listed { groups, path: path.to_owned() } }
    }

    pub(super) fn asked(
        name: &str,
        folder: &Path,
        map: Upcall,
        all: Option<Upcall>,
        list: Option<Upcall>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind: Kind::Asked { folder: folder.to_owned(), map, all, list },
        }
    }

    /// Returns the path of the file that has the source.
    pub(super) fn place(&self) -> String {
        match &self.kind {
            Kind::Listed { path, .. } => path.display().to_string(),
            Kind::Asked { map: (_, origin), .. } => origin.path.display().to_string(),
        }
    }

    /// Returns the groups of a file. `None` for a source with commands.
    pub(super) fn groups(&self) -> Option<&[Group]> {
        match &self.kind {
            Kind::Listed { groups, .. } => Some(groups),
            Kind::Asked { .. } => None,
        }
    }

    pub(in super::super) fn group(
        &self,
        name: &str,
        commands: &Commands,
    ) -> Result<ResolvedLines, LookupError> {
        match &self.kind {
            Kind::Listed { groups, path } => self.group_of_file(name, groups, path),
            Kind::Asked { map, all, list, .. } if name == GroupName::ALL => {
                self.every_host(map, all.as_ref(), list.as_ref(), commands)
            }
            Kind::Asked { map, list, .. } => {
                let hosts = self.ask(map, name, commands)?;
                if hosts.split_whitespace().next().is_none() {
                    self.refuse_unknown(name, list.as_ref(), commands)?;
                }
                Ok(self.found(&hosts, &map.1))
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
        if name == GroupName::ALL && of_name("all").is_none() {
            return Ok(self.every_group(groups.iter().map(|group| group.name.as_str()), &place));
        }
        if let Some(group) = of_name(if name == GroupName::ALL { "all" } else { name }) {
            return Ok(listed(&place, group, &self.name));
        }
        let place = format!("{} ({place})", self.name);
        Err(unknown(name, &place, groups.iter().map(|group| group.name.as_str())))
    }

    fn every_host(
        &self,
        map: &Upcall,
        all: Option<&Upcall>,
        list: Option<&Upcall>,
        commands: &Commands,
    ) -> Result<ResolvedLines, LookupError> {
        if let Some(all) = all {
            return Ok(self.found(&self.ask(all, "", commands)?, &all.1));
        }
        let Some(list) = list else {
            let message = format!("group source {} has no `all` and no `list` command", self.name);
            return Err(LookupError::new(message).fix(format!(
                "write `all: COMMAND` below [{}] in {}",
                self.name,
                map.1.path.display()
            )));
        };
        let groups = self.ask(list, "", commands)?;
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
        list: Option<&Upcall>,
        commands: &Commands,
    ) -> Result<(), LookupError> {
        let Some(list) = list else {
            return Err(LookupError::new(format!(
                "group source {} returned no host for group {name}",
                self.name
            ))
            .fix("check the group name, or write the hosts"));
        };
        let known = self.ask(list, "", commands)?;
        if known.split_whitespace().any(|known| known == name) {
            return Ok(());
        }
        let place = format!("{} ({})", self.name, self.place());
        Err(unknown(name, &place, known.split_whitespace()))
    }

    /// Runs a command of the configuration in a shell.
    fn ask(
        &self,
        (template, origin): &Upcall,
        group: &str,
        commands: &Commands,
    ) -> Result<String, LookupError> {
        let Kind::Asked { folder, .. } = &self.kind else { return Ok(String::new()) };
        let path = origin.path.display();
        if let Writers::Others = origin.metadata {
            return Err(LookupError::new(format!(
                "the commands in {path} are not run, because other users own the file or can write to it"
            ))
            .fix(format!("restrict the file: sudo chown root {path}; sudo chmod go-w {path}")));
        }
        // The characters of a group name are harmless in a shell, but a slash would end an
        // expression of sed.
        if group.contains('/') {
            return Err(LookupError::new(format!(
                "group names of source {} cannot contain `/`",
                self.name
            )));
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
        let lines = answer.lines().map(str::trim).filter(|line| !line.is_empty());
        let line = |text: &str| ResolvedLine { text: text.to_owned(), place: place.clone() };
        let within = AllowedTerms::Groups(Some(self.name.clone()));
        ResolvedLines { lines: lines.map(line).collect(), within }
    }
}
