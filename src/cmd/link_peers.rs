//! Peers of InfiniBand links from a saved fabric, for `devices`, `ports` and `connections`.

use std::collections::HashMap;
use std::path::Path;

use crate::cli::{FabricFile, Global};
use crate::model::{FabricEnd, Guid, HostReport, LinkPeer, Part, Parts};

use super::{Advice, local};

/// Link peers by GUID of the node and port number; `None` without `--fabric`.
#[derive(Debug, Default)]
pub(super) struct LinkPeers(Option<HashMap<(Guid, u32), LinkPeer>>);

impl LinkPeers {
    /// Reads the file of `--fabric`; without the flag, no link has a peer.
    pub(super) fn read(args: &FabricFile) -> anyhow::Result<Self> {
        args.file.as_deref().map(read).transpose().map(Self)
    }

    /// Returns the parts that the file provides, so that they need no request.
    pub(super) fn parts(&self) -> Parts {
        self.0.iter().map(|_| Part::FabricPeers).collect()
    }

    /// Adds the columns of link peers to the flags, unless the flags replace the default columns.
    pub(super) fn add_columns(&self, global: &Global) -> Global {
        let mut global = global.clone();
        if self.0.is_some() && global.columns.iter().all(|word| word.starts_with('+')) {
            global.columns.extend(["+remote".to_owned(), "+remote_port".to_owned()]);
        }
        global
    }

    pub(super) fn fill(&self, report: &mut HostReport) {
        let Some(peers) = &self.0 else { return };
        report.parts.extend(self.parts());
        for device in &mut report.devices {
            let Some(guid) = device.node_guid else { continue };
            for port in &mut device.ports {
                port.link_peer = peers.get(&(guid, port.number)).cloned();
            }
        }
    }
}

fn read(path: &Path) -> anyhow::Result<HashMap<(Guid, u32), LinkPeer>> {
    let Some(fabrics) = local::fabrics(path)? else {
        let what = format!("{} holds no fabric", path.display());
        return Err(Advice::error(what, "save one: rdmactl fabric --save FILE"));
    };
    let mut peers = HashMap::new();
    for fabric in &fabrics {
        for (node, found) in fabric.nodes.iter().enumerate().filter(|(_, node)| !node.is_switch()) {
            for port in &found.ports {
                let end = FabricEnd { node, port: port.number };
                let peer = fabric.link_peer(end);
                peers.extend(peer.map(|peer| ((found.guid, port.number.into()), peer)));
            }
        }
    }
    Ok(peers)
}
