use super::*;
use crate::model::{FabricNode, FabricNodeKind, Guid, SweepMethod};

/// Returns a port with an active link of 4X HDR.
fn port(number: u8, lid: u16) -> FabricPort {
    FabricPort {
        number,
        lid,
        state: FabricPort::ACTIVE,
        physical_state: FabricPort::LINK_UP,
        width_active: 2,
        width_supported: 3,
        speed_active: 64,
        speed_supported: 1 | 2 | 4 | 16 | 32 | 64,
        ..FabricPort::default()
    }
}

fn node(guid: u64, kind: FabricNodeKind, name: &str, ports: Vec<FabricPort>) -> FabricNode {
    FabricNode {
        guid: Guid(guid),
        system_image_guid: Guid(guid),
        kind,
        name: Some(name.into()),
        vendor_id: 0x2c9,
        device_id: 1,
        revision: 0,
        port_count: u8::try_from(ports.len()).unwrap(),
        partition_entries: None,
        enhanced_port_0: None,
        route: None,
        forwarding: None,
        ports,
    }
}

/// Returns four hosts (LIDs 1 to 4) on two leaf switches (5, 6) below one spine switch (7).
pub(in crate::analyse) fn fabric() -> Fabric {
    let mut fabric = Fabric::empty("mlx5_0", 1, SweepMethod::Smp);
    fabric.sm_lid = 1;
    for host in 1..=4_u16 {
        let mut own = port(1, host);
        own.guid = Some(Guid(0x100 + u64::from(host)));
        let name = format!("n{host} HCA-1");
        fabric.nodes.push(node(host.into(), FabricNodeKind::Ca, &name, vec![own]));
    }
    for (lid, name) in [(5, "leaf1"), (6, "leaf2"), (7, "spine1")] {
        let mut ports = vec![port(0, lid)];
        ports.extend((1..=3).map(|number| port(number, 0)));
        fabric.nodes.push(node(lid.into(), FabricNodeKind::Switch, name, ports));
    }
    // Port 3 of spine1 has no link.
    let free = &mut fabric.nodes[6].ports[3];
    (free.state, free.physical_state) = (FabricPort::DOWN, 2);
    for (one, other) in [
        ((0, 1), (4, 1)),
        ((1, 1), (4, 2)),
        ((2, 1), (5, 1)),
        ((3, 1), (5, 2)),
        ((4, 3), (6, 1)),
        ((5, 3), (6, 2)),
    ] {
        let end = |(node, port)| FabricEnd { node, port };
        for (near, far) in [(one, other), (other, one)] {
            let (near, far) = (end(near), end(far));
            let ports = &mut fabric.nodes[near.node].ports;
            ports.iter_mut().find(|port| port.number == near.port).unwrap().peer = Some(far);
        }
    }
    let tables = [
        (4, [255, 1, 2, 3, 3, 0, 3, 3]),
        (5, [255, 3, 3, 1, 2, 3, 0, 3]),
        (6, [255, 1, 1, 2, 2, 1, 2, 0]),
    ];
    for (switch, ports) in tables {
        fabric.nodes[switch].forwarding = Some(ForwardingTable(ports.to_vec()));
    }
    let manager = SubnetManager { guid: Guid(0x101), priority: 14, state: 3, activity: 9 };
    fabric.nodes[0].ports[0].subnet_manager = Some(manager);
    fabric
}

fn codes(fabric: &Fabric) -> Vec<(&'static str, String)> {
    findings(fabric, "n1").into_iter().map(|one| (one.code, one.subject.to_string())).collect()
}

fn change(fabric: &mut Fabric, node: usize, number: u8) -> &mut FabricPort {
    fabric.nodes[node].ports.iter_mut().find(|port| port.number == number).unwrap()
}

/// Returns code, subject and text of the only finding.
fn only(fabric: &Fabric) -> (&'static str, String, String) {
    let [one] = <[Finding; 1]>::try_from(findings(fabric, "n1")).unwrap();
    (one.code, one.subject.to_string(), one.what)
}

fn set_route(fabric: &mut Fabric, switch: usize, lid: usize, port: u8) {
    fabric.nodes[switch].forwarding.as_mut().unwrap().0[lid] = port;
}

#[test]
fn a_healthy_subnet_has_no_findings() {
    assert_eq!(codes(&fabric()), []);
}

