//! Reads Lustre network identifiers (NIDs): of targets on a client, of clients on a server.
//!
//! The formats are those of `lustre/obdclass/lprocfs_status.c`, 2.12 to master. `consumers` calls
//! this module.

use std::collections::HashSet;

use super::Reader;
use crate::model::{Consumers, LustreImport, LustrePeer};

/// Parent directories of Lustre's files; the directory depends on the version of Lustre.
const ROOTS: [&str; 3] = ["/proc/fs/lustre", "/sys/fs/lustre", "/sys/kernel/debug/lustre"];
/// Client devices that have an import.
const CLIENTS: [&str; 3] = ["mgc", "mdc", "osc"];
/// Server devices that have exports.
const SERVERS: [&str; 2] = ["mdt", "obdfilter"];

/// Limit of targets and of clients in a report.
const MAX: usize = 65_536;

pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    found.lustre = Some(read_imports(reader)).filter(|imports| !imports.is_empty());
    found.lustre_peers = Some(read_peers(reader)).filter(|peers| !peers.is_empty());
}

fn read_imports(reader: &mut Reader<'_>) -> Vec<LustreImport> {
    let key = "consumers/lustre";
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for folder in folders(&CLIENTS) {
        for name in reader.sorted_names(key, &folder) {
            if known.contains(&name) {
                continue;
            }
            if all.len() == MAX {
                reader.report_too_long(key, &folder, MAX);
                return all;
            }
            // Since Lustre 2.17, only the directory in debugfs has the file.
            let path = format!("{folder}/{name}/import");
            if let Some(text) = reader.content(&format!("{key}/{name}"), &path) {
                all.push(parse_import(name.clone(), &text));
                known.insert(name);
            }
        }
    }
    all
}

fn read_peers(reader: &mut Reader<'_>) -> Vec<LustrePeer> {
    let key = "consumers/lustre_peers";
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for folder in folders(&SERVERS) {
        for target in reader.sorted_names(key, &folder) {
            let exports = format!("{folder}/{target}/exports");
            let nids = reader.sorted_names(key, &exports);
            for nid in nids.into_iter().filter(|name| name.contains('@')) {
                let peer = LustrePeer { target: target.clone(), nid };
                if !known.insert(peer.clone()) {
                    continue;
                }
                if all.len() == MAX {
                    reader.report_too_long(key, &exports, MAX);
                    return all;
                }
                all.push(peer);
            }
        }
    }
    all
}

/// Returns the possible directories of some kinds of devices. A device may be in more than one.
fn folders(kinds: &[&str]) -> impl Iterator<Item = String> {
    ROOTS.iter().flat_map(move |root| kinds.iter().map(move |kind| format!("{root}/{kind}")))
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

#[test]
fn an_import_may_be_in_debugfs_alone() {
    use crate::source::{Entry, Question, ReadError, Recorded};

    let (new, old) = ("/sys/fs/lustre/osc", "/sys/kernel/debug/lustre/osc");
    let entry = |question, answer| Entry { question, answer, at_ns: None };
    let import = |folder: &str| Question::File(format!("{folder}/fs-OST0000-osc-ffff/import"));
    let names = || Ok(b"fs-OST0000-osc-ffff\n".to_vec());
    let source = Recorded::new(
        [
            entry(Question::Dir(new.into()), names()),
            entry(import(new), Err(ReadError::from("ENOENT".to_owned()))),
            entry(Question::Dir(old.into()), names()),
            entry(import(old), Ok(b"current_connection: \"10.0.0.1@tcp\"\n".to_vec())),
        ],
        None,
    );
    let imports = read_imports(&mut Reader::new(&source));
    let current: Vec<_> = imports.iter().map(|import| import.current.as_deref()).collect();
    assert_eq!(current, [Some("10.0.0.1@tcp")]);
}
