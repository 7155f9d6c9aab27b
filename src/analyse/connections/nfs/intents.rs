//! Finds the transport that fstab, systemd units and autofs maps request for a mount.

use std::collections::BTreeMap;

use crate::analyse::grouped;
use crate::model::{Consumers, MountIntent, NfsMount, Transport};

/// Keys of the problems that occur while these files are read.
pub(super) const SOURCES: [&str; 3] = ["consumers/fstab", "consumers/units", "consumers/autofs"];

/// Entries of the files, by device (`server:/export`) without a trailing slash.
pub(super) struct Intents<'report>(BTreeMap<&'report str, Vec<&'report MountIntent>>);

impl<'report> Intents<'report> {
    pub(super) fn new(consumers: &'report Consumers) -> Self {
        let intents = consumers.mount_intents.iter().flatten();
        Self(grouped(intents.map(|intent| (trimmed(&intent.device), intent))))
    }

    /// Returns the transport that is requested for a mount, and the entry that requests it: the
    /// first entry of the mount with a transport option. Ignores entries with another mount point,
    /// and transports other than RDMA, TCP and UDP.
    pub(super) fn of(&self, mount: &NfsMount) -> Option<(Transport, &'report MountIntent)> {
        let of_device = self.0.get(trimmed(&mount.device))?;
        let is_of_mount = |intent: &&&MountIntent| {
            let mount_point = intent.mount_point.as_deref();
            mount_point.is_none_or(|path| trimmed(path) == trimmed(&mount.mount_point))
        };
        let mut of_mount = of_device.iter().filter(is_of_mount);
        let requested = of_mount.find_map(|intent| Some((requested(&intent.options)?, *intent)));
        requested.filter(|(transport, _)| *transport != Transport::Unknown)
    }
}

/// Returns the transport of the last transport option, which wins in the kernel;
/// [`Transport::Unknown`] for `proto=local` and for an unknown word.
fn requested(options: &str) -> Option<Transport> {
    options.split(',').rev().find_map(|option| match option.trim() {
        "rdma" | "proto=rdma" | "proto=rdma6" => Some(Transport::Rdma),
        "tcp" | "proto=tcp" | "proto=tcp6" => Some(Transport::Tcp),
        "udp" | "proto=udp" | "proto=udp6" => Some(Transport::Udp),
        other => other.starts_with("proto=").then_some(Transport::Unknown),
    })
}

fn trimmed(path: &str) -> &str {
    path.trim_end_matches('/')
}

#[test]
fn last_option_of_the_first_entry_with_a_transport_wins() {
    let mount = NfsMount {
        device: "s:/data/".into(),
        mount_point: "/mnt".into(),
        version: None,
        proto: None,
        port: None,
        address: None,
        transports: Vec::new(),
    };
    let found = |entries: &[(Option<&str>, &str)]| {
        let intents = entries.iter().zip(1..).map(|((mount_point, options), line)| MountIntent {
            source: format!("file:{line}"),
            device: "s:/data".into(),
            mount_point: mount_point.map(str::to_owned),
            options: (*options).to_owned(),
        });
        let mount_intents = Some(intents.collect());
        let consumers = Consumers { mount_intents, ..Consumers::default() };
        let found = Intents::new(&consumers).of(&mount);
        found.map(|(transport, intent)| (transport, intent.source.clone()))
    };
    let rdma = |line: u32| Some((Transport::Rdma, format!("file:{line}")));
    assert_eq!(found(&[(Some("/mnt"), "rw,proto=tcp,proto=rdma")]), rdma(1));
    assert_eq!(found(&[(Some("/mnt"), "rw"), (Some("/mnt/"), "hard, rdma")]), rdma(2));
    assert_eq!(found(&[(Some("/other"), "proto=tcp"), (None, "proto=rdma6")]), rdma(2));
    let tcp = found(&[(Some("/mnt"), "proto=tcp"), (Some("/mnt"), "proto=rdma")]);
    assert_eq!(tcp.map(|(transport, _)| transport), Some(Transport::Tcp));
    assert_eq!(found(&[(Some("/mnt"), "rw"), (Some("/other"), "proto=rdma")]), None);
    for options in ["proto=local", "proto=vsock", "proto=", "rdma,proto=local", "mountproto=rdma"] {
        assert_eq!(found(&[(Some("/mnt"), options)]), None, "{options}");
    }
    // The first entry requests another transport than the second one.
    assert_eq!(found(&[(Some("/mnt"), "proto=local"), (Some("/mnt"), "rdma")]), None);
}
