//! Reads the GID table of a port. `port` calls it.

use std::net::{IpAddr, Ipv6Addr};

use super::super::reader::{Reader, is_name};
use super::port_path::{DeviceFacts, PortPath};
use crate::model::{Gid, GidKind, GidValue, LinkLayer, Part, Protocol};
use crate::source::{Answer, Question, ReadError};

/// Limit of entries of a table; rxe has 1024, mlx5 up to 256.
const MAX_ENTRIES: usize = 4096;
/// Limit of unreadable entries. After so many, the rest of the table is not read.
const MAX_UNREADABLE: usize = 32;

const EMPTY: &[u8] = b"0000:0000:0000:0000:0000:0000:0000:0000\n";

/// Part of a table to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// The entries that show interface and best address of a port: none on InfiniBand, elsewhere
    /// all up to the first IPv4 address. That address is nearly always the second or third entry,
    /// and no later entry is better. The first entry names the interface.
    Interface,
    /// The entries of [`Extent::Interface`], for a device that names the interface itself.
    Address,
}

impl Extent {
    pub(super) fn of(parent: &DeviceFacts<'_>) -> Self {
        match parent.netdev {
            _ if parent.parts.has(Part::Gids) => Self::Whole,
            None => Self::Interface,
            Some(_) => Self::Address,
        }
    }
}

/// Reads the non-empty entries; `None` if the port has no table or the table cannot be listed.
///
/// Types and netdevs of empty entries (EINVAL) are not read, which saves two of three reads.
///
/// `ibv_query_gid_table` is not used, although it returns all used entries of a device in one
/// call (`core/cache.c`, `rdma_query_gid_table`), for three reasons:
///
/// - The kernel replies only to a process with a user context, as of a program that will send.
/// - It identifies interfaces by their index in any network namespace; the files have the name.
/// - Before its fix of December 2020 it omitted all ports of iWARP and EFA without an error.
pub(super) fn read_table(
    reader: &mut Reader<'_>,
    place: &PortPath,
    protocol: Option<Protocol>,
    layer: Option<LinkLayer>,
    extent: Extent,
) -> Option<Vec<Gid>> {
    // On InfiniBand and Omni-Path, GIDs are no addresses of an interface.
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
        // Other protocols have one entry. Its type reads like that of an InfiniBand entry.
        has_kinds: match protocol {
            Some(protocol) => protocol.has_subnet() || protocol == Protocol::Roce,
            None => layer == Some(LinkLayer::Infiniband),
        },
        gids: Vec::new(),
        unreadable: 0,
    };
    let mut next = 0;
    if extent != Extent::Whole {
        // The kernel numbers entries from 0 without a gap: no listing of hundreds of names.
        while let Some(goes_on) = table.read_next(reader, next) {
            if !goes_on {
                return Some(table.gids);
            }
            next += 1;
        }
    }
    let mut indices = reader.indices(&table.key, &table.folder)?;
    reader.truncate(&table.key, &table.folder, MAX_ENTRIES, &mut indices);
    for index in indices.into_iter().filter(|index| *index >= next) {
        let answer = reader.ask(&table.question(index));
        if !table.take(reader, index, answer) || (extent != Extent::Whole && table.is_enough()) {
            break;
        }
    }
    Some(table.gids)
}

struct Table<'place> {
    place: &'place PortPath,
    extent: Extent,
    /// For example `mlx5_0/1/gids`.
    key: String,
    folder: String,
    on_ethernet: bool,
    has_kinds: bool,
    gids: Vec<Gid>,
    unreadable: usize,
}

impl Table<'_> {
    fn question(&self, index: u32) -> Question {
        Question::File(format!("{}/{index}", self.folder))
    }

    /// True if the best address is among the entries.
    fn is_enough(&self) -> bool {
        self.gids.last().is_some_and(|gid| gid.value.ip().is_ipv4())
    }

    /// Reads an entry of a table that was not listed. Returns true if another entry is wanted,
    /// and `None` if the table may end here.
    fn read_next(&mut self, reader: &mut Reader<'_>, index: u32) -> Option<bool> {
        usize::try_from(index).ok().filter(|index| *index < MAX_ENTRIES)?;
        let answer = reader.ask(&self.question(index));
        let is_missing = |error: &ReadError| error.is_absent() || *error == ReadError::NotRecorded;
        if answer.as_ref().is_err_and(is_missing) {
            return None;
        }
        Some(self.take(reader, index, answer) && !self.is_enough())
    }

    /// Adds an entry unless it is empty. Returns true if the reading is to continue.
    fn take(&mut self, reader: &mut Reader<'_>, index: u32, answer: Answer) -> bool {
        if self.unreadable == MAX_UNREADABLE {
            let detail = format!(
                "{}: {MAX_UNREADABLE} entries are unreadable; the rest is not read",
                self.folder
            );
            reader.report(&self.key, &self.folder, detail);
            return false;
        }
        // Nearly all entries are empty: rxe has 1024 entries and uses two or three.
        if answer.as_deref() == Ok(EMPTY) {
            return true;
        }
        let (entry, path) = (format!("{}/{index}", self.key), format!("{}/{index}", self.folder));
        let before = reader.problems.len();
        let text = reader.decode_text(&entry, &path, answer);
        let value = text.and_then(|text| reader.parse(&entry, &path, &text, parse_gid));
        self.unreadable += usize::from(reader.problems.len() > before);
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
        reader.parse(&key, &path, &text, |text| parse_kind(text, self.on_ethernet))
    }

    fn read_netdev(&self, reader: &mut Reader<'_>, entry: &str, index: u32) -> Option<String> {
        let (key, path) = (format!("{entry}/netdev"), self.attr("ndevs", index));
        let name = read_attr(reader, &key, &path)?;
        // The name becomes a part of paths.
        reader.parse(&key, &path, &name, |name| is_name(name).then(|| name.to_owned()))
    }

    fn attr(&self, name: &str, index: u32) -> String {
        format!("{}/gid_attrs/{name}/{index}", self.place.path)
    }
}