#[test]
fn one_slow_link_is_named_by_both_ends() {
    let mut fabric = fabric();
    change(&mut fabric, 4, 1).width_active = 1;
    change(&mut fabric, 0, 1).width_active = 1;
    let (code, subject, what) = only(&fabric);
    assert_eq!((code, subject.as_str()), ("fabric.width", "n1 HCA-1 port 1"));
    assert_eq!(what, "the link to leaf1 port 1 is 1X although both ends support 4X");
}

#[test]
fn a_switch_whose_links_are_mostly_slow_is_named_once() {
    let mut fabric = fabric();
    for (node, port) in [(4, 1), (4, 2), (4, 3), (0, 1), (1, 1), (6, 1)] {
        change(&mut fabric, node, port).speed_active = 1;
    }
    assert_eq!(codes(&fabric), [("fabric.speed", "leaf1".into())]);
}

#[test]
fn a_route_to_a_node_without_a_reply_is_no_missing_route() {
    let mut fabric = fabric();
    // The link from leaf1 to spine1 is up, and spine1 did not reply.
    let port = change(&mut fabric, 4, 3);
    port.peer = None;
    port.physical_state = FabricPort::LINK_UP;
    assert!(codes(&fabric).iter().all(|(code, _)| *code != "fabric.route_missing"));
    let from = FabricEnd { node: 0, port: 1 };
    let to = FabricEnd { node: 2, port: 1 };
    let routes = routes::routes(&fabric, from, to);
    let failure = routes[0].failure.map(|failure| failure.to_string());
    assert_eq!(failure.as_deref(), Some("the node behind port 3 is unknown"));
}

#[test]
fn a_speed_that_one_end_lacks_is_no_finding() {
    let mut fabric = fabric();
    for (node, port) in [(4, 1), (0, 1)] {
        change(&mut fabric, node, port).speed_active = 32;
    }
    change(&mut fabric, 0, 1).speed_supported = 1 | 2 | 4 | 16 | 32;
    assert_eq!(codes(&fabric), []);
}

#[test]
fn ports_in_state_init_are_a_finding() {
    let mut fabric = fabric();
    change(&mut fabric, 3, 1).state = FabricPort::INIT;
    change(&mut fabric, 5, 2).state = FabricPort::INIT;
    assert_eq!(
        codes(&fabric),
        [("fabric.port_not_active", "n4 HCA-1 port 1 and 1 more ports".into())]
    );
}

#[test]
fn a_subnet_has_exactly_one_master() {
    let mut one = fabric();
    one.nodes[0].ports[0].subnet_manager = None;
    assert_eq!(codes(&one), [("fabric.no_manager", "subnet manager".into())]);
    one.via = SweepMethod::Ibnetdiscover;
    assert_eq!(codes(&one), [], "an imported file has no managers");
    let mut two = fabric();
    two.nodes[1].ports[0].subnet_manager = two.nodes[0].ports[0].subnet_manager;
    assert_eq!(codes(&two), [("fabric.two_managers", "subnet manager".into())]);
    two.nodes[1].ports[0].subnet_manager.as_mut().unwrap().state = 2;
    assert_eq!(codes(&two), [], "a standby is well");
}

#[test]
fn duplicate_lids_and_guids_are_found() {
    let mut fabric = fabric();
    change(&mut fabric, 1, 1).guid = Some(Guid(0x101));
    // LMC 1: the LIDs 2 and 3.
    change(&mut fabric, 1, 1).lmc = 1;
    let found = codes(&fabric);
    assert!(found.contains(&("fabric.duplicate_guid", Guid(0x101).to_string())), "{found:?}");
    assert!(found.contains(&("fabric.duplicate_lid", "LID 3".into())), "{found:?}");
}

#[test]
fn entries_that_lead_nowhere_are_found_where_they_are() {
    let mut fabric = fabric();
    set_route(&mut fabric, 6, 3, 255);
    set_route(&mut fabric, 6, 4, 3);
    let found = findings(&fabric, "n1");
    let told: Vec<_> =
        found.iter().map(|one| (one.subject.to_string(), one.what.as_str())).collect();
    let expected = [
        ("spine1", "the forwarding table has no port for 1 LID: n3 HCA-1 port 1"),
        ("spine1", "port 3 of the forwarding table has no link for 1 LID: n4 HCA-1 port 1"),
    ];
    assert_eq!(told, expected.map(|(subject, what)| (subject.to_owned(), what)));
}

