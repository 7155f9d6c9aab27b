//! Applies the configuration: a setting takes the place of a flag that is not given.

use std::path::PathBuf;

use clap::ValueEnum as _;

use super::Advice;
use super::flags::GivenFlags;
use crate::cli::{Cli, ColorWhen, Command, Global, LauncherArg, PortsArgs, ThemeName};
use crate::config::{Config, SETTINGS, SettingKey, SettingOrigin, Value};

/// Reads the configuration and applies it, unless the output of the command does not depend on
/// it.
pub(super) fn apply(cli: &mut Cli, given: &GivenFlags) -> anyhow::Result<Config> {
    if !reads_configuration(cli.command.as_ref()) {
        return Ok(Config::default());
    }
    let config = Config::load().map_err(|error| Advice::error(error.what, error.fix))?;
    apply_to(cli, &config, given);
    Ok(with_flags(config, &cli.global, given))
}

fn reads_configuration(command: Option<&Command>) -> bool {
    match command {
        Some(Command::Agent(_) | Command::Completions(_) | Command::Man(_)) => false,
        Some(Command::Config(args)) => !args.schema && !args.init,
        _ => true,
    }
}

fn apply_to(cli: &mut Cli, config: &Config, given: &GivenFlags) {
    let queries_configured = queries_configured(cli);
    let listing = cli.command.as_ref().and_then(listing_of);
    let global = &mut cli.global;
    let value = |key| config.configured(key).map(|(value, _)| value.clone());
    let without_flag = |key| value(key).filter(|_| given.flags_of(key).is_empty());
    if queries_configured
        && let Some((Value::List(sets), origin)) = config.configured(SettingKey::Hosts)
    {
        global.hosts.clone_from(sets);
        global.configured.hosts_origin = Some(origin.to_string());
    }
    if let Some(Value::Time(_, timeout)) = without_flag(SettingKey::Timeout) {
        global.timeout = timeout;
    }
    if let Some(Value::Number(fanout)) = without_flag(SettingKey::Fanout) {
        global.fanout = fanout;
    }
    if let Some(Value::Text(policy)) = without_flag(SettingKey::Upload) {
        global.upload = policy == "always";
        global.no_upload = policy == "never";
    }
    if let Some(Value::Time(_, interval)) = value(SettingKey::Interval) {
        global.configured.interval = Some(interval);
    }
    // `Term` handles NO_COLOR itself, and a theme given as a flag has priority.
    let is_plain = config
        .configured(SettingKey::Color)
        .is_some_and(|(_, origin)| *origin == SettingOrigin::Variable("NO_COLOR"));
    if let Some(Value::Text(word)) = without_flag(SettingKey::Color)
        && !is_plain
        && let Ok(color) = ColorWhen::from_str(&word, false)
    {
        global.color = color;
    }
    if global.launcher == LauncherArg::Ssh {
        apply_ssh(global, without_flag);
    }
    let columns = listing.and_then(|listing| value(SettingKey::Columns(listing)));
    if let Some(Value::List(columns)) = columns {
        global.configured.columns = columns;
    }
    if let Some(Command::Top(args)) = &mut cli.command
        && let Some(Value::Text(word)) = without_flag(SettingKey::Theme)
        && !is_plain
        && let Ok(theme) = ThemeName::from_str(&word, false)
    {
        args.theme = theme;
    }
}

/// Applies the settings of SSH; other launchers do not use them.
fn apply_ssh(global: &mut Global, value: impl Fn(SettingKey) -> Option<Value>) {
    if let Some(Value::Text(user)) = value(SettingKey::Login) {
        global.login = Some(user);
    }
    if let Some(Value::Text(path)) = value(SettingKey::SshConfig) {
        global.ssh_config = Some(PathBuf::from(path));
    }
    if let Some(Value::List(options)) = value(SettingKey::SshOptions) {
        global.ssh_option = options;
    }
    if let Some(Value::Switch(is_on)) = value(SettingKey::Sudo) {
        global.sudo = is_on;
    }
}

/// Returns true if the command queries the configured hosts: no flag names another source.
fn queries_configured(cli: &Cli) -> bool {
    let Global { local, from, root, launcher, .. } = &cli.global;
    let is_elsewhere = *local
        || from.is_some()
        || root.is_some()
        // Slurm provides the nodes of the job.
        || *launcher == LauncherArg::Slurm
        || cli.global.names_hosts();
    !is_elsewhere
        && match &cli.command {
            Some(Command::Ping(args)) => args.matrix == Some(None) && args.targets.is_empty(),
            // compat replaces a tool of this host.
            Some(Command::Compat(_) | Command::Hosts(_) | Command::Config(_)) => false,
            _ => true,
        }
}

