use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::model::{
    Fabric, FabricEnd, FabricNode, FabricNodeKind, FabricPort, Gid, GidKind, GidValue, Guid,
    HostReport, Protocol, SweepMethod, Via,
};

/// Expands sets such as `n[1-3],gpu1`. The real parser of host sets has its own tests.
fn expand(set: &str) -> Result<Vec<String>, String> {
    let terms = set.split(',').map(|term| match term.split_once('[') {
        None if term.contains(']') => Err("no [".to_owned()),
        None => Ok(vec![term.to_owned()]),
        Some((word, range)) => {
            let ends = range.strip_suffix(']').and_then(|range| range.split_once('-'));
            let (first, last) = ends.ok_or("no range")?;
            let number = |text: &str| text.parse::<u32>().map_err(|error| error.to_string());
            let numbers = number(first)?..=number(last)?.min(70_000);
            Ok(numbers.map(|number| format!("{word}{number}")).collect())
        }
    });
    Ok(terms.collect::<Result<Vec<_>, String>>()?.concat())
}

fn read(text: &str) -> LeafSwitches {
    LeafSwitches::parse(text, &expand).unwrap()
}

fn error(text: &str) -> (Option<usize>, String) {
    let error = LeafSwitches::parse(text, &expand).unwrap_err();
    assert!(!error.fix.is_empty());
    (error.line, error.what)
}

