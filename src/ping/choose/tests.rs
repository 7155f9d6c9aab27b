//! Tests which device, port, GID and P_Key a pair of hosts uses on each rail.

use super::*;
use crate::analyse::verdict::Ends;
use crate::model::{Device, Gid, GidValue, Membership, Netdev, PKey, Port, PortState, Via, Vlan};

/// Returns the best route, with one rail.
fn choose(source: &HostReport, target: &HostReport) -> Result<Route, NoMatch> {
    first_route(source, target, &Overrides::default())
}

fn first_route(
    source: &HostReport,
    target: &HostReport,
    wanted: &Overrides,
) -> Result<Route, NoMatch> {
    choose_on(&Rails::default(), source, target, wanted)?.remove(0).1
}

fn choose_on(
    rails: &Rails,
    source: &HostReport,
    target: &HostReport,
    wanted: &Overrides,
) -> Result<Vec<OnRail>, NoMatch> {
    super::choose(source, target, rails, &BTreeSet::new(), wanted)
}

/// Returns the shared rails of the first two hosts of a run: number, and device at both ends.
fn shared(hosts: &[&HostReport], wanted: &Overrides) -> Vec<(usize, String, String)> {
    let rails = Rails::of(hosts.iter().copied(), wanted);
    let routes = choose_on(&rails, hosts[0], hosts[1], wanted).unwrap();
    let ends = |(rail, route): OnRail| {
        let Route { source, target, .. } = route.unwrap();
        (rail, source.device, target.device)
    };
    routes.into_iter().map(ends).collect()
}

type PortFacts<'a> = (&'a str, Protocol, PortState, &'a [(&'a str, GidKind)]);

