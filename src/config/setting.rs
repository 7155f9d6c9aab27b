//! Contains the table of all settings. The reader, the checks, the example file and the schema
//! use it.

/// A setting, which is one row of [`SETTINGS`].
#[derive(Debug)]
pub struct Setting {
    /// Key in the program.
    pub key: SettingKey,
    /// Key in the file, with dots between tables.
    pub name: &'static str,
    /// Name of the environment variable.
    pub variable: &'static str,
    /// Kind of the values.
    pub kind: SettingKind,
    /// Default in the form of the environment variable; `None` for no default.
    pub default: Option<&'static str>,
    /// Example value in the form of the file.
    pub example: &'static str,
    /// Flags that the setting replaces, with their dashes.
    pub flags: &'static [&'static str],
    /// Help text, one sentence.
    pub help: &'static str,
}

/// Identifies a setting in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKey {
    /// Hosts to query.
    Hosts,
    /// Time limit for one host.
    Timeout,
    /// Number of hosts that are queried in parallel.
    Fanout,
    /// Upload policy.
    Upload,
    /// Interval between samples.
    Interval,
    /// Use of color.
    Color,
    /// User to log in as.
    Login,
    /// SSH configuration file.
    SshConfig,
    /// Options of `ssh_config`.
    SshOptions,
    /// Run the agents with sudo.
    Sudo,
    /// Color theme of top.
    Theme,
    /// Columns of a listing, by the name of the listing.
    Columns(&'static str),
}

/// Kind of the values of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// A host set, or a list of them.
    Hosts,
    /// A time.
    Time,
    /// Interval between samples.
    Interval,
    /// A number between the two limits, which are included.
    Number(u16, u16),
    /// A user name.
    User,
    /// A file: an absolute path, or a path below the home directory.
    Path,
    /// Options of `ssh_config`.
    SshOptions,
    /// True or false.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Columns of a listing.
    Columns(&'static str),
}

pub(super) const UPLOAD: &[&str] = &["never", "ping", "always"];

/// Setting for the columns of a listing.
macro_rules! columns {
    ($listing:literal, $name:literal, $variable:literal, $of:literal, $example:literal) => {
        Setting {
            key: SettingKey::Columns($listing),
            name: concat!("columns.", $name),
            variable: concat!("RDMACTL_COLUMNS_", $variable),
            kind: SettingKind::Columns($listing),
            default: None,
            example: $example,
            flags: &["--columns"],
            help: concat!("Columns of ", $of, ", like -o"),
        }
    };
}