/// Returns the leaf switch of each host as `n1=leaf1 n2=leaf2`.
fn told(leaves: &LeafSwitches, hosts: &[&str]) -> String {
    let topology = leaves.of_run(hosts).topology;
    let told = |(at, host): (usize, &&str)| format!("{host}={}", topology.name_of(at).unwrap());
    hosts.iter().enumerate().map(told).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_file_of_slurm_and_a_list_have_the_same_leaf_switches() {
    let slurm = "# tree\n\nSwitchName=leaf1 Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n3,n4 # rack 2\n";
    let list = "# list\nleaf leaf1 n[1-2]\n  leaf leaf2 n3,n4 # rack 2\n";
    assert_eq!(read(slurm), read(list));
    let hosts = ["n1", "n2", "n3", "n4"];
    assert_eq!(told(&read(list), &hosts), "n1=leaf1 n2=leaf1 n3=leaf2 n4=leaf2");
    assert!(read(list).of_run(hosts).unknown.is_empty());
}

#[test]
fn keys_of_slurm_have_any_case_and_values_may_be_quoted() {
    let text = "switchname = leaf1\tNODES = \"n[1-2]\" LinkSpeed=4\nlinkspeed=1 nodes=n3 \\\n  \
                SWITCHNAME=leaf2\nSwitchName=spine Switches=leaf[1-2]\nSwitchName=spare\n";
    assert_eq!(told(&read(text), &["n1", "n2", "n3"]), "n1=leaf1 n2=leaf1 n3=leaf2");
}

#[test]
fn leaf_switches_below_one_switch_are_a_pod() {
    let text = "SwitchName=top Switches=s[1-2]\nSwitchName=s1 Switches=a1,a2\n\
                SwitchName=s2 Switches=b1\nSwitchName=a1 Nodes=n1\nSwitchName=a2 Nodes=n2\n\
                SwitchName=b1 Nodes=n3\nSwitchName=alone Nodes=n4\n";
    let leaves = read(text).of_run(["n1", "n2", "n3", "n4"]).topology.leaves;
    let pods: Vec<usize> = leaves.iter().map(|leaf| leaf.pod).collect();
    assert_eq!(pods, [2, 2, 3, 0]);
}

#[test]
fn a_leaf_switch_of_a_list_may_have_several_lines() {
    let text = "leaf a n1\nleaf b n3\nleaf a n2\nleaf a n1\n";
    assert_eq!(told(&read(text), &["n1", "n2", "n3"]), "n1=a n2=a n3=b");
}

#[test]
fn a_host_that_the_file_lacks_is_on_an_unknown_leaf_switch() {
    let leaves = read("leaf a n1\nleaf b n2\nleaf c n3\n");
    let run = leaves.of_run(["n2", "n9", "n1", "login"]);
    assert_eq!(run.unknown, [1, 3]);
    assert_eq!(run.topology.leaf_of, [1, 2, 0, 2]);
    let names: Vec<&str> = run.topology.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
    assert_eq!(names, ["a", "b", UNKNOWN], "a leaf switch without a host of the run is left out");
}

#[test]
fn a_host_is_found_by_its_name_without_the_domain() {
    let leaves = read("leaf a n1\nleaf b n2.east\nleaf c n2\nleaf d 10\n");
    assert_eq!(told(&leaves, &["n1.x.org", "n2.east", "n2"]), "n1.x.org=a n2.east=b n2=c");
    assert_eq!(leaves.of_run(["10.0.0.1"]).unknown, [0], "an address has no domain");
}

#[test]
fn an_invalid_line_is_an_error_with_its_number() {
    let cases = [
        ("leaf a", 1, "a leaf line without a name or a host set"),
        ("leaf a n1 n2", 1, "n2 follows the host set"),
        ("leaf a n1\npod p a", 2, "unknown word pod"),
        ("leaf a n1\n\nleaf b n[1-", 3, "invalid host set n[1-:\nno range"),
        ("leaf a n[1-70000]", 1, "70000 hosts exceed the limit of 65536"),
        ("leaf a n[1-40000]\nleaf a n[1-40000]", 2, "80000 hosts exceed the limit of 65536"),
        ("leaf a n1\nleaf b n[1-2]", 2, "host n1 is on leaf switch b and in line 1 on a"),
        ("\n- topology: x", 2, "neither a leaf line nor a line of Slurm's topology.conf"),
        ("SwitchName=a", 0, "no leaf switch has a host"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2,n1", 2, "host n1 is on leaf switch b and"),
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", 2, "switch a is defined twice"),
        ("SwitchName=a Nodes=n1 Switches=b", 1, "switch a has Nodes and Switches"),
        ("SwitchName=a Nodes=n1 nodes=n2", 1, "nodes is given twice"),
        ("SwitchName=a \\\nNodes=n1\nNodes=n2", 3, "no SwitchName"),
        ("SwitchName=a Nodes=", 1, "Nodes has no value"),
        ("SwitchName=\"\" Nodes=n1", 1, "SwitchName has no value"),
        ("SwitchName=a Nodes=\"n1", 1, "the quote of Nodes does not end"),
        ("SwitchName=a Nodes=n1 stray", 1, "stray is not KEY=VALUE"),
        ("SwitchName=a Nodes=n1 =", 1, "= is not KEY=VALUE"),
        ("SwitchName=a Noodles=n1", 1, "unknown key Noodles"),
        ("BlockName=b1 Nodes=n[1-2]", 1, "BlockName: block topology has no leaf switches"),
        ("SwitchName=a Nodes=n1\nBlockSizes=2", 2, "BlockSizes: block topology"),
        ("Include leaves.conf", 1, "Include lines are not supported"),
        (
            "SwitchName=s Switches=l[1-40000]\nSwitchName=t Switches=l[1-40000]",
            2,
            "more than 65536",
        ),
        ("", 0, "no leaf switch"),
        ("# nothing\n", 0, "no leaf switch"),
    ];
    for (text, line, what) in cases {
        let (number, told) = error(text);
        assert_eq!(number.unwrap_or(0), line, "{text}: {told}");
        assert!(told.starts_with(what), "{text}: {told}");
    }
}

fn node(kind: FabricNodeKind, guid: u64, name: &str, ports: Vec<FabricPort>) -> FabricNode {
    FabricNode {
        guid: Guid(guid),
        system_image_guid: Guid(guid),
        kind,
        name: (!name.is_empty()).then(|| name.to_owned()),
        vendor_id: 0,
        device_id: 0,
        revision: 0,
        port_count: 1,
        partition_entries: None,
        enhanced_port_0: None,
        route: None,
        forwarding: None,
        ports,
    }
}

/// Returns a port of a channel adapter that is linked to a node.
fn port(number: u8, guid: u64, peer: usize) -> FabricPort {
    FabricPort {
        number,
        guid: Some(Guid(guid)),
        lid: 1,
        peer: Some(FabricEnd { node: peer, port: number }),
        ..FabricPort::default()
    }
}

/// Returns a subnet with two leaf switches of one description, one without a description, and
/// five adapters.
fn fabric() -> Fabric {
    use FabricNodeKind::{Ca, Switch};
    let nodes = vec![
        node(Ca, 1, "n1 HCA-1", vec![port(1, 11, 2), port(2, 12, 3)]),
        node(Ca, 2, "n2 HCA-1", vec![port(1, 21, 3)]),
        node(Switch, 0xa, "MF0;sw:MQM8700", Vec::new()),
        node(Switch, 0xb, "MF0;sw:MQM8700", Vec::new()),
        node(Switch, 0xc, "", Vec::new()),
        node(Ca, 3, "localhost mlx5_0", vec![port(1, 31, 4)]),
        node(Ca, 4, "n4 mlx5_0", vec![port(1, 41, 0), port(2, 42, 99)]),
        node(Ca, 5, "", vec![FabricPort { peer: None, ..port(1, 51, 2) }]),
    ];
    Fabric { nodes, ..Fabric::empty("mlx5_0", 1, SweepMethod::Smp) }
}

/// Returns the report of a host with one InfiniBand port, which has this GUID.
fn host(name: &str, guid: Option<u16>) -> HostReport {
    let mut report = HostReport::empty(name, Via::File);
    let json = serde_json::json!({"name": "mlx5_0", "ports": [{"number": 1, "gids": []}]});
    let mut device: crate::model::Device = serde_json::from_value(json).unwrap();
    device.ports[0].protocol = Some(Protocol::Ib);
    device.ports[0].gids = guid.map(|guid| {
        let value = GidValue(format!("fe80::{guid:x}").parse().unwrap());
        vec![Gid { index: 0, value, kind: Some(GidKind::Ib), netdev: None }]
    });
    report.devices = vec![device];
    report
}

#[test]
fn a_sweep_has_the_leaf_switch_of_each_host() {
    let hosts = [host("n1", None), host("n2.east", None), host("n3", Some(31)), host("n4", None)];
    let leaves = LeafSwitches::of_fabric(&fabric(), &hosts);
    assert_eq!(
        told(&leaves, &["n1", "n2.east", "n3"]),
        "n1=MF0;sw:MQM8700 0000:0000:0000:000a n2.east=MF0;sw:MQM8700 0000:0000:0000:000b \
         n3=0000:0000:0000:000c"
    );
    assert_eq!(leaves.of_run(["n4"]).unknown, [0], "links to no switch");
}

#[test]
fn a_port_guid_counts_more_than_a_node_description() {
    let leaves = LeafSwitches::of_fabric(&fabric(), &[host("n1", Some(0x15))]);
    assert_eq!(told(&leaves, &["n1"]), "n1=MF0;sw:MQM8700", "the only such switch of the run");
    let unknown = LeafSwitches::of_fabric(&fabric(), &[host("n9", Some(99))]);
    assert_eq!(unknown, LeafSwitches::default());
    assert_eq!(
        LeafSwitches::of_fabric(&Fabric::empty("mlx5_0", 1, SweepMethod::Smp), &[host("n1", None)]),
        unknown
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in "(?s).{0,200}") {
        let _ = LeafSwitches::parse(&text, &expand);
    }

    #[test]
    fn no_text_of_known_words_panics(
        words in prop::collection::vec(
            prop_oneof![
                Just("leaf "), Just("SwitchName"), Just("Nodes"), Just("Switches"), Just("="),
                Just("\""), Just(" "), Just("\\"), Just("\n"), Just("#"), Just("a"), Just("n[1-3]"),
                Just("é"), Just("Include "), Just("BlockName"), Just(","), Just("\r\n"),
            ],
            0..60,
        ),
    ) {
        let text = words.concat();
        if let Ok(leaves) = LeafSwitches::parse(&text, &expand) {
            let run = leaves.of_run(["n1", "a", "x"]);
            prop_assert!(run.topology.leaf_of.iter().all(|&leaf| leaf < run.topology.leaves.len()));
        }
    }

    #[test]
    fn each_host_of_a_list_is_on_its_leaf_switch(sizes in prop::collection::vec(1_usize..20, 1..9)) {
        let mut next = 0;
        let (mut text, mut expected) = (String::new(), Vec::new());
        for (leaf, &size) in sizes.iter().enumerate() {
            let _ = writeln!(text, "leaf s{leaf} n[{next}-{}]", next + size - 1);
            expected.extend(std::iter::repeat_n(leaf, size));
            next += size;
        }
        let hosts: Vec<String> = (0..next).map(|host| format!("n{host}")).collect();
        let run = read(&text).of_run(&hosts);
        prop_assert_eq!(run.topology.leaf_of, expected);
        prop_assert_eq!(run.topology.leaves.len(), sizes.len());
    }
}
