//! Redacts files and directory listings, with a rule for each kind of path. A file or a listing
//! without a rule is removed.

use super::Redactor;
use super::iscsi::node_record;
use super::names::chosen_root;
use crate::model::SOCKET_UNITS;

/// Names of files that are kept. On some cards, a version has four parts and looks like an IPv4
/// address.
const VERSIONS: [&str; 5] = ["fw_ver", "hw_rev", "board_id", "osrelease", "version"];

/// Directories of counters. A file with a number is kept.
const NUMBER_DIRECTORIES: [&str; 3] = ["/counters/", "/hw_counters/", "/statistics/"];

/// Lines of `/proc/PID/status` that are kept.
const STATUS: [&str; 6] = ["Name", "State", "Tgid", "Pid", "PPid", "CapEff"];

/// Directory of the userspace providers. The listing is not removed, because packages choose the
/// names in it.
const PROVIDERS: &str = "/libibverbs";

impl Redactor {
    /// Returns the redacted content of a file; `None` for a file without a rule.
    pub(super) fn file(&self, path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(bytes).ok()?;
        let name = path.rsplit('/').next().unwrap_or("");
        if path.starts_with("/proc/") && name == "status" {
            return Some(self.status(text).into_bytes());
        }
        if path.starts_with("/proc/") && name == "comm" {
            return Some(format!("{}\n", self.program(text.trim())).into_bytes());
        }
        match path {
            "/proc/sys/kernel/osrelease" | "/proc/meminfo" => return Some(bytes.to_vec()),
            "/proc/self/mounts" | "/etc/fstab" => return Some(self.mounts(text).into_bytes()),
            "/proc/self/mountstats" => return Some(self.mount_statistics(text).into_bytes()),
            _ => {}
        }
        if let Some(record) = node_record(path, text) {
            return Some(record.into_bytes());
        }
        let is_number = text.trim().parse::<u64>().is_ok();
        if path.starts_with("/proc/sys/") && is_number {
            return Some(bytes.to_vec());
        }
        if path.starts_with("/proc/") && name == "limits" {
            let lines = text.lines().filter(|line| is_limit(line)).map(|line| format!("{line}\n"));
            return Some(lines.collect::<String>().into_bytes());
        }
        if path == "/etc/os-release" {
            let is_kept = |line: &&str| line.starts_with("ID=") || line.starts_with("ID_LIKE=");
            let lines = text.lines().filter(is_kept).map(|line| format!("{line}\n"));
            return Some(lines.collect::<String>().into_bytes());
        }
        // Files of Lustre contain the names of file systems.
        let is_system = path.starts_with("/sys/") && !path.contains("/lustre/");
        if !is_system && !path.starts_with("/etc/libibverbs.d/") {
            return None;
        }
        let is_count = is_number && NUMBER_DIRECTORIES.iter().any(|folder| path.contains(folder));
        let redacted = match name {
            _ if is_count || VERSIONS.contains(&name) => text.to_owned(),
            // ionic and old `bnxt_re` report the node description as card type. Administrators
            // write the name of the node into it.
            "node_desc" | "hca_type" | "ifalias" => self.description(text),
            _ if ["serial", "vpd", "uuid", "asset"].iter().any(|word| name.contains(word)) => {
                self.serial(text)
            }
            _ => self.text(text),
        };
        Some(redacted.into_bytes())
    }

    /// Redacts the names in a directory, one per line.
    pub(super) fn listing(&self, path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(bytes).ok()?;
        if let Some(names) = self.node_names(path, text) {
            return Some(names.into_bytes());
        }
        let is_of_providers = path.starts_with("/usr/lib") && path.ends_with(PROVIDERS);
        if !path.starts_with("/sys/") && path != SOCKET_UNITS && !is_of_providers {
            return None;
        }
        let is_chosen = chosen_root(&format!("{path}/")).is_some();
        let redact = |name| if is_chosen { self.chosen_name(name) } else { self.token(name) };
        let names = text.split('\n').map(redact);
        Some(names.collect::<Vec<_>>().join("\n").into_bytes())
    }

    /// Redacts `/proc/PID/status`.
    fn status(&self, text: &str) -> String {
        let line = |line: &str| {
            let (key, value) = line.split_once(':')?;
            let value = match key {
                "Name" => format!("\t{}", self.program(value.trim())),
                _ if STATUS.contains(&key) => value.to_owned(),
                _ => return None,
            };
            Some(format!("{key}:{value}\n"))
        };
        text.lines().filter_map(line).collect()
    }
}

/// True for a line of `/proc/PID/limits` that a report needs: a known name, then only limits and
/// units.
fn is_limit(line: &str) -> bool {
    let values =
        ["Max locked memory", "Max open files"].iter().find_map(|name| line.strip_prefix(name));
    let is_value = |word: &str| {
        matches!(word, "unlimited" | "bytes" | "files")
            || word.bytes().all(|one| one.is_ascii_digit())
    };
    values.is_some_and(|values| values.split_whitespace().all(is_value))
}
