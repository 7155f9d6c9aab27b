//! Finds and redacts names and addresses in text, in every notation.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Redactor;

/// Prefixes of iSCSI and NVMe names: `iqn.1993-08.org.debian:01:n1`.
const QUALIFIED: [&str; 4] = ["iqn", "eui", "naa", "nqn"];

impl Redactor {
    pub(super) fn text(&self, text: &str) -> String {
        let is_between =
            |letter: char| letter.is_whitespace() || "\"'()[]{}<>,;=|`".contains(letter);
        pieces(text, is_between, |word| {
            if word.starts_with('/') && word.len() > 1 {
                return self.path(word);
            }
            match word.split_once('@') {
                Some((user, place)) if !user.is_empty() => {
                    format!("{}@{}", self.label(user), self.text(place))
                }
                _ => pieces(word, |letter| letter == '/', |part| self.token(part)),
            }
        })
    }

    /// Redacts a word without blanks and slashes.
    pub(super) fn token(&self, word: &str) -> String {
        let core = word.trim_end_matches(['.', ':', '!', '?', '\n']);
        let tail = &word[core.len()..];
        let found = self.address(core).or_else(|| self.qualified(core));
        found.unwrap_or_else(|| self.hidden(core)) + tail
    }

    /// Returns the pseudonym of a word that is an address; `None` for any other word.
    fn address(&self, word: &str) -> Option<String> {
        if let Ok(ip) = word.parse::<Ipv4Addr>() {
            return Some(self.ip4_text(ip));
        }
        // IPv4 address followed by a port, an interface, or the end of a range.
        let end = word.find([':', '%', '-', ',']).unwrap_or(word.len());
        let (ip, rest) = word.split_at(end);
        if let (Ok(ip), Some((sign, rest))) = (ip.parse::<Ipv4Addr>(), rest.split_at_checked(1)) {
            return Some(format!("{}{sign}{}", self.ip4_text(ip), self.token(rest)));
        }
        let groups: Vec<&str> = word.split(':').collect();
        let are_all =
            |digits: usize| groups.iter().all(|group| group.len() == digits && is_hex(group));
        let number = || u128::from_str_radix(&groups.concat(), 16).ok();
        let narrow = |number: u128| u64::try_from(number).ok();
        match groups.len() {
            8 if are_all(4) => return Some(grouped(self.gid(number()?), 32, 4)),
            4 if are_all(4) => return Some(grouped(self.guid(narrow(number()?)?).into(), 16, 4)),
            6 if are_all(2) => return Some(grouped(self.mac(narrow(number()?)?).into(), 12, 2)),
            8 if are_all(2) => return Some(grouped(self.guid(narrow(number()?)?).into(), 16, 2)),
            16 if are_all(2) => return Some(grouped(self.gid(number()?), 32, 2)),
            20 if are_all(2) => {
                let (queue, gid) = groups.split_at(4);
                let gid = self.gid(u128::from_str_radix(&gid.concat(), 16).ok()?);
                return Some(format!("{}:{}", queue.join(":"), grouped(gid, 32, 2)));
            }
            _ => {}
        }
        let dashed: Vec<&str> = word.split('-').collect();
        if dashed.len() == 6 && dashed.iter().all(|group| group.len() == 2 && is_hex(group)) {
            let mac = u64::from_str_radix(&dashed.concat(), 16).ok()?;
            return Some(grouped(self.mac(mac).into(), 12, 2).replace(':', "-"));
        }
        let (ip, zone) = word.split_once('%').unwrap_or((word, ""));
        let ip: Ipv6Addr = ip.parse().ok()?;
        let other = Ipv6Addr::from(self.ipv6(ip.into())).to_string();
        Some(if zone.is_empty() { other } else { format!("{other}%{}", self.token(zone)) })
    }

    /// Returns the pseudonym of an iSCSI or NVMe name, which contains the domain of its owner.
    pub(super) fn qualified(&self, word: &str) -> Option<String> {
        let (kind, _) = word.split_once('.')?;
        QUALIFIED.contains(&kind).then(|| {
            format!("{kind}.p{:012x}", self.secret.number("qualified", word.as_bytes()) >> 16)
        })
    }

