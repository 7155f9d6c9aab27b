//! Hosts of the site, from the configuration of this machine: groups, host lists and the nodes of
//! the current job. The host set parser looks up names here.
//!
//! Groups come from the configuration of `ClusterShell` first. The sources `genders`, `dsh`,
//! `slurm` and `slurmstate` exist without a configuration, and `@job` is always the nodes of the
//! job. Files have a size limit. Commands have limits of time and output, and run only when a
//! host set needs them.

mod clustershell;
mod command;
mod dsh;
mod slurm;
mod text;

use std::cell::OnceCell;
use std::env;
use std::path::{Path, PathBuf};

use super::lists::{self, Entry, FormatError, Genders, HostsFileKind};
use super::set::{AllowedTerms, GroupName, Lookup, LookupError, ResolvedLine, ResolvedLines};
use clustershell::Sources;
use command::Commands;

/// Group without a source, for the nodes of the job.
const JOB: &str = "job";

/// Group that a file lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedGroup {
    /// Name of the group in a host set.
    pub group: GroupName,
    /// File of the group.
    pub place: String,
    /// Host sets of the group. Empty if the file does not spell them out.
    pub hosts: Vec<String>,
}

/// Returns the text of a file. `None` if the file is missing, unreadable or too large.
pub(super) fn text_of(path: &Path) -> Option<String> {
    text::read_file(path).ok()
}

/// Places of the site's configuration on a machine.
#[derive(Debug, Clone, Default)]
pub struct SitePaths {
    /// Directories with a configuration of `ClusterShell`. The last one takes precedence.
    pub clustershell: Vec<PathBuf>,
    /// The genders file.
    pub genders: PathBuf,
    /// Directories with groups of dsh. The first one that has a group takes precedence.
    pub dsh: Vec<PathBuf>,
    /// Value of `SLURM_JOB_NODELIST`.
    pub slurm_job: Option<String>,
    /// Value of `PBS_NODEFILE`.
    pub pbs_job: Option<PathBuf>,
}

impl SitePaths {
    /// Returns the places of this process.
    pub fn local() -> Self {
        let directory =
            |name: &str| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let home = directory("HOME");
        let in_home = |path: &str| home.as_ref().map(|home| home.join(path));
        // ClusterShell/Defaults.py, config_paths().
        let clustershell = [
            Some("/etc/clustershell".into()),
            in_home(".local/etc/clustershell"),
            directory("XDG_CONFIG_HOME")
                .or_else(|| in_home(".config"))
                .map(|it| it.join("clustershell")),
            directory("CLUSTERSHELL_CFGDIR"),
        ];
        Self {
            clustershell: clustershell.into_iter().flatten().collect(),
            genders: "/etc/genders".into(),
            // pdsh(1), "dshgroup module options".
            dsh: in_home(".dsh/group").into_iter().chain(["/etc/dsh/group".into()]).collect(),
            slurm_job: env::var("SLURM_JOB_NODELIST").ok().filter(|nodes| !nodes.trim().is_empty()),
            pbs_job: directory("PBS_NODEFILE"),
        }
    }
}

/// Hosts of the site. Files of `ClusterShell` are read once.
#[derive(Debug)]
pub struct Site {
    places: SitePaths,
    commands: Commands,
    sources: OnceCell<Result<Sources, LookupError>>,
}

impl Site {
    /// Returns the site of this machine.
    pub fn local() -> Self {
        Self::new(SitePaths::local())
    }

    /// Returns a site with its configuration in the given places.
    pub fn new(places: SitePaths) -> Self {
        Self { places, commands: Commands::default(), sources: OnceCell::new() }
    }

    /// Reads the hosts of a file, `[KIND:]FILE`; `-` is stdin. Without a kind, the content
    /// decides.
    ///
    /// # Errors
    /// The file cannot be read, or does not have the format of the kind.
    pub fn hosts_file(&self, name: &str) -> Result<ResolvedLines, LookupError> {
        let (word, path) = name.split_once(':').unwrap_or_default();
        let kind = HostsFileKind::of_word(word);
        let path = if kind.is_some() { path } else { name };
        let (text, place) = if path == "-" {
            (text::read_stdin()?, "stdin")
        } else {
            // A word before a colon that is no kind is part of the file name, or misspelled.
            let fix = || format!("check the file name, or write KIND:FILE; {}", kinds());
            let may_be_kind = kind.is_none() && name.contains(':') && !Path::new(path).exists();
            let with_kinds =
                |error: LookupError| if may_be_kind { error.fix(fix()) } else { error };
            (text::read_hosts_file(Path::new(path)).map_err(with_kinds)?, path)
        };
        let is_genders = Path::new(path).file_name().is_some_and(|file| file == "genders");
        let kind = kind.or_else(|| is_genders.then_some(HostsFileKind::Genders));
        let kind = kind.map_or_else(|| HostsFileKind::of_text(&text), Ok);
        let read = |kind: HostsFileKind| kind.read(&text).map(|entries| (kind, entries));
        let (kind, entries) = kind.and_then(read).map_err(|error| wrong_line(place, error))?;
        if entries.is_empty() {
            let fix = "write one host per line, or name the kind of the file";
            return Err(LookupError::new(format!("{place} contains no host"))
                .fix(format!("{fix}: KIND:{path}; {}", kinds())));
        }
        let is_list = kind == HostsFileKind::List;
        let within = if is_list { AllowedTerms::Groups(None) } else { AllowedTerms::Hosts };
        Ok(ResolvedLines { lines: placed(place, entries), within })
    }

