//! Parses Ansible inventories in INI format: `www[01:05:2] ansible_host=10.0.0.5` below `[group]`
//! (user guide, "How to build your inventory"; ranges as in ansible-core 2.19).
//!
//! Returns all hosts of the file. `[group:children]` and `[group:vars]` sections name no hosts. A
//! host with an address is returned as the address, because connections need the address.

use std::collections::HashMap;

use super::{Entry, FormatError, quoted};

/// Limit of the names in one file. A numeric range counts as one name.
const MAX_NAMES: usize = 65_536;
/// Maximum length of a pattern, in bytes. A name has at most 253 characters.
const MAX_PATTERN: usize = 1_000;

/// Pattern of the inventory, with the variables from all its lines.
#[derive(Default)]
struct HostPattern {
    /// Number of the first line, from 1.
    line: usize,
    names: Vec<String>,
    address: Option<String>,
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

pub(super) fn hosts(text: &str) -> Result<Vec<Entry>, FormatError> {
    let (mut patterns, mut positions) = (Vec::<HostPattern>::new(), HashMap::new());
    let (mut names_hosts, mut names_left) = (true, MAX_NAMES);
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
            names_hosts = section_names_hosts(number, head)?;
            continue;
        }
        if !names_hosts {
            continue;
        }
        let Some(words) = shlex::split(line) else {
            return Err(FormatError::new(number, "unclosed quote"));
        };
        let Some((name, variables)) = words.split_first() else { continue };
        let position = *positions.entry(name.clone()).or_insert(patterns.len());
        if position == patterns.len() {
            let names = expand(number, name, &mut names_left)?;
            patterns.push(HostPattern { line: number, names, ..HostPattern::default() });
        }
        if let Some(host) = patterns.get_mut(position) {
            read_variables(number, host, variables)?;
        }
    }
    Ok(patterns.into_iter().map(HostPattern::entry).collect())
}

fn section_names_hosts(line: usize, head: &str) -> Result<bool, FormatError> {
    match head.trim_matches(['[', ']']).split_once(':') {
        None => Ok(true),
        Some((_, "children" | "vars")) => Ok(false),
        Some((group, _)) => {
            Err(FormatError::new(line, format!("{} is not a section", quoted(head)))
                .fix(format!("write [{group}], [{group}:children] or [{group}:vars]")))
        }
    }
}

/// Stores the address, the port and the user of a host; ignores all other variables.
fn read_variables(
    line: usize,
    host: &mut HostPattern,
    variables: &[String],
) -> Result<(), FormatError> {
    for variable in variables {
        let Some((key, value)) = variable.split_once('=') else {
            return Err(FormatError::new(line, format!("{} is not a variable", quoted(variable)))
                .fix("write one host per line, with NAME=VALUE after it"));
        };
        let field = match key {
            "ansible_host" | "ansible_ssh_host" => &mut host.address,
            "ansible_port" | "ansible_ssh_port" => &mut host.port,
            "ansible_user" | "ansible_ssh_user" => &mut host.user,
            _ => continue,
        };
        if value.contains("{{") {
            return Err(FormatError::new(line, format!("the value of {key} is a template"))
                .fix("write the value, or list the hosts: ansible all --list-hosts"));
        }
        *field = Some(value.to_owned()).filter(|value| !value.is_empty());
    }
    Ok(())
}

impl HostPattern {
    /// Returns the host set `USER@HOST:PORT,…` of the pattern.
    fn entry(self) -> Entry {
        let Self { line, names, address, port, user } = self;
        let names = address.map_or(names, |address| vec![address]);
        let spell = |name: String| {
            let (name, own_port) = match name.rsplit_once(':') {
                Some((rest, port)) if !rest.contains(':') || rest.ends_with(']') => {
                    (rest.trim_matches(['[', ']']).to_owned(), Some(port.to_owned()))
                }
                _ => (name, None),
            };
            let user = user.as_ref().map_or(String::new(), |user| format!("{user}@"));
            match port.clone().or(own_port) {
                Some(port) if name.contains(':') => format!("{user}[{name}]:{port}"),
                Some(port) => format!("{user}{name}:{port}"),
                None => format!("{user}{name}"),
            }
        };
        Entry { line, hosts: names.into_iter().map(spell).collect::<Vec<_>>().join(",") }
    }
}

