//! The GID table of a port.

use std::net::{IpAddr, Ipv6Addr};

use super::super::Reader;
use super::super::reader::is_name;
use super::place::{Parent, Place};
use crate::model::{Gid, GidKind, GidValue, LinkLayer, Part, Protocol};
use crate::source::{Question, ReadError};

/// The longest table that is read; rxe has 1024 entries, mlx5 up to 256.
const MAX_ENTRIES: usize = 4096;
/// After so many entries that cannot be read the others are taken for the same.
const MAX_FAILURES: usize = 32;

/// How an empty entry reads.
const EMPTY: &[u8] = b"0000:0000:0000:0000:0000:0000:0000:0000\n";

/// How much of a table is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// What tells interface and best address of a port: nothing on InfiniBand, elsewhere all up to
    /// the first IPv4 address. Nearly always the second or third one is such an address, and none
    /// behind it can be better; the first one names the interface.
    Interface,
    /// The same for a device that names the interface itself.
    Address,
}

impl Extent {
    /// What the ports of a device need.
    pub(super) fn of(parent: &Parent<'_>) -> Self {
        match parent.netdev {
            _ if parent.parts.has(Part::Gids) => Self::Whole,
            None => Self::Interface,
            Some(_) => Self::Address,
        }
    }
}

/// Reads the non-empty entries. Types and netdevs of empty ones answer EINVAL: only the others are
/// asked, which saves two of three reads. `None` where there is no table, or it cannot be listed.
///
/// Not by `ibv_query_gid_table`, which gives all used entries of a device in one call (`core/cache.c`,
/// `rdma_query_gid_table`): the kernel answers only a process for which the driver has allocated a
/// user context, as for a program that is going to send; it names interfaces by their index in
/// whatever network namespace they are, where these files have the name; and before its fix of
/// December 2020 it left out all ports of iWARP and EFA without a word.
pub(super) fn read_table(
    reader: &mut Reader<'_>,
    place: &Place,
    protocol: Option<Protocol>,
    layer: Option<LinkLayer>,
    extent: Extent,
) -> Option<Vec<Gid>> {
    // There GIDs are no addresses of an interface.
    let is_native = protocol.is_some_and(Protocol::has_subnet);
    if extent != Extent::Whole && is_native {
        return None;
    }
    let mut table = Table {
        place,
        extent,
        key: format!("{}/gids", place.key),
        folder: format!("{}/gids", place.path),
        on_ethernet: protocol == Some(Protocol::Roce),
        // The others have one entry, which reads as if it were InfiniBand's.
        has_kinds: match protocol {
            Some(protocol) => protocol.has_subnet() || protocol == Protocol::Roce,
            None => layer == Some(LinkLayer::Infiniband),
        },
        gids: Vec::new(),
        failures: 0,
    };
    let mut next = 0;
    if extent != Extent::Whole {
        // The kernel numbers entries from 0 on without a gap: up to the address that is looked for
        // nobody need list hundreds of them.
        while let Some(goes_on) = table.read_next(reader, next) {
            if !goes_on {
                return Some(table.gids);
            }
            next += 1;
        }
    }
    let mut indices = reader.indices(&table.key, &table.folder)?;
    if indices.len() > MAX_ENTRIES {
        reader.too_long(&table.key, &table.folder, MAX_ENTRIES);
        indices.truncate(MAX_ENTRIES);
    }
    for index in indices.into_iter().filter(|index| *index >= next) {
        let answer = reader.ask(&table.question(index));
        if !table.take(reader, index, answer) || (extent != Extent::Whole && table.is_enough()) {
            break;
        }
    }
    Some(table.gids)
}

/// A table, as far as it has been read.
struct Table<'place> {
    place: &'place Place,
    extent: Extent,
    /// `mlx5_0/1/gids`
    key: String,
    folder: String,
    on_ethernet: bool,
    has_kinds: bool,
    gids: Vec<Gid>,
    /// Entries that could not be read.
    failures: usize,
}

