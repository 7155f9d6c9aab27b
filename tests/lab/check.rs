//! `rdmactl check` on nodes with faults: each fault is named, and the fix, typed as printed, ends
//! it.

use serde_json::{Value, json};

use crate::cluster::Cluster;

/// Node, command that breaks it, and the check that must find that.
const FAULTS: [(&str, &str, &str); 4] = [
    ("n1", "sysctl -qw net.ipv4.conf.all.rp_filter=1", "setting.differs"),
    ("n2", "ip link set eth1 down", "port.disabled"),
    ("n3", "modprobe -r rdma_ucm", "module.missing"),
    ("n4", "ip link set eth1 mtu 700", "mtu.differs"),
];

fn findings(lab: &Cluster, set: &str) -> Vec<Value> {
    let answer = lab.rdmactl(&["check", "-H", set, "--severity", "warn"]);
    answer.json["findings"].as_array().expect(&answer.stderr).clone()
}

/// Returns the command of a fix: the text behind the name of the host, up to further advice.
fn command<'fix>(fix: &'fix str, node: &str) -> &'fix str {
    let (_, command) = fix.split_once(&format!("on {node}: ")).expect(fix);
    command.split_once("; if ").map_or(command, |(command, _)| command)
}

pub(crate) fn assert_fixes_work(lab: &Cluster, set: &str) {
    assert_eq!(findings(lab, set), [Value::Null; 0], "healthy nodes");
    for (node, breaks, _) in FAULTS {
        lab.on(node, breaks);
    }
    let found = findings(lab, set);
    let named: Vec<String> =
        found.iter().map(|one| format!("{} {}", one["hosts"][0], one["id"])).collect();
    for (node, _, id) in FAULTS {
        let mut of_node = found.iter().filter(|one| one["hosts"] == json!([node]));
        let finding = of_node.find(|one| one["id"] == id);
        let fix = finding.and_then(|one| one["fix"].as_str());
        let fix = fix.unwrap_or_else(|| panic!("{node} {id}: {named:?}"));
        lab.on(node, command(fix, node));
    }
    assert_eq!(found.len(), FAULTS.len(), "{named:?}");
    lab.on("n2", "/usr/lib/rdmalab/devices wait");
    lab.on("n3", "rm /etc/modules-load.d/rdma_ucm.conf");
    assert_eq!(findings(lab, set), [Value::Null; 0], "after the fixes");
}
