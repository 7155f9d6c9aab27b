//! Redacts mounts of network file systems, which still show if NFS fell back to TCP.
//!
//! Lines of other file systems and options without a rule are removed. A server has one pseudonym
//! for its name and one for its address; the option `addr` shows that both belong to one server.

use std::net::IpAddr;

use super::Redactor;
use super::names::is_listed;

/// Network file systems that `connections` reports.
const NETWORK_FILE_SYSTEMS: [&str; 6] = ["nfs", "nfs4", "9p", "beegfs", "lustre", "cifs"];

/// Options without a value that do not identify an owner.
const FLAGS: &str = "\
    rw ro hard soft rdma tcp udp bg fg noauto nofail _netdev sharecache nosharecache defaults";

/// Options whose value is kept if it is a number or one of [`KERNEL_WORDS`].
const VALUE_OPTIONS: &str = "\
    vers nfsvers minorversion proto mountproto port mountport nconnect rsize wsize timeo retrans \
    sec trans";

/// Values of [`VALUE_OPTIONS`] that the kernel defines.
const KERNEL_WORDS: &str = "tcp tcp6 udp udp6 rdma rdma6 sys none krb5 krb5i krb5p virtio fd";

const ADDRESS_OPTIONS: [&str; 3] = ["addr", "clientaddr", "mountaddr"];

impl Redactor {
    /// Redacts mount tables. A removed line becomes a comment: other lines keep their numbers.
    pub(super) fn mounts(&self, text: &str) -> String {
        text.lines().map(|line| self.mount(line).unwrap_or_else(|| "#".into()) + "\n").collect()
    }

    /// Redacts `/proc/self/mountstats`: keeps NFS mounts with the counters of their transports.
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

    /// Redacts a line of the mount table; `None` if its file system is not a network file system.
    fn mount(&self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace();
        let (device, mount_point) = (words.next()?, words.next()?);
        let (kind, options) = (words.next()?, words.next().unwrap_or("defaults"));
        if device.starts_with('#') || !NETWORK_FILE_SYSTEMS.contains(&kind) {
            return None;
        }
        let kept: Vec<String> = options.split(',').filter_map(|one| self.option(one)).collect();
        // An empty column would change the number of columns.
        let kept = if kept.is_empty() { "defaults".into() } else { kept.join(",") };
        let (device, mount_point) = (self.device(device), self.path_of_mount(mount_point));
        Some(format!("{device} {mount_point} {kind} {kept} 0 0"))
    }

    /// Redacts a `device` line of `mountstats`; `None` if it does not describe an NFS mount.
    fn device_of_statistics(&self, line: &str) -> Option<String> {
        let (device, rest) = line.strip_prefix("device ")?.split_once(" mounted on ")?;
        let (mount_point, kind) = rest.split_once(" with fstype ")?;
        let kind = kind.split(' ').next().filter(|kind| matches!(*kind, "nfs" | "nfs4"))?;
        let (device, mount_point) = (self.device(device), self.path_of_mount(mount_point));
        Some(format!("device {device} mounted on {mount_point} with fstype {kind}\n"))
    }

    /// Redacts the device of a mount: `server:/export`, or any other text.
    fn device(&self, device: &str) -> String {
        match device.rsplit_once(":/") {
            Some((server, export)) => {
                format!("{}:{}", self.server(server), self.path_of_mount(&format!("/{export}")))
            }
            None => self.label(device),
        }
    }

    fn server(&self, server: &str) -> String {
        match server.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(address) => format!("[{}]", self.host_of_mount(address)),
            None => self.host_of_mount(server),
        }
    }

    /// Redacts the address or the name of a client or server: `fe80::1%eth0`.
    fn host_of_mount(&self, text: &str) -> String {
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

    /// Redacts each part of a path, also below `/usr`: an administrator chose the path.
    fn path_of_mount(&self, path: &str) -> String {
        let parts = path.split('/').map(|part| match part {
            "" | "mnt" | "home" | "scratch" | "tmp" => part.to_owned(),
            part => self.label(part),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    fn option(&self, option: &str) -> Option<String> {
        let Some((key, value)) = option.split_once('=') else {
            return is_listed(FLAGS, option).then(|| option.to_owned());
        };
        if ADDRESS_OPTIONS.contains(&key) {
            return Some(format!("{key}={}", self.host_of_mount(value)));
        }
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_plain = is_number || is_listed(KERNEL_WORDS, value);
        (is_listed(VALUE_OPTIONS, key) && is_plain).then(|| option.to_owned())
    }
}
