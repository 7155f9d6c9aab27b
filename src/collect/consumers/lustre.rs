//! Lustre: by which network identifier a client reaches each target, and a server its clients.
//!
//! The texts are those of `lustre/obdclass/lprocfs_status.c`, 2.12 to master.

use super::{Reader, list, read_text};
use crate::model::{Consumers, LustreImport, LustrePeer};

/// Where files of Lustre are, by its versions.
const ROOTS: [&str; 3] = ["/proc/fs/lustre", "/sys/fs/lustre", "/sys/kernel/debug/lustre"];
/// Client devices that have an import.
const CLIENTS: [&str; 3] = ["mgc", "mdc", "osc"];
/// Server devices that have exports.
const SERVERS: [&str; 2] = ["mdt", "obdfilter"];

/// More targets and clients than are worth listing.
const MAX: usize = 65_536;

/// Reads both sides.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    let mut imports: Vec<LustreImport> = Vec::new();
    let mut peers: Vec<LustrePeer> = Vec::new();
    for root in ROOTS {
        for kind in CLIENTS {
            let folder = format!("{root}/{kind}");
            for name in list(reader, "consumers/lustre", &folder) {
                if imports.iter().any(|known| known.name == name) || imports.len() == MAX {
                    continue;
                }
                let path = format!("{folder}/{name}/import");
                let key = format!("consumers/lustre/{name}");
                if let Some(text) = read_text(reader, &key, &path) {
                    imports.push(parse_import(name, &text));
                }
            }
        }
        for kind in SERVERS {
            let folder = format!("{root}/{kind}");
            for target in list(reader, "consumers/lustre_peers", &folder) {
                let nids =
                    list(reader, "consumers/lustre_peers", &format!("{folder}/{target}/exports"));
                for nid in nids.into_iter().filter(|name| name.contains('@')) {
                    let peer = LustrePeer { target: target.clone(), nid };
                    if !peers.contains(&peer) && peers.len() < MAX {
                        peers.push(peer);
                    }
                }
            }
        }
    }
    found.lustre = Some(imports).filter(|imports| !imports.is_empty());
    found.lustre_peers = Some(peers).filter(|peers| !peers.is_empty());
}

fn parse_import(name: String, text: &str) -> LustreImport {
    let value = |field: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix(field))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    let nids = value("failover_nids:").unwrap_or_default();
    let nids = nids.trim_matches(['[', ']', ' ']).split(',');
    let nids = nids.map(|nid| nid.trim().trim_matches('"').to_owned());
    LustreImport {
        name,
        target: value("target:"),
        state: value("state:"),
        nids: nids.filter(|nid| !nid.is_empty()).collect(),
        current: value("current_connection:").filter(|nid| nid != "<none>" && !nid.is_empty()),
    }
}

#[test]
fn an_import_is_read_in_both_forms() {
    let old = "import:\n    name: fs-OST0000-osc\n    target: fs-OST0000_UUID\n    state: FULL\n    \
               connection:\n       failover_nids: [ 10.0.0.1@o2ib, 10.0.0.1@tcp ]\n       \
               current_connection: 10.0.0.1@tcp\n       connection_attempts: 4\n";
    let new = old
        .replace("10.0.0.1@o2ib", "\"10.0.0.1@o2ib\"")
        .replace("10.0.0.1@tcp", "\"10.0.0.1@tcp\"");
    for text in [old, &new] {
        let import = parse_import("x".into(), text);
        assert_eq!(import.nids, ["10.0.0.1@o2ib", "10.0.0.1@tcp"]);
        assert_eq!(import.current.as_deref(), Some("10.0.0.1@tcp"));
        assert_eq!(import.state.as_deref(), Some("FULL"));
    }
    let none = parse_import("x".into(), "current_connection: \"<none>\"\n");
    assert_eq!((none.current, none.nids), (None, Vec::new()));
}