    /// Returns the groups that files of this machine list. No command runs.
    pub fn listed_groups(&self) -> Vec<ListedGroup> {
        let mut groups =
            self.sources().map(|it| it.listed(&self.places.clustershell)).unwrap_or_default();
        if let Ok(genders) = self.genders() {
            let place = self.places.genders.display().to_string();
            groups.extend(genders.attributes().into_iter().map(|name| {
                let group = GroupName { source: Some("genders".into()), name: name.to_owned() };
                let hosts = genders.hosts_with(name).into_iter().map(|entry| entry.hosts).collect();
                ListedGroup { group, place: place.clone(), hosts }
            }));
        }
        groups.extend(dsh::listed(&self.places.dsh));
        if self.places.slurm_job.is_some() || self.places.pbs_job.is_some() {
            let group = GroupName { source: None, name: JOB.into() };
            groups.push(ListedGroup { group, place: "this job".into(), hosts: Vec::new() });
        }
        groups
    }

    fn sources(&self) -> Result<&Sources, LookupError> {
        let read = || Sources::read(&self.places.clustershell);
        self.sources.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    fn genders(&self) -> Result<Genders, LookupError> {
        text::read_file(&self.places.genders).map(|text| Genders::parse(&text))
    }

    /// Returns the nodes of the batch job that this process belongs to. Slurm sets a host set
    /// (srun(1)). PBS names a file with one line per slot.
    fn job_nodes(&self) -> Result<ResolvedLines, LookupError> {
        let within = AllowedTerms::Hosts;
        if let Some(nodes) = &self.places.slurm_job {
            let line = ResolvedLine { text: nodes.clone(), place: "SLURM_JOB_NODELIST".into() };
            return Ok(ResolvedLines { lines: vec![line], within });
        }
        let Some(path) = &self.places.pbs_job else {
            let message = "not within a job: neither SLURM_JOB_NODELIST nor PBS_NODEFILE is set";
            return Err(LookupError::new(message)
                .fix("start a job first (salloc -N 4, qsub -I), or write the hosts"));
        };
        let place = path.display().to_string();
        let entries = HostsFileKind::Pbs.read(&text::read_file(path)?);
        let entries = entries.map_err(|error| wrong_line(&place, error))?;
        Ok(ResolvedLines { lines: placed(&place, entries), within })
    }

    fn gender(&self, name: &str) -> Result<ResolvedLines, LookupError> {
        let genders = self.genders()?;
        let entries = match name {
            GroupName::ALL => genders.every_host(),
            name => genders.hosts_with(name),
        };
        let place = self.places.genders.display().to_string();
        if entries.is_empty() {
            return Err(unknown(name, &place, genders.attributes()));
        }
        Ok(ResolvedLines { lines: placed(&place, entries), within: AllowedTerms::Hosts })
    }
}

impl Lookup for Site {
    fn group(&self, group: &GroupName) -> Result<ResolvedLines, LookupError> {
        let name = group.name.as_str();
        let Some(source) = group.source.as_deref() else {
            return match name {
                JOB => self.job_nodes(),
                _ => self.sources()?.default_source()?.group(name, &self.commands),
            };
        };
        let sources = self.sources()?;
        if let Some(source) = sources.of_name(source)? {
            return source.group(name, &self.commands);
        }
        match source {
            "genders" => self.gender(name),
            "dsh" => dsh::group(&self.places.dsh, name),
            "slurm" => slurm::partition(name, &self.commands),
            "slurmstate" => slurm::state(name, &self.commands),
            _ => {
                let known = sources.names().chain(["genders", "dsh", "slurm", "slurmstate"]);
                Err(LookupError::new(format!("unknown group source {source}"))
                    .fix(format!("use one of: {}", few(known.collect()))))
            }
        }
    }

    fn file(&self, name: &str) -> Result<ResolvedLines, LookupError> {
        self.hosts_file(name)
    }

    fn stdin(&self) -> Result<ResolvedLines, LookupError> {
        // Other tools write lists. `--hosts-file` accepts a kind.
        self.hosts_file("list:-")
    }
}

fn kinds() -> String {
    let kinds: Vec<&str> = HostsFileKind::ALL.iter().map(|(word, _)| *word).collect();
    format!("kinds: {}", kinds.join(", "))
}

fn placed(place: &str, entries: Vec<Entry>) -> Vec<ResolvedLine> {
    let line =
        |Entry { line, hosts }| ResolvedLine { text: hosts, place: format!("{place}:{line}") };
    entries.into_iter().map(line).collect()
}

/// Returns the lines of a command's output.
fn output_lines(output: &str, place: &str) -> Vec<ResolvedLine> {
    let lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|text| ResolvedLine { text: text.to_owned(), place: place.to_owned() }).collect()
}

fn wrong_line(place: &str, error: FormatError) -> LookupError {
    let FormatError { line, message, fix } = error;
    LookupError { message: format!("{place}:{line}: {message}"), fix }
}

fn listed(place: &str, group: &lists::Group, source: &str) -> ResolvedLines {
    let within = AllowedTerms::Groups(Some(source.to_owned()));
    ResolvedLines { lines: placed(place, group.entries.clone()), within }
}

fn unknown<'a>(name: &str, place: &str, known: impl IntoIterator<Item = &'a str>) -> LookupError {
    let known: Vec<&str> = known.into_iter().collect();
    let error = LookupError::new(format!("{place} has no group {name}"));
    if known.is_empty() {
        return error.fix("define the group, or write the hosts");
    }
    error.fix(format!("use one of these groups: {}", few(known)))
}

/// Joins the first names, and adds the number of the others.
fn few(names: Vec<&str>) -> String {
    const MAX: usize = 20;
    let over = names.len().saturating_sub(MAX);
    let shown = names.into_iter().take(MAX).collect::<Vec<_>>().join(", ");
    if over == 0 { shown } else { format!("{shown} and {over} more") }
}
