//! `Host`, `HostName` and `Include` lines of an SSH configuration, which make classes of hosts.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::tokens;
use crate::fleet::Watchdog;
use crate::fleet::known_hosts::pattern;

/// Limit of a configuration file, in bytes. With a larger one, each host gets its own `ssh -G`.
const MAX_BYTES: u64 = 4 << 20;
/// Limit of nested includes, as in `ssh`.
const DEEPEST: usize = 16;

/// `Host` lines of all files in their order, and the `HostName` lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Patterns of each `Host` line, separated by commas.
    hosts: Vec<String>,
    /// `HostName` lines, each with the index of the `Host` line above it.
    names: Vec<(Option<usize>, String)>,
    above: Option<usize>,
}

impl Lines {
    /// Reads the configuration files. `None` if only `ssh` can decide which lines match a host.
    pub(super) fn read(config: Option<&Path>, watchdog: &Watchdog) -> Option<Self> {
        let mut lines = Self::default();
        if !tokens::is_home_of_user(watchdog) {
            return None;
        }
        for (file, directory) in files(config) {
            lines.above = None;
            match fs::metadata(&file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && config.is_none() => {}
                _ => lines.add_file(&file, &directory, 0)?,
            }
        }
        Some(lines)
    }

    /// Returns one entry per `Host` line: true if the line matches the host.
    pub(super) fn about(&self, host: &str) -> Vec<bool> {
        self.hosts.iter().map(|patterns| pattern::list_matches(patterns, host)).collect()
    }

    /// Returns the real name of a host. `ssh` must confirm it for one host of the class.
    pub(super) fn host_name(&self, host: &str) -> String {
        let about = self.about(host);
        let holds = |above: &Option<usize>| above.is_none_or(|line| about[line]);
        match self.names.iter().find(|(above, _)| holds(above)) {
            Some((_, name)) => name.replace("%h", host).replace("%n", host).replace("%%", "%"),
            None => host.to_owned(),
        }
    }

    /// Reads a file. `None` if it, or an included file, has a line that only `ssh` can interpret.
    fn add_file(&mut self, file: &Path, directory: &Path, depth: usize) -> Option<()> {
        let about = fs::metadata(file).ok()?;
        if depth > DEEPEST || !about.is_file() || about.len() > MAX_BYTES {
            return None;
        }
        let text = fs::read_to_string(file).ok()?;
        for line in text.lines() {
            self.add(line.trim(), directory, depth)?;
        }
        Some(())
    }

    fn add(&mut self, line: &str, directory: &Path, depth: usize) -> Option<()> {
        if line.is_empty() || line.starts_with('#') {
            return Some(());
        }
        let (keyword, rest) = line.split_once([' ', '\t', '=']).unwrap_or((line, ""));
        let rest = rest.trim_start_matches([' ', '\t', '=']);
        let keyword = keyword.to_ascii_lowercase();
        // `%C` is a hash that hides the name of the host. A keyword may be quoted.
        if rest.contains("%C") || keyword.contains(['"', '\'']) {
            return None;
        }
        let words = || tokens::split_quoted(rest);
        match keyword.as_str() {
            "host" => {
                self.above = Some(self.hosts.len());
                self.hosts.push(words().join(","));
                // A comment may follow, which some versions of `ssh` read as patterns.
                if rest.contains(['#', '"', '\'', '\\']) { None } else { Some(()) }
            }
            "hostname" => match words().as_slice() {
                [name] if !has_odd_token(name) => {
                    self.names.push((self.above, name.clone()));
                    Some(())
                }
                _ => None,
            },
            "match" if rest.trim().eq_ignore_ascii_case("all") => {
                self.above = Some(self.hosts.len());
                self.hosts.push("*".to_owned());
                Some(())
            }
            "controlpath" if rest.contains('%') => None,
            "include" => self.include(&words(), directory, depth),
            "match" | "tag" => None,
            other if other.starts_with("canonical") => None,
            _ => Some(()),
        }
    }

    /// Reads included files, below the current `Host` line. Their `Host` lines end with the file.
    fn include(&mut self, names: &[String], directory: &Path, depth: usize) -> Option<()> {
        let above = self.above;
        for name in names {
            if name.contains(['$', '%', '[', '{']) {
                return None;
            }
            let path = match name.strip_prefix("~/") {
                Some(rest) => tokens::home().join(rest),
                None => directory.join(name),
            };
            for file in expand(&path)? {
                self.above = above;
                self.add_file(&file, directory, depth + 1)?;
            }
        }
        self.above = above;
        Some(())
    }
}

/// Returns the configuration files of `ssh`, each with the directory of its relative includes.
fn files(config: Option<&Path>) -> Vec<(PathBuf, PathBuf)> {
    let user = tokens::home().join(".ssh");
    match config {
        Some(file) if file.as_os_str() == "none" => Vec::new(),
        Some(file) => vec![(file.to_owned(), user)],
        None => {
            vec![(user.join("config"), user), ("/etc/ssh/ssh_config".into(), "/etc/ssh".into())]
        }
    }
}

/// True if a name has a token other than `%h`, `%n` and `%%`.
fn has_odd_token(name: &str) -> bool {
    name.replace("%%", "").replace("%h", "").replace("%n", "").contains('%')
}

/// Returns the files that a path matches, sorted. `None` if a directory has a wildcard.
fn expand(path: &Path) -> Option<Vec<PathBuf>> {
    let has_star = |text: &str| text.contains(['*', '?']);
    let name = path.file_name().and_then(|name| name.to_str())?;
    let directory = path.parent()?;
    if has_star(&directory.to_string_lossy()) {
        return None;
    }
    if !has_star(name) {
        return Some(if path.exists() { vec![path.to_owned()] } else { Vec::new() });
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(_) => return None,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.ok()?;
        let own = entry.file_name().into_string().ok()?;
        if !own.starts_with('.') && pattern::matches(name, &own) {
            found.push(entry.path());
        }
    }
    found.sort();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Lines> {
        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join("config");
        fs::write(directory.path().join("more.conf"), "Host inner*\n  HostName %h.in\n").unwrap();
        fs::write(&file, text.replace("DIR", &directory.path().display().to_string())).unwrap();
        read_file(&file)
    }

    fn read_file(file: &Path) -> Option<Lines> {
        Lines::read(Some(file), &Watchdog::start().unwrap())
    }

    #[test]
    fn hosts_of_the_same_lines_are_of_a_class() {
        let lines = read(
            "User a\nHost gpu* !gpu9\n  HostName %h.cluster\nHost=login\n HostName 10.0.0.1\n\
             Include DIR/*.conf\nMatch all\n  Port 7\n",
        )
        .unwrap();
        assert_eq!(lines.about("gpu1"), lines.about("gpu2"));
        assert_ne!(lines.about("gpu1"), lines.about("gpu9"));
        for (host, name) in [
            ("gpu1", "gpu1.cluster"),
            ("gpu9", "gpu9"),
            ("login", "10.0.0.1"),
            ("inner1", "inner1.in"),
        ] {
            assert_eq!(lines.host_name(host), name);
        }
    }

    #[test]
    fn configuration_that_only_ssh_can_parse_has_no_host_classes() {
        for text in [
            "Match host n1\n Port 7",
            "Match exec true",
            "CanonicalizeHostname yes",
            "ControlPath ~/.ssh/%C",
            "Include ${HOME}/x",
            "Include DIR/*/x",
            "HostName %C",
            "Host \"a b\"",
            "Host n1 # n2",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
        assert!(read_file(Path::new("/no/config")).is_none());
        assert!(read_file(Path::new("none")).is_some());
    }
}