impl Table<'_> {
    fn question(&self, index: u32) -> Question {
        Question::File(format!("{}/{index}", self.folder))
    }

    /// Whether the best address is among the entries.
    fn is_enough(&self) -> bool {
        self.gids.last().is_some_and(|gid| gid.value.ip().is_ipv4())
    }

    /// Reads an entry of a table that was not listed: whether another one is wanted, and `None` where
    /// the table may end.
    fn read_next(&mut self, reader: &mut Reader<'_>, index: u32) -> Option<bool> {
        usize::try_from(index).ok().filter(|index| *index < MAX_ENTRIES)?;
        let answer = reader.ask(&self.question(index));
        let is_missing = |error: &ReadError| error.is_absent() || *error == ReadError::NotRecorded;
        if answer.as_ref().is_err_and(is_missing) {
            return None;
        }
        Some(self.take(reader, index, answer) && !self.is_enough())
    }

    /// Adds an entry, unless it is empty; whether to go on.
    fn take(
        &mut self,
        reader: &mut Reader<'_>,
        index: u32,
        answer: Result<Vec<u8>, ReadError>,
    ) -> bool {
        if self.failures == MAX_FAILURES {
            reader.given_up(&self.key, &self.folder, MAX_FAILURES);
            return false;
        }
        // Nearly all of them: rxe has 1024, of which two or three are used.
        if answer.as_deref() == Ok(EMPTY) {
            return true;
        }
        let (entry, path) = (format!("{}/{index}", self.key), format!("{}/{index}", self.folder));
        let before = reader.problem_count();
        let value = reader.value_of(&entry, &path, answer, parse_gid);
        self.failures += usize::from(reader.problem_count() > before);
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let (is_whole, is_first) = (self.extent == Extent::Whole, self.gids.is_empty());
            let kind = is_whole.then(|| self.read_kind(reader, &entry, index)).flatten();
            let kind = kind.filter(|_| self.has_kinds);
            let is_asked = is_whole || (is_first && self.extent == Extent::Interface);
            let netdev = is_asked.then(|| self.read_netdev(reader, &entry, index)).flatten();
            self.gids.push(Gid { index, value, kind, netdev });
        }
        true
    }

    fn read_kind(&self, reader: &mut Reader<'_>, entry: &str, index: u32) -> Option<GidKind> {
        let (key, path) = (format!("{entry}/kind"), self.attr("types", index));
        let text = read_attr(reader, &key, &path)?;
        let kind = parse_kind(&text, self.on_ethernet);
        if kind.is_none() {
            reader.malformed(&key, &path, &text);
        }
        kind
    }

    fn read_netdev(&self, reader: &mut Reader<'_>, entry: &str, index: u32) -> Option<String> {
        let (key, path) = (format!("{entry}/netdev"), self.attr("ndevs", index));
        let name = read_attr(reader, &key, &path)?;
        // It becomes a part of paths.
        if !is_name(&name) {
            reader.malformed(&key, &path, &name);
            return None;
        }
        Some(name)
    }

    fn attr(&self, name: &str, index: u32) -> String {
        format!("{}/gid_attrs/{name}/{index}", self.place.path)
    }
}

/// IPv4 before global IPv6 before link-local, then the lowest index.
pub(super) fn best_address(gids: &[Gid]) -> Option<IpAddr> {
    let rank = |gid: &&Gid| match gid.value.ip() {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) if !gid.value.is_link_local() => 1,
        IpAddr::V6(_) => 2,
    };
    gids.iter().min_by_key(rank).map(|gid| gid.value.ip())
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
    let place = Place { key: "d/1".into(), path: "/p".into() };
    // How many entries there are, and what that cost.
    let read = |protocol, extent| {
        let source = Recorder::new(Recorded::new(entries.clone(), None));
        let mut reader = Reader::new(&source);
        let table = read_table(&mut reader, &place, Some(protocol), None, extent);
        assert!(reader.into_problems().is_empty());
        (table.map(|table| table.len()), source.into_entries().len())
    };
    assert_eq!(read(Protocol::Roce, Extent::Whole), (Some(3), 10));
    assert_eq!(read(Protocol::Ib, Extent::Address), (None, 0));
    // Two entries, the interface of the first, and no list of the table.
    assert_eq!(read(Protocol::Roce, Extent::Interface), (Some(2), 3));
    assert_eq!(read(Protocol::Roce, Extent::Address), (Some(2), 2));
}

#[test]
fn a_table_without_such_an_address_is_read_as_it_is_listed() {
    use crate::source::{Entry, Recorded};

    let entry = |question, text: &str| Entry {
        question,
        answer: Ok(text.as_bytes().to_vec()),
        at_ns: None,
    };
    let gid = "fe80:0000:0000:0000:0000:00ff:0a09:0001\n";
    let file = |index: u32, text: &str| entry(Question::File(format!("/p/gids/{index}")), text);
    let empty = std::str::from_utf8(EMPTY).unwrap();
    // No kernel leaves out a number, and whoever does so loses nothing.
    let listed = entry(Question::Dir("/p/gids".into()), "0\n1\n3\n");
    let source = Recorded::new(vec![listed, file(0, gid), file(1, empty), file(3, gid)], None);
    let place = Place { key: "d/1".into(), path: "/p".into() };
    for extent in [Extent::Address, Extent::Interface, Extent::Whole] {
        let mut reader = Reader::new(&source);
        let table = read_table(&mut reader, &place, Some(Protocol::Iwarp), None, extent).unwrap();
        let indices: Vec<u32> = table.iter().map(|gid| gid.index).collect();
        assert_eq!(indices, [0, 3], "{extent:?}");
    }
}