#[test]
fn a_loop_names_its_switches() {
    let mut fabric = fabric();
    set_route(&mut fabric, 6, 4, 1);
    let (code, subject, what) = only(&fabric);
    assert_eq!((code, subject.as_str()), ("fabric.route_loop", "leaf1,spine1"));
    assert_eq!(what, "packets loop between 2 switches for 1 LID: n4 HCA-1 port 1");
}

#[test]
fn a_route_lists_each_hop() {
    let fabric = fabric();
    let (from, to) = (find_port(&fabric, "n1").unwrap(), find_port(&fabric, "n4").unwrap());
    let routes = routes::routes(&fabric, from, to);
    assert_eq!((routes.len(), routes[0].lid, routes[0].failure), (1, 4, None));
    let hops: Vec<_> = routes[0]
        .hops
        .iter()
        .map(|hop| (fabric.nodes[hop.node].title(), hop.enters, hop.leaves))
        .collect();
    let expected = [
        ("n1 HCA-1", None, Some(1)),
        ("leaf1", Some(1), Some(3)),
        ("spine1", Some(1), Some(2)),
        ("leaf2", Some(3), Some(2)),
        ("n4 HCA-1", Some(1), None),
    ];
    assert_eq!(hops, expected.map(|(name, enters, leaves)| (name.to_owned(), enters, leaves)));
}

#[test]
fn a_route_says_where_it_ends() {
    let mut fabric = fabric();
    change(&mut fabric, 3, 1).lmc = 1;
    let (from, to) = (FabricEnd { node: 0, port: 1 }, FabricEnd { node: 3, port: 1 });
    set_route(&mut fabric, 6, 4, 1);
    let routes = routes::routes(&fabric, from, to);
    let told: Vec<_> = routes.iter().map(|route| (route.lid, route.failure)).collect();
    assert_eq!(
        told,
        [(4, Some(routes::RouteFailure::Loop)), (5, Some(routes::RouteFailure::WrongNode))]
    );
    fabric.nodes[4].forwarding = None;
    let routes = routes::routes(&fabric, from, to);
    assert_eq!(routes[0].failure, Some(routes::RouteFailure::NoTable));
}

#[test]
fn a_route_to_another_port_of_the_adapter_leaves_the_adapter() {
    let mut fabric = fabric();
    let (from, to) = (FabricEnd { node: 0, port: 1 }, FabricEnd { node: 0, port: 2 });
    let spine = FabricEnd { node: 6, port: 3 };
    fabric.nodes[0].ports.push(FabricPort { peer: Some(spine), ..port(2, 8) });
    change(&mut fabric, 6, 3).peer = Some(to);
    for switch in [4, 6] {
        fabric.nodes[switch].forwarding.as_mut().unwrap().0.push(3);
    }
    let nodes_and_failure = |fabric: &Fabric, to| {
        let routes = routes::routes(fabric, from, to);
        let nodes: Vec<usize> = routes[0].hops.iter().map(|hop| hop.node).collect();
        (nodes, routes[0].failure)
    };
    assert_eq!(nodes_and_failure(&fabric, to), (vec![0, 4, 6, 0], None));
    assert_eq!(nodes_and_failure(&fabric, from), (vec![0], None));
    set_route(&mut fabric, 4, 8, ForwardingTable::NO_PORT);
    let no_entry = Some(routes::RouteFailure::NoEntry);
    assert_eq!(nodes_and_failure(&fabric, to), (vec![0, 4], no_entry));
}

#[test]
fn a_long_route_is_no_loop() {
    const NODES: usize = 72;
    let mut fabric = Fabric::empty("mlx5_0", 1, SweepMethod::Smp);
    // A chain: port 1 leads to the previous node, port 2 to the next node.
    for (at, guid) in (0..NODES).zip(1_u64..) {
        let previous = at.checked_sub(1).map(|node| FabricEnd { node, port: 2 });
        let next = (at + 1 < NODES).then_some(FabricEnd { node: at + 1, port: 1 });
        let is_switch = previous.is_some() && next.is_some();
        let kind = if is_switch { FabricNodeKind::Switch } else { FabricNodeKind::Ca };
        let ports = [(1, previous), (2, next)].into_iter().filter(|(_, peer)| peer.is_some());
        let ports = ports.map(|(number, peer)| FabricPort { peer, ..port(number, 2) }).collect();
        let forwarding = is_switch.then(|| ForwardingTable(vec![255, 255, 2]));
        fabric.nodes.push(FabricNode { forwarding, ..node(guid, kind, "x", ports) });
    }
    let (from, to) = (FabricEnd { node: 0, port: 2 }, FabricEnd { node: NODES - 1, port: 1 });
    let routes = routes::routes(&fabric, from, to);
    assert_eq!((routes[0].hops.len(), routes[0].failure), (NODES, None));
    set_route(&mut fabric, NODES - 2, 2, 1);
    let routes = routes::routes(&fabric, from, to);
    assert_eq!(routes[0].failure, Some(routes::RouteFailure::Loop));
}

