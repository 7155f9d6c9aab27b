//! Host names of a line: patterns with `*`, `?` and `!`, or one hashed name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use sha1::Sha1;

/// Hashed name `|1|salt|hash`: the HMAC-SHA1 of the name with a salt.
#[derive(Debug, Clone)]
pub(super) struct HashedName {
    salt: Vec<u8>,
    hash: Vec<u8>,
}

impl HashedName {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (salt, hash) = text.strip_prefix("|1|")?.split_once('|')?;
        Some(Self { salt: STANDARD.decode(salt).ok()?, hash: STANDARD.decode(hash).ok()? })
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        Hmac::<Sha1>::new_from_slice(&self.salt)
            .is_ok_and(|mac| mac.chain_update(name).verify_slice(&self.hash).is_ok())
    }
}

/// True if a list matches the host: some pattern matches, and no negated pattern does.
pub(in crate::fleet) fn list_matches(list: &str, name: &str) -> bool {
    let mut found = false;
    for pattern in list.split(',') {
        match pattern.strip_prefix('!') {
            Some(negated) if matches(negated, name) => return false,
            Some(_) => {}
            None => found |= matches(pattern, name),
        }
    }
    found
}

/// True if a pattern with `*` and `?` matches a whole name, in time bounded by both lengths.
pub(in crate::fleet) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut from) = (0, 0);
    // Restart point after the last star: the next place in the pattern, and a place in the name.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, from));
                at += 1;
            }
            Some(c) if *c == b'?' || *c == name[from] => {
                at += 1;
                from += 1;
            }
            _ => match &mut star {
                Some((after, tried)) => {
                    *tried += 1;
                    (at, from) = (*after, *tried);
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|c| *c == b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_ssh_says() {
        for (list, name, expected) in [
            ("node1,node2", "node2", true),
            ("*.cluster", "node1.cluster", true),
            ("node?", "node1", true),
            ("node?", "node12", false),
            ("node*,!node5", "node5", false),
            ("!node5", "node6", false),
            ("[node*]:2224", "[node7]:2224", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("*", "", true),
            ("", "", true),
        ] {
            assert_eq!(list_matches(list, name), expected, "{list} {name}");
        }
        assert!(!matches(&"*a".repeat(60), &"a".repeat(59)));
    }
}
