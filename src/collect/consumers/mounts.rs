//! Reads mounted NFS and 9P file systems, and the NFS mounts that `/etc` configures: `fstab`,
//! systemd units, autofs maps. `consumers` calls it.

use std::collections::HashMap;
use std::net::IpAddr;

use super::Reader;
use crate::model::{Consumers, MountIntent, NfsMount, NfsTransport, P9Mount};
use crate::source::{Question, ReadError};

const MAX_MOUNTS: usize = 65_536;

const MOUNTS: &str = "/proc/self/mounts";
const STATISTICS: &str = "/proc/self/mountstats";
const UNITS: &str = "/etc/systemd/system";

/// Reads the NFS and 9P mounts and the configured mounts. Returns all mounts of the host.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) -> Vec<Mount> {
    let key = "consumers/mounts";
    let answer = reader.ask(&Question::File(MOUNTS.into()));
    if answer.as_ref().is_err_and(ReadError::is_absent) {
        let detail = "the mounts could not be read: /proc is not mounted, or is masked";
        reader.report_hidden(key, MOUNTS, detail);
    }
    let Some(bytes) = reader.ok_or_report(key, MOUNTS, answer) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    let mut mounts: Vec<Mount> = text.lines().filter_map(parse_mount).collect();
    reader.truncate(key, MOUNTS, MAX_MOUNTS, &mut mounts);
    let p9 = mounts.iter().filter(|mount| mount.fstype == "9p").map(|mount| P9Mount {
        device: mount.device.clone(),
        mount_point: mount.place.clone(),
        transport: option(&mount.options, "trans").map(str::to_owned),
        port: option(&mount.options, "port").and_then(|port| port.parse().ok()),
    });
    found.p9 = Some(p9.collect());
    found.nfs_mounts = Some(read_nfs(reader, &mounts));
    found.mount_intents = Some(read_intents(reader));
    mounts
}

pub(super) struct Mount {
    device: String,
    pub(super) place: String,
    pub(super) fstype: String,
    options: String,
}

fn parse_mount(line: &str) -> Option<Mount> {
    let mut words = line.split(' ').map(unescape);
    let mut next = || words.next();
    Some(Mount { device: next()?, place: next()?, fstype: next()?, options: next()? })
}

