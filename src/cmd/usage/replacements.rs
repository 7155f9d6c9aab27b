//! Tables of words and flags of other tools, with the rdmactl command to type instead.
//!
//! Prints nothing; `cmd::usage` puts the fix below the error.

use std::ffi::OsString;

/// Words that users type as a command, and the command to type instead. The hosts of the command
/// line and their flags replace `{hosts}`; example hosts stand after a bar: `{hosts|n1 n2}`.
pub(super) const OTHER_WORDS: &[(&str, &str)] = &[
    ("status stat summary", "for a summary: rdmactl; for a live view: rdmactl top {hosts}"),
    ("ls list show info dev device link", "rdmactl devices {hosts}"),
    ("port links", "rdmactl ports {hosts}"),
    ("gid", "rdmactl gids {hosts}"),
    ("ib_write_bw ib_read_bw ib_send_bw", "rdmactl ping {hosts|n1 n2} --test bw"),
    ("ib_write_lat ib_read_lat ib_send_lat", "rdmactl ping {hosts|n1 n2}"),
    ("ps processes", "rdmactl resources {hosts}"),
    ("stats statistic counter errors", "rdmactl counters {hosts}"),
    ("resource res qp", "rdmactl resources {hosts}"),
    ("mounts connection conn nfs beegfs", "rdmactl connections {hosts}"),
    ("perf bw bandwidth", "rdmactl ping {hosts|n1 n2} --test lat,bw"),
    ("latency lat pingpong", "rdmactl ping {hosts|n1 n2}"),
    ("test matrix", "rdmactl ping --matrix {hosts|'n[1-4]'}"),
    ("health diagnose", "rdmactl check {hosts}; rdmactl ping --matrix {hosts|'n[1-4]'}"),
    ("monitor watch live", "rdmactl top {hosts}"),
    ("record dump", "rdmactl capture {hosts} --save FILE"),
    (
        "diff compare cmp",
        "list the hosts in one table; hosts with equal values share a row: rdmactl ports {hosts|n1 n2}; to compare two runs: rdmactl ping --diff OLD NEW",
    ),
    ("nodes nodeset expand", "rdmactl hosts {hosts|SET}"),
    ("metrics prom prometheus", "rdmactl counters {hosts} -f prom"),
    (
        "problems issues",
        "rdmactl top problems {hosts}; rdmactl connections {hosts} --only fallback",
    ),
    ("report bugreport support sosreport", "rdmactl capture {hosts} --redact --save FILE"),
    ("settings configuration conf cfg", "rdmactl config"),
    ("version", "rdmactl --version"),
];

/// Stands in place of a command in a row for every command.
const ANY: &str = "";

/// Flags of other tools, with the flag to write instead, for one command or for every command.
const OTHER_FLAGS: &[(&str, &str, &str)] = &[
    ("ping", "--all --all-pairs --all-to-all -a", "write --matrix SET"),
    ("ping", "--device -d", "write --dev NAME"),
    ("ping", "-i --ib-port", "write --port N"),
    ("ping", "-x", "write --gid-index N"),
    ("ping", "-m", "write --mtu BYTES"),
    ("ping", "-S", "write --sl N"),
    ("ping", "-R", "write --test conn,lat; ping connects with librdmacm on iWARP only"),
    ("ping", "-q --qp", "ping uses one queue pair per pair; use ib_write_bw -q for more"),
    ("ping", "-b", "write --test bw: ping measures both directions of each pair"),
    ("ping", "-t -W", "write --timeout TIME for a host, --slot TIME for a pair"),
    ("ping", "--count", "write -c N"),
    ("capture", "--anonymize --anonymise --anon", "write --redact"),
    (ANY, "--anonymize --anonymise", "write rdmactl capture --redact"),
    (ANY, "--bw --bandwidth --throughput", "write --test bw"),
    (ANY, "--lat --latency", "write --test lat"),
    (ANY, "--duration --time -D", "write --slot TIME for each pair, --budget TIME for the run"),
    (ANY, "--interval -i --delay", "write --watch {value|SECS}, and --count N for N samples"),
    ("counters", "--error", "write --errors"),
    ("gids", "--v2 --rocev2 --roce-v2 --type --roce", "write -w kind~v2"),
    ("gids", "--v1 --rocev1 --roce-v1", "write -w kind~v1"),
    (
        ANY,
        "--down --inactive",
        "list the ports that are not active: rdmactl ports -w 'state!=ACTIVE'",
    ),
    (ANY, "--only", "write -w EXPR, for example: rdmactl ports -w 'state!=ACTIVE'"),
    (
        "connections",
        "--storage --nfs --nvme --nvmeof --iscsi --beegfs --lustre",
        "write -w 'user==nfs'; other values of user: nvmeof, iscsi, srp, beegfs, lustre, smb, 9p, smc, rds, process",
    ),
    ("resources", "--summary --by-process -p", "write --by process"),
    ("connections", "--check --exit-code", "write --fail-on fail"),
    (
        ANY,
        "--check --exit-code",
        "for exit code 1 after a fallback to TCP: rdmactl connections --fail-on fail",
    ),
    (ANY, "--summary", "print a summary of each host: rdmactl -H {value|SET}"),
    (ANY, "--speed", "write -o +rate,rate_text"),
    ("ping", "--dry-run", "write --plan"),
    ("ping", "--failed --fail --failures --only-failed --errors --bad", "write --only failed"),
    (ANY, "--roce --type", "write -w link==roce"),
    (ANY, "-r --reverse", "for descending order write -s -COLUMN"),
    (ANY, "--explain", "print the meaning of a verdict: rdmactl help {value|CODE}"),
    ("counters", "--diff --changed", "write --watch 2 -w 'delta>0'"),
    (ANY, "-c", "write --watch --count N"),
    (ANY, "--host --node --nodes", "write -H SET"),
    (ANY, "-a -g --all --group", "write -H @GROUP for a group of hosts"),
    (ANY, "--filter --grep --only-active", "write -w EXPR"),
    (ANY, "--user", "write -l USER"),
    (ANY, "--csv", "write -f csv"),
    ("ping", "--baseline --compare", "write rdmactl ping --diff OLD NEW"),
    (
        ANY,
        "--baseline --compare --diff",
        "list the hosts in one table; hosts with equal values share a row: rdmactl ports n1 n2 -v",
    ),
    (ANY, "--output --out --file", "write --save FILE for the raw data, -f FORMAT for a format"),
    (ANY, "-d --device --dev", "write -w 'device=={value|NAME}'"),
];

