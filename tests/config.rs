//! The configuration of rdmactl: files, variables and flags, and the errors for invalid ones.
#![expect(clippy::expect_used, reason = "a test that cannot run its program has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rdmactl::config::{FILE_VARIABLE, SETTINGS, schema};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Home directory of a user, and the environment variables of a run.
struct Place {
    folder: TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    /// Creates a directory with a configuration file, and sets the variable that names the file.
    fn with(text: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a directory"), variables: vec![] };
        fs::write(place.file(), text).expect("a file");
        let file = place.file().display().to_string();
        place.set(FILE_VARIABLE, &file)
    }

    fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("config.toml")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rdmactl"));
        command.args(arguments).env_remove("NO_COLOR").current_dir(self.folder.path());
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program. Returns exit code, stdout and stderr.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        said(&self.command(arguments).output().expect("rdmactl runs"))
    }

    /// Returns the value and the origin of a setting.
    fn setting(&self, key: &str, flags: &[&str]) -> (Value, String) {
        let (code, stdout, stderr) = self.run(&[&["config", "--json"], flags].concat());
        assert_eq!((code, stderr.as_str()), (0, ""));
        let json: Value = serde_json::from_str(&stdout).expect("JSON");
        let settings = json["settings"].as_array().expect("a list");
        let found = settings.iter().find(|setting| setting["key"] == key).expect("the setting");
        (found["value"].clone(), found["origin"].as_str().expect("a word").to_owned())
    }
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().expect("an exit code"), text(&output.stdout), text(&output.stderr))
}

#[test]
fn tests_never_read_the_configuration_of_a_developer() {
    assert_eq!(std::env::var(FILE_VARIABLE).as_deref(), Ok("/dev/null"), "run tests with cargo");
    let text = include_str!("../.cargo/config.toml");
    let names = |line: &str| line.split_once(" = {").map(|(name, _)| name.to_owned());
    let cleared: BTreeSet<String> = text.lines().filter_map(names).collect();
    let settings = SETTINGS.iter().map(|setting| setting.variable).chain([FILE_VARIABLE]);
    assert_eq!(cleared, settings.map(str::to_owned).collect());
}

#[test]
fn a_flag_weighs_more_than_a_variable_and_a_variable_more_than_a_file() {
    let place = Place::with("# comment\ntimeout = \"20s\"\nfanout = 3\n");
    let file = place.file().display().to_string();
    assert_eq!(place.setting("timeout", &[]), ("20s".into(), format!("{file}:2")));
    assert_eq!(place.setting("fanout", &[]), (3.into(), format!("{file}:3")));
    assert_eq!(place.setting("upload", &[]), ("ping".into(), "default".into()));
    assert_eq!(place.setting("hosts", &[]), (Value::Null, "default".into()));
    let place = place.set("RDMACTL_TIMEOUT", "30s");
    assert_eq!(place.setting("timeout", &[]), ("30s".into(), "RDMACTL_TIMEOUT".into()));
    let flag = place.setting("timeout", &["--timeout", "40s"]);
    assert_eq!(flag, ("40s".into(), "--timeout".into()));
    assert_eq!(place.setting("fanout", &[]), (3.into(), format!("{file}:3")));
}

#[test]
fn the_file_of_the_user_is_below_the_configuration_directory() {
    let place = Place { folder: tempfile::tempdir().expect("a directory"), variables: vec![] };
    let folder = place.folder.path().join("rdmactl");
    fs::create_dir(&folder).expect("a directory");
    fs::write(folder.join("config.toml"), "fanout = 5").expect("a file");
    let home = place.folder.path().display().to_string();
    let place = place.set("XDG_CONFIG_HOME", &home);
    let fanout = |file: Option<&str>| {
        let mut command =
            place.command(&["config", "--format", "plain", "-n", "-w", "key==fanout"]);
        match file {
            None => command.env_remove(FILE_VARIABLE),
            Some(file) => command.env(FILE_VARIABLE, file),
        };
        said(&command.output().expect("rdmactl runs")).1
    };
    let line = format!("fanout\t5\t{home}/rdmactl/config.toml:1\n");
    assert_eq!(fanout(None), line);
    for none in ["", "/dev/null"] {
        assert_eq!(fanout(Some(none)), "fanout\t64\tdefault\n");
    }
}