/// Decodes octal escapes: the kernel writes white space as `\040` and backslashes as `\134`.
fn unescape(word: &str) -> String {
    if !word.contains('\\') {
        return word.to_owned();
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let [first, behind @ ..] = rest {
        let octal = behind.get(..3).filter(|_| *first == b'\\');
        let code = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(code) = code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(code);
            rest = &behind[3..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn option<'options>(options: &'options str, name: &str) -> Option<&'options str> {
    options.split(',').find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
}

fn is_nfs(fstype: &str) -> bool {
    matches!(fstype, "nfs" | "nfs4")
}

fn read_nfs(reader: &mut Reader<'_>, mounts: &[Mount]) -> Vec<NfsMount> {
    let mut all: Vec<NfsMount> = mounts
        .iter()
        .filter(|mount| is_nfs(&mount.fstype))
        .map(|mount| NfsMount {
            device: mount.device.clone(),
            mount_point: mount.place.clone(),
            version: option(&mount.options, "vers").map(str::to_owned),
            proto: option(&mount.options, "proto").map(str::to_owned),
            port: option(&mount.options, "port").and_then(|port| port.parse().ok()),
            address: option(&mount.options, "addr").and_then(parse_address),
            transports: Vec::new(),
        })
        .collect();
    if !all.is_empty()
        && let Some(text) = reader.content("consumers/nfs_statistics", STATISTICS)
    {
        let mut transports = parse_statistics(&text);
        for mount in &mut all {
            // If two mounts share a mount point, the later one in both files is in use.
            mount.transports = transports.remove(&mount.mount_point).unwrap_or_default();
        }
    }
    all
}

/// Parses an address of mount options. An IPv6 address may end in `%` and its interface.
pub(super) fn parse_address(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.split('%').next()?.parse().ok()?;
    Some(address.to_canonical())
}

/// Returns the transports of each NFS mount, by mount point.
fn parse_statistics(text: &str) -> HashMap<String, Vec<NfsTransport>> {
    let mut all: HashMap<String, Vec<NfsTransport>> = HashMap::new();
    let mut of_mount = None;
    for line in text.lines() {
        if let Some(device) = line.strip_prefix("device ") {
            let parts = device.split_once(" mounted on ").and_then(|(_, rest)| {
                let (place, fstype) = rest.split_once(" with fstype ")?;
                Some((unescape(place), fstype.split(' ').next()?))
            });
            of_mount = parts.filter(|(_, fstype)| is_nfs(fstype)).map(|(place, _)| place);
            if let Some(place) = &of_mount {
                all.insert(place.clone(), Vec::new());
            }
        } else if let (Some(place), Some(fields)) = (&of_mount, line.strip_prefix("\txprt:\t"))
            && let Some(transport) = parse_transport(fields)
        {
            all.entry(place.clone()).or_default().push(transport);
        }
    }
    all
}

/// Parses a transport as `*_print_stats` of `net/sunrpc/xprtsock.c` and
/// `net/sunrpc/xprtrdma/transport.c` writes it. Kernels append fields at the end.
fn parse_transport(fields: &str) -> Option<NfsTransport> {
    let mut words = fields.split_whitespace();
    let kind = words.next()?.to_owned();
    let numbers: Vec<Option<u64>> = words.map(|word| word.parse().ok()).collect();
    let number = |at: usize| *numbers.get(at)?;
    let connects = match kind.as_str() {
        "tcp" | "rdma" => number(2),
        "local" => number(1),
        _ => None,
    };
    // Fields failed_marshal_count and bad_reply_count.
    let errors = (kind == "rdma").then(|| Some(number(18)?.saturating_add(number(19)?))).flatten();
    Some(NfsTransport { kind, connects, errors })
}

fn read_intents(reader: &mut Reader<'_>) -> Vec<MountIntent> {
    let mut all = Vec::new();
    if let Some(text) = reader.content("consumers/fstab", "/etc/fstab") {
        all.extend(parse_fstab("/etc/fstab", &text));
    }
    let is_mount = |name: &str| name.strip_suffix(".mount").is_some();
    for path in paths_in(reader, "consumers/units", UNITS, is_mount) {
        if let Some(text) = reader.content("consumers/units", &path) {
            all.extend(parse_unit(&path, &text));
        }
    }
    let is_map =
        |name: &str| name.starts_with("auto.") && !matches!(name, "auto.master" | "auto.master.d");
    for path in paths_in(reader, "consumers/autofs", "/etc", is_map) {
        if let Some(text) = reader.content("consumers/autofs", &path) {
            all.extend(parse_map(&path, &text));
        }
    }
    all
}

/// Returns the paths of the entries of a directory whose names `is_wanted` selects, in natural
/// order.
fn paths_in(
    reader: &mut Reader<'_>,
    key: &str,
    directory: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut names = reader.names(key, directory).unwrap_or_default();
    names.retain(|name| is_wanted(name));
    names.sort_by(|a, b| crate::names::compare(a, b));
    names.iter().map(|name| format!("{directory}/{name}")).collect()
}

/// Returns the lines with their numbers, without comments and empty lines.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..)
        .zip(text.lines().map(str::trim))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn parse_fstab(path: &str, text: &str) -> Vec<MountIntent> {
    let intent = |(number, line): (usize, &str)| {
        let mut words = line.split_whitespace().map(unescape);
        let (device, place, fstype) = (words.next()?, words.next()?, words.next()?);
        is_nfs(&fstype).then(|| MountIntent {
            source: format!("{path}:{number}"),
            device,
            mount_point: Some(place),
            options: words.next().unwrap_or_default(),
        })
    };
    lines(text).filter_map(intent).collect()
}

fn parse_unit(path: &str, text: &str) -> Option<MountIntent> {
    let value = |name: &str| {
        let value = |(number, line): (usize, &str)| {
            let value = line.strip_prefix(name)?.trim_start().strip_prefix('=')?;
            Some((number, value.trim().to_owned()))
        };
        lines(text).filter_map(value).last()
    };
    let (_, fstype) = value("Type")?;
    let (number, options) = value("Options")?;
    let (_, device) = value("What")?;
    is_nfs(&fstype).then(|| MountIntent {
        source: format!("{path}:{number}"),
        device,
        mount_point: value("Where").map(|(_, place)| place),
        options,
    })
}

/// Parses lines of an autofs map, for example `data -fstype=nfs,proto=rdma server:/data`.
fn parse_map(path: &str, text: &str) -> Vec<MountIntent> {
    let intent = |(number, line): (usize, &str)| {
        let mut words = line.split_whitespace().skip(1).peekable();
        let options = words.next_if(|word| word.starts_with('-')).unwrap_or_default();
        let device = words.next().filter(|word| word.contains(":/"))?;
        Some(MountIntent {
            source: format!("{path}:{number}"),
            device: device.to_owned(),
            mount_point: None,
            options: options.trim_start_matches('-').to_owned(),
        })
    };
    lines(text).filter_map(intent).collect()
}
