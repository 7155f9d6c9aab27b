//! Redacts the node records of open-iscsi, which show if an iSCSI session fell back to TCP:
//! `NODES/TARGET/ADDRESS,PORT,TAG/INTERFACE`.
//!
//! Names and addresses keep the pseudonyms that they have in `/sys`: sessions and records are
//! joined by them. Of a record, only the transport is kept. `redact::file` and `redact::names`
//! call this module.

use std::net::IpAddr;

use super::Redactor;

/// Node databases of open-iscsi.
const NODES: [&str; 2] = ["/etc/iscsi/nodes", "/var/lib/iscsi/nodes"];

/// Line of a record that is kept, if its value is the name of a transport of the kernel.
const TRANSPORT: &str = "iface.transport_name";
const TRANSPORTS: [&str; 9] =
    ["tcp", "iser", "bnx2i", "cxgb3i", "cxgb4i", "be2iscsi", "qedi", "qla4xxx", "ocs"];

impl Redactor {
    /// Returns the path of a record or of a directory of records; `None` for any other path.
    pub(super) fn node_path(&self, path: &str) -> Option<String> {
        let (database, rest) = in_database(path)?;
        if rest.is_empty() {
            return Some(path.to_owned());
        }
        let parts = (0..).zip(rest.strip_prefix('/')?.split('/'));
        let parts = parts.map(|(depth, part)| match (depth, part) {
            (_, "" | "default") => part.to_owned(),
            (0, target) => self.qualified(target).unwrap_or_else(|| self.label(target)),
            (1, portal) => self.portal(portal),
            (_, interface) => self.label(interface),
        });
        Some(format!("{database}/{}", parts.collect::<Vec<_>>().join("/")))
    }

    /// Redacts the names in a directory of records; `None` for any other directory.
    pub(super) fn node_names(&self, path: &str, names: &str) -> Option<String> {
        in_database(path).filter(|(_, rest)| rest.is_empty() || rest.starts_with('/'))?;
        let name = |name: &str| {
            let path = self.node_path(&format!("{path}/{name}")).unwrap_or_default();
            path.rsplit('/').next().unwrap_or_default().to_owned()
        };
        Some(names.split('\n').map(name).collect::<Vec<_>>().join("\n"))
    }

    /// Redacts `ADDRESS,PORT,TAG`.
    fn portal(&self, portal: &str) -> String {
        let part = |part: &str| {
            let address = part.trim_matches(['[', ']']);
            if address.parse::<IpAddr>().is_ok() {
                return self.token(address);
            }
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { part.to_owned() } else { self.label(part) }
        };
        portal.split(',').map(part).collect::<Vec<_>>().join(",")
    }
}

/// Returns the node database of a path, and the rest of the path.
fn in_database(path: &str) -> Option<(&'static str, &str)> {
    NODES.into_iter().find_map(|database| Some((database, path.strip_prefix(database)?)))
}

/// Returns the transport of a record; `None` for any other file.
pub(super) fn node_record(path: &str, text: &str) -> Option<String> {
    in_database(path).filter(|(_, rest)| rest.starts_with('/'))?;
    let line = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let is_kept = key.trim() == TRANSPORT && TRANSPORTS.contains(&value.trim());
        is_kept.then(|| format!("{TRANSPORT} = {}\n", value.trim()))
    };
    Some(text.lines().filter_map(line).collect())
}
