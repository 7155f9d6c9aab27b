//! The transport that files ask for: fstab, units of systemd, maps of autofs.

use std::collections::HashMap;

use crate::model::{Consumers, MountIntent, NfsMount, Transport};

/// The parts of a report that tell it.
pub(super) const SOURCES: [&str; 3] = ["consumers/fstab", "consumers/units", "consumers/autofs"];

/// What the files of a host say.
pub(super) struct Intents<'report> {
    /// By what is mounted, without a slash at the end.
    by_device: HashMap<&'report str, Vec<&'report MountIntent>>,
}

impl<'report> Intents<'report> {
    pub(super) fn new(consumers: &'report Consumers) -> Self {
        let mut by_device: HashMap<_, Vec<&MountIntent>> = HashMap::new();
        for intent in consumers.mount_intents.iter().flatten() {
            by_device.entry(trimmed(&intent.device)).or_default().push(intent);
        }
        Self { by_device }
    }

    /// What a file asks for, of the same place where files name places.
    pub(super) fn of(&self, mount: &NfsMount) -> Option<(Transport, &'report MountIntent)> {
        let of_device = self.by_device.get(trimmed(&mount.device))?;
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
