//! Table behind `-h`: for each command, the most used flags with example values, and one
//! example.
//!
//! `--help` and the man pages list all flags. `cmd::usage` adds the texts of the flags.

/// The short help of one command.
#[derive(Debug)]
pub struct ShortHelp {
    /// Name of the command; empty for the program.
    pub command: &'static str,
    /// Flags as they are typed, separated by semicolons.
    flags: &'static str,
    /// One example of the command.
    pub example: &'static str,
}

impl ShortHelp {
    /// Returns at most ten flags as they are typed, each with an example of its value.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.flags.split("; ").filter(|flag| !flag.is_empty())
    }
}

const TABLE: &[ShortHelp] = &[
    ShortHelp { command: "", flags: "-H n[01-16]", example: "rdmactl devices n[01-16]" },
    ShortHelp {
        command: "devices",
        flags: "-H n[01-16]; --upload; -v; -o +pci,numa; -w 'state!=active'; -s -rate; -j; \
                --watch 5; --save all.ndjson; --from all.ndjson",
        example: "rdmactl devices n[01-16] -w 'state!=active'",
    },
    ShortHelp {
        command: "fabric",
        flags: "-H sm1; --upload; --via smp; --node-name-map names.txt; --thresholds limits.txt; \
                -w 'width==1X'; -f dot; -j; --save monday.ndjson; --from monday.ndjson",
        example: "rdmactl fabric links -w 'state!=active'",
    },
    ShortHelp {
        command: "check",
        flags: "-H n[01-16]; --upload; -v; --only 'port.*'; --skip port.link_lost; \
                --fail-on warn; --explain port.down; -j; --save all.ndjson; --from all.ndjson",
        example: "rdmactl check n[01-16]",
    },
    ShortHelp {
        command: "ports",
        flags: "--lossless; -H n[01-16]; --upload; -v; -o +cnp_sent,ecn_marked; -w 'rate<400G'; \
                -j; --watch 5; --save all.ndjson; --from all.ndjson",
        example: "rdmactl ports n[01-16] -w 'state!=active or rate<400G'",
    },
    ShortHelp {
        command: "gids",
        flags: "-H n[01-16]; --upload; -v; -o device,index,gid,kind; -w 'device==mlx5_0'; \
                -s -index; -j; --save all.ndjson; --from all.ndjson",
        example: "rdmactl gids n3 -w 'netdev==eth1'",
    },
    ShortHelp {
        command: "counters",
        flags: "-a; --watch 1; --count 1; -H n[01-16]; --upload; -w 'delta>0'; -s -value; -j; \
                --save all.ndjson; --from all.ndjson",
        example: "rdmactl counters n[01-16] --watch 1 -w 'delta>0'",
    },
    ShortHelp {
        command: "resources",
        flags: "--by process; -H n[01-16]; --upload; --sudo; -o pid,name,bytes; \
                -w 'name~python'; -s -bytes; -j; --watch 5; --from all.ndjson",
        example: "rdmactl resources qp cm_id n[1-4]",
    },
    ShortHelp {
        command: "connections",
        flags: "--only fallback; --fail-on fail; -H n[01-16]; --upload; --sudo; -v; \
                -w 'user==nfs'; -j; --watch 5; --from all.ndjson",
        example: "rdmactl connections n[01-16] --only fallback",
    },
    ShortHelp {
        command: "ping",
        flags: "--matrix n[01-16]; -H n1; --only failed; --test lat,bw; --rails first; --plan; \
                -v; --save today.json; --from today.json; --diff old.json new.json",
        example: "rdmactl ping --matrix n[01-16]",
    },
    ShortHelp {
        command: "top",
        flags: "-H n[01-64]; --every 5s; -w 'state!=active'; --theme light; --ascii; --mouse; \
                --upload; --from top.rec",
        example: "rdmactl top ports n[01-64]",
    },
    ShortHelp {
        command: "hosts",
        flags: "--fold; --size; --hosts-file hosts.txt; -j",
        example: "rdmactl hosts --fold n1 n2 n3",
    },
    ShortHelp {
        command: "capture",
        flags: "--save all.ndjson; -H n[01-16]; --redact; --from all.ndjson; --upload; --sudo; \
                --timeout 30s",
        example: "rdmactl capture n[01-16] --save all.ndjson",
    },
    ShortHelp {
        command: "config",
        flags: "--init; --schema; -v; -w 'origin!=default'; -o key,value; -j",
        example: "rdmactl config --init",
    },
    ShortHelp {
        command: "compat",
        flags: "--as 44; -H n1; --from n1.ndjson",
        example: "rdmactl compat ibstat mlx5_0",
    },
    ShortHelp { command: "completions", flags: "", example: "rdmactl completions bash" },
    ShortHelp { command: "man", flags: "", example: "rdmactl man /usr/local/share/man/man1" },
];

