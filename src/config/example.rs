//! Writes the example file of `rdmactl config --init`, for `cmd::config`.
//!
//! Every setting is a comment. So the file has no effect until the user removes a `#`. An
//! existing file is never replaced.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::{ConfigError, FILE_VARIABLE, SETTINGS, SYSTEM_FILE, Setting, Variables, files};

/// A line of the file, for help texts.
pub const EXAMPLE_LINE: &str = r#"hosts = "n[1-4]""#;

/// Returns the text of the file: the help, default and example of each setting, as comments.
pub fn example() -> String {
    let mut text = String::from(
        "# Configuration of rdmactl. Remove the # before a line to set its value.\n\
         # Flags and variables replace these values; rdmactl config shows the values in use.\n",
    );
    for setting in SETTINGS {
        let Setting { name, help, example, default, .. } = setting;
        let default = default.map_or(String::new(), |value| format!(" (default: {value})"));
        let _ = write!(text, "\n# {help}{default}\n# {name} = {example}\n");
    }
    text
}

/// Writes the example to the configuration file of the user, and returns its path.
///
/// # Errors
/// No environment variable determines the path, the file exists, or it cannot be written.
pub fn init(variables: Variables<'_>) -> Result<PathBuf, ConfigError> {
    let of_user = files(variables).pop().filter(|path| path != Path::new(SYSTEM_FILE));
    let path = of_user.ok_or_else(|| ConfigError {
        what: format!("no path for the file: HOME is not set, or {FILE_VARIABLE} is empty"),
        fix: format!("name the file: {FILE_VARIABLE}=FILE rdmactl config --init"),
    })?;
    create(&path).map_err(|error| {
        let place = path.display();
        if error.kind() == io::ErrorKind::AlreadyExists {
            let what = format!("{place} exists; --init does not overwrite a file");
            let fix = format!(
                "edit that file, or write an example: {FILE_VARIABLE}=FILE rdmactl config --init"
            );
            return ConfigError { what, fix };
        }
        let what = format!("cannot write {place}: {error}");
        let fix = format!("check the directory: ls -ld {}", parent(&path).display());
        ConfigError { what, fix }
    })?;
    Ok(path)
}

fn create(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(parent(path))?;
    // `create_new` does not follow a symbolic link to a missing file.
    let mut file = File::options().write(true).create_new(true).mode(0o644).open(path)?;
    let written = file.write_all(example().as_bytes());
    if written.is_err() {
        // An incomplete file would make the next attempt fail.
        let _ = fs::remove_file(path);
    }
    written
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, SettingKey, Value};

    #[test]
    fn the_example_changes_nothing_and_every_line_of_it_is_valid() {
        let mut config = Config::default();
        config.add_file(Path::new("/c"), &example()).unwrap();
        assert_eq!(config, Config::default());
        let is_setting = |line: &&str| {
            let key = line.trim_start_matches("# ").split(" = ").next().unwrap_or_default();
            line.contains(" = ") && SETTINGS.iter().any(|setting| setting.name == key)
        };
        let lines: Vec<String> = example()
            .lines()
            .filter(is_setting)
            .map(|line| line.trim_start_matches("# ").to_owned() + "\n")
            .collect();
        assert_eq!(lines.len(), SETTINGS.len());
        config.add_file(Path::new("/c"), &lines.concat()).unwrap();
        for setting in SETTINGS {
            assert!(config.configured(setting.key).is_some(), "{}", setting.name);
        }
    }

    #[test]
    fn the_line_of_the_help_sets_the_hosts() {
        let mut config = Config::default();
        config.add_file(Path::new("/c"), EXAMPLE_LINE).unwrap();
        let hosts = config.configured(SettingKey::Hosts).map(|(value, _)| value.clone());
        assert_eq!(hosts, Some(Value::List(vec!["n[1-4]".into()])));
    }
}
