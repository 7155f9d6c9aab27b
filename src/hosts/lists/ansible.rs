//! Parses Ansible inventories in INI format: `www[01:05:2] ansible_host=10.0.0.5` below `[group]`
//! (user guide, "How to build your inventory"; ranges as in ansible-core 2.19).
//!
//! Returns all hosts of the file. `[group:children]` and `[group:vars]` sections name no hosts. A
//! host with an address is returned as the address, because connections need the address.

use std::collections::HashMap;

use super::{Entry, FormatError, quoted};

/// Maximum number of hosts of one file.
const MAX_HOSTS: usize = 65_536;
/// Maximum number of names in the lines of one file. A host may stand in several groups.
const MAX_NAMES: usize = 16 * MAX_HOSTS;
/// Maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1_000;
/// Maximum length of a name with its port, and of the value of a variable, in bytes. A DNS name
/// has at most 253 characters.
const MAX_NAME_BYTES: usize = 300;
/// Order of letters in a range (`string.ascii_letters` of Python).
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Host of the inventory, with the variables from all its lines.
#[derive(Default)]
struct InventoryHost {
    /// Number of the first line with the host, from 1.
    line: usize,
    /// Number of hosts before this one in the file.
    position: usize,
    address: Option<String>,
    /// Port of the name in the first line, or of the last variable.
    port: Option<String>,
    user: Option<String>,
}

/// True if a line is the header of a section, not an address or a numeric range in brackets.
pub(super) fn is_section(line: &str) -> bool {
    let name = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    name.is_some_and(|name| {
        let is_address = name.parse::<std::net::Ipv6Addr>().is_ok();
        name.starts_with(|first: char| first.is_alphabetic() || first == '_') && !is_address
    })
}

/// Returns the hosts of an inventory, one entry for each host.
pub(super) fn hosts(text: &str) -> Result<Vec<Entry>, FormatError> {
    let mut hosts = HashMap::<String, InventoryHost>::new();
    let (mut lists_hosts, mut names_left) = (true, MAX_NAMES);
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line == "---" {
            return Err(super::yaml_inventory(number));
        }
        let head = line.split(" #").next().unwrap_or_default().trim_end();
        if head.starts_with('[') && head.ends_with(']') {
            lists_hosts = section_lists_hosts(number, head)?;
            continue;
        }
        if !lists_hosts {
            continue;
        }
        let Some(words) = shlex::split(line) else {
            let message = "unclosed quote, or a backslash at the end of the line";
            return Err(FormatError::new(number, message)
                .fix("write the value in quotes: web1 ansible_user='bob'"));
        };
        let Some((pattern, variables)) = words.split_first() else { continue };
        let names = expand(number, pattern)?;
        names_left = names_left
            .checked_sub(names.len())
            .ok_or_else(|| too_many(number, "1,048,576 names in all lines"))?;
        let variables = LineVariables::parse(number, variables)?;
        for name in names {
            let (name, port) = split_port(name);
            let position = hosts.len();
            let host = hosts.entry(name).or_insert_with(|| InventoryHost {
                line: number,
                position,
                port,
                ..InventoryHost::default()
            });
            if host.position >= MAX_HOSTS {
                return Err(too_many_hosts(number));
            }
            variables.assign_to(host);
        }
    }
    let mut hosts: Vec<(String, InventoryHost)> = hosts.into_iter().collect();
    hosts.sort_unstable_by_key(|(_, host)| host.position);
    Ok(hosts.into_iter().map(|(name, host)| host.entry(name)).collect())
}

fn too_many(line: usize, what: &str) -> FormatError {
    FormatError::new(line, format!("more than {what}")).fix("split the file into several files")
}

fn too_long(line: usize, what: &str) -> FormatError {
    FormatError::new(line, what).fix("write a name with at most 253 characters")
}

fn too_many_hosts(line: usize) -> FormatError {
    too_many(line, "65,536 hosts")
}

/// Returns true if the lines of a section are hosts.
fn section_lists_hosts(line: usize, head: &str) -> Result<bool, FormatError> {
    match head.trim_matches(['[', ']']).split_once(':') {
        None => Ok(true),
        Some((_, "children" | "vars")) => Ok(false),
        Some((group, _)) => {
            Err(FormatError::new(line, format!("{} is not a section", quoted(head)))
                .fix(format!("write [{group}], [{group}:children] or [{group}:vars]")))
        }
    }
}