#[test]
fn a_port_is_found_by_name_guid_and_lid() {
    let fabric = fabric();
    let node = |word: &str| find_port(&fabric, word).map(|end| end.node);
    assert_eq!(node("n2 HCA-1"), Ok(1));
    assert_eq!((node("n3"), node("7"), node("leaf2")), (Ok(2), Ok(6), Ok(5)));
    assert_eq!(node("0x0000000000000104"), Ok(3));
    assert_eq!(node("spine"), Ok(6));
    assert!(matches!(node("HCA"), Err(SearchError::Several { count: 4, .. })));
    assert_eq!(node("n9"), Err(SearchError::Unknown("n9".into())));
}

#[test]
fn a_vendor_description_and_a_silent_node_are_found() {
    let mut fabric = fabric();
    fabric.nodes[2].name = Some("MT4119 ConnectX5   Mellanox Technologies".into());
    fabric.unanswered.push(UnansweredRequest {
        route: vec![1, 3, 3],
        lid: 0,
        attribute: "NodeInfo".into(),
        detail: "no reply".into(),
    });
    let found = codes(&fabric);
    let expected = [
        ("fabric.default_description", Guid(3).to_string()),
        ("fabric.no_answer", "the node behind spine1 port 3".into()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn counters_above_their_thresholds_are_found() {
    let mut fabric = fabric();
    let counter = |name: &str, value| crate::model::Counter {
        name: name.into(),
        group: crate::model::CounterGroup::Pma,
        value: Some(value),
        unit: crate::model::CounterUnit::Events,
        saturated: false,
        read_ns: None,
        rate: None,
    };
    let values = [("SymbolErrorCounter", 5), ("PortXmitWait", 9), ("PortXmitData", 9)];
    let values = values.map(|(name, value)| counter(name, value));
    change(&mut fabric, 0, 1).counters = Some(values.to_vec());
    let names = |thresholds: &str| {
        let thresholds = errors::Thresholds::parse(thresholds).unwrap();
        errors::above(&fabric, &thresholds)
            .map(|(_, counter)| counter.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(""), ["SymbolErrorCounter"]);
    assert_eq!(names("SymbolErrorCounter=5"), [""; 0]);
    assert_eq!(names("SymbolErrorCounter=5\nPortXmitWait=8"), ["PortXmitWait"]);
}

#[test]
fn a_port_has_the_lids_of_its_mask() {
    let lids = |lid, lmc| lids_of(&FabricPort { lmc, ..port(1, lid) }).collect::<Vec<u16>>();
    assert_eq!(lids(8, 0), [8]);
    assert_eq!(lids(8, 2), [8, 9, 10, 11]);
    assert_eq!(lids(0xfffe, 7), [0xfffe, 0xffff]);
    assert_eq!(lids(0, 3), [0; 0], "a port without a LID has none above it");
    assert_eq!(lids(1, 255).len(), 128, "the mask has at most seven bits");
}

#[test]
fn a_link_to_a_missing_node_ends_the_route() {
    // The report of another host may be inconsistent.
    let mut fabric = fabric();
    let end = |node| FabricEnd { node, port: 1 };
    for at in 0..fabric.nodes.len() {
        for port in &mut fabric.nodes[at].ports {
            port.peer = port.peer.map(|peer| FabricEnd { node: peer.node + 7, ..peer });
        }
    }
    let routes = routes::routes(&fabric, end(0), end(3));
    assert_eq!(routes[0].failure, Some(routes::RouteFailure::UnknownPeer(1)));
    let codes: Vec<&str> = findings(&fabric, "n1").iter().map(|finding| finding.code).collect();
    assert!(
        !codes.contains(&"fabric.route_missing"),
        "an unknown node is no missing route: {codes:?}"
    );
    assert_eq!(routes::routes(&fabric, end(99), end(3)), []);
    assert_eq!(routes::routes(&fabric, end(0), end(99)), []);
}
