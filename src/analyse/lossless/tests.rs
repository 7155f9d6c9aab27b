use super::*;
use crate::model::{Bond, NetdevKind, Problem, Via};

fn app(dscp: u16, priority: u8) -> DcbApp {
    DcbApp { selector: DcbSelector::Dscp, protocol: dscp, priority }
}

fn dcb(enabled: &[u8], apps: Vec<DcbApp>) -> Dcb {
    let pfc = Pfc {
        capability: 8,
        enabled: enabled.to_vec(),
        delay_bits: 0,
        requests: [0; 8],
        indications: [0; 8],
    };
    Dcb { pfc: Some(pfc), apps, ..Dcb::default() }
}

fn pause(autoneg: bool, rx: bool, tx: bool) -> Pause {
    let (autoneg, rx, tx) = (Some(autoneg), Some(rx), Some(tx));
    Pause { autoneg, rx, tx, rx_frames: None, tx_frames: None }
}

fn ethernet(dcb: Option<Dcb>, pause: Option<Pause>) -> Ethernet {
    Ethernet { pause, dcb, ..Ethernet::default() }
}

fn netdev(name: &str, ethernet: Option<Ethernet>) -> Netdev {
    Netdev { name: name.into(), kind: Some(NetdevKind::Ethernet), ethernet, ..Netdev::default() }
}

/// Returns a host with one `RoCE` port on the first of these interfaces.
fn host(netdevs: Vec<Netdev>, tos: Option<u32>) -> HostReport {
    let port = serde_json::json!({
        "number": 1, "protocol": "roce", "gids": [], "netdev": netdevs[0].name,
        "default_roce_tos": tos,
    });
    let device = serde_json::json!({ "name": "mlx5_0", "ports": [port] });
    HostReport {
        devices: vec![serde_json::from_value(device).unwrap()],
        netdevs: Some(netdevs.into()),
        ..HostReport::empty("n1", Via::Local)
    }
}

fn verdict(report: &HostReport) -> LosslessVerdict {
    judge(report, &report.devices[0], &report.devices[0].ports[0])
}

fn single(ethernet: Ethernet, tos: Option<u32>) -> LosslessVerdict {
    verdict(&host(vec![netdev("eth0", Some(ethernet))], tos))
}

#[test]
fn the_type_of_service_leads_to_the_priority() {
    let with_map = || ethernet(Some(dcb(&[3], vec![app(26, 3), app(48, 6)])), None);
    let judged = single(with_map(), Some(106));
    assert_eq!(judged.verdict, Losslessness::Lossless, "{}", judged.why);
    assert_eq!((judged.tos, judged.dscp, judged.priority), (Some(106), Some(26), Some(3)));
    let judged = single(with_map(), Some(192));
    assert_eq!((judged.verdict, judged.priority), (Losslessness::Lossy, Some(6)));
    // The default of the kernel is DSCP 0.
    let judged = single(with_map(), None);
    assert_eq!((judged.verdict, judged.priority), (Losslessness::Lossy, Some(0)));
    let fix = judged.fix.unwrap();
    assert!(fix.ends_with("echo 104 > /sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos"));
}

#[test]
fn an_interface_that_trusts_the_tag_ignores_the_dscp() {
    let trusting = |word: &str| {
        let dcb = dcb(&[3], vec![app(26, 3)]);
        ethernet(Some(Dcb { trust: Some(vec![word.into()]), ..dcb }), None)
    };
    assert_eq!(single(trusting("dscp"), Some(104)).verdict, Losslessness::Lossless);
    assert_eq!(single(trusting("pcp"), Some(104)).verdict, Losslessness::Lossy);
}

#[test]
fn a_default_priority_counts_where_no_rule_does() {
    let default = DcbApp { selector: DcbSelector::Ethertype, protocol: 0, priority: 3 };
    let judged = single(ethernet(Some(dcb(&[3], vec![default])), None), None);
    assert_eq!((judged.verdict, judged.priority), (Losslessness::Lossless, Some(3)));
}

#[test]
fn pause_in_both_directions_covers_everything() {
    let of = |pause| single(ethernet(Some(dcb(&[], Vec::new())), pause), None).verdict;
    assert_eq!(of(Some(pause(false, true, true))), Losslessness::Lossless);
    assert_eq!(of(Some(pause(false, true, false))), Losslessness::Lossy);
    assert_eq!(of(Some(pause(false, false, false))), Losslessness::Lossy);
    assert_eq!(of(Some(pause(true, true, true))), Losslessness::Unknown);
    assert_eq!(of(None), Losslessness::Lossy);
}

