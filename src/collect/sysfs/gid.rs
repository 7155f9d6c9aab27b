//! The GID table of a port.

use std::net::Ipv6Addr;

use super::super::Reader;
use super::super::reader::is_name;
use super::place::Place;
use crate::model::{Gid, GidKind, GidValue, LinkLayer, Protocol};
use crate::source::{Question, ReadError};

/// The longest table that is read; rxe has 1024 entries, mlx5 up to 256.
const MAX_ENTRIES: usize = 4096;
/// After so many entries that cannot be read the others are taken for the same.
const MAX_FAILURES: usize = 32;

/// How much of a table is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::collect) enum Extent {
    Whole,
    /// What tells interface and best address of a port: nothing on InfiniBand, elsewhere all up to
    /// the first IPv4 address. Each entry costs three files, nearly always the third one is such an
    /// address, and none behind it can be better.
    Address,
}

/// Reads the non-empty entries. Types and netdevs of empty ones answer EINVAL: only the others are
/// asked, which saves two of three reads. `None` where there is no table, or it cannot be listed.
pub(super) fn read_table(
    reader: &mut Reader<'_>,
    place: &Place,
    protocol: Option<Protocol>,
    layer: Option<LinkLayer>,
    extent: Extent,
) -> Option<Vec<Gid>> {
    // There GIDs are no addresses of an interface.
    let is_native = matches!(protocol, Some(Protocol::Ib | Protocol::Opa));
    if extent == Extent::Address && is_native {
        return None;
    }
    let key = format!("{}/gids", place.key);
    let folder = format!("{}/gids", place.path);
    let mut indices = reader.indices(&key, &folder)?;
    if indices.len() > MAX_ENTRIES {
        reader.too_long(&key, &folder, MAX_ENTRIES);
        indices.truncate(MAX_ENTRIES);
    }
    let on_ethernet = protocol == Some(Protocol::Roce);
    // The others have one entry, which reads as if it were InfiniBand's.
    let has_kinds = match protocol {
        Some(protocol) => matches!(protocol, Protocol::Ib | Protocol::Opa | Protocol::Roce),
        None => layer == Some(LinkLayer::Infiniband),
    };
    let mut gids = Vec::new();
    let mut failures = 0;
    for index in indices {
        if failures == MAX_FAILURES {
            reader.given_up(&key, &folder, MAX_FAILURES);
            break;
        }
        let entry = format!("{key}/{index}");
        let before = reader.problem_count();
        let value = reader.value(&entry, &format!("{folder}/{index}"), parse_gid);
        failures += usize::from(reader.problem_count() > before);
        let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
        let types = format!("{}/gid_attrs/types/{index}", place.path);
        let text = read_attr(reader, &format!("{entry}/kind"), &types);
        let kind = text.as_deref().and_then(|text| parse_kind(text, on_ethernet));
        if let Some(text) = text
            && kind.is_none()
        {
            reader.malformed(&format!("{entry}/kind"), &types, &text);
        }
        let ndevs = format!("{}/gid_attrs/ndevs/{index}", place.path);
        let key_of_netdev = format!("{entry}/netdev");
        let netdev = read_attr(reader, &key_of_netdev, &ndevs).filter(|name| {
            // It becomes a part of paths.
            let is_name = is_name(name);
            if !is_name {
                reader.malformed(&key_of_netdev, &ndevs, name);
            }
            is_name
        });
        gids.push(Gid { index, value, kind: kind.filter(|_| has_kinds), netdev });
        if extent == Extent::Address && value.ip().is_ipv4() {
            break;
        }
    }
    Some(gids)
}

/// EINVAL is the kernel's way to say that the entry has no such attribute.
fn read_attr(reader: &mut Reader<'_>, key: &str, path: &str) -> Option<String> {
    let answer = reader.ask(&Question::File(path.to_owned()));
    if answer.as_ref().is_err_and(ReadError::is_invalid) {
        return None;
    }
    reader.text_of(key, path, answer).filter(|text| !text.is_empty())
}

/// The kernel writes all eight groups with four digits each.
pub(super) fn parse_gid(text: &str) -> Option<GidValue> {
    let is_full = text.len() == 39 && text.split(':').all(|group| group.len() == 4);
    is_full.then(|| text.parse::<Ipv6Addr>().ok())?.map(GidValue)
}

/// InfiniBand and iWARP entries read `IB/RoCE v1` as well; only Ethernet makes it `RoCE` v1.
pub(super) fn parse_kind(text: &str, on_ethernet: bool) -> Option<GidKind> {
    match text {
        "IB/RoCE v1" if on_ethernet => Some(GidKind::RoceV1),
        "IB/RoCE v1" => Some(GidKind::Ib),
        "RoCE v2" => Some(GidKind::RoceV2),
        _ => None,
    }
}

#[test]
fn a_gid_has_eight_full_groups() {
    let gid = parse_gid("0000:0000:0000:0000:0000:ffff:0a09:0001").unwrap();
    assert_eq!(gid.ip().to_string(), "10.9.0.1");
    for text in [
        "",
        "::1",
        "0000:0000:0000:0000:0000:ffff:10.9.0.1",
        "zzzz:0000:0000:0000:0000:ffff:0a09:0001",
    ] {
        assert_eq!(parse_gid(text), None, "{text}");
    }
}

#[test]
fn the_first_version_of_roce_needs_ethernet() {
    assert_eq!(parse_kind("IB/RoCE v1", true), Some(GidKind::RoceV1));
    assert_eq!(parse_kind("IB/RoCE v1", false), Some(GidKind::Ib));
    assert_eq!(parse_kind("RoCE v3", true), None);
}

#[test]
fn nothing_is_read_behind_the_best_address() {
    use crate::source::{Entry, Recorded, Recorder};

    let file = |path: &str, text: &str| Entry {
        question: Question::File(format!("/p/{path}")),
        answer: Ok(text.as_bytes().to_vec()),
        at_ns: None,
    };
    let mut entries = vec![Entry {
        question: Question::Dir("/p/gids".into()),
        answer: Ok(b"0\n1\n2\n".to_vec()),
        at_ns: None,
    }];
    let gids = ["fe80:0000:0000:0000", "0000:0000:0000:0000", "0000:0000:0000:0000"];
    for (index, prefix) in gids.iter().enumerate() {
        entries.extend([
            file(&format!("gids/{index}"), &format!("{prefix}:0000:ffff:0a09:0001")),
            file(&format!("gid_attrs/types/{index}"), "RoCE v2"),
            file(&format!("gid_attrs/ndevs/{index}"), "eth1"),
        ]);
    }
    let source = Recorder::new(Recorded::new(entries, None));
    let place = Place { key: "d/1".into(), path: "/p".into() };
    let read = |protocol, extent| {
        let mut reader = Reader::new(&source);
        let table = read_table(&mut reader, &place, Some(protocol), None, extent);
        assert!(reader.into_problems().is_empty());
        table.map(|table| table.len())
    };
    assert_eq!(read(Protocol::Roce, Extent::Whole), Some(3));
    assert_eq!(read(Protocol::Roce, Extent::Address), Some(2));
    assert_eq!(read(Protocol::Ib, Extent::Address), None);
}