/// Flags that name hosts or configure the connection, each with a value.
const HOST_FLAGS: &str =
    "-H --hosts --hosts-file -F --ssh-config -l --login --ssh-option --from --timeout";

pub(super) fn of_word(word: &str, words: &[OsString]) -> Option<String> {
    let (_, fix) =
        OTHER_WORDS.iter().find(|(others, _)| others.split(' ').any(|other| other == word))?;
    Some(filled(fix, "hosts", &hosts_of(words, Some(word))))
}

pub(super) fn of_flag(command: Option<&str>, flag: &str, words: &[OsString]) -> Option<String> {
    if command != Some("ping") && matches!(flag, "-x" | "--exclude") {
        return Some(without_hosts(flag, words));
    }
    let (.., fix) = OTHER_FLAGS.iter().find(|(only, flags, _)| {
        [ANY, command.unwrap_or(ANY)].contains(only) && flags.split(' ').any(|one| one == flag)
    })?;
    let mut after = words.iter().skip_while(|word| *word != flag).skip(1);
    let value = after.next().and_then(|word| word.to_str()).filter(|word| is_plain(word));
    Some(filled(fix, "value", value.unwrap_or_default()))
}

/// Returns the fix for `-x` of pdsh and clush, which excludes hosts: `-H 'n[1-4]!n4'`.
fn without_hosts(flag: &str, words: &[OsString]) -> String {
    let words: Vec<&str> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let at = words.iter().position(|word| *word == flag).unwrap_or(words.len());
    let excluded = words.get(at + 1).copied().filter(|word| is_set(word)).unwrap_or("HOSTS");
    // The word after the flag is its value, and the first word is the command.
    let others = words.iter().enumerate().filter(|(other, _)| *other != at && *other != at + 1);
    let others: Vec<&str> = others.map(|(_, word)| *word).collect();
    let hosts: Vec<&str> = others
        .windows(2)
        .map(|pair| (pair[0], pair[1]))
        .filter(|(before, _)| matches!(*before, "-H" | "--hosts") || !before.starts_with('-'))
        .map(|(_, word)| word)
        .filter(|word| is_set(word))
        .collect();
    let hosts = if hosts.is_empty() { "SET".to_owned() } else { hosts.join(",") };
    let set = std::iter::once(hosts.as_str()).chain(apart(excluded)).collect::<Vec<_>>().join("!");
    format!("write the excluded hosts after !: -H {}", quoted(&set))
}

