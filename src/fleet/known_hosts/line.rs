//! Parser for one line of a `known_hosts` file: `[@marker] names type base64 [comment]`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::pattern::{self, HashedName};
use super::{LinePosition, key};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    None,
    Authority,
    Revoked,
}

#[derive(Debug, Clone)]
pub(super) enum Names {
    /// Comma-separated list of patterns, in lower case.
    Patterns(String),
    Hashed(HashedName),
}

impl Names {
    /// True if the line applies to this host; `name` is in lower case.
    pub(super) fn holds(&self, name: &str) -> bool {
        match self {
            Self::Patterns(list) => pattern::list_matches(list, name),
            Self::Hashed(hashed) => hashed.matches(name),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct HostKeyLine {
    pub(super) marker: Marker,
    pub(super) names: Names,
    pub(super) kind: String,
    /// Key in wire format.
    pub(super) key: Vec<u8>,
    pub(super) place: LinePosition,
}

impl HostKeyLine {
    /// Parses a line; `None` for comments, empty lines and invalid keys.
    pub(super) fn parse(text: &str, place: LinePosition) -> Option<Self> {
        let mut fields = text.split([' ', '\t']).filter(|field| !field.is_empty());
        let mut first = fields.next().filter(|field| !field.starts_with('#'))?;
        let marker = match first {
            "@cert-authority" => Marker::Authority,
            "@revoked" => Marker::Revoked,
            other if other.starts_with('@') => return None,
            _ => Marker::None,
        };
        if marker != Marker::None {
            first = fields.next()?;
        }
        let names = match HashedName::parse(first) {
            Some(hashed) => Names::Hashed(hashed),
            None => Names::Patterns(first.to_lowercase()),
        };
        let kind = fields.next()?.to_owned();
        let key = STANDARD.decode(fields.next()?).ok()?;
        (key::type_of_blob(&key) == Some(&kind)).then_some(Self { marker, names, kind, key, place })
    }
}