#[test]
fn every_flag_of_a_setting_is_an_origin() {
    let place =
        Place::with("ssh.sudo = true\nhosts = \"n1\"\ncolor = \"always\"\nupload = \"always\"");
    for (flags, key, value) in [
        (&["-H", "n2,n3", "-H", "n4"][..], "hosts", json!(["n2,n3", "n4"])),
        (&["--hosts-file", "list"], "hosts", json!(["^list"])),
        (&["--local"], "hosts", Value::Null),
        (&["--fanout", "7"], "fanout", json!(7)),
        (&["--upload"], "upload", json!("always")),
        (&["--no-upload"], "upload", json!("never")),
        (&["--color", "never"], "color", json!("never")),
        (&["-l", "root"], "ssh.login", json!("root")),
        (&["-F", "x"], "ssh.config", json!("x")),
        (&["--ssh-option", "Port=7"], "ssh.options", json!(["Port=7"])),
        (&["--no-sudo"], "ssh.sudo", json!(false)),
        (&["--sudo"], "ssh.sudo", json!(true)),
    ] {
        let (found, origin) = place.setting(key, flags);
        assert_eq!(found, value, "{flags:?}");
        assert!(origin.starts_with("--"), "{flags:?}: {origin}");
    }
}

#[test]
fn the_settings_are_listed_like_rows_of_any_listing() {
    let place = Place::with("hosts = \"n[1-4]\"\nssh.options = [\"Port=7\", \"User=x\"]\n");
    let (code, stdout, _) = place.run(&["config"]);
    let file = place.file().display().to_string();
    assert_eq!(code, 0);
    let first: Vec<&str> = stdout.lines().next().expect("a heading").split_whitespace().collect();
    assert_eq!(first, ["KEY", "VALUE", "ORIGIN"]);
    assert_eq!(stdout.lines().count(), SETTINGS.len() + 3);
    assert_eq!(stdout.lines().last(), Some(format!("file: {file} (read)").as_str()));
    assert!(!place.run(&["config", "-f", "plain"]).1.contains("file: "));
    let line = |key: &str| -> Vec<String> {
        let line = stdout.lines().find(|line| line.starts_with(key)).expect("a row");
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(line("hosts"), ["hosts", "n[1-4]", &format!("{file}:1")]);
    assert_eq!(line("ssh.options"), ["ssh.options", "Port=7,User=x", &format!("{file}:2")]);
    assert_eq!(line("interval"), ["interval", "-", "default"]);
    let (_, stdout, _) =
        place.run(&["config", "-f", "csv", "-o", "key,variable", "-w", "key==hosts"]);
    assert_eq!(stdout, "key,variable\nhosts,RDMACTL_HOSTS\n");
    let (_, stdout, _) = place.run(&["config", "--json"]);
    let json: Value = serde_json::from_str(&stdout).expect("JSON");
    let of_json: Value =
        serde_json::from_str(include_str!("schema/rdmactl.config.json")).expect("the schema");
    assert!(jsonschema::is_valid(&of_json, &json));
    let (code, _, stderr) = place.run(&["config", "-f", "prom"]);
    assert!(code == 2 && stderr.contains("config has no metrics"), "{stderr}");
}

#[test]
fn a_configured_host_set_is_queried_like_that_of_a_flag() {
    let text = "hosts = \"127.0.0.1:1,localhost:1\"\nssh.config = \"/dev/null\"\ntimeout = 5\n";
    let place = Place::with(text);
    for command in ["devices", "ports", "gids", "counters", "resources", "connections"] {
        let (code, _, stderr) = place.run(&[command]);
        assert_eq!(code, 2, "{command}: {stderr}");
        assert!(stderr.contains("127.0.0.1:1") && stderr.contains("localhost:1"), "{stderr}");
        let (_, _, stderr) = place.run(&[command, "--local"]);
        assert!(!stderr.contains("127.0.0.1:1"), "{command}: {stderr}");
    }
    let (_, stdout, _) = place.run(&[]);
    assert!(stdout.starts_with("2 hosts, 2 without data\n"), "{stdout}");
    // The suggested commands need no flag, because they read the same configuration.
    assert!(stdout.contains("\n  rdmactl devices "), "{stdout}");
    assert!(!stdout.contains("-H") && !stdout.contains("/dev/null"), "{stdout}");
    let (_, stdout, _) = place.run(&["-H", "127.0.0.1:1"]);
    assert!(stdout.contains("rdmactl devices -H 127.0.0.1:1 "), "{stdout}");
    let (_, stdout, _) = place.run(&["devices", "-H", "localhost:1"]);
    assert!(stdout.contains("localhost:1") && !stdout.contains("127.0.0.1:1"), "{stdout}");
}

#[test]
fn a_file_another_root_and_an_older_tool_ignore_the_configured_hosts() {
    let place = Place::with("hosts = \"127.0.0.1:1\"\nssh.config = \"/dev/null\"\n");
    let fleet = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fleet/capture.ndjson");
    let fleet = fleet.to_str().expect("UTF-8");
    let (code, stdout, stderr) = place.run(&["devices", "--from", fleet]);
    assert!(code != 2 && stdout.contains("n17"), "{stderr}");
    let root = place.folder.path().display().to_string();
    for arguments in [&["devices", "--root", &root][..], &["compat", "ibv_devices"]] {
        let (_, stdout, stderr) = place.run(arguments);
        assert!(!format!("{stdout}{stderr}").contains("127.0.0.1"), "{stdout}{stderr}");
    }
    let (code, _, stderr) = place.run(&["hosts"]);
    assert!(code == 2 && stderr.contains("hosts needs a host set"), "{stderr}");
}

#[test]
fn a_ping_takes_the_configured_hosts_only_for_a_matrix_without_a_set() {
    let place = Place::with("hosts = \"n[1-3]\"\n");
    let plan = |arguments: &[&str]| {
        let (code, stdout, stderr) = place.run(&[&["ping", "--plan", "-j"], arguments].concat());
        let json: Value = serde_json::from_str(&stdout).unwrap_or_default();
        (code, json["hosts"].as_u64().unwrap_or_default(), stderr)
    };
    let (code, hosts, stderr) = plan(&["--matrix"]);
    assert_eq!((code, hosts), (0, 3), "{stderr}");
    assert_eq!(plan(&["--matrix", "m[1-2]"]).1, 2);
    assert_eq!(plan(&["--matrix", "-H", "m[1-2]"]).1, 2);
    assert_eq!(plan(&["m1", "m2"]).1, 2);
    assert_eq!(plan(&["m1"]).1, 2, "this host and m1");
    for arguments in [&["--matrix", "--local"][..], &[]] {
        let (code, _, stderr) = plan(arguments);
        assert_eq!(code, 2, "{stderr}");
    }
}

#[test]
fn local_contradicts_flags_that_name_another_place() {
    let place = Place::with("");
    for flags in [
        &["-H", "n1"][..],
        &["n1"],
        &["--hosts-file", "x"],
        &["--from", "x"],
        &["--root", "/"],
        &["--launcher", "slurm"],
    ] {
        let (code, _, stderr) = place.run(&[&["devices", "--local"], flags].concat());
        assert_eq!(code, 2);
        assert!(stderr.contains("--local") && stderr.contains("contradicts"), "{stderr}");
    }
    let (code, _, stderr) = place.run(&["hosts", "--local", "n1"]);
    assert!(code == 2 && stderr.contains("hosts does not support --local"), "{stderr}");
}

#[test]
fn configured_columns_and_color_are_those_of_the_flags() {
    let place = Place::with(
        "color = \"always\"\n[columns]\ndevices = \"device,driver\"\nports = [\"+lid\"]\n",
    );
    let fleet = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fleet/capture.ndjson");
    let fleet = fleet.to_str().expect("UTF-8");
    let heading = |arguments: &[&str]| {
        let (_, stdout, _) = place.run(&[arguments, &["--from", fleet, "-f", "csv"]].concat());
        stdout.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(heading(&["devices"]), "device.name,device.driver");
    assert_eq!(heading(&["devices", "-o", "host"]), "host");
    assert!(heading(&["devices", "-o", "+host"]).ends_with("device.driver,host"));
    assert!(heading(&["ports"]).ends_with(",port.lid"), "{}", heading(&["ports"]));
    let (_, _, stderr) = place.run(&["devices", "-o", "nosuch"]);
    assert!(stderr.starts_with('\u{1b}'), "{stderr:?}");
    let output = place.command(&["devices", "-o", "nosuch"]).env("NO_COLOR", "1").output();
    let (_, _, stderr) = said(&output.expect("rdmactl runs"));
    assert!(stderr.starts_with("rdmactl: "), "{stderr:?}");
}

#[test]
fn a_mistake_is_reported_with_line_and_column() {
    for (text, what) in [
        (
            "\nhots = \"n1\"",
            ":2:1: unknown key \"hots\"; did you mean hosts?\n  fix: write, for example: hosts = ",
        ),
        (
            "fanout = \"many\"",
            ":1:10: fanout: expected a number from 1 to 1024, found a string\n  fix: ",
        ),
        ("hosts = \"n[1-\"", ":1:11: hosts: invalid host set \"n[1-\": "),
        ("hosts = ", ":1:9: invalid TOML: "),
        ("x\u{1b}[2J = 1", ":1:3: invalid TOML: "),
        ("\"\\u001b[2J\" = 1", ":1:1: unknown key "),
    ] {
        let place = Place::with(text);
        for command in ["config", "devices"] {
            let (code, stdout, stderr) = place.run(&[command]);
            assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
            let start = format!("rdmactl: {}", place.file().display());
            assert!(stderr.starts_with(&format!("{start}{what}")), "{stderr}");
            assert!(stderr.contains("\n  fix: ") && !stderr.contains('\u{1b}'), "{stderr}");
        }
    }
}

#[test]
fn an_invalid_variable_ends_the_run() {
    let place = Place::with("").set("RDMACTL_FANOUT", "0");
    let (code, _, stderr) = place.run(&["devices"]);
    assert_eq!(code, 2);
    let what = "rdmactl: RDMACTL_FANOUT: expected a number from 1 to 1024, found \"0\"\n";
    assert_eq!(stderr, format!("{what}  fix: remove the variable: unset RDMACTL_FANOUT\n"));
}

#[test]
fn a_file_that_other_users_can_change_is_refused() {
    let place = Place::with("fanout = 3\n");
    for (mode, is_refused) in [(0o600, false), (0o644, false), (0o620, true), (0o602, true)] {
        fs::set_permissions(place.file(), fs::Permissions::from_mode(mode)).expect("its mode");
        let (code, _, stderr) = place.run(&["config"]);
        assert_eq!(code, if is_refused { 2 } else { 0 }, "{mode:o}: {stderr}");
        if is_refused {
            assert!(stderr.contains(&format!("other users can write to it (mode {mode:04o})")));
            assert!(stderr.contains(&format!("chmod go-w {}", place.file().display())), "{stderr}");
        }
    }
    fs::set_permissions(place.file(), fs::Permissions::from_mode(0o644)).expect("its mode");
    // Only root can change the owner of a file.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(place.file(), Some(4_242), None).expect("root may");
        let (code, _, stderr) = place.run(&["config"]);
        assert!(code == 2 && stderr.contains("owned by user 4242"), "{stderr}");
    }
}

#[test]
fn config_that_is_no_small_text_file_is_refused() {
    let place = Place::with("");
    let refused = |what: &str| {
        let (code, _, stderr) = place.run(&["config"]);
        assert!(code == 2 && stderr.contains(what) && stderr.contains("fix: "), "{what}: {stderr}");
    };
    fs::write(place.file(), "#\n".repeat(32 << 10)).expect("a file");
    assert_eq!(place.run(&["config"]).0, 0, "64 KiB are read");
    fs::write(place.file(), "#\n".repeat(32 << 10) + "#").expect("a file");
    refused("larger than 64 KiB");
    fs::write(place.file(), b"# \xff").expect("a file");
    refused("not UTF-8 at byte 3");
    fs::remove_file(place.file()).expect("it is there");
    refused(&format!("cannot open {}: No such file", place.file().display()));
    fs::create_dir(place.file()).expect("a directory");
    refused("not a regular file");
    fs::remove_dir(place.file()).expect("it is there");
    // A reader of a FIFO waits for a writer.
    assert!(Command::new("mkfifo").arg(place.file()).status().expect("mkfifo runs").success());
    refused("not a regular file");
    fs::remove_file(place.file()).expect("it is there");
    let deep = format!("hosts = {}", "[".repeat(30_000));
    fs::write(place.file(), deep).expect("a file");
    refused("invalid TOML");
}

#[test]
fn a_broken_file_does_not_keep_commands_from_running_that_have_no_use_for_it() {
    let place = Place::with("nonsense").set("RDMACTL_FANOUT", "0");
    let man = place.folder.path().display().to_string();
    for arguments in [
        &["completions", "bash"][..],
        &["man", &man],
        &["--version"],
        &["--help"],
        &["help", "devices"],
        &["config", "--help"],
        &["config", "--schema"],
        // The agent ends at the end of its stdin.
        &["agent", "0123456789abcdef0123456789abcdef"],
    ] {
        let mut command = place.command(arguments);
        let output = command.stdin(std::process::Stdio::null()).output().expect("rdmactl runs");
        let (code, _, stderr) = said(&output);
        assert!(!stderr.contains("config.toml") && !stderr.contains("FANOUT"), "{stderr}");
        assert!(code == 0 || arguments[0] == "agent", "{arguments:?}: {code} {stderr}");
    }
    let completed = place.command(&["2", "rdmactl", "dev"]).env("RDMACTL_COMPLETE", "zsh").output();
    assert!(said(&completed.expect("rdmactl runs")).2.is_empty());
}

#[test]
fn the_schema_admits_what_the_reader_admits() {
    let schema = schema();
    let of_toml = |text: &str| -> Value {
        // The examples are valid TOML and valid JSON.
        serde_json::from_str(text).expect("an example")
    };
    let mut document = json!({});
    for setting in SETTINGS {
        match setting.name.split_once('.') {
            None => document[setting.name] = of_toml(setting.example),
            Some((table, name)) => document[table][name] = of_toml(setting.example),
        }
    }
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&document).map(|one| one.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    for wrong in [
        json!({ "hots": "n1" }),
        json!({ "fanout": 0 }),
        json!({ "fanout": "8" }),
        json!({ "timeout": "soon" }),
        json!({ "upload": "sometimes" }),
        json!({ "ssh": { "options": "Port=7" } }),
        json!({ "ssh": { "optons": [] } }),
        json!({ "columns": { "top": "x" } }),
        json!({ "ssh": 5 }),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
    let (code, stdout, _) = Place::with("").run(&["config", "--schema"]);
    assert_eq!((code, serde_json::from_str::<Value>(&stdout).expect("JSON")), (0, schema));
}

#[test]
fn an_example_file_is_written_once_and_changes_nothing() {
    let place = Place { folder: tempfile::tempdir().expect("a directory"), variables: vec![] };
    let home = place.folder.path().display().to_string();
    let place = place.set("HOME", &home);
    let run = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        said(&command.env_remove(FILE_VARIABLE).output().expect("rdmactl runs"))
    };
    let file = place.folder.path().join(".config/rdmactl/config.toml");
    let (code, stdout, stderr) = run(&["config", "--init"]);
    assert_eq!((code, stdout), (0, format!("wrote {}\n", file.display())), "{stderr}");
    assert!(stderr.contains(r#"hosts = "n[1-4]""#), "{stderr}");
    let text = fs::read_to_string(&file).expect("the file");
    assert!(text.contains("# hosts = ") && text.contains("# ssh.config = "), "{text}");
    assert_eq!(run(&["config", "-w", "origin!=default", "-f", "csv", "-n"]).1, "");
    fs::write(&file, "fanout = 3\n").expect("a file");
    let (code, _, stderr) = run(&["config", "--init"]);
    assert_ne!(code, 0);
    assert!(stderr.contains("does not overwrite"), "{stderr}");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "fanout = 3\n");
    let help = run(&["config", "-h"]).1;
    assert!(help.contains("~/.config/rdmactl/config.toml") && help.contains(r#"hosts = "n[1-4]""#));
}