/// Returns further rows of a short help: files that the command reads, and values of its flags.
pub fn rows_of(command: &str) -> &'static [(&'static str, &'static str)] {
    match command {
        "completions" => &[
            ("~/.local/share/bash-completion/completions/rdmactl", "File that bash reads"),
            ("~/.config/fish/completions/rdmactl.fish", "File that fish reads"),
        ],
        "config" => &[
            ("~/.config/rdmactl/config.toml", "File of the user, for example:"),
            ("  hosts = \"n[1-4]\"", "Hosts to query without -H"),
            ("  ssh.config = \"~/ssh.cfg\"", "SSH configuration file, like -F"),
        ],
        "connections" => &[
            ("kind fallback", "fallback_confirmed, suspected, mixed, degraded, down"),
            ("level fallback_confirmed", "fallback_confirmed alone"),
            ("level fail", "fallback_confirmed, degraded, down"),
            ("level warn", "the verdicts of fail, and mixed, rdma_available"),
            ("level suspected", "the verdicts of warn, and suspected"),
            ("level fallback", "every connection that --only fallback lists"),
        ],
        _ => &[],
    }
}

/// Returns flags that a short help names in its last line.
pub fn further_flags(command: &str) -> &'static [&'static str] {
    match command {
        "ping" => &["-c", "--slot", "--dev", "--peers", "--budget"],
        _ => &[],
    }
}

/// Returns the text of a flag whose meaning differs from its meaning for other commands.
pub fn own_text(command: &str, flag: &str) -> Option<&'static str> {
    match (command, flag) {
        ("ping", "-H") => Some("Hosts that send, over SSH; default: this host"),
        ("ping", "-v") => Some("List the pairs as rows instead of a matrix"),
        ("ping", "--save") => Some("Save the run"),
        ("ping", "--from") => Some("Show a saved run"),
        _ => None,
    }
}

/// Returns the short help of a command, or of the program for an empty name.
pub fn of(command: &str) -> Option<&'static ShortHelp> {
    TABLE.iter().find(|row| row.command == command)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::{Cli, rewrite};

    fn parses(line: &str) -> bool {
        let words = shlex::split(line).unwrap().into_iter().map(OsString::from).collect();
        Cli::matches(&rewrite(words))
            .is_ok_and(|(_, mut matches)| Cli::from_matches(&mut matches).is_ok())
    }

    #[test]
    fn every_command_has_a_short_help() {
        let tree = Cli::command();
        let shown = tree.get_subcommands().filter(|command| !command.is_hide_set());
        let mut in_tree: Vec<&str> = shown.map(clap::Command::get_name).collect();
        in_tree.push("");
        let mut in_table: Vec<&str> = TABLE.iter().map(|row| row.command).collect();
        in_tree.sort_unstable();
        in_table.sort_unstable();
        assert_eq!(in_table, in_tree);
    }

    #[test]
    fn every_example_parses() {
        for short in TABLE {
            let ShortHelp { command, example, .. } = short;
            assert!(parses(example), "{example}");
            let word = match *command {
                "ping" => "ping n1",
                "compat" => "compat ibstat",
                other => other,
            };
            assert!(short.flags().count() <= 10, "{command} has more flags than people use");
            for flag in short.flags().filter(|flag| *flag != "-V") {
                let line = match (*command, flag) {
                    ("compat", flag) => format!("rdmactl compat {flag} ibstat"),
                    ("ping", flag) if flag.starts_with("--diff") || flag.starts_with("--from") => {
                        format!("rdmactl ping {flag}")
                    }
                    ("counters", "--count 1") => "rdmactl counters --watch --count 1".into(),
                    (_, flag) => format!("rdmactl {word} {flag}"),
                };
                assert!(parses(&line), "{line}");
            }
        }
        assert!(!parses("rdmactl devices --nonsense"));
    }
}