#[test]
fn without_data_of_the_driver_the_verdict_is_unknown() {
    assert_eq!(single(ethernet(None, None), None).verdict, Losslessness::Unknown);
    let report = host(vec![netdev("eth0", None)], None);
    assert_eq!(verdict(&report).verdict, Losslessness::Unknown);
}

#[test]
fn a_bond_is_as_good_as_its_worst_member() {
    let member = |name: &str, enabled: &[u8]| {
        netdev(name, Some(ethernet(Some(dcb(enabled, vec![app(26, 3)])), None)))
    };
    let bond = |members: Vec<Netdev>| {
        let names = members.iter().map(|member| member.name.clone()).collect();
        let bond = Bond { mode: None, members: names, active: None };
        let master = Netdev { bond: Some(bond), ..netdev("bond0", Some(Ethernet::default())) };
        verdict(&host([vec![master], members].concat(), Some(104)))
    };
    let good = bond(vec![member("a", &[3]), member("b", &[3])]);
    assert_eq!(good.verdict, Losslessness::Lossless);
    let bad = bond(vec![member("a", &[3]), member("b", &[4])]);
    assert_eq!(bad.verdict, Losslessness::Lossy);
    assert!(bad.why.contains("has priority 3 on b"), "{}", bad.why);
    assert_eq!(bond(Vec::new()).verdict, Losslessness::Unknown);
}

#[test]
fn a_bond_with_many_members_is_unknown() {
    let judged = |count: usize| {
        let member = netdev("a", Some(ethernet(Some(dcb(&[3], vec![app(26, 3)])), None)));
        let bond = Bond { mode: None, members: vec!["a".into(); count], active: None };
        let master = Netdev { bond: Some(bond), ..netdev("bond0", Some(Ethernet::default())) };
        verdict(&host(vec![master, member], Some(104)))
    };
    assert_eq!(judged(MAX_MEMBERS).verdict, Losslessness::Lossless);
    let judged = judged(MAX_MEMBERS + 1);
    assert_eq!(judged.verdict, Losslessness::Unknown);
    assert_eq!(judged.why, "the bond bond0 has more than 32 members");
}

#[test]
fn an_interface_with_many_rules_is_unknown() {
    let judged =
        |count: usize| single(ethernet(Some(dcb(&[3], vec![app(26, 3); count])), None), Some(104));
    assert_eq!(judged(MAX_RULES).verdict, Losslessness::Lossless);
    let judged = judged(MAX_RULES + 1);
    assert_eq!(judged.verdict, Losslessness::Unknown);
    assert_eq!(judged.why, "eth0 has more than 1024 DCB rules");
}

#[test]
fn no_type_of_service_is_made_of_a_value_that_is_no_dscp() {
    let fix = |apps| {
        let link = netdev("eth0", Some(ethernet(Some(dcb(&[3], apps)), None)));
        verdict(&host(vec![link], Some(0))).fix.unwrap()
    };
    assert!(fix(vec![app(26, 3)]).contains("echo 104 >"));
    assert_eq!(fix(vec![app(0xffff, 3)]), "dcb app add dev eth0 dscp-prio 0:3");
}

#[test]
fn unreadable_setting_makes_the_lossless_verdict_unknown() {
    let good = || {
        let dcb = dcb(&[3], vec![app(26, 3)]);
        host(
            vec![netdev("eth0", Some(ethernet(Some(dcb), Some(pause(false, true, true)))))],
            Some(104),
        )
    };
    assert_eq!(verdict(&good()).verdict, Losslessness::Lossless);
    for key in [
        "netdevs/eth0",
        "netdevs/eth0/ethernet",
        "netdevs/eth0/ethernet/dcb",
        "netdevs/eth0/ethernet/pause",
        "netdevs/eth0/bond/members",
        "mlx5_0/1/default_roce_tos",
    ] {
        let problem = Problem {
            key: key.into(),
            source: "x".into(),
            errno: Some("EPERM".into()),
            detail: "x".into(),
            fix: None,
            not_recorded: false,
        };
        let report = HostReport { problems: vec![problem].into(), ..good() };
        assert_eq!(verdict(&report).verdict, Losslessness::Unknown, "{key}");
    }
}

#[test]
fn other_links_need_no_such_class() {
    for protocol in ["ib", "opa", "iwarp", "efa"] {
        let mut report = host(vec![netdev("x", None)], None);
        report.devices[0].ports[0].protocol =
            serde_json::from_value(serde_json::json!(protocol)).unwrap();
        assert_eq!(verdict(&report).verdict, Losslessness::NotApplicable, "{protocol}");
    }
}
