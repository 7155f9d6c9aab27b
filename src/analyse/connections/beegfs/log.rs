//! Kernel log lines about `BeeGFS` connections, by server.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::model::{BeegfsLogLine, BeegfsNodeKind};

/// Kernel log lines of one host.
pub(super) struct Log<'lines> {
    /// `None` if the kernel log could not be read.
    lines: Option<&'lines [BeegfsLogLine]>,
    last: HashMap<(BeegfsNodeKind, SocketAddr), &'lines BeegfsLogLine>,
    /// Last line about a successful connection to each server. The kernel module writes the line
    /// only if it differs from the previous one.
    connected: HashMap<(BeegfsNodeKind, SocketAddr), &'lines BeegfsLogLine>,
}

impl<'lines> Log<'lines> {
    pub(super) fn new(lines: Option<&'lines [BeegfsLogLine]>) -> Self {
        let (mut last, mut connected) = (HashMap::new(), HashMap::new());
        for line in lines.unwrap_or_default() {
            let Some(kind) = kind(line) else { continue };
            let server = (kind, SocketAddr::new(line.address, line.port));
            last.insert(server, line);
            if line.is_connected {
                connected.insert(server, line);
            }
        }
        Self { lines, last, connected }
    }

    pub(super) fn could_be_read(&self) -> bool {
        self.lines.is_some()
    }

    /// Returns the lines about servers of a kind, latest first.
    pub(super) fn of_kind(
        &self,
        requested: BeegfsNodeKind,
    ) -> impl Iterator<Item = &'lines BeegfsLogLine> {
        self.lines
            .unwrap_or_default()
            .iter()
            .rev()
            .filter(move |line| kind(line) == Some(requested))
    }

    pub(super) fn last(
        &self,
        kind: BeegfsNodeKind,
        end: Option<SocketAddr>,
    ) -> Option<&'lines BeegfsLogLine> {
        self.last.get(&(kind, end?)).copied()
    }

    /// Returns the last line about a successful connection to a server.
    pub(super) fn connected(
        &self,
        kind: BeegfsNodeKind,
        end: Option<SocketAddr>,
    ) -> Option<&'lines BeegfsLogLine> {
        self.connected.get(&(kind, end?)).copied()
    }
}

/// Returns the server kind in a line like `Connected: beegfs-storage@10.9.0.1:8203 (protocol:
/// TCP)`.
fn kind(line: &BeegfsLogLine) -> Option<BeegfsNodeKind> {
    BeegfsNodeKind::ALL
        .into_iter()
        .find(|kind| line.text.contains(&format!("beegfs-{}@", kind.word())))
}