/// Expands a pattern to names, at most `names_left` ones. A numeric range stays one name.
fn expand(line: usize, pattern: &str, names_left: &mut usize) -> Result<Vec<String>, FormatError> {
    if pattern.len() > MAX_PATTERN {
        return Err(FormatError::new(line, "the pattern is longer than 1,000 characters"));
    }
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
        if names.len() * choices.len() > *names_left {
            return Err(FormatError::new(line, "more than 65,536 names"));
        }
        let with = |name| choices.iter().map(move |choice| format!("{name}{before}{choice}"));
        names = names.iter().flat_map(with).collect();
        rest = after;
    }
    *names_left = names_left.saturating_sub(names.len());
    Ok(names.into_iter().map(|name| name + rest).collect())
}

/// Returns the names of a range: `[01-05/2]` for `01:05:2`, and three letters for `a:c`.
fn read_range(line: usize, range: &str) -> Result<Vec<String>, FormatError> {
    let wrong = |message: &str, fix: &str| {
        Err(FormatError::new(line, format!("[{range}] {message}")).fix(fix))
    };
    let parts: Vec<&str> = range.split(':').collect();
    let (low, high, step) = match parts[..] {
        [low, high] => (low, high, "1"),
        [low, high, step] => (low, high, step),
        _ => return wrong("is not an Ansible range", "write [01:16], [01:16:2] or [a:f]"),
    };
    let Some(step) = step.parse::<usize>().ok().filter(|step| *step > 0) else {
        return wrong("has an invalid step", "write [01:16:2]");
    };
    if let (&[low @ (b'a'..=b'z' | b'A'..=b'Z')], &[high]) = (low.as_bytes(), high.as_bytes()) {
        if low > high || low.is_ascii_uppercase() != high.is_ascii_uppercase() {
            return wrong("is descending", "write [a:f] or [A:F]");
        }
        let letters = (low..=high).step_by(step);
        return Ok(letters.map(|letter| char::from(letter).to_string()).collect());
    }
    let low = if low.is_empty() { "0" } else { low };
    let (Ok(first), Ok(last)) = (low.parse::<u64>(), high.parse::<u64>()) else {
        return wrong("is not an Ansible range", "write [01:16], [01:16:2] or [a:f]");
    };
    if first > last {
        return wrong("is descending", "write the lower number first");
    }
    if low.len() > 1 && low.starts_with('0') && low.len() != high.len() {
        return wrong("has bounds of different widths", "write [01:16] or [1:16]");
    }
    Ok(vec![if step == 1 { format!("[{low}-{high}]") } else { format!("[{low}-{high}/{step}]") }])
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
            "www[01-05/2].example.com",
            "db-a.example.com,db-b.example.com,db-c.example.com",
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn an_entry_has_the_address_port_and_user_to_connect_to() {
        let table = [
            ("h1 ansible_host=10.0.0.5 ansible_port=2222", "10.0.0.5:2222"),
            ("h1:2222", "h1:2222"),
            ("h1:2222 ansible_port=22", "h1:22"),
            ("h1 ansible_host=fd00::1 ansible_port=22 ansible_user='bob'", "bob@[fd00::1]:22"),
            ("h1 ansible_host=fd00::1", "fd00::1"),
            ("[fd00::1]:22", "[fd00::1]:22"),
            ("h[1:3] x='a b'", "h[1-3]"),
            ("h[:3]", "h[0-3]"),
            ("r[1:2][a:b]", "r[1-2]a,r[1-2]b"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), [expected], "{text}");
        }
    }

    #[test]
    fn invalid_inventory_is_an_error_with_its_line() {
        let table = [
            ("h1\nh[01:3]", 2, "different widths"),
            ("h[5:1]", 1, "is descending"),
            ("h[c:a]", 1, "is descending"),
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
        }
    }
}