/// Values of the variables of a line, at most [`MAX_NAME_BYTES`] long. An empty value removes the
/// value of an earlier line.
#[derive(Default)]
struct LineVariables<'line> {
    address: Option<&'line str>,
    port: Option<&'line str>,
    user: Option<&'line str>,
}

impl<'line> LineVariables<'line> {
    /// Parses the address, the port and the user of a line; ignores all other variables.
    fn parse(line: usize, variables: &'line [String]) -> Result<Self, FormatError> {
        let mut values = Self::default();
        for variable in variables {
            let Some((key, value)) = variable.split_once('=') else {
                let message = format!("{} is not a variable", quoted(variable));
                return Err(FormatError::new(line, message)
                    .fix("write one host per line, with NAME=VALUE after it"));
            };
            let field = match key {
                "ansible_host" | "ansible_ssh_host" => &mut values.address,
                "ansible_port" | "ansible_ssh_port" => &mut values.port,
                "ansible_user" | "ansible_ssh_user" => &mut values.user,
                _ => continue,
            };
            if value.contains("{{") {
                return Err(FormatError::new(line, format!("the value of {key} is a template"))
                    .fix("write the value, or list the hosts: ansible all --list-hosts"));
            }
            if value.len() > MAX_NAME_BYTES {
                let message = format!("the value of {key} is longer than 300 bytes");
                return Err(FormatError::new(line, message)
                    .fix(format!("write a value of {key} with at most 300 bytes")));
            }
            *field = Some(value);
        }
        Ok(values)
    }

    /// Stores the address, the port and the user of a host.
    fn assign_to(&self, host: &mut InventoryHost) {
        let assign = |field: &mut Option<String>, value: Option<&str>| {
            if let Some(value) = value {
                *field = Some(value.to_owned()).filter(|value| !value.is_empty());
            }
        };
        assign(&mut host.address, self.address);
        assign(&mut host.port, self.port);
        assign(&mut host.user, self.user);
    }
}

impl InventoryHost {
    /// Returns the host as the host set `USER@HOST:PORT`.
    fn entry(self, name: String) -> Entry {
        let Self { line, address, port, user, .. } = self;
        let (name, own_port) = split_port(address.unwrap_or(name));
        let user = user.map_or(String::new(), |user| format!("{user}@"));
        let hosts = match port.or(own_port) {
            Some(port) if name.contains(':') => format!("{user}[{name}]:{port}"),
            Some(port) => format!("{user}{name}:{port}"),
            None => format!("{user}{name}"),
        };
        Entry { line, hosts }
    }
}

/// Splits the port from `name:22` or `[fd00::1]:22`.
fn split_port(name: String) -> (String, Option<String>) {
    match name.rsplit_once(':') {
        Some((rest, port)) if !rest.contains(':') || rest.ends_with(']') => {
            (rest.trim_matches(['[', ']']).to_owned(), Some(port.to_owned()))
        }
        _ => (name, None),
    }
}

/// Expands the ranges of a pattern.
fn expand(line: usize, pattern: &str) -> Result<Vec<String>, FormatError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(too_long(line, "the pattern is longer than 1,000 bytes"));
    }
    // The names of a range exist together in memory.
    let longest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or_default();
    let check = |bytes: usize| {
        let what = "a name of the pattern is longer than 300 bytes";
        if bytes > MAX_NAME_BYTES { Err(too_long(line, what)) } else { Ok(()) }
    };
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, behind)) = rest.split_once('[') {
        let Some((range, after)) = behind.split_once(']') else {
            let message = format!("unclosed bracket in {}", quoted(pattern));
            return Err(FormatError::new(line, message).fix("write for example www[01:05]"));
        };
        let choices = if range.parse::<std::net::Ipv6Addr>().is_ok() {
            vec![format!("[{range}]")]
        } else {
            read_range(line, range)?
        };
        if names.len() * choices.len() > MAX_HOSTS {
            return Err(too_many_hosts(line));
        }
        check(longest(&names) + before.len() + longest(&choices))?;
        let with = |name| choices.iter().map(move |choice| format!("{name}{before}{choice}"));
        names = names.iter().flat_map(with).collect();
        rest = after;
    }
    check(longest(&names) + rest.len())?;
    Ok(names.into_iter().map(|name| name + rest).collect())
}

