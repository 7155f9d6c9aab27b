//! Compares the older tools of a node with `rdmactl compat`.

use super::cluster::Cluster;

/// Script that runs each older tool and `rdmactl compat` on a node, and compares stdout, stderr
/// and exit code.
const SIDE_BY_SIDE: &str = r#"
for call in ibstat 'ibstat -l' 'ibstat -s' 'ibstat -p' 'ibstat -V' 'ibstat -h' \
    "ibstat $(ls /sys/class/infiniband | head -1) 1" 'ibstat nowhere_0' \
    ibstatus 'ibstatus -h' 'ibstatus nowhere_0' ibv_devices \
    ibv_devinfo 'ibv_devinfo -v' 'ibv_devinfo -l' 'ibv_devinfo -h' 'ibv_devinfo -d nowhere_0' \
    "ibv_devinfo -v -d $(ls /sys/class/infiniband | head -1) -i 1" 'ibv_devinfo -i 9'
do
    $call >/tmp/theirs 2>/tmp/theirs.err; theirs=$?
    rdmactl compat --timeout 60s $call >/tmp/ours 2>/tmp/ours.err; ours=$?
    sed -i 's/: \[[0-9]*\]/: [PID]/' /tmp/theirs.err /tmp/ours.err
    if cmp -s /tmp/theirs /tmp/ours && cmp -s /tmp/theirs.err /tmp/ours.err && [ $theirs = $ours ]
    then echo same
    else
        echo "$call: exit $theirs and $ours"
        diff -u /tmp/theirs /tmp/ours; diff -u /tmp/theirs.err /tmp/ours.err
    fi
done
rm -f /tmp/theirs /tmp/theirs.err /tmp/ours /tmp/ours.err
"#;

pub(crate) fn assert_matched(lab: &Cluster, nodes: &[&str]) {
    for node in nodes {
        let said = lab.on(node, SIDE_BY_SIDE);
        assert_eq!(said, "same\n".repeat(19), "{node}");
    }
}