/// Splits a host set at the commas outside brackets.
fn apart(set: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    set.split(move |letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

/// Joins the filters of several -w into one; `None` if a value is missing.
pub(super) fn of_filters(words: &[OsString]) -> Option<String> {
    let mut filters: Vec<&str> = Vec::new();
    let mut words = words.iter().skip(1).map_while(|word| word.to_str());
    while let Some(word) = words.next() {
        match word {
            "-w" | "--where" => filters.push(words.next()?),
            _ => filters.extend(word.strip_prefix("--where=")),
        }
    }
    let is_alternative = |filter: &str| filter.contains(" or ") || filter.contains("||");
    let all: Vec<String> = filters
        .iter()
        .map(|one| if is_alternative(one) { format!("({one})") } else { (*one).to_owned() })
        .collect();
    let joined = shlex::try_quote(&all.join(" and ")).ok()?.into_owned();
    (all.len() > 1).then(|| format!("join the filters with and: -w {joined}"))
}

/// Returns the hosts and the connection flags of a command line, quoted for a shell.
///
/// A word counts as a host set only after `command`. An unknown flag ends the search, because its
/// value would look like a host set.
pub(super) fn hosts_of(words: &[OsString], command: Option<&str>) -> String {
    let mut found: Vec<String> = Vec::new();
    let mut is_after = command.is_none();
    let is_host_flag = |word: &str| HOST_FLAGS.split(' ').any(|flag| flag == word);
    let mut words = words.iter().skip(1).map_while(|word| word.to_str());
    while let Some(word) = words.next() {
        let flag = word.split('=').next().unwrap_or(word);
        if is_host_flag(word) {
            let Some(value) = words.next() else { break };
            found.extend([word.to_owned(), quoted(value)]);
        } else if word.starts_with("--") && is_host_flag(flag) {
            found.push(quoted(word));
        } else if word.starts_with('-') {
            break;
        } else if !is_after {
            is_after = command == Some(word);
        } else if is_set(word) {
            found.push(quoted(word));
        } else {
            break;
        }
    }
    found.join(" ")
}

/// Replaces `{name}` and `{name|example}` in a fix.
fn filled(fix: &str, name: &str, value: &str) -> String {
    let mut text = String::new();
    let mut rest = fix;
    let start = format!("{{{name}");
    while let Some((before, after)) = rest.split_once(&start) {
        let (example, after) = after.split_once('}').unwrap_or((after, ""));
        let example = example.strip_prefix('|').unwrap_or_default();
        let value = if value.is_empty() { example } else { value };
        text.push_str(if value.is_empty() { before.trim_end() } else { before });
        text.push_str(value);
        rest = after;
    }
    text + rest
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map(String::from).unwrap_or_default()
}

/// Returns true for a word that looks like a host set, and that is short enough for a hint.
pub(super) fn is_set(word: &str) -> bool {
    word.len() < 100
        && !word.starts_with('-')
        && word
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || ".-_[],@!&^:".contains(letter))
}

fn is_plain(word: &str) -> bool {
    !word.starts_with('-')
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-_:".contains(letter))
}

#[test]
fn no_command_is_listed_as_another_word() {
    use clap::CommandFactory as _;

    let tree = crate::cli::Cli::command();
    for word in OTHER_WORDS.iter().flat_map(|(words, _)| words.split(' ')) {
        assert!(tree.find_subcommand(word).is_none(), "{word} is a command");
    }
}

#[cfg(test)]
fn typed(words: &[&str]) -> Vec<OsString> {
    ["rdmactl"].iter().chain(words).map(OsString::from).collect()
}

#[test]
fn excluded_hosts_are_part_of_the_host_set() {
    let fix = |words: &[&str]| of_flag(words.first().copied(), "-x", &typed(words)).unwrap();
    let set = |set: &str| format!("write the excluded hosts after !: -H {set}");
    assert_eq!(fix(&["devices", "-H", "n[1-4]", "-x", "n4"]), set("'n[1-4]!n4'"));
    assert_eq!(fix(&["devices", "-x", "n[3,4],n7", "n[1-9]"]), set("'n[1-9]!n[3,4]!n7'"));
    assert_eq!(fix(&["devices", "-w", "rate", "-x", "n4"]), set("'SET!n4'"));
    assert_eq!(fix(&["devices", "n1", "-x"]), set("'n1!HOSTS'"));
    assert_eq!(fix(&["ping", "n1", "-x", "3"]), "write --gid-index N");
}

#[test]
fn several_filters_are_one_filter() {
    let fix = |words: &[&str]| of_filters(&typed(words));
    assert_eq!(
        fix(&["ports", "-w", "state!=active", "--where=rate<4G or rate>9G"]).as_deref(),
        Some("join the filters with and: -w 'state!=active and (rate<4G or rate>9G)'")
    );
    assert_eq!(fix(&["ports", "-w", "a", "-w"]), None);
}

#[test]
fn a_fix_repeats_the_hosts_of_the_command_line() {
    let fix = |words: &[&str]| of_word("show", &typed(words)).unwrap();
    assert_eq!(fix(&["show"]), "rdmactl devices");
    assert_eq!(fix(&["show", "n2", "n[3-4]"]), "rdmactl devices n2 'n[3-4]'");
    assert_eq!(fix(&["-F", "a b", "-H", "n1", "show"]), "rdmactl devices -F 'a b' -H n1");
    assert_eq!(fix(&["show", "-x", "5"]), "rdmactl devices");
    assert_eq!(fix(&["show", "$(reboot)"]), "rdmactl devices");
    assert_eq!(filled("a {hosts|n1 n2} b", "hosts", ""), "a n1 n2 b");
    assert_eq!(filled("a {hosts} b; c {hosts}", "hosts", ""), "a b; c");
}
