//! Group sources of `ClusterShell`, found as `ClusterShell` 1.9 does (`NodeUtils.py`).
//!
//! All `groups.conf` files are read, and a setting of a later file replaces the one of an earlier
//! file. A source is a section with commands, in `groups.conf` or in a file of `confdir`, or a
//! part of a YAML file of `autodir`. Without any `groups.conf`, the usual files beside it are
//! read.

mod source;
mod upcall;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{ListedGroup, text, wrong_line};
use crate::hosts::lists::{ClusterShellConf, Group, Setting, read_flat_groups, read_yaml_groups};
use crate::hosts::set::{GroupName, LookupError};
use crate::input::Input;
use source::{Origin, Source, Upcalls};
use upcall::substitute;

const CONF: &str = "groups.conf";
const MAIN: &str = "Main";
/// Source for the groups of flat files.
const LOCAL: &str = "local";
/// Limit of the files read from one directory.
const MAX_FILES: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Sources {
    sources: Vec<Source>,
    /// Name of the default source, and the file that sets it.
    default: Option<(String, PathBuf)>,
}

/// Settings of one section, each with its file.
type Section<'a> = BTreeMap<&'a str, (&'a Setting, &'a Origin)>;

impl Sources {
    /// Reads the configuration in the directories. The last directory takes precedence.
    pub(super) fn read(folders: &[PathBuf]) -> Result<Self, LookupError> {
        let mut confs = Vec::new();
        for folder in folders {
            if let Some(conf) = read_conf(&folder.join(CONF))? {
                confs.push((folder, conf));
            }
        }
        let Some((folder, _)) = confs.last() else { return Self::without_conf(folders) };
        let mut sources = Self::default();
        let sections = sections(confs.iter().map(|(_, conf)| conf));
        let main = |key: &str| {
            let (_, section) = sections.iter().find(|(name, _)| *name == MAIN)?;
            let (setting, origin) = section.get(key).filter(|(one, _)| !one.value.is_empty())?;
            Some((setting.value.clone(), origin.path.clone()))
        };
        let main_value = |key: &str| main(key).map(|(value, _)| value);
        let groups = main_value("groupsdir").or_else(|| main_value("confdir"));
        for folder in directories(groups, folder) {
            for path in files(&folder, "conf") {
                let Some(conf) = read_conf(&path)? else { continue };
                sources.add_sections(&self::sections([&conf]), &folder)?;
            }
        }
        for folder in directories(main_value("autodir"), folder) {
            sources.add_yaml(&folder)?;
        }
        sources.add_sections(&sections, folder)?;
        sources.default = main("default");
        Ok(sources)
    }

    fn without_conf(folders: &[PathBuf]) -> Result<Self, LookupError> {
        let mut sources = Self::default();
        if let Some(path) = flat_file(folders) {
            let groups = read_flat_groups(&text::read_file(&path)?);
            sources.sources.push(Source::listed(LOCAL, groups, &path));
        }
        for folder in folders {
            sources.add_yaml(&folder.join("groups.d"))?;
        }
        Ok(sources)
    }