/// Table of all settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: SettingKey::Hosts,
        name: "hosts",
        variable: "RDMACTL_HOSTS",
        kind: SettingKind::Hosts,
        default: None,
        example: r#""n[01-16]""#,
        flags: &["--hosts", "--hosts-file", "--local"],
        help: "Hosts that listings, top, capture, the summary and ping --matrix query; --local ignores them",
    },
    Setting {
        key: SettingKey::Timeout,
        name: "timeout",
        variable: "RDMACTL_TIMEOUT",
        kind: SettingKind::Time,
        default: Some("10s"),
        example: r#""30s""#,
        flags: &["--timeout"],
        help: "Time limit for one host",
    },
    Setting {
        key: SettingKey::Fanout,
        name: "fanout",
        variable: "RDMACTL_FANOUT",
        kind: SettingKind::Number(1, 1024),
        default: Some("64"),
        example: "128",
        flags: &["--fanout"],
        help: "Number of hosts to query at the same time",
    },
    Setting {
        key: SettingKey::Upload,
        name: "upload",
        variable: "RDMACTL_UPLOAD",
        kind: SettingKind::Word(UPLOAD),
        default: Some("ping"),
        example: r#""never""#,
        flags: &["--upload", "--no-upload"],
        help: "Commands that upload rdmactl to hosts that do not have it: none, only ping, or all",
    },
    Setting {
        key: SettingKey::Interval,
        name: "interval",
        variable: "RDMACTL_INTERVAL",
        kind: SettingKind::Interval,
        default: None,
        example: r#""5s""#,
        flags: &["--watch", "--every"],
        help: "Interval between samples; without it, --watch takes 2s and top takes 1s",
    },
    Setting {
        key: SettingKey::Color,
        name: "color",
        variable: "RDMACTL_COLOR",
        kind: SettingKind::Word(&["auto", "always", "never"]),
        default: Some("auto"),
        example: r#""never""#,
        flags: &["--color"],
        help: "When to use color; NO_COLOR overrides a configuration file",
    },
    Setting {
        key: SettingKey::Login,
        name: "ssh.login",
        variable: "RDMACTL_SSH_LOGIN",
        kind: SettingKind::User,
        default: None,
        example: r#""root""#,
        flags: &["--login"],
        help: "User to log in as",
    },
    Setting {
        key: SettingKey::SshConfig,
        name: "ssh.config",
        variable: "RDMACTL_SSH_CONFIG",
        kind: SettingKind::Path,
        default: None,
        example: r#""~/cluster/ssh_config""#,
        flags: &["--ssh-config"],
        help: "SSH configuration file to read instead of ~/.ssh/config",
    },
    Setting {
        key: SettingKey::SshOptions,
        name: "ssh.options",
        variable: "RDMACTL_SSH_OPTIONS",
        kind: SettingKind::SshOptions,
        default: None,
        example: r#"["ProxyJump=gateway", "ConnectTimeout=3"]"#,
        flags: &["--ssh-option"],
        help: "Options of ssh_config; the list of a flag replaces this list",
    },
    Setting {
        key: SettingKey::Sudo,
        name: "ssh.sudo",
        variable: "RDMACTL_SSH_SUDO",
        kind: SettingKind::Switch,
        default: Some("false"),
        example: "true",
        flags: &["--sudo", "--no-sudo"],
        help: "Run the agent on the hosts as root with sudo -n",
    },
    Setting {
        key: SettingKey::Theme,
        name: "top.theme",
        variable: "RDMACTL_TOP_THEME",
        kind: SettingKind::Word(&["auto", "light", "dark", "color-blind", "mono"]),
        default: Some("auto"),
        example: r#""light""#,
        flags: &["--theme"],
        help: "Color theme of top",
    },
    columns!("devices", "devices", "DEVICES", "devices", r#""+pci,numa""#),
    columns!("ports", "ports", "PORTS", "ports", r#"["+cnp_sent", "+ecn_marked"]"#),
    columns!("ports --lossless", "lossless", "LOSSLESS", "ports --lossless", r#""+via""#),
    columns!("gids", "gids", "GIDS", "gids", r#""device,index,gid,kind""#),
    columns!("counters", "counters", "COUNTERS", "counters", r#""device,port,name,value""#),
    columns!("resources", "resources", "RESOURCES", "resources", r#""pid,name,bytes""#),
    columns!("connections", "connections", "CONNECTIONS", "connections", r#""+evidence""#),
    columns!("ping", "ping", "PING", "the rows of ping", r#""source,target,verdict.code""#),
    columns!("config", "config", "CONFIG", "config", r#""+variable""#),
];

impl Setting {
    /// Returns the setting with this key in the file; `None` for an unknown key.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory as _, ValueEnum as _};

    use super::*;
    use crate::cli::{Cli, ColorWhen, ThemeName};
    use crate::query::listings_of;

    #[test]
    fn every_setting_has_a_name_a_variable_and_a_flag() {
        let (mut names, mut variables) = (BTreeSet::new(), BTreeSet::new());
        let mut tree = Cli::command();
        tree.build();
        let longs: BTreeSet<&str> = std::iter::once(&tree)
            .chain(tree.get_subcommands())
            .flat_map(clap::Command::get_arguments)
            .filter_map(clap::Arg::get_long)
            .collect();
        for setting in SETTINGS {
            assert!(names.insert(setting.name) && variables.insert(setting.variable));
            let plain = setting.name.replace('.', "_").to_uppercase();
            assert_eq!(setting.variable, format!("RDMACTL_{plain}"));
            assert!(!setting.flags.is_empty());
            for flag in setting.flags {
                assert!(longs.contains(flag.trim_start_matches("--")), "{flag}");
            }
        }
    }

    #[test]
    fn a_default_is_that_of_the_flag() {
        let tree = Cli::command();
        for setting in SETTINGS {
            let long = setting.flags[0].trim_start_matches("--");
            let Some(arg) = tree.get_arguments().find(|arg| arg.get_long() == Some(long)) else {
                continue;
            };
            let default = arg.get_default_values().first().and_then(|value| value.to_str());
            if !matches!(setting.key, SettingKey::Upload | SettingKey::Sudo) {
                assert_eq!(setting.default, default, "{}", setting.name);
            }
            let value = setting.default.map(|text| setting.kind.of_text(text));
            assert!(value.is_none_or(|value| value.is_ok()), "{}", setting.name);
        }
    }

    #[test]
    fn the_words_are_those_of_the_flags() {
        fn words<T: clap::ValueEnum>() -> Vec<String> {
            let names = T::value_variants().iter().filter_map(T::to_possible_value);
            names.map(|value| value.get_name().to_owned()).collect()
        }
        let of = |key| match SETTINGS.iter().find(|setting| setting.key == key).unwrap().kind {
            SettingKind::Word(words) => words,
            _ => &[],
        };
        assert_eq!(of(SettingKey::Color), words::<ColorWhen>());
        assert_eq!(of(SettingKey::Theme), words::<ThemeName>());
        assert_eq!(ThemeName::from_str("auto", false), Ok(ThemeName::Auto));
    }

    #[test]
    fn every_listing_with_a_choice_of_columns_has_a_setting() {
        let tree = Cli::command();
        let commands = tree.get_subcommands().map(clap::Command::get_name);
        let listings = commands.filter(|name| *name != "top").flat_map(listings_of);
        // Each view of a subnet shows one aspect, so a user chooses its columns with -o. The
        // findings of check have columns only with -o.
        let is_view = |name: &&str| name.contains("fabric") || *name == "check";
        let listings: BTreeSet<&str> =
            listings.map(|(name, _)| name).filter(|name| !is_view(name)).collect();
        let settings = SETTINGS.iter().filter_map(|setting| match setting.key {
            SettingKey::Columns(listing) => Some(listing),
            _ => None,
        });
        assert_eq!(settings.collect::<BTreeSet<_>>(), listings);
    }
}
