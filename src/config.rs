//! Reads the configuration: values from files and environment variables for flags that are not
//! given. Checks the values, and writes an example file.
//!
//! The module does not act on values and does not expand host groups. `cmd` uses the values in
//! place of flags; `rdmactl config` lists them.

mod check;
mod example;
mod file;
mod policy;
mod reader;
mod schema;
mod setting;

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::model::SettingEntry;

pub use check::Value;
pub use example::{EXAMPLE_LINE, example, init};
pub use policy::{parse_policy, policy_schema, read_policy, write_policy};
pub use schema::schema;
pub use setting::{SETTINGS, Setting, SettingKey, SettingKind};

/// Environment variable that names the file to read instead of the system's and the user's file.
pub const FILE_VARIABLE: &str = "RDMACTL_CONFIG";

/// Configuration file of the system.
pub const SYSTEM_FILE: &str = "/etc/rdmactl/config.toml";

/// Configuration file of the user, below the configuration directory.
const USER_FILE: &str = "rdmactl/config.toml";

/// Function that returns the value of an environment variable; `None` if it is not set.
pub type Variables<'variables> = &'variables dyn Fn(&str) -> Option<OsString>;

/// Error of the configuration, with the fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ConfigError {
    /// Place and description of the mistake.
    pub what: String,
    /// Command or change that fixes the mistake.
    pub fix: String,
}

/// Origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingOrigin {
    /// Default of the program.
    Default,
    /// A line of a file.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// An environment variable.
    Variable(&'static str),
    /// A flag, with its dashes.
    Flag(&'static str),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Values of all settings, with their origins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// One entry for each of [`SETTINGS`], in its order.
    values: Vec<(Option<Value>, SettingOrigin)>,
}

impl Default for Config {
    fn default() -> Self {
        let default = |setting: &Setting| (setting.default_value(), SettingOrigin::Default);
        Self { values: SETTINGS.iter().map(default).collect() }
    }
}

impl Config {
    /// Reads the configuration files and environment variables of this process.
    ///
    /// # Errors
    /// A file cannot be read, or a value is invalid.
    pub fn load() -> Result<Self, ConfigError> {
        Self::read(&|name| env::var_os(name))
    }

    /// Reads the configuration files, then the values in environment variables. The variable
    /// [`FILE_VARIABLE`] can name the file.
    ///
    /// # Errors
    /// Fails as [`load`](Self::load) does.
    pub fn read(variables: Variables<'_>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        let is_named = variables(FILE_VARIABLE).is_some();
        for path in files(variables) {
            if let Some(text) = file::read(&path, is_named)? {
                config.add_file(&path, &text)?;
            }
        }
        config.add_variables(variables)?;
        Ok(config)
    }

    /// Adds the values of a file, which replace earlier values.
    ///
    /// # Errors
    /// The text is not TOML, a key is unknown, or a value is invalid.
    pub fn add_file(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        for found in reader::read(path, text)? {
            let origin = SettingOrigin::File { path: path.to_owned(), line: found.line };
            self.set(found.key, found.value, origin);
        }
        Ok(())
    }

    /// Adds the environment variables that are set and not empty.
    ///
    /// `NO_COLOR` sets the color to `never`. This value takes precedence over a file, but not
    /// over `RDMACTL_COLOR`.
    ///
    /// # Errors
    /// A value is invalid.
    pub fn add_variables(&mut self, variables: Variables<'_>) -> Result<(), ConfigError> {
        const NO_COLOR: &str = "NO_COLOR";
        let set = |name: &str| variables(name).filter(|value| !value.is_empty());
        if set(NO_COLOR).is_some() {
            let never = Value::Text("never".into());
            self.set(SettingKey::Color, never, SettingOrigin::Variable(NO_COLOR));
        }
        for setting in SETTINGS {
            let Some(value) = set(setting.variable) else { continue };
            let invalid = |what: String| ConfigError {
                what: format!("{}: {what}", setting.variable),
                fix: format!("remove the variable: unset {}", setting.variable),
            };
            let text = value.to_str().ok_or_else(|| invalid("the value is not UTF-8".into()))?;
            let value = setting.kind.of_text(text).map_err(|fault| invalid(fault.what))?;
            self.set(setting.key, value, SettingOrigin::Variable(setting.variable));
        }
        Ok(())
    }

    /// Replaces a value. An empty list removes the value.
    pub fn set(&mut self, key: SettingKey, value: Value, origin: SettingOrigin) {
        let is_empty = matches!(&value, Value::List(items) if items.is_empty());
        if let Some(entry) = position_of(key).and_then(|position| self.values.get_mut(position)) {
            *entry = (Some(value).filter(|_| !is_empty), origin);
        }
    }

    /// Returns a value that is not a default, with its origin; `None` for a default or no value.
    pub fn configured(&self, key: SettingKey) -> Option<(&Value, &SettingOrigin)> {
        let (value, origin) = self.values.get(position_of(key)?)?;
        Some((value.as_ref()?, origin)).filter(|_| *origin != SettingOrigin::Default)
    }

    /// Returns all settings with their values, in the form of `rdmactl config`.
    pub fn entries(&self) -> Vec<SettingEntry> {
        let entry = |(setting, (value, origin)): (&Setting, &(Option<Value>, SettingOrigin))| {
            let json = |value: Option<&Value>| value.map_or(serde_json::Value::Null, Value::json);
            SettingEntry {
                key: setting.name.into(),
                value: json(value.as_ref()),
                origin: origin.to_string(),
                default: json(setting.default_value().as_ref()),
                variable: setting.variable.into(),
                flags: setting.flags.iter().map(ToString::to_string).collect(),
                help: setting.help.into(),
            }
        };
        SETTINGS.iter().zip(&self.values).map(entry).collect()
    }
}

fn position_of(key: SettingKey) -> Option<usize> {
    SETTINGS.iter().position(|setting| setting.key == key)
}

/// Returns the configuration files to read, in ascending order of precedence. The files need not
/// exist.
pub fn files(variables: Variables<'_>) -> Vec<PathBuf> {
    if let Some(file) = variables(FILE_VARIABLE) {
        let reads_no_file = file.is_empty() || file == "/dev/null";
        return if reads_no_file { Vec::new() } else { vec![file.into()] };
    }
    let absolute = |name: &str| variables(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let user_file = folder.map(|folder| folder.join(USER_FILE));
    std::iter::once(SYSTEM_FILE.into()).chain(user_file).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    fn variables(set: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        let set: Vec<(String, OsString)> =
            set.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
        move |name| set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    #[test]
    fn one_variable_replaces_both_files() {
        let files = |set: &[(&str, &str)]| -> Vec<String> {
            let found = files(&variables(set));
            found.into_iter().map(|path| path.display().to_string()).collect()
        };
        let home = ("HOME", "/home/a");
        assert_eq!(files(&[home]), [SYSTEM_FILE, "/home/a/.config/rdmactl/config.toml"]);
        assert_eq!(files(&[home, ("XDG_CONFIG_HOME", "/x")])[1], "/x/rdmactl/config.toml");
        assert_eq!(
            files(&[home, ("XDG_CONFIG_HOME", "x")])[1],
            "/home/a/.config/rdmactl/config.toml"
        );
        assert_eq!(files(&[]), [SYSTEM_FILE]);
        assert_eq!(files(&[home, (FILE_VARIABLE, "c.toml")]), ["c.toml"]);
        for none in ["", "/dev/null"] {
            assert_eq!(files(&[home, (FILE_VARIABLE, none)]), [""; 0]);
        }
    }

    #[test]
    fn later_configuration_source_overrides_the_earlier_one() {
        let mut config = Config::default();
        let timeout = |config: &Config| {
            let entry = config.entries().into_iter().find(|entry| entry.key == "timeout").unwrap();
            (entry.value.as_str().unwrap().to_owned(), entry.origin)
        };
        let pair = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
        assert_eq!(timeout(&config), pair("10s", "default"));
        assert_eq!(config.configured(SettingKey::Timeout), None);
        config.add_file(Path::new("/etc/a"), "fanout = 8\n\ntimeout = 20\n").unwrap();
        assert_eq!(timeout(&config), pair("20s", "/etc/a:3"));
        config.add_file(Path::new("/home/b"), "timeout = \"30s\"").unwrap();
        assert_eq!(timeout(&config), pair("30s", "/home/b:1"));
        config.add_variables(&variables(&[("RDMACTL_TIMEOUT", "")])).unwrap();
        assert_eq!(timeout(&config), pair("30s", "/home/b:1"));
        config.add_variables(&variables(&[("RDMACTL_TIMEOUT", "40s")])).unwrap();
        assert_eq!(timeout(&config), pair("40s", "RDMACTL_TIMEOUT"));
        let fanout = config.configured(SettingKey::Fanout);
        let origin = SettingOrigin::File { path: "/etc/a".into(), line: 1 };
        assert_eq!(fanout, Some((&Value::Number(8), &origin)));
    }

    #[test]
    fn an_empty_list_removes_a_setting() {
        let mut config = Config::default();
        config.add_file(Path::new("a"), "hosts = \"n[1-4]\"").unwrap();
        assert!(config.configured(SettingKey::Hosts).is_some());
        config.add_file(Path::new("b"), "hosts = []").unwrap();
        assert_eq!(config.configured(SettingKey::Hosts), None);
        assert_eq!(
            (&config.entries()[0].value, &*config.entries()[0].origin),
            (&serde_json::Value::Null, "b:1")
        );
    }

    #[test]
    fn no_color_takes_precedence_over_a_file() {
        let color = |set: &[(&str, &str)]| {
            let mut config = Config::default();
            config.add_file(Path::new("a"), "color = \"always\"").unwrap();
            config.add_variables(&variables(set)).unwrap();
            let (value, origin) = config.configured(SettingKey::Color).unwrap();
            (value.json(), origin.to_string())
        };
        assert_eq!(color(&[]), ("always".into(), "a:1".into()));
        assert_eq!(color(&[("NO_COLOR", "")]), ("always".into(), "a:1".into()));
        assert_eq!(color(&[("NO_COLOR", "1")]), ("never".into(), "NO_COLOR".into()));
        let both = [("NO_COLOR", "1"), ("RDMACTL_COLOR", "always")];
        assert_eq!(color(&both), ("always".into(), "RDMACTL_COLOR".into()));
    }

    #[test]
    fn an_invalid_variable_is_named() {
        for (name, value, what) in [
            ("RDMACTL_TIMEOUT", "5 parsecs", "unknown unit"),
            ("RDMACTL_FANOUT", "0", "1 to 1024"),
            ("RDMACTL_HOSTS", "n[1", "bracket"),
            ("RDMACTL_SSH_OPTIONS", "Port", "expected KEY=VALUE"),
            ("RDMACTL_UPLOAD", "sometimes", "never, ping or always"),
            ("RDMACTL_COLUMNS_PORTS", "speed", "ports has no column \"speed\""),
            ("RDMACTL_INTERVAL", "1ms", "at least 100ms"),
            ("RDMACTL_SSH_SUDO", "maybe", "true or false"),
        ] {
            let error =
                Config::read(&variables(&[(FILE_VARIABLE, ""), (name, value)])).unwrap_err();
            assert!(error.what.starts_with(&format!("{name}: ")), "{error}");
            assert!(error.what.contains(what), "{error}");
            assert_eq!(error.fix, format!("remove the variable: unset {name}"));
        }
    }

    #[test]
    fn a_variable_with_invalid_utf8_is_named() {
        let invalid = OsString::from_vec(vec![0xff]);
        let variable = |name: &str| (name == "RDMACTL_HOSTS").then(|| invalid.clone());
        let error = Config::default().add_variables(&variable).unwrap_err();
        assert_eq!(error.what, "RDMACTL_HOSTS: the value is not UTF-8");
        assert_eq!(error.fix, "remove the variable: unset RDMACTL_HOSTS");
    }
}
