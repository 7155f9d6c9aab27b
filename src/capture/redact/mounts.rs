//! Redacts mounts of network file systems, which show if NFS fell back to TCP.
//!
//! Lines of other file systems and options without a rule are removed. A server keeps one
//! pseudonym for its name and one for its address in all files: the option `addr` joins the two.
//! `redact::file` calls this module.

use std::net::IpAddr;

use super::Redactor;

/// Network file systems that `connections` reports.
const NETWORK: [&str; 6] = ["nfs", "nfs4", "9p", "beegfs", "lustre", "cifs"];

/// Options without a value that do not identify an owner.
const WORDS: [&str; 15] = [
    "rw",
    "ro",
    "hard",
    "soft",
    "rdma",
    "tcp",
    "udp",
    "bg",
    "fg",
    "noauto",
    "nofail",
    "_netdev",
    "sharecache",
    "nosharecache",
    "defaults",
];

/// Options whose value is a number or a word of the kernel.
const VALUES: [&str; 14] = [
    "vers",
    "nfsvers",
    "minorversion",
    "proto",
    "mountproto",
    "port",
    "mountport",
    "nconnect",
    "rsize",
    "wsize",
    "timeo",
    "retrans",
    "sec",
    "trans",
];

/// Words of the kernel among the values of these options.
const KERNEL: [&str; 13] = [
    "tcp", "tcp6", "udp", "udp6", "rdma", "rdma6", "sys", "none", "krb5", "krb5i", "krb5p",
    "virtio", "fd",
];

/// Options whose value is an address.
const ADDRESSES: [&str; 3] = ["addr", "clientaddr", "mountaddr"];

impl Redactor {
    /// Redacts `/proc/self/mounts` and `/etc/fstab`. A removed line becomes a comment, so that
    /// the other lines keep their numbers.
    pub(super) fn mounts(&self, text: &str) -> String {
        text.lines().map(|line| self.mount(line).unwrap_or_else(|| "#".into()) + "\n").collect()
    }

    /// Redacts `/proc/self/mountstats`: keeps the NFS mounts with the counters of their
    /// transports.
    pub(super) fn mount_statistics(&self, text: &str) -> String {
        let mut redacted = String::new();
        let mut is_nfs = false;
        for line in text.lines() {
            if line.starts_with("device ") {
                let found = self.device_of_statistics(line);
                is_nfs = found.is_some();
                redacted.extend(found);
            } else if is_nfs && let Some(fields) = line.strip_prefix("\txprt:\t") {
                let is_plain = |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
                if fields.split_whitespace().all(is_plain) {
                    redacted.extend([line, "\n"]);
                }
            }
        }
        redacted
    }

    fn mount(&self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace();
        let (device, place) = (words.next()?, words.next()?);
        let (kind, options) = (words.next()?, words.next().unwrap_or("defaults"));
        if device.starts_with('#') || !NETWORK.contains(&kind) {
            return None;
        }
        let kept: Vec<String> = options.split(',').filter_map(|one| self.option(one)).collect();
        // An empty column would change the number of columns.
        let kept = if kept.is_empty() { "defaults".into() } else { kept.join(",") };
        Some(format!("{} {} {kind} {kept} 0 0", self.device(device), self.place(place)))
    }

    fn device_of_statistics(&self, line: &str) -> Option<String> {
        let (device, rest) = line.strip_prefix("device ")?.split_once(" mounted on ")?;
        let (place, kind) = rest.split_once(" with fstype ")?;
        let kind = kind.split(' ').next().filter(|kind| matches!(*kind, "nfs" | "nfs4"))?;
        let (device, place) = (self.device(device), self.place(place));
        Some(format!("device {device} mounted on {place} with fstype {kind}\n"))
    }

    /// Redacts `server:/export`, and any other mounted device.
    fn device(&self, device: &str) -> String {
        match device.rsplit_once(":/") {
            Some((server, export)) => {
                format!("{}:{}", self.server(server), self.place(&format!("/{export}")))
            }
            None => self.label(device),
        }
    }

    fn server(&self, server: &str) -> String {
        match server.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(address) => format!("[{}]", self.end_of_mount(address)),
            None => self.end_of_mount(server),
        }
    }

    /// Redacts an address (IPv6 may have an interface after a `%`) or a name.
    fn end_of_mount(&self, text: &str) -> String {
        let (address, zone) =
            text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
        if address.parse::<IpAddr>().is_err() {
            return self.host_name(text);
        }
        match zone {
            Some(zone) => format!("{}%{}", self.text(address), self.token(zone)),
            None => self.text(address),
        }
    }

    /// Redacts each part of a path, also below `/usr`: an administrator chose the mount point.
    fn place(&self, path: &str) -> String {
        let parts = path.split('/').map(|part| match part {
            "" | "mnt" | "home" | "scratch" | "tmp" => part.to_owned(),
            part => self.label(part),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    fn option(&self, option: &str) -> Option<String> {
        let Some((key, value)) = option.split_once('=') else {
            return WORDS.contains(&option).then(|| option.to_owned());
        };
        if ADDRESSES.contains(&key) {
            return Some(format!("{key}={}", self.end_of_mount(value)));
        }
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_plain = is_number || KERNEL.contains(&value);
        (VALUES.contains(&key) && is_plain).then(|| option.to_owned())
    }
}