fn listing_of(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::Devices(_) => "devices",
        Command::Ports(PortsArgs { lossless: true, .. }) => "ports --lossless",
        Command::Ports(_) => "ports",
        Command::Gids(_) => "gids",
        Command::Counters(_) => "counters",
        Command::Resources(_) => "resources",
        Command::Connections(_) => "connections",
        Command::Ping(_) => "ping",
        Command::Config(_) => "config",
        _ => return None,
    })
}

/// Adds the flags of a command line to the configuration, for the list of settings.
fn with_flags(mut config: Config, global: &Global, given: &GivenFlags) -> Config {
    for setting in SETTINGS {
        let Some(&flag) = given.flags_of(setting.key).first() else { continue };
        let list = |items: &[String]| Some(Value::List(items.to_vec()));
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let value = match setting.key {
            SettingKey::Hosts if global.local => list(&[]),
            SettingKey::Hosts => {
                let file = global.hosts_file.as_ref().map(|file| format!("^{file}"));
                list(&global.hosts.iter().cloned().chain(file).collect::<Vec<_>>())
            }
            SettingKey::Timeout => {
                Some(Value::Time(format!("{:?}", global.timeout), global.timeout))
            }
            SettingKey::Fanout => Some(Value::Number(global.fanout)),
            SettingKey::Upload => text(if global.upload { "always" } else { "never" }),
            SettingKey::Color => {
                global.color.to_possible_value().and_then(|word| text(word.get_name()))
            }
            SettingKey::Login => global.login.as_deref().and_then(text),
            SettingKey::SshConfig => {
                global.ssh_config.as_deref().and_then(|path| text(&path.display().to_string()))
            }
            SettingKey::SshOptions => list(&global.ssh_option),
            SettingKey::Sudo => Some(Value::Switch(global.sudo)),
            // The config command has no flags for these settings; its -o selects its own columns.
            SettingKey::Interval | SettingKey::Theme | SettingKey::Columns(_) => None,
        };
        if let Some(value) = value {
            config.set(setting.key, value, SettingOrigin::Flag(flag));
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::cmd::flags;

    fn applied(words: &[&str], text: &str, variables: &[(&str, &str)]) -> Cli {
        let words: Vec<OsString> = ["rdmactl"].iter().chain(words).map(OsString::from).collect();
        let (tree, mut matches) = Cli::matches(&words).unwrap();
        let given = flags::given(&tree, &matches);
        given.check().unwrap();
        let mut cli = Cli::from_matches(&mut matches).unwrap();
        let mut config = Config::default();
        config.add_file(Path::new("/c"), text).unwrap();
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        config.add_variables(&variable).unwrap();
        apply_to(&mut cli, &config, &given);
        cli
    }

    #[test]
    fn the_configured_hosts_are_those_of_commands_that_query_hosts() {
        let hosts = |words: &[&str]| {
            let global = applied(words, "hosts = \"c1,c2\"", &[]).global;
            assert_eq!(global.configured.hosts_origin.is_some(), global.hosts == ["c1,c2"]);
            global.hosts.join(" ")
        };
        for words in [
            &[][..],
            &["devices"],
            &["ports", "--lossless"],
            &["resources", "qp"],
            &["top"],
            &["top", "ports"],
            &["capture", "--save", "x"],
            &["connections", "--launcher", "exec", "x {host}"],
            &["ping", "--matrix"],
            &["ping", "--matrix", "--plan"],
        ] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let words = crate::cli::rewrite(words);
            let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
            assert_eq!(hosts(&words), "c1,c2", "{words:?}");
        }
        for words in [
            &["devices", "--local"][..],
            &["devices", "--from", "x"],
            &["devices", "--root", "/"],
            &["devices", "--launcher", "slurm"],
            &["devices", "--hosts-file", "x"],
            &["top", "--local"],
            &["ping", "n1"],
            &["ping", "--matrix", "n[1-2]"],
            &["ping", "--matrix", "--local"],
            &["compat", "ibstat"],
            &["hosts"],
        ] {
            assert_eq!(hosts(words), "", "{words:?}");
        }
        assert_eq!(hosts(&["devices", "n1"]), "n1");
        assert_eq!(hosts(&["top", "ports", "n1"]), "n1");
    }

    #[test]
    fn flags_keep_their_values() {
        let text = "timeout = 20\nfanout = 3\nupload = \"never\"\ncolor = \"never\"\n[ssh]\nlogin = \"a\"\n\
                    config = \"/x\"\noptions = [\"Port=7\"]\nsudo = true\n";
        let none = applied(&["devices"], text, &[]).global;
        assert_eq!((none.timeout, none.fanout), (Duration::from_secs(20), 3));
        assert_eq!((none.upload, none.no_upload, none.sudo), (false, true, true));
        assert_eq!(none.color, ColorWhen::Never);
        assert_eq!(none.login.as_deref(), Some("a"));
        assert_eq!(none.ssh_config.as_deref(), Some(Path::new("/x")));
        assert_eq!(none.ssh_option, ["Port=7"]);
        let flags = "devices --timeout 5 --fanout 9 --upload --color always -l b -F /y \
                     --ssh-option Port=8 --no-sudo";
        let all = applied(&flags.split(' ').collect::<Vec<_>>(), text, &[]).global;
        assert_eq!((all.timeout, all.fanout), (Duration::from_secs(5), 9));
        assert_eq!((all.upload, all.no_upload, all.sudo), (true, false, false));
        assert_eq!(all.color, ColorWhen::Always);
        assert_eq!(all.login.as_deref(), Some("b"));
        assert_eq!(all.ssh_config.as_deref(), Some(Path::new("/y")));
        assert_eq!(all.ssh_option, ["Port=8"]);
        // Flags are also accepted before the command.
        let before = applied(&["--fanout", "9", "devices"], text, &[]).global;
        assert_eq!(before.fanout, 9);
    }

    #[test]
    fn uploads_are_those_of_the_policy() {
        for (policy, expected) in
            [("never", (false, true)), ("ping", (false, false)), ("always", (true, false))]
        {
            let text = format!("upload = \"{policy}\"");
            let global = applied(&["devices"], &text, &[]).global;
            assert_eq!((global.upload, global.no_upload), expected, "{policy}");
        }
    }

    #[test]
    fn another_launcher_takes_no_settings_of_ssh() {
        let text = "ssh = { login = \"a\", config = \"/x\", options = [\"Port=7\"], sudo = true }";
        let global = applied(&["devices", "--launcher", "slurm"], text, &[]).global;
        assert!(global.login.is_none() && global.ssh_config.is_none());
        assert!(global.ssh_option.is_empty() && !global.sudo);
    }

    #[test]
    fn a_theme_and_a_color_of_a_file_give_way_to_no_color() {
        let text = "color = \"always\"\ninterval = 5\ntop.theme = \"light\"";
        let look = |words: &[&str], variables: &[(&str, &str)]| {
            let cli = applied(words, text, variables);
            assert_eq!(cli.global.configured.interval, Some(Duration::from_secs(5)));
            let Some(Command::Top(args)) = cli.command else { panic!("no top") };
            (cli.global.color, args.theme)
        };
        assert_eq!(look(&["top"], &[]), (ColorWhen::Always, ThemeName::Light));
        let dark = (ColorWhen::Always, ThemeName::Dark);
        assert_eq!(look(&["top", "--theme", "dark"], &[]), dark);
        let plain = [("NO_COLOR", "1")];
        assert_eq!(look(&["top"], &plain), (ColorWhen::Auto, ThemeName::Auto));
        assert_eq!(look(&["top", "--theme", "dark"], &plain), (ColorWhen::Auto, ThemeName::Dark));
        let both = [("NO_COLOR", "1"), ("RDMACTL_COLOR", "always")];
        assert_eq!(look(&["top"], &both), (ColorWhen::Always, ThemeName::Light));
    }

    #[test]
    fn each_listing_has_columns_of_its_own() {
        let text = "[columns]\nports = \"+lid\"\nlossless = \"device\"\nping = \"source\"";
        let columns = |words: &[&str]| applied(words, text, &[]).global.column_words().join(",");
        assert_eq!(columns(&["ports"]), "+lid");
        assert_eq!(columns(&["ports", "--lossless"]), "device");
        assert_eq!(columns(&["ping", "n1"]), "source");
        assert_eq!((columns(&["devices"]), columns(&["top"]), columns(&[])), Default::default());
    }
}