pub(super) fn host(ports: &[PortFacts<'_>]) -> HostReport {
    let mut report = HostReport::empty("n", Via::File);
    report.devices = ports
        .iter()
        .map(|(name, protocol, state, gids)| {
            let gids = gids.iter().enumerate().map(|(index, (text, kind))| Gid {
                index: u32::try_from(index).unwrap(),
                value: GidValue(text.parse().unwrap()),
                kind: Some(*kind),
                netdev: None,
            });
            let json = serde_json::json!({
                "name": name, "ports": [{"number": 1, "gids": []}]
            });
            let mut device: Device = serde_json::from_value(json).unwrap();
            device.ports[0].state = Some(*state);
            device.ports[0].protocol = Some(*protocol);
            device.ports[0].gids = Some(gids.collect());
            device
        })
        .collect();
    report
}

const V2: GidKind = GidKind::RoceV2;
const ROCE: Protocol = Protocol::Roce;
const UP: PortState = PortState::Active;

#[test]
fn the_rail_with_a_common_subnet_is_chosen() {
    let a = host(&[
        ("mlx5_0", ROCE, UP, &[("fe80::1", V2), ("::ffff:10.1.0.1", V2)]),
        ("mlx5_1", ROCE, UP, &[("fe80::2", V2), ("::ffff:10.2.0.1", V2)]),
    ]);
    let b = host(&[("mlx5_9", ROCE, UP, &[("::ffff:10.2.0.7", V2), ("fe80::9", V2)])]);
    let route = choose(&a, &b).unwrap();
    assert_eq!((route.source.device.as_str(), route.source.gid_index), ("mlx5_1", 1));
    assert_eq!((route.target.device.as_str(), route.target.gid_index), ("mlx5_9", 0));
}

#[test]
fn ports_of_one_infiniband_subnet_are_chosen() {
    let a = two_ib_ports("fec0::1", "fe80::1", UP);
    let b = host(&[("mlx5_0", Protocol::Ib, UP, &[("fe80::2", GidKind::Ib)])]);
    assert_eq!(choose(&a, &b).unwrap().source.device, "mlx5_1");
    let other = host(&[("mlx5_0", Protocol::Ib, UP, &[("fed0::2", GidKind::Ib)])]);
    let why = choose(&a, &other).unwrap_err();
    let subnets = "the source is in the InfiniBand subnet fec0:0000:0000:0000, the target in \
                   fed0:0000:0000:0000";
    assert_eq!(why, NoMatch::Disjoint(subnets.into()));
}

#[test]
fn ports_of_another_protocol_do_not_move_a_port_to_another_rail() {
    let ib = |name| (name, Protocol::Ib, UP, &[("fe80::1", GidKind::Ib)] as &[_]);
    let a = host(&[("a", ROCE, UP, &[("fe80::9", V2)]), ib("b"), ib("c")]);
    let b = host(&[ib("b"), ib("c")]);
    let expected = [(0, "b".into(), "b".into()), (1, "c".into(), "c".into())];
    assert_eq!(shared(&[&a, &b], &Overrides::default()), expected);
}

#[test]
fn a_duplicate_address_removes_no_rail() {
    let with = |first: &str, local: &[(&'static str, GidKind)], second: &str| {
        let first: Vec<(&str, GidKind)> =
            std::iter::once((first, V2)).chain(local.iter().copied()).collect();
        host(&[("a", ROCE, UP, &first), ("b", ROCE, UP, &[(second, V2)])])
    };
    let shared_address = "::ffff:10.1.0.1";
    let duplicates = BTreeSet::from([GidValue(shared_address.parse().unwrap())]);
    let routes = |local: &[(&'static str, GidKind)]| {
        let n1 = with(shared_address, local, "::ffff:10.2.0.1");
        let n2 = with(shared_address, local, "::ffff:10.2.0.2");
        let wanted = Overrides::default();
        let rails = Rails::of([&n1, &n2].into_iter(), &wanted);
        super::choose(&n1, &n2, &rails, &duplicates, &wanted).unwrap()
    };
    let local = [("fe80::1", V2)];
    let tested: Vec<_> = routes(&local)
        .into_iter()
        .map(|(rail, route)| (rail, route.unwrap().source.gid.to_string()))
        .collect();
    assert_eq!(tested, [(0, "fe80::1".into()), (1, "::ffff:10.2.0.1".into())]);
    let failed = &routes(&[])[0];
    assert_eq!(failed, &(0, Err(no_match::only_duplicates(Side::Source))));
}

#[test]
fn roce_version_2_is_preferred_to_version_1() {
    let gids: &[_] = &[("::ffff:10.1.0.1", GidKind::RoceV1), ("::ffff:10.1.0.1", V2)];
    let both = host(&[("a", ROCE, UP, gids)]);
    assert_eq!(choose(&both, &both).unwrap().source.gid_index, 1);
    let old = host(&[("b", ROCE, UP, &gids[..1])]);
    assert_eq!(choose(&both, &old).unwrap().source.gid_index, 0);
}

#[test]
fn iwarp_is_connected_by_the_connection_manager() {
    let siw = host(&[("siw0", Protocol::Iwarp, UP, &[("5254:12:3456::", GidKind::Ib)])]);
    assert_eq!(choose(&siw, &siw).unwrap().method, Method::Cm);
}

#[test]
fn efa_has_datagrams_only() {
    let efa = host(&[("rdmap0s6", Protocol::Efa, UP, &[("fe80::1", GidKind::Ib)])]);
    assert_eq!(choose(&efa, &efa).unwrap().method, Method::Datagrams);
}

#[test]
fn hosts_without_a_common_protocol_have_no_route() {
    let rxe = host(&[("rxe0", ROCE, UP, &[("fe80::1", V2)])]);
    let siw = host(&[("siw0", Protocol::Iwarp, UP, &[("5254:12:3456::", GidKind::Ib)])]);
    let why = choose(&rxe, &siw).unwrap_err();
    assert_eq!(why, NoMatch::Disjoint("the source has RoCE, the target has iWARP".into()));
}

#[test]
fn a_requested_gid_that_is_missing_or_of_another_family_is_reported() {
    let named = |name: &str| {
        let gids: &[_] = &[("fe80::1", V2), ("::ffff:10.1.0.1", V2)];
        HostReport { host: name.into(), ..host(&[("rxe0", ROCE, UP, gids)]) }
    };
    let (a, b) = (named("n1"), named("n2"));
    let with = |gid_index: &str| {
        let wanted = Overrides { gid_index: gid_index.parse().unwrap(), ..Overrides::default() };
        first_route(&a, &b, &wanted)
    };
    assert_eq!(with("0").unwrap().target.gid_index, 0);
    let missing = "no GID at index 200: rxe0/1 has 0, 1";
    assert_eq!(with("200"), Err(NoMatch::NoGid(Side::Source, missing.into())));
    assert_eq!(with("n2=200"), Err(NoMatch::NoGid(Side::Target, missing.into())));
    let families = "the source has RoCE v2 link-local, the target has RoCE v2 IPv4";
    assert_eq!(with("1,n1=0"), Err(NoMatch::GidFamily(families.into())));
}

#[test]
fn an_active_port_without_a_route_is_reported_with_the_missing_property() {
    let whole = host(&[("a", ROCE, UP, &[("fe80::1", V2)])]);
    let why = |change: &dyn Fn(&mut Port)| {
        let mut lacking = whole.clone();
        change(&mut lacking.devices[0].ports[0]);
        match choose(&lacking, &whole) {
            Err(NoMatch::Port(Side::Source, why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let failure = |text: &str| format!("no active port with a usable GID: a/{text}");
    assert_eq!(why(&|port| port.gids = Some(Vec::new())), failure("1 is ACTIVE without a GID"));
    let unread = "1 is ACTIVE with a GID table that could not be read";
    assert_eq!(why(&|port| port.gids = None), failure(unread));
    assert_eq!(why(&|port| port.number = 257), failure("257 is ACTIVE with a number over 255"));
    assert_eq!(
        why(&|port| port.gids.as_mut().unwrap()[0].index = 256),
        failure("1 is ACTIVE without a GID up to index 255")
    );
    assert_eq!(
        why(&|port| port.protocol = Some(Protocol::Usnic)),
        failure("1 is ACTIVE with usNIC, which rdmactl does not support")
    );
    assert_eq!(why(&|port| port.protocol = None), failure("1 is ACTIVE with an unknown protocol"));
}

#[test]
fn a_port_that_is_down_is_named() {
    let up = host(&[("rxe0", ROCE, UP, &[("fe80::1", V2)])]);
    let down = host(&[("rxe0", ROCE, PortState::Down, &[("fe80::1", V2)])]);
    let NoMatch::Port(Side::Target, why) = choose(&up, &down).unwrap_err() else { panic!() };
    assert!(why.contains("rxe0/1 is DOWN"), "{why}");
}

/// Returns the failure of a target whose port `rxe1/1` is down.
fn second_port_down(netdev: Option<&str>) -> NoMatch {
    let (side, netdev) = (Side::Target, netdev.map(Into::into));
    NoMatch::Down { side, state: "rxe1/1 is DOWN".into(), netdev, is_set_down: false }
}

#[test]
fn a_requested_port_that_is_down_is_not_reported_as_missing() {
    let (up, mut down) = (two_rails(1), two_rails(2));
    down.devices[1].ports[0].state = Some(PortState::Down);
    down.devices[1].ports[0].netdev = Some("eth2".into());
    let wanted = Overrides { device: Some("rxe1".into()), ..Overrides::default() };
    let choose = |target: &HostReport, wanted: &Overrides| {
        choose_on(&Rails::default(), &up, target, wanted).unwrap_err()
    };
    assert_eq!(choose(&down, &wanted), second_port_down(Some("eth2")));
    // A port that is down may have no GID.
    down.devices[1].ports[0].gids = Some(Vec::new());
    assert_eq!(choose(&down, &wanted), second_port_down(Some("eth2")));
    let of_port = Overrides { port: Some(1), ..wanted.clone() };
    assert_eq!(choose(&down, &of_port), second_port_down(Some("eth2")));
    let missing = Overrides { device: Some("rxe7".into()), ..Overrides::default() };
    assert!(matches!(choose(&down, &missing), NoMatch::Port(..)));
    down.devices[1].ports[0].state = Some(UP);
    assert!(matches!(choose(&down, &wanted), NoMatch::Port(Side::Target, _)));
}

#[test]
fn the_fix_of_a_port_that_is_down_names_its_network_interface() {
    let ends = Ends { source: "n1", target: "n4", route: None };
    let hint = |netdev| second_port_down(netdev).verdict(&ends).hint.unwrap();
    let named = hint(Some("eth2"));
    assert!(named.contains("on n4: ip link set eth2 up;"), "{named}");
    assert!(named.ends_with("rdmactl ports -v -H n4"), "{named}");
    assert!(hint(None).contains("ip link set NETDEV up"));
    assert!(hint(Some("eth2; reboot")).contains("ip link set NETDEV up"));
}

#[test]
fn only_the_requested_rails_are_tested_and_keep_their_numbers() {
    let (a, b) = (two_rails(1), two_rails(2));
    let only = |rails: &[usize]| Overrides { rails: rails.to_vec(), ..Overrides::default() };
    let text = str::to_owned;
    assert_eq!(shared(&[&a, &b], &only(&[1])), [(1, text("rxe1"), text("rxe1"))]);
    assert_eq!(shared(&[&a, &b], &only(&[0, 1])).len(), 2);
    let first = host(&[("rxe0", ROCE, UP, &[("::ffff:10.10.1.7", V2)])]);
    assert_eq!(shared(&[&a, &first, &b], &only(&[1])), [], "the pair has no rail 1");
    let rails = Rails::of([&a, &b].into_iter(), &only(&[1]));
    assert_eq!((rails.count(), rails.tested().collect::<Vec<_>>()), (2, vec![1]));
}

#[test]
fn an_infiniband_port_in_state_init_waits_for_a_subnet_manager() {
    let of = |state| host(&[("mlx5_0", Protocol::Ib, state, &[("fe80::1", GidKind::Ib)])]);
    let (up, waits) = (of(UP), of(PortState::Init));
    let waiting = NoMatch::NoSubnetManager(Side::Target, "mlx5_0/1 is INIT".into());
    assert_eq!(choose(&up, &waits), Err(waiting));
    let two = |state| two_ib_ports("fe80::1", "fe80::2", state);
    let (all, lacks) = (two(UP), two(PortState::Init));
    let rails = Rails::of([&all, &all, &lacks].into_iter(), &Overrides::default());
    let found = choose_on(&rails, &lacks, &all, &Overrides::default()).unwrap();
    let waiting = NoMatch::NoSubnetManager(Side::Source, "mlx5_1/1 is INIT".into());
    assert_eq!(found[1], (1, Err(waiting)));
    let roce = host(&[("mlx5_0", ROCE, PortState::Init, &[("fe80::1", V2)])]);
    assert!(matches!(choose(&roce, &up), Err(NoMatch::Port(Side::Source, _))));
}

/// Returns a host with two InfiniBand ports with these GIDs. `state` is the state of the second
/// port; the first port is active.
fn two_ib_ports(first: &str, second: &str, state: PortState) -> HostReport {
    host(&[
        ("mlx5_0", Protocol::Ib, UP, &[(first, GidKind::Ib)]),
        ("mlx5_1", Protocol::Ib, state, &[(second, GidKind::Ib)]),
    ])
}

/// Returns a host with one RoCE port on each of two rails.
fn two_rails(host: u8) -> HostReport {
    let [first, second] = [1, 2].map(|rail| format!("::ffff:10.10.{rail}.{host}"));
    self::host(&[
        ("rxe0", ROCE, UP, &[("fe80::1", V2), (&first, V2)]),
        ("rxe1", ROCE, UP, &[("fe80::2", V2), (&second, V2)]),
    ])
}

#[test]
fn every_shared_rail_is_tested_and_keeps_its_number_in_every_pair() {
    let (a, b) = (two_rails(1), two_rails(2));
    let all = Overrides::default();
    let text = |it: &str| it.to_owned();
    let both = [(0, text("rxe0"), text("rxe0")), (1, text("rxe1"), text("rxe1"))];
    assert_eq!(shared(&[&a, &b], &all), both);
    let second = host(&[("mlx5_9", ROCE, UP, &[("::ffff:10.10.2.7", V2)])]);
    assert_eq!(shared(&[&a, &second, &b], &all), [(1, text("rxe1"), text("mlx5_9"))]);
    let first = Overrides { first_rail: true, ..Overrides::default() };
    assert_eq!(shared(&[&a, &b], &first).len(), 1);
    let named = Overrides { device: Some("rxe1".into()), ..Overrides::default() };
    assert_eq!(shared(&[&a, &b], &named), [(0, text("rxe1"), text("rxe1"))]);
}

#[test]
fn a_rail_that_is_down_at_one_end_fails_and_the_other_rail_is_tested() {
    let (a, mut b) = (two_rails(1), two_rails(2));
    b.devices[0].ports[0].state = Some(PortState::Down);
    let first_failure = |source: &HostReport, target: &HostReport| {
        let rails = Rails::of([&a, &b].into_iter(), &Overrides::default());
        let found = choose_on(&rails, source, target, &Overrides::default()).unwrap();
        let [(0, Err(first)), (1, Ok(second))] = &found[..] else { panic!("{found:?}") };
        assert_eq!(second.source.device, "rxe1");
        first.clone()
    };
    let state = || "rxe0/1 is DOWN".to_owned();
    let down = |side| NoMatch::Down { side, state: state(), netdev: None, is_set_down: false };
    assert_eq!(first_failure(&a, &b), down(Side::Target));
    assert_eq!(first_failure(&b, &a), down(Side::Source));
}

#[test]
fn soft_roce_of_a_kernel_that_would_hang_sends_no_datagrams() {
    let of = |driver: &str, kernel: &str| {
        let mut one = host(&[("rxe0", ROCE, UP, &[("::ffff:10.1.0.1", V2)])]);
        one.devices[0].driver = Some(driver.into());
        HostReport { kernel: Some(kernel.into()), ..one }
    };
    let new = of("rdma_rxe", "6.12.48+deb13-amd64");
    let sends = |other: &HostReport| {
        let there = choose(&new, other).unwrap().unreliable;
        assert_eq!(there, choose(other, &new).unwrap().unreliable);
        there
    };
    assert!(sends(&new) && sends(&of("mlx5_core", "5.10.0-35-amd64")));
    assert!(!sends(&of("rdma_rxe", "6.1.0-40-amd64")));
    assert!(!sends(&of("rdma_rxe", "")));
}

#[test]
fn ports_without_a_cable_are_no_rail() {
    let dual = |second| two_ib_ports("fe80::1", "fe80::2", second);
    let (cabled, bare) = (dual(UP), dual(PortState::Down));
    let rails =
        |hosts: &[&HostReport]| Rails::of(hosts.iter().copied(), &Overrides::default()).count();
    assert_eq!(rails(&[&cabled, &bare, &bare]), 1);
    assert_eq!(rails(&[&cabled, &cabled, &bare, &bare]), 1);
    assert_eq!(rails(&[&cabled, &cabled, &cabled, &bare]), 2);
}

#[test]
fn one_wide_subnet_is_one_rail() {
    let at = |ip: &str| host(&[("a", ROCE, UP, &[(ip, V2)])]);
    let (a, b) = (at("::ffff:10.0.1.1"), at("::ffff:10.0.200.7"));
    assert_eq!(shared(&[&a, &b], &Overrides::default()).len(), 1);
}

#[test]
fn infiniband_ports_of_one_subnet_are_paired_in_order() {
    let (a, b) = (two_ib_ports("fe80::1", "fe80::2", UP), two_ib_ports("fe80::3", "fe80::4", UP));
    let found = shared(&[&a, &b], &Overrides::default());
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|(_, here, there)| here == there), "{found:?}");
}

/// Returns a host whose P_Key table has the default partition and `value`.
fn with_key(value: u16) -> HostReport {
    let mut report = host(&[("mlx5_0", Protocol::Ib, UP, &[("fe80::1", GidKind::Ib)])]);
    let membership = Membership::Full;
    let keys = [0xffff, value].into_iter().enumerate();
    let key = |(index, value): (usize, u16)| PKey {
        index: u32::try_from(index).unwrap(),
        value,
        membership,
    };
    report.devices[0].ports[0].pkeys = Some(keys.map(key).collect());
    report
}

#[test]
fn a_partition_is_found_at_its_own_index_on_each_host() {
    let wanted = Overrides { pkey: Some(0x0001), ..Overrides::default() };
    let choose = |a: &HostReport, b: &HostReport| first_route(a, b, &wanted);
    let route = choose(&with_key(0x8001), &with_key(0x0001)).unwrap();
    assert_eq!((route.source.pkey_index, route.source.pkey), (1, Some(0x8001)));
    assert_eq!(route.target.pkey, Some(0x0001));
    let why = |a: u16, b: u16| match choose(&with_key(a), &with_key(b)) {
        Err(NoMatch::PKey(why)) => why,
        other => panic!("{other:?}"),
    };
    let mut unread = with_key(1);
    unread.devices[0].ports[0].pkeys = None;
    let why_not = "mlx5_0/1 of the target reports no P_Keys; 0x0001 is requested";
    assert_eq!(choose(&with_key(0x8001), &unread), Err(NoMatch::PKey(why_not.into())));
    assert!(why(1, 1).contains("limited members"));
    assert!(why(0x8001, 0x8002).contains("of the target is not in"));
}

#[test]
fn limited_members_of_the_first_partition_use_another_partition() {
    let member = || {
        let mut report = with_key(0x8001);
        report.devices[0].ports[0].pkeys.as_mut().unwrap()[0].value = 0x7fff;
        report
    };
    let route = choose(&member(), &member()).unwrap();
    assert_eq!((route.source.pkey_index, route.target.pkey), (1, Some(0x8001)));
}

#[test]
fn ports_without_a_common_partition_have_no_route() {
    let mut other = with_key(2);
    other.devices[0].ports[0].pkeys.as_mut().unwrap()[0].value = 0x8003;
    assert!(matches!(choose(&with_key(2), &other), Err(NoMatch::PKey(_))));
    assert_eq!(choose(&with_key(2), &with_key(3)).unwrap().source.pkey, Some(0xffff));
}

#[test]
fn the_fix_of_an_interface_that_is_set_down_sets_it_up_before_cables_are_checked() {
    let with = |netdev: serde_json::Value, wanted: &Overrides| {
        let mut report = host(&[("a", ROCE, PortState::Down, &[("::ffff:10.1.0.1", V2)])]);
        report.devices[0].ports[0].netdev = Some("eth2".into());
        report.netdevs = Some(vec![serde_json::from_value(netdev).unwrap()].into());
        let active = host(&[("a", ROCE, UP, &[("::ffff:10.1.0.2", V2)])]);
        let why = choose_on(&Rails::default(), &report, &active, wanted).unwrap_err();
        why.verdict(&Ends { source: "n2", target: "n3", route: None })
    };
    let off = serde_json::json!({ "name": "eth2", "operstate": "down", "carrier": null });
    let device = Overrides { device: Some("a".into()), ..Overrides::default() };
    for wanted in [device.clone(), Overrides::default()] {
        let down = with(off.clone(), &wanted);
        assert!(down.detail.ends_with("; eth2 is administratively down"), "{}", down.detail);
        let hint = down.hint.unwrap();
        assert!(hint.starts_with("on n2: ip link set eth2 up; if the port stays"), "{hint}");
    }
    let no_cable = serde_json::json!({ "name": "eth2", "operstate": "down", "carrier": false });
    let hint = with(no_cable, &device).hint.unwrap();
    assert!(!hint.contains("ip link set"), "{hint}");
}

#[test]
fn a_route_has_the_mtu_of_the_interface_of_its_gid() {
    let on = |netdev: &str| {
        let mut report = host(&[("a", ROCE, UP, &[("::ffff:10.1.0.1", V2)])]);
        let port = &mut report.devices[0].ports[0];
        (port.netdev, port.netdev_mtu) = (Some("eth1".into()), Some(9_000));
        port.gids.as_mut().unwrap()[0].netdev = Some(netdev.into());
        let vlan = serde_json::json!({ "name": "eth1.100", "mtu": 1_500 });
        report.netdevs = Some(vec![serde_json::from_value(vlan).unwrap()].into());
        report
    };
    let mtu = |netdev| choose(&on(netdev), &on("eth1")).unwrap().source.netdev_mtu;
    assert_eq!(mtu("eth1"), Some(9_000));
    assert_eq!(mtu("eth1.100"), Some(1_500), "a VLAN has an MTU of its own");
    assert_eq!(mtu("eth1.200"), None, "an interface that was not read");
}

#[test]
fn a_pair_in_two_vlans_is_the_last_choice() {
    let on = |netdev: &str, id: Option<u16>, ip: &str| {
        let mut report = host(&[("a", ROCE, UP, &[(ip, V2)])]);
        report.devices[0].ports[0].gids.as_mut().unwrap()[0].netdev = Some(netdev.into());
        let vlan = id.map(|id| Vlan { id: Some(id), parent: None });
        let json = serde_json::json!({ "name": netdev });
        let mut device: Netdev = serde_json::from_value(json).unwrap();
        device.vlan = vlan;
        report.netdevs = Some(vec![device].into());
        report
    };
    let tagged = on("eth0.100", Some(100), "::ffff:10.1.0.1");
    let also = on("eth1.100", Some(100), "::ffff:10.1.0.2");
    let plain = on("eth0", None, "::ffff:10.1.0.3");
    assert!(choose(&tagged, &also).is_ok());
    // An access port of this VLAN removes the tag.
    assert!(choose(&tagged, &plain).is_ok());
    // A router may join the VLANs of 10.1.0.0/25 and 10.1.0.128/25.
    let mut other = on("eth0.200", Some(200), "::ffff:10.1.0.130");
    assert!(choose(&tagged, &other).is_ok());
    other.devices.push(Device { name: "b".into(), ..plain.devices[0].clone() });
    assert_eq!(choose(&tagged, &other).unwrap().target.device, "b");
    let local = |id| on(&format!("eth0.{id}"), Some(id), "fe80::1");
    let Err(NoMatch::Vlan(why)) = choose(&local(100), &local(200)) else { panic!() };
    assert!(why.contains("VLAN 100 on the source and in VLAN 200"), "{why}");
}

/// Returns the hosts, the rails and the sentence of each warning about rails.
fn missing(hosts: &[HostReport], only: &[usize]) -> Vec<(Vec<usize>, Vec<usize>, String)> {
    let wanted = Overrides { rails: only.to_vec(), ..Overrides::default() };
    let rails = Rails::of(hosts.iter(), &wanted);
    let names = ["n1", "n2", "n3", "n4"];
    let inventories: Vec<_> = hosts.iter().map(Some).collect();
    let warnings = missing_rails(&names, &inventories, &rails, &wanted);
    warnings.into_iter().map(|one| (one.hosts, one.rails, one.detail)).collect()
}

#[test]
fn a_host_without_a_port_on_a_rail_of_the_others_is_named() {
    let mut hosts: Vec<HostReport> = (1..5).map(two_rails).collect();
    assert_eq!(missing(&hosts, &[]), []);
    // A port that is down fails its pairs, and is not missing.
    hosts[3].devices[1].ports[0].state = Some(PortState::Down);
    assert_eq!(missing(&hosts, &[]), []);
    hosts[3].devices.remove(1);
    let found = missing(&hosts, &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    let (of, rails, detail) = &found[0];
    assert_eq!((of.as_slice(), rails.as_slice()), (&[3][..], &[1][..]));
    assert!(detail.starts_with("n4 has no port on a rail that 3 hosts have"), "{detail}");
    // Half of the hosts are no majority: their second port may have a purpose of its own.
    hosts[2].devices.remove(1);
    assert_eq!(missing(&hosts, &[]), []);
    let selected = missing(&hosts, &[1]);
    assert_eq!(selected.len(), 1, "{selected:?}");
    assert_eq!((selected[0].0.as_slice(), selected[0].1.as_slice()), (&[2, 3][..], &[1][..]));
    // The pairs of a host without any port fail, so the host needs no warning.
    hosts.remove(2);
    hosts[2].devices.clear();
    assert_eq!(missing(&hosts, &[]), []);
}

#[test]
fn a_port_in_a_network_of_no_other_host_is_named() {
    let a = host(&[
        ("rxe0", ROCE, UP, &[("fe80::1", V2), ("::ffff:10.1.1.1", V2)]),
        ("rxe1", ROCE, UP, &[("::ffff:10.1.2.1", V2)]),
    ]);
    let b = host(&[
        ("rxe0", ROCE, UP, &[("::ffff:10.1.11.2", V2)]),
        ("rxe1", ROCE, UP, &[("::ffff:10.1.2.2", V2)]),
    ]);
    let found = missing(&[a, b], &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, [0, 1]);
    assert!(found[0].2.ends_with("n1: rxe0/1 (10.1.1.1), n2: rxe0/1 (10.1.11.2)"), "{found:?}");
}