    fn ip4_text(&self, ip: Ipv4Addr) -> String {
        Ipv4Addr::from(self.ipv4(ip.into())).to_string()
    }

    /// Redacts a word with an address or a host name somewhere inside.
    fn hidden(&self, word: &str) -> String {
        let mut text = String::new();
        let mut rest = word;
        while !rest.is_empty() {
            let start = rest.find(|letter: char| letter.is_ascii_hexdigit()).unwrap_or(rest.len());
            let (before, from) = rest.split_at(start);
            text.push_str(before);
            let end = from.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(from.len());
            let (run, behind) = from.split_at(end);
            text.push_str(&self.digits(run, text.ends_with(['x', 'X'])));
            rest = behind;
        }
        self.hosts(&text)
    }

    /// Redacts a run of hexadecimal digits with the length of an address.
    fn digits(&self, run: &str, is_marked: bool) -> String {
        let Some(number) = u128::from_str_radix(run, 16).ok().filter(|_| run.len() <= 32) else {
            let ipoib = run.split_at_checked(8).filter(|_| run.len() == 40);
            return match ipoib.map(|(queue, gid)| (queue, u128::from_str_radix(gid, 16))) {
                Some((queue, Ok(gid))) => format!("{queue}{:032x}", self.gid(gid)),
                _ => run.to_owned(),
            };
        };
        let Ok(narrow) = u64::try_from(number) else {
            return match run.len() {
                32 => format!("{:032x}", self.gid(number)),
                _ => run.to_owned(),
            };
        };
        // A run of decimal digits is a count, unless a mark or a known address shows otherwise. A
        // number without a vendor part is no address.
        let is_count = run.bytes().all(|digit| digit.is_ascii_digit())
            && !is_marked
            && !self.names.know(narrow);
        match run.len() {
            12 if !is_count && narrow >> 24 != 0 => format!("{:012x}", self.mac(narrow)),
            16 if !is_count && narrow >> 40 != 0 => format!("{:016x}", self.guid(narrow)),
            _ => run.to_owned(),
        }
    }

    /// Replaces host names between punctuation.
    fn hosts(&self, word: &str) -> String {
        pieces(
            word,
            |letter| !letter.is_ascii_alphanumeric() && letter != '-' && letter != '_',
            |word| {
                if self.names.is_host(word) {
                    return self.label(word);
                }
                let parts: Vec<&str> = word.split_inclusive(['-', '_']).collect();
                let mut text = String::new();
                let mut at = 0;
                'parts: while at < parts.len() {
                    for end in (at + 1..=parts.len()).rev() {
                        let joined = parts[at..end].concat();
                        let name = joined.trim_end_matches(['-', '_']);
                        if self.names.is_host(name) {
                            text.push_str(&self.label(name));
                            text.push_str(&joined[name.len()..]);
                            at = end;
                            continue 'parts;
                        }
                    }
                    text.push_str(parts[at]);
                    at += 1;
                }
                text
            },
        )
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Formats a number with `digits` hexadecimal digits, in groups with colons between them.
fn grouped(number: u128, digits: usize, group: usize) -> String {
    let text = format!("{number:0digits$x}");
    let groups: Vec<&str> = (0..digits / group)
        .filter_map(|index| text.get(index * group..(index + 1) * group))
        .collect();
    groups.join(":")
}

/// Changes the parts of a text between separators.
fn pieces(
    text: &str,
    is_between: impl Fn(char) -> bool,
    change: impl Fn(&str) -> String,
) -> String {
    let mut changed = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&is_between) {
        let (part, behind) = rest.split_at(at);
        let length = behind.chars().next().map_or(0, char::len_utf8);
        let (between, behind) = behind.split_at(length);
        if !part.is_empty() {
            changed.push_str(&change(part));
        }
        changed.push_str(between);
        rest = behind;
    }
    if !rest.is_empty() {
        changed.push_str(&change(rest));
    }
    changed
}