/// Returns the best address: IPv4 before global IPv6 before link-local IPv6, then the lowest
/// index.
pub(super) fn best_address(gids: &[Gid]) -> Option<IpAddr> {
    let rank = |gid: &&Gid| match gid.value.ip() {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) if !gid.value.is_link_local() => 1,
        IpAddr::V6(_) => 2,
    };
    gids.iter().min_by_key(rank).map(|gid| gid.value.ip())
}

/// Reads an attribute of an entry; `None` for EINVAL, by which the kernel reports that the entry
/// has no such attribute.
fn read_attr(reader: &mut Reader<'_>, key: &str, path: &str) -> Option<String> {
    reader.supported_text(key, path).filter(|text| !text.is_empty())
}

/// Parses a GID. The kernel writes all eight groups with four digits each.
pub(super) fn parse_gid(text: &str) -> Option<GidValue> {
    let is_full = text.len() == 39 && text.split(':').all(|group| group.len() == 4);
    is_full.then(|| text.parse::<Ipv6Addr>().ok())?.map(GidValue)
}

/// Parses the type of an entry. InfiniBand and iWARP entries have the type `IB/RoCE v1`, too.
/// Only on Ethernet does it mean `RoCE` v1.
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

#[cfg(test)]
fn entry(question: Question, text: &str) -> crate::source::Entry {
    crate::source::Entry { question, answer: Ok(text.as_bytes().to_vec()), at_ns: None }
}

#[test]
fn nothing_is_read_behind_the_best_address() {
    use crate::source::{Recorded, Recorder};

    let file = |path: &str, text: &str| entry(Question::File(format!("/p/{path}")), text);
    let mut entries = vec![entry(Question::Dir("/p/gids".into()), "0\n1\n2\n")];
    let gids = ["fe80:0000:0000:0000", "0000:0000:0000:0000", "0000:0000:0000:0000"];
    for (index, prefix) in gids.iter().enumerate() {
        entries.extend([
            file(&format!("gids/{index}"), &format!("{prefix}:0000:ffff:0a09:0001")),
            file(&format!("gid_attrs/types/{index}"), "RoCE v2"),
            file(&format!("gid_attrs/ndevs/{index}"), "eth1"),
        ]);
    }
    let place = PortPath { key: "d/1".into(), path: "/p".into() };
    // Returns the number of entries and the number of reads.
    let read = |protocol, extent| {
        let source = Recorder::new(Recorded::new(entries.clone(), None));
        let mut reader = Reader::new(&source);
        let table = read_table(&mut reader, &place, Some(protocol), None, extent);
        assert!(reader.problems.is_empty());
        (table.map(|table| table.len()), source.into_entries().len())
    };
    assert_eq!(read(Protocol::Roce, Extent::Whole), (Some(3), 10));
    assert_eq!(read(Protocol::Ib, Extent::Address), (None, 0));
    // Two entries and the interface of the first entry are read. The table is not listed.
    assert_eq!(read(Protocol::Roce, Extent::Interface), (Some(2), 3));
    assert_eq!(read(Protocol::Roce, Extent::Address), (Some(2), 2));
}

#[test]
fn a_table_without_such_an_address_is_read_as_it_is_listed() {
    let gid = "fe80:0000:0000:0000:0000:00ff:0a09:0001\n";
    let file = |index: u32, text: &str| entry(Question::File(format!("/p/gids/{index}")), text);
    let empty = std::str::from_utf8(EMPTY).unwrap();
    // No kernel leaves out a number. If one did, no entry would be lost.
    let listed = entry(Question::Dir("/p/gids".into()), "0\n1\n3\n");
    let source =
        crate::source::Recorded::new([listed, file(0, gid), file(1, empty), file(3, gid)], None);
    let place = PortPath { key: "d/1".into(), path: "/p".into() };
    for extent in [Extent::Address, Extent::Interface, Extent::Whole] {
        let mut reader = Reader::new(&source);
        let table = read_table(&mut reader, &place, Some(Protocol::Iwarp), None, extent).unwrap();
        let indices: Vec<u32> = table.iter().map(|gid| gid.index).collect();
        assert_eq!(indices, [0, 3], "{extent:?}");
    }
}
