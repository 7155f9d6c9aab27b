//! Requested transport of a mount in fstab, systemd units and autofs maps.

use std::collections::BTreeMap;

use crate::analyse::grouped;
use crate::model::{Consumers, MountIntent, NfsMount, Transport};

/// Report keys of the configuration files.
pub(super) const SOURCES: [&str; 3] = ["consumers/fstab", "consumers/units", "consumers/autofs"];

/// Mount requests by mounted device, without a trailing slash.
pub(super) struct Intents<'report>(BTreeMap<&'report str, Vec<&'report MountIntent>>);

impl<'report> Intents<'report> {
    pub(super) fn new(consumers: &'report Consumers) -> Self {
        let intents = consumers.mount_intents.iter().flatten();
        Self(grouped(intents.map(|intent| (trimmed(&intent.device), intent))))
    }

    /// Ignores requests with another mount point.
    pub(super) fn of(&self, mount: &NfsMount) -> Option<(Transport, &'report MountIntent)> {
        let of_device = self.0.get(trimmed(&mount.device))?;
        let is_here = |intent: &&&MountIntent| {
            let place = intent.mount_point.as_deref();
            place.is_none_or(|place| trimmed(place) == trimmed(&mount.mount_point))
        };
        let of_mount = *of_device.iter().find(is_here)?;
        let wanted = of_mount.options.split(',').rev().find_map(|option| match option.trim() {
            "rdma" | "proto=rdma" | "proto=rdma6" => Some(Transport::Rdma),
            "tcp" | "proto=tcp" | "proto=tcp6" => Some(Transport::Tcp),
            "udp" | "proto=udp" | "proto=udp6" => Some(Transport::Udp),
            _ => None,
        })?;
        Some((wanted, of_mount))
    }
}

fn trimmed(path: &str) -> &str {
    path.trim_end_matches('/')
}
