//! Soft-iWARP on nodes of given Debian releases.

use super::cluster::Cluster;
use super::{iproute2, older_tools};

/// Boots a node of each release. Older tools and iproute2 report what rdmactl reports, and the
/// first two nodes ping each other through the connection manager.
pub(crate) fn assert_connected(releases: &[&str]) {
    let names: Vec<String> = (1..=releases.len()).map(|number| format!("n{number}")).collect();
    let nodes: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut arguments = vec!["--nodes".to_owned(), releases.len().to_string()];
    for (node, release) in nodes.iter().zip(releases) {
        arguments.extend(["--node".to_owned(), format!("{node}={release},iwarp")]);
    }
    let lab = Cluster::up("iwarp", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    older_tools::assert_matched(&lab, &nodes);
    iproute2::assert_matched(&lab, &format!("n[1-{}]", releases.len()), &nodes);
    let matrix = lab.matrix("n[1-2]", &nodes[..2]);
    matrix.assert_all_well(2);
    for pair in matrix.pairs() {
        assert_eq!(
            (&pair["route"]["protocol"], &pair["route"]["method"]),
            (&"iwarp".into(), &"cm".into())
        );
    }
    lab.lab(&["down"]);
}
