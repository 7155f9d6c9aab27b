//! `rdmactl check` on nodes with faults: each fault has its finding. Where the fix is a complete
//! command, the test types it as printed and the finding disappears.

use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::consumers;

/// Node, command that causes a fault, and check that must find the fault.
const FAULTS: [(&str, &str, &str); 4] = [
    ("n1", "sysctl -qw net.ipv4.conf.all.rp_filter=1", "setting.differs"),
    ("n2", "ip link set eth1 down", "port.disabled"),
    ("n3", "modprobe -r rdma_ucm", "module.missing"),
    ("n4", "ip link set eth1 mtu 700", "mtu.differs"),
];

/// Texts that end the command of a fix: further advice follows.
const ADVICE: [&str; 3] = ["; if ", "; in a container", ", and "];

/// Mounts of n2 that use TCP although RDMA is requested, and their mount points.
const MOUNTS_OVER_TCP: [(&str, &str); 2] = [
    (
        r#"echo "$ADDRESS:/ /mnt/data nfs4 proto=rdma,port=20049 0 0" > /etc/fstab
        mount.nfs4 -o vers=4.1,proto=tcp $ADDRESS:/ /mnt/data"#,
        "/mnt/data",
    ),
    (
        "rm /etc/fstab
        mount.nfs4 -o vers=4.1,proto=tcp $ADDRESS:/ /mnt/first
        mount.nfs4 -o vers=4.1,nosharecache,proto=rdma,port=20049 $ADDRESS:/ /mnt/data",
        "/mnt/data /mnt/first",
    ),
];

/// Returns the failures and warnings of the nodes.
fn findings(lab: &Cluster, set: &str, flags: &[&str]) -> Vec<Value> {
    let answer = lab.rdmactl(&[&["check", "-H", set, "--severity", "warn"][..], flags].concat());
    answer.json["findings"].as_array().expect(&answer.stderr).clone()
}

/// Formats findings, one in each line.
fn listed(found: &[Value]) -> String {
    let line = |one: &Value| {
        let [hosts, id, subject] = ["hosts", "id", "subject"].map(|key| &one[key]);
        format!("{hosts} {subject} {id}: {}; fix: {}\n", one["what"], one["fix"])
    };
    found.iter().map(line).collect()
}

pub(crate) fn assert_healthy(lab: &Cluster, set: &str, flags: &[&str], when: &str) {
    let found = findings(lab, set, flags);
    assert!(found.is_empty(), "{when}:\n{}", listed(&found));
}

/// Returns the fix of the finding of a check that names these nodes.
fn fix<'found>(found: &'found [Value], nodes: &[&str], id: &str) -> &'found str {
    let mut of_nodes = found.iter().filter(|one| one["hosts"] == json!(nodes));
    let fix = of_nodes.find(|one| one["id"] == id).and_then(|one| one["fix"].as_str());
    fix.unwrap_or_else(|| panic!("no {id} of {nodes:?} with a fix:\n{}", listed(found)))
}

/// Returns the command of a fix: the text after the name of the node or after the first colon, up
/// to further advice.
fn command<'fix>(fix: &'fix str, node: &str) -> &'fix str {
    let of_node = fix.split_once(&format!("on {node}: "));
    let (_, command) = of_node.or_else(|| fix.split_once(": ")).expect(fix);
    ADVICE.iter().fold(command, |command, advice| {
        command.split_once(advice).map_or(command, |(command, _)| command)
    })
}

/// Runs the command of a fix on a node. `names` has the values of its placeholders.
fn type_fix(lab: &Cluster, node: &str, fix: &str, names: &[(&str, &str)]) {
    let command = names
        .iter()
        .fold(command(fix, node).to_owned(), |command, (name, value)| command.replace(name, value));
    // The line break ends a comment of the command.
    let said = lab.on(node, &format!("{{ {command}\n}} 2>&1; echo \"exit $?\""));
    assert!(said.ends_with("exit 0\n"), "{node}: {command}: {said}");
}

pub(crate) fn assert_fixes_work(lab: &Cluster, set: &str) {
    assert_healthy(lab, set, &[], "healthy nodes");
    for (node, breaks, _) in FAULTS {
        lab.on(node, breaks);
    }
    // The node has no systemd, so the test creates the directory.
    lab.on("n3", "mkdir -p /etc/modules-load.d");
    let found = findings(lab, set, &[]);
    for (node, _, id) in FAULTS {
        type_fix(lab, node, fix(&found, &[node], id), &[]);
    }
    assert_eq!(found.len(), FAULTS.len(), "{}", listed(&found));
    lab.on("n2", "/usr/lib/rdmalab/devices wait");
    lab.on("n3", "rm /etc/modules-load.d/rdma_ucm.conf");
    assert_healthy(lab, set, &[], "after the fixes");
}

