//! Kernel log lines about `BeeGFS` connections, by server.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::model::{BeegfsLogLine, BeegfsNodeKind};

pub(super) struct Log<'lines> {
    /// `None` if the kernel log could not be read.
    lines: Option<&'lines [BeegfsLogLine]>,
    last: LineByServer<'lines>,
    /// Lines about successful connections. The kernel module does not repeat an equal line.
    last_connected: LineByServer<'lines>,
}

type LineByServer<'lines> = HashMap<(BeegfsNodeKind, SocketAddr), &'lines BeegfsLogLine>;

impl<'lines> Log<'lines> {
    pub(super) fn new(lines: Option<&'lines [BeegfsLogLine]>) -> Self {
        let (mut last, mut last_connected) = (HashMap::new(), HashMap::new());
        for line in lines.unwrap_or_default() {
            let Some(kind) = kind(line) else { continue };
            let server = (kind, SocketAddr::new(line.address, line.port));
            last.insert(server, line);
            if line.is_connected {
                last_connected.insert(server, line);
            }
        }
        Self { lines, last, last_connected }
    }

    pub(super) fn could_be_read(&self) -> bool {
        self.lines.is_some()
    }

    /// Returns the lines about servers of a kind, latest first.
    pub(super) fn of_kind(
        &self,
        requested: BeegfsNodeKind,
    ) -> impl Iterator<Item = &'lines BeegfsLogLine> {
        let lines = self.lines.unwrap_or_default().iter().rev();
        lines.filter(move |line| kind(line) == Some(requested))
    }

    pub(super) fn last(
        &self,
        kind: BeegfsNodeKind,
        end: Option<SocketAddr>,
    ) -> Option<&'lines BeegfsLogLine> {
        self.last.get(&(kind, end?)).copied()
    }

    pub(super) fn last_connected(
        &self,
        kind: BeegfsNodeKind,
        end: Option<SocketAddr>,
    ) -> Option<&'lines BeegfsLogLine> {
        self.last_connected.get(&(kind, end?)).copied()
    }
}

/// Returns the server kind in a line like `Connected: beegfs-storage@10.9.0.1:8203 (protocol:
/// TCP)`.
fn kind(line: &BeegfsLogLine) -> Option<BeegfsNodeKind> {
    let mut kinds = BeegfsNodeKind::ALL.into_iter();
    kinds.find(|kind| line.text.contains(&format!("beegfs-{}@", kind.word())))
}