/// Returns the choices of a range, at most one more than [`MAX_HOSTS`]: `01`, `03` and `05` for
/// `01:05:2`, or `a`, `b` and `c` for `a:c`.
fn read_range(line: usize, range: &str) -> Result<Vec<String>, FormatError> {
    let invalid = |message: &str, fix: &str| {
        Err(FormatError::new(line, format!("[{range}] {message}")).fix(fix))
    };
    let parts: Vec<&str> = range.split(':').collect();
    let (low, high, step) = match parts[..] {
        [low, high] => (low, high, "1"),
        [low, high, step] => (low, high, step),
        _ => return invalid("is not an Ansible range", "write [01:16], [01:16:2] or [a:f]"),
    };
    let Some(step) = step.parse::<usize>().ok().filter(|step| *step > 0) else {
        return invalid("has an invalid step", "write [01:16:2]");
    };
    let letter = |bound: &str| LETTERS.find(bound).filter(|_| bound.len() == 1);
    if let (Some(first), Some(last)) = (letter(low), letter(high)) {
        if first > last {
            return invalid("is descending", "write [a:f], [A:F] or [a:F]");
        }
        let letters = LETTERS[first..=last].chars().step_by(step);
        return Ok(letters.map(String::from).collect());
    }
    let low = if low.is_empty() { "0" } else { low };
    let (Ok(first), Ok(last)) = (low.parse::<u64>(), high.parse::<u64>()) else {
        return invalid("is not an Ansible range", "write [01:16], [01:16:2] or [a:f]");
    };
    if first > last {
        return invalid("is descending", "write the lower number first");
    }
    let width = if low.len() > 1 && low.starts_with('0') { low.len() } else { 0 };
    if width > 0 && width != high.len() {
        return invalid("has bounds of different widths", "write [01:16] or [1:16]");
    }
    let numbers = (first..=last).step_by(step).take(MAX_HOSTS + 1);
    Ok(numbers.map(|number| format!("{number:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        hosts(text).unwrap().into_iter().map(|entry| entry.hosts).collect()
    }

    #[test]
    fn every_host_of_an_inventory_is_returned_once() {
        let text = "; mine\nmail.example.com\n\n[web]\nwww[01:05:2].example.com\n\
                    mail.example.com ansible_user=bob\n[db] # behind\ndb-[a:c].example.com # three\n\
                    [dc:children]\nweb\ndb\n[dc:vars]\nntp=ntp.example.com\nansible_user=root\n";
        let expected = [
            "bob@mail.example.com",
            "www01.example.com",
            "www03.example.com",
            "www05.example.com",
            "db-a.example.com",
            "db-b.example.com",
            "db-c.example.com",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn an_entry_has_the_address_port_and_user_to_connect_to() {
        let table: [(&str, &[&str]); 12] = [
            ("h1 ansible_host=10.0.0.5 ansible_port=2222", &["10.0.0.5:2222"]),
            ("h1:2222", &["h1:2222"]),
            ("h1:2222 ansible_port=22", &["h1:22"]),
            ("h1:2222 ansible_host=10.0.0.5", &["10.0.0.5:2222"]),
            ("h1 ansible_host=fd00::1 ansible_port=22 ansible_user='bob'", &["bob@[fd00::1]:22"]),
            ("h1 ansible_host=fd00::1", &["fd00::1"]),
            ("[fd00::1]:22", &["[fd00::1]:22"]),
            ("h[1:3] x='a b'", &["h1", "h2", "h3"]),
            ("h[:3]", &["h0", "h1", "h2", "h3"]),
            ("h[08:10]", &["h08", "h09", "h10"]),
            ("r[1:2][a:b]:22", &["r1a:22", "r1b:22", "r2a:22", "r2b:22"]),
            ("h[y:B]", &["hy", "hz", "hA", "hB"]),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn variables_of_all_lines_belong_to_a_host_of_a_range() {
        let text = "www[1:3] ansible_user=bob\n[lab]\nwww1 ansible_host=10.0.0.5\n\
                    [new]\nwww[2:3] ansible_port=2222\nwww3:22\n";
        assert_eq!(read(text), ["bob@10.0.0.5", "bob@www2:2222", "bob@www3:2222"]);
    }

    #[test]
    fn an_empty_value_removes_the_value_of_an_earlier_line() {
        let text = "h[1:2] ansible_host=10.0.0.5 ansible_user=bob\n[lab]\nh1 ansible_user=\n";
        assert_eq!(read(text), ["10.0.0.5", "bob@10.0.0.5"]);
    }

    #[test]
    fn a_value_has_at_most_300_bytes() {
        let (long, longest) = ("x".repeat(301), "x".repeat(300));
        let text = format!("h1 ansible_user={longest} comment={long}");
        assert_eq!(read(&text), [format!("{longest}@h1")]);
        for key in ["ansible_host", "ansible_ssh_port", "ansible_user"] {
            let error = hosts(&format!("h0\nh[1:65536] {key}={long}")).unwrap_err();
            let expected = format!("the value of {key} is longer than 300 bytes");
            assert_eq!((error.line, error.message), (2, expected));
            assert!(error.fix.is_some(), "{key}");
        }
    }

    /// A parser that reads the variables for each name would not end: 6.5 billion words.
    #[test]
    fn variables_of_a_range_are_parsed_once() {
        let text = format!("h[1:65536] {}ansible_user=bob", "a=1 ".repeat(100_000));
        let hosts = read(&text);
        assert_eq!((hosts.len(), hosts[65_535].as_str()), (MAX_HOSTS, "bob@h65536"));
    }

    #[test]
    fn the_number_of_hosts_and_names_has_limits() {
        let error = |text: &str| {
            let error = hosts(text).unwrap_err();
            assert!(error.fix.is_some(), "{error:?}");
            (error.line, error.message)
        };
        let too_many_hosts = |line| (line, "more than 65,536 hosts".to_owned());
        assert_eq!(error("h0\nh[1:65537]"), too_many_hosts(2));
        assert_eq!(error("h[0:18446744073709551615]"), too_many_hosts(1));
        let plain: Vec<String> = (0..=MAX_HOSTS).map(|number| format!("h{number}")).collect();
        assert_eq!(read(&plain[1..].join("\n")).len(), MAX_HOSTS);
        assert_eq!(error(&plain.join("\n")), too_many_hosts(MAX_HOSTS + 1));
        let repeated = "h[1:65536]\n".repeat(17);
        assert_eq!(error(&repeated), (17, "more than 1,048,576 names in all lines".to_owned()));
    }

    #[test]
    fn a_name_has_at_most_300_bytes() {
        let (long, half) = ("x".repeat(299), "x".repeat(149));
        assert_eq!(read(&format!("{long}[1:2]")), [format!("{long}1"), format!("{long}2")]);
        assert_eq!(read(&format!("[1:2]{half}[1:1]{half}")).len(), 2);
        for pattern in [
            format!("{long}xx"),
            format!("{long}[1:65536]"),
            format!("[1:65536]{long}"),
            format!("{half}[1:256]{half}[1:256]"),
            format!("h[{zeros}0:{zeros}1]", zeros = "0".repeat(300)),
        ] {
            let error = hosts(&format!("h1\n{pattern}")).unwrap_err();
            let expected = (2, "a name of the pattern is longer than 300 bytes");
            assert_eq!((error.line, error.message.as_str()), expected, "{pattern}");
            assert!(error.fix.is_some(), "{pattern}");
        }
    }

    #[test]
    fn invalid_inventory_is_an_error_with_its_line() {
        let table = [
            ("h1\nh[01:3]", 2, "different widths"),
            ("h[5:1]", 1, "is descending"),
            ("h[c:a]", 1, "is descending"),
            ("h[A:b]", 1, "is descending"),
            ("h[a:1]", 1, "is not an Ansible range"),
            ("h[ab:cd]", 1, "is not an Ansible range"),
            ("h1 x=a\\", 1, "a backslash at the end"),
            ("h[1-3]", 1, "is not an Ansible range"),
            ("h[1:3:0]", 1, "has an invalid step"),
            ("h[1:3", 1, "unclosed bracket"),
            ("h1 h2", 1, "`h2` is not a variable"),
            ("h1 x='a", 1, "quote"),
            ("[a:b]\n", 1, "is not a section"),
            ("h1 ansible_host={{x}}", 1, "template"),
            ("---\nall:", 1, "YAML"),
            (
                "h[a:z][a:z][a:z]\nh[a:z][a:z][a:z]0\nh[a:z][a:z][a:z]1\nh[a:z][a:z][a:z]2",
                4,
                "more than 65,536",
            ),
        ];
        for (text, line, said) in table {
            let error = hosts(text).unwrap_err();
            assert!(error.line == line && error.message.contains(said), "{text}: {error:?}");
            assert!(error.fix.is_some(), "{text}: {error:?}");
        }
        let error = hosts(&format!("h1\n{}", "é".repeat(501))).unwrap_err();
        assert_eq!(
            (error.line, error.message.as_str()),
            (2, "the pattern is longer than 1,000 bytes")
        );
    }
}