/// Runs the fixes of faults that affect only an ordinary user. The device files of n1 belong to a
/// group without the user. PAM of n2 limits locked memory. n4 has no device file.
pub(crate) fn assert_fixes_of_a_login_work(lab: &Cluster, set: &str) {
    // The limit of n2 is also a finding of the skipped check.
    let login = ["-l", "user", "--skip", "limit.differs"];
    assert_healthy(lab, set, &login, "healthy nodes");
    lab.on("n1", "cd /dev/infiniband && chgrp rdma uverbs* && chmod 0660 uverbs*");
    lab.lab(&["fault", "memlock-pam", "n2"]);
    lab.lab(&["fault", "uverbs-missing", "n4"]);
    let found = findings(lab, set, &login);
    for (node, id) in
        [("n1", "device.file_denied"), ("n2", "limit.locked_memory"), ("n4", "device.file_missing")]
    {
        let names = [("GROUP", "rdma"), ("USER", "user")];
        type_fix(lab, node, fix(&found, &[node], id), &names);
    }
    assert_eq!(found.len(), 3, "{}", listed(&found));
    assert_healthy(lab, set, &login, "after the fixes");
    lab.on(
        "n1",
        "usermod -G '' user; cd /dev/infiniband && chgrp root uverbs* && chmod 0666 uverbs*",
    );
    lab.on("n2", "rm /etc/security/limits.d/rdma.conf");
    lab.lab(&["fault", "--undo", "memlock-pam", "n2"]);
    lab.lab(&["fault", "--undo", "uverbs-missing", "n4"]);
}

/// Runs the fixes of two faults: n1 and n2 have the same address, and n3 has no address.
pub(crate) fn assert_fixes_of_addresses_work(lab: &Cluster, set: &str) {
    assert_healthy(lab, set, &[], "healthy nodes");
    lab.on("n2", "ip addr add 10.10.1.1/24 dev eth1");
    lab.on("n3", "ip addr flush dev eth1");
    let found = findings(lab, set, &[]);
    let remove = fix(&found, &["n1", "n2"], "address.duplicate");
    type_fix(lab, "n2", remove, &[("PREFIX", "24")]);
    let add = fix(&found, &["n3"], "gid.none_usable");
    type_fix(lab, "n3", add, &[("ADDRESS/PREFIX", "10.10.1.3/24")]);
    assert_eq!(found.len(), 2, "{}", listed(&found));
    assert_healthy(lab, set, &[], "after the fixes");
    // When the link goes up, the kernel adds the link-local address again.
    lab.on("n3", "ip link set eth1 down; ip link set eth1 up; /usr/lib/rdmalab/devices wait");
}

/// Checks four nodes. n4 has a kernel of Debian 13, and the other nodes have a kernel of Debian
/// 12.
pub(crate) fn assert_other_kernel_is_named(lab: &Cluster, set: &str) {
    let found = findings(lab, set, &[]);
    let fix = fix(&found, &["n4"], "kernel.differs");
    assert!(fix.starts_with("on n4: install the same kernel"), "{fix}");
    assert_eq!(found.len(), 1, "{}", listed(&found));
    let what = found[0]["what"].as_str().expect("a sentence");
    assert!(what.starts_with("kernel 6.12."), "{what}");
    assert!(what.contains("; 3 of 4 hosts have 6.1."), "{what}");
}

/// Drops RoCE packets of n3 in both directions with nftables, then removes the rules that the fix
/// lists.
pub(crate) fn assert_firewall_is_found(lab: &Cluster, set: &str) {
    let active = ["--active"];
    assert_healthy(lab, set, &active, "healthy nodes");
    lab.lab(&["fault", "nftables-drop", "n3"]);
    let found = findings(lab, set, &active);
    let fix = fix(&found, &["n3"], "ping.failed");
    assert!(fix.starts_with("on n3, allow UDP port 4791"), "{fix}");
    assert_eq!(found.len(), 1, "{}", listed(&found));
    let what = found[0]["what"].as_str().expect("a sentence");
    assert!(what.starts_with("roce.udp4791_blocked"), "{what}");
    // The fix lists the rules; the administrator deletes the rules that drop RoCE.
    assert!(fix.contains("nft list ruleset"), "{fix}");
    let rules = lab.on("n3", "nft list ruleset");
    assert!(rules.contains("udp dport 4791 drop"), "{rules}");
    lab.on("n3", "nft delete table inet rdmalab");
    assert_healthy(lab, set, &active, "without the rules");
}

/// Runs the fixes of mounts of n2 that use TCP although n1 serves NFS over RDMA.
pub(crate) fn assert_fixes_of_nfs_work(lab: &Cluster) {
    let set = "n[1-2]";
    let address = consumers::serve_nfs(lab);
    consumers::run(lab, "n2", "modprobe -a nfs rpcrdma tcp_diag\nmkdir -p /mnt/data /mnt/first");
    assert_healthy(lab, set, &[], "without a mount");
    for (mounts, mount_points) in MOUNTS_OVER_TCP {
        consumers::run(lab, "n2", &format!("set -e\nADDRESS={address}\n{mounts}"));
        let found = findings(lab, set, &[]);
        let remount = fix(&found, &["n2"], "connection.fallback_confirmed");
        assert_eq!(found.len(), 1, "{}", listed(&found));
        assert_eq!(found[0]["subject"], "nfs /mnt/data", "{}", listed(&found));
        // The fix requires that all mounts over TCP are unmounted first.
        consumers::run(lab, "n2", &format!("umount {mount_points}"));
        type_fix(lab, "n2", remount, &[]);
        assert_healthy(lab, set, &[], "after the fix");
        consumers::run(
            lab,
            "n2",
            "grep ' /mnt/data nfs4 .*proto=rdma' /proc/mounts && umount /mnt/data",
        );
    }
}