    fn add_sections(
        &mut self,
        sections: &[(&str, Section<'_>)],
        folder: &Path,
    ) -> Result<(), LookupError> {
        for (name, section) in sections.iter().filter(|(name, _)| *name != MAIN) {
            let command = |key: &str| {
                let (setting, origin) = section.get(key)?;
                Some((setting.value.clone(), (*origin).clone()))
            };
            let Some(map) = command("map") else {
                let origin = section.values().next().map(|(_, origin)| origin.path.display());
                let place = origin.map_or(String::new(), |path| format!("{path}: "));
                let message = format!("{place}group source {name} has no `map` command");
                return Err(
                    LookupError::new(message).fix(format!("write `map: COMMAND` below [{name}]"))
                );
            };
            for name in name.split(',') {
                let (folder, map) = (folder.to_owned(), map.clone());
                let upcalls = Upcalls { folder, map, all: command("all"), list: command("list") };
                self.sources.push(Source::asked(name, upcalls));
            }
        }
        Ok(())
    }

    fn add_yaml(&mut self, folder: &Path) -> Result<(), LookupError> {
        for path in files(folder, "yaml") {
            let Some(file) = open(&path) else { continue };
            let place = path.display().to_string();
            let text = text::read_opened(file, &place)?;
            let sources = read_yaml_groups(&text).map_err(|error| wrong_line(&place, error))?;
            let listed = |(name, groups): (String, _)| Source::listed(&name, groups, &path);
            self.sources.extend(sources.into_iter().map(listed));
        }
        Ok(())
    }

    pub(super) fn of_name(&self, name: &str) -> Result<Option<&Source>, LookupError> {
        let mut found = self.sources.iter().filter(|source| source.name == name);
        match (found.next(), found.next()) {
            (Some(one), Some(other)) => Err(LookupError::new(format!(
                "group source {name} is defined twice, in {} and {}",
                one.place(),
                other.place()
            ))
            .fix("remove one of the definitions")),
            (found, _) => Ok(found),
        }
    }

    pub(super) fn default_source(&self) -> Result<&Source, LookupError> {
        if let Some((name, file)) = &self.default {
            return self.of_name(name)?.ok_or_else(|| {
                let (file, known) = (file.display(), super::few(self.names().collect()));
                LookupError::new(format!("the default group source {name} is not defined"))
                    .fix(format!("set `default` in {file} to one of: {known}"))
            });
        }
        self.sources.first().ok_or_else(|| {
            LookupError::new("no ClusterShell groups are defined on this machine").fix(
                "define the group in ~/.config/clustershell/groups.d/local.cfg, for example `compute: n[1-16]`, or write the hosts",
            )
        })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.name.as_str())
    }

    /// Returns the groups that files list. For the `local` source with commands, these are the
    /// groups of the flat file that the commands usually read.
    pub(super) fn listed(&self, folders: &[PathBuf]) -> Vec<ListedGroup> {
        let usual = self.default_source().map(|source| source.name.clone()).ok();
        let named = |source: &str, groups: &[Group], place: &str| {
            let source = (usual.as_deref() != Some(source)).then(|| source.to_owned());
            let name = |group: &Group| {
                let name = GroupName { source: source.clone(), name: group.name.clone() };
                let hosts = group.entries.iter().map(|entry| entry.hosts.clone()).collect();
                ListedGroup { group: name, place: place.to_owned(), hosts }
            };
            groups.iter().map(name).collect::<Vec<_>>()
        };
        let mut all = Vec::new();
        for source in &self.sources {
            match source.groups() {
                Some(groups) => all.extend(named(&source.name, groups, &source.place())),
                None if source.name == LOCAL => {
                    let Some(path) = flat_file(folders) else { continue };
                    let Ok(text) = text::read_file(&path) else { continue };
                    let place = path.display().to_string();
                    all.extend(named(LOCAL, &read_flat_groups(&text), &place));
                }
                None => {}
            }
        }
        all
    }
}

/// Returns the flat file that takes precedence, as in the configuration of `ClusterShell`.
pub(super) fn flat_file(folders: &[PathBuf]) -> Option<PathBuf> {
    let with_conf = folders.iter().rev().find(|folder| folder.join(CONF).is_file());
    let folders: Vec<&PathBuf> =
        with_conf.map_or_else(|| folders.iter().rev().collect(), |one| vec![one]);
    let files = |folder: &PathBuf| [folder.join("groups"), folder.join("groups.d/local.cfg")];
    folders.into_iter().flat_map(files).find(|path| path.is_file())
}

/// Opens a file of the configuration. `None` for an unreadable file, which is skipped as in
/// `ClusterShell`. A pipe without a writer does not block this function; the first read of the
/// pipe fails after 60 s.
fn open(path: &Path) -> Option<Input> {
    Input::open(path).ok()
}

/// Reads a configuration and its origin. `None` for an unreadable file.
fn read_conf(path: &Path) -> Result<Option<(ClusterShellConf, Origin)>, LookupError> {
    let Some(file) = open(path) else { return Ok(None) };
    let place = path.display().to_string();
    let origin = Origin { path: path.to_owned(), metadata: file.metadata().ok().into() };
    let conf = ClusterShellConf::parse(&text::read_opened(file, &place)?);
    conf.map(|conf| Some((conf, origin))).map_err(|error| wrong_line(&place, error))
}

/// Returns the sections in the order of their first appearance.
fn sections<'a>(
    confs: impl IntoIterator<Item = &'a (ClusterShellConf, Origin)>,
) -> Vec<(&'a str, Section<'a>)> {
    let mut sections: Vec<(&str, Section<'_>)> = Vec::new();
    for (conf, origin) in confs {
        for setting in &conf.settings {
            let place = sections.iter().position(|(name, _)| *name == setting.section);
            let place = place.unwrap_or_else(|| {
                sections.push((&setting.section, Section::new()));
                sections.len() - 1
            });
            if let Some((_, section)) = sections.get_mut(place) {
                section.insert(&setting.key, (setting, origin));
            }
        }
    }
    sections
}

/// Returns the directories of a setting, without duplicates.
fn directories(setting: Option<String>, folder: &Path) -> Vec<PathBuf> {
    let words = setting.and_then(|words| shlex::split(&words)).unwrap_or_default();
    let folder = folder.display().to_string();
    let mut found: Vec<PathBuf> = Vec::new();
    for word in words {
        let path = substitute(&word, &[("CFGDIR", &folder)]);
        let path = Path::new(&path).components().collect();
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// Returns the visible files of a directory with an extension, sorted.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MAX_FILES).flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|one| one == ending))
        .filter(|path| {
            !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_pipe_without_a_writer_does_not_block() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let folder = tempfile::tempdir().unwrap();
    for name in [CONF, "racks.yaml"] {
        let path = folder.path().join(name);
        assert!(open(&path).is_none(), "a missing file is skipped");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(open(&path).is_some());
    }
}
