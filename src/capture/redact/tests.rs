use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use super::*;
use crate::model::{Reason, Via};
use crate::source::{Attributes, Messages, RdmaCommand, RdmaQuery};

fn redactor(hosts: &[&str]) -> Redactor {
    Redactor { secret: Secret::of(&[9; 32]), names: Names::of(hosts.iter().copied()) }
}

const GUID: u64 = 0x0002_c902_41ab_cdef;
const MAC: u64 = 0x248a_073d_6cd1;
const DIGITS: u64 = 0x5254_0012_3456;
const IP: u32 = 0x0a14_1e28;
const NAMES: [&str; 8] =
    ["gpunode17", "acmelab", "alice", "supersim", "kernmod", "SN12345678", "zaphod", "private"];

fn attribute(kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(4 + payload.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(attributes: &[Vec<u8>]) -> Vec<u8> {
    let payload = attributes.concat();
    let mut bytes = u32::try_from(16 + payload.len()).unwrap().to_ne_bytes().to_vec();
    bytes.extend_from_slice(&[1, 20, 2, 0, 1, 0, 0, 0]);
    bytes.extend_from_slice(&4711_u32.to_ne_bytes());
    bytes.extend_from_slice(&payload);
    bytes
}

fn sockaddr(family: u16, at: usize, address: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 128];
    bytes[..2].copy_from_slice(&family.to_ne_bytes());
    bytes[2..4].copy_from_slice(&[0x1c, 0x06]);
    bytes[at..at + address.len()].copy_from_slice(address);
    bytes
}

fn file(path: &str, text: &str) -> Entry {
    let answer = Ok(text.as_bytes().to_vec());
    Entry { question: Question::File(path.into()), answer, at_ns: Some(7) }
}

/// Returns mount tables with a secret in each field.
fn planted_mounts() -> [Entry; 2] {
    [
        file(
            "/proc/self/mounts",
            "zaphod:/private /home/alice nfs4 rw,vers=4.1,fsc=alice,proto=tcp,port=20049,\
             clientaddr=10.20.30.40,addr=10.20.30.40 0 0\n/dev/acmelab /private ext4 rw 0 0\n\
             10.20.30.40:/supersim /usr/private nfs vers=3,sec=alice,addr=10.20.30.40 0 0\n\
             alice /private 9p trans=rdma,aname=/private 0 0\n",
        ),
        file(
            "/proc/self/mountstats",
            "device /dev/acmelab mounted on /private with fstype ext4\n\txprt:\talice 1\n\
             device zaphod:/private mounted on /home/alice with fstype nfs4 statvers=1.1\n\
             \topts:\trw,fsc=alice\n\txprt:\ttcp 0 0 2\n\txprt:\talice@zaphod 1\n",
        ),
    ]
}

/// Returns a capture with a secret of each kind in each possible place.
fn planted() -> Capture {
    let device = |name: &str| format!("/sys/class/infiniband/mlx5_0/{name}");
    let gid = |low: u64| grouped(u128::from(low) | 0xfe80 << 112, 32);
    let eui = (MAC >> 24) << 40 | 0xfffe << 24 | MAC & 0xff_ffff;
    let slaac = eui ^ 2 << 56;
    let mlx = (MAC >> 24) << 40 | 0x0300 << 24 | MAC & 0xff_ffff;
    let net = "/sys/class/net/enx248a073d6cd1";
    let ipoib = format!("80:00:02:08:{}", pairs(&(u128::from(GUID) | 0xfe80 << 112).to_be_bytes()));
    let texts = [
        file(&device("node_desc"), "gpunode17 HCA-1 zaphod\n"),
        file(&device("hca_type"), "gpunode17 HCA-1 zaphod\n"),
        file(&device("node_guid"), &format!("{}\n", grouped(GUID.into(), 16))),
        file(&device("sys_image_guid"), &format!("{}\n", grouped(mlx.into(), 16))),
        file(&device("ports/1/gids/0"), &format!("{}\n", gid(GUID))),
        file(&device("ports/1/gids/1"), &format!("{}\n", gid(slaac))),
        file(
            &device("ports/1/gids/2"),
            &format!("{}\n", grouped(u128::from(IP) | 0xffff << 32, 32)),
        ),
        file(&device("ports/1/gids/3"), &format!("{}\n", grouped(u128::from(MAC) << 80, 32))),
        file(&device("note"), &format!("at 10.20.30.40:4791, {GUID:#018x} and {MAC:012X}\n")),
        file(&format!("{net}/address"), &format!("{}\n", pairs(&MAC.to_be_bytes()[2..]))),
        file(&format!("{net}/broadcast"), "ff:ff:ff:ff:ff:ff\n"),
        file("/sys/class/net/ib0/address", &format!("{ipoib}\n")),
        file("/sys/class/net/eth1/address", &format!("{}\n", pairs(&DIGITS.to_be_bytes()[2..]))),
        file("/sys/class/net/eth1/note", &format!("{DIGITS:012x}\n")),
        file("/sys/class/net/eth1/ifalias", "uplink of zaphod\n"),
        file("/sys/devices/pci0000:00/0000:00:02.0/serial_number", "SN12345678\n"),
        file("/sys/class/nvme/nvme0/subsysnqn", "nqn.2014-08.com.acmelab:gpunode17:private\n"),
        file("/etc/iscsi/nodes/iqn.2026-01.com.acmelab:zaphod/10.20.30.40,3260,1/default", "x"),
        file("/proc/42/comm", "supersim\n"),
        file("/proc/42/status", "Name:\tsupersim\nTgid:\t42\nUid:\t4711\nGroups: alice\n"),
        file("/proc/42/cmdline", "/home/alice/supersim --private"),
        file("/etc/acmelab.conf", "user=alice\n"),
        file("/home/alice/private", "private"),
    ];
    let mut entries = texts.to_vec();
    entries.extend(planted_mounts());
    let mut answer = |question, answer| entries.push(Entry { question, answer, at_ns: None });
    answer(Question::Dir("/sys/class/net".into()), Ok(b"enx248a073d6cd1\nib0\n".to_vec()));
    let targets = b"discovery_auth\niqn.2026-01.com.acmelab:zaphod\n".to_vec();
    answer(Question::Dir("/sys/kernel/config/target/iscsi".into()), Ok(targets));
    answer(
        Question::Dir("/etc/iscsi/nodes".into()),
        Ok(b"iqn.2026-01.com.acmelab:zaphod\nprivate\n".to_vec()),
    );
    answer(Question::Dir("/home/alice".into()), Ok(b"private\n".to_vec()));
    let link = b"/home/alice/private/x".to_vec();
    answer(Question::Link("/sys/class/net/gpunode17-ib0".into()), Ok(link));
    let why = format!("cannot open /home/alice/lib: device {GUID:#018x} of gpunode17");
    let verbs = serde_json::json!({"unavailable": {"detail": why, "fix": null, "by": "alice"}});
    answer(Question::Verbs, Ok(verbs.to_string().into_bytes()));
    let query = |command| Question::Rdma(RdmaQuery { command, device: Some(0), port: None });
    let devices = message(&[
        attribute(2, b"mlx5_0\0"),
        attribute(6, &GUID.to_ne_bytes()),
        attribute(7, &mlx.to_ne_bytes()),
        attribute(999, b"alice\0"),
    ]);
    answer(query(RdmaCommand::Devices), Ok(devices));
    let inet6 = (0x2001_0db8_u128 << 96 | u128::from(slaac)).to_be_bytes();
    let ib = (u128::from(GUID) | 0xfe80 << 112).to_be_bytes();
    let entry = [
        attribute(33, &sockaddr(2, 4, &IP.to_be_bytes())),
        attribute(34, &sockaddr(10, 8, &inet6)),
        attribute(34, &sockaddr(27, 8, &ib)),
        attribute(29, b"kernmod\0"),
    ];
    let ids = message(&[attribute(30, &attribute(31, &entry.concat()))]);
    answer(query(RdmaCommand::CmIds), Ok(ids));
    answer(query(RdmaCommand::QueuePairs), Err(ReadError::Process("alice said no".into())));
    let head = CapturedHost::new("gpunode17.acmelab.example.com", Via::Agent, Some(5));
    let why = "alice@gpunode17 was refused with /home/alice/.ssh/id_private";
    let dead = CapturedHost::failed("alice@10.20.30.40", HostFailure::new(Reason::Auth, why));
    Capture { taken_ns: 5, hosts: vec![(head, entries), (dead, Vec::new())] }
}

/// Formats `0002:c903:…`.
fn grouped(number: u128, digits: usize) -> String {
    let text = format!("{number:0digits$x}");
    let groups: Vec<&str> = (0..digits / 4).map(|at| &text[at * 4..at * 4 + 4]).collect();
    groups.join(":")
}

/// Formats `00:02:c9:…`.
fn pairs(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(":")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Returns all notations of some bytes: in order and reversed, each as bytes, in hexadecimal, and
/// in base64 at every offset of a group.
fn spellings(bytes: &[u8]) -> Vec<Vec<u8>> {
    let backwards: Vec<u8> = bytes.iter().rev().copied().collect();
    let mut all = Vec::new();
    for bytes in [bytes, &backwards] {
        all.push(bytes.to_vec());
        all.extend(
            [hex(bytes), pairs(bytes), pairs(bytes).replace(':', "-")].map(String::into_bytes),
        );
        let four: Vec<String> = bytes.chunks(2).map(hex).collect();
        all.push(four.join(":").into_bytes());
        for skip in 0..3 {
            let shifted = [&vec![0; skip][..], bytes].concat();
            let coded = STANDARD_NO_PAD.encode(&shifted);
            // The first and last letters contain bits of the neighboring bytes.
            let inner = coded.get((skip * 8).div_ceil(6)..coded.len() - 1).unwrap_or_default();
            all.push(inner.as_bytes().to_vec());
        }
    }
    all.retain(|spelling| spelling.len() > 3);
    all
}

/// Returns the text of the file and the decoded base64, the text also in lower case.
fn haystacks(capture: &Capture) -> Vec<Vec<u8>> {
    let mut text = Vec::new();
    capture.write(&mut text).unwrap();
    let mut all = vec![text.clone(), text.to_ascii_lowercase()];
    for line in String::from_utf8(text).unwrap().lines() {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(coded) = json["base64"].as_str() {
            all.push(STANDARD.decode(coded).unwrap());
        }
    }
    all
}

fn holds(haystacks: &[Vec<u8>], needle: &[u8]) -> bool {
    haystacks.iter().any(|hay| hay.windows(needle.len()).any(|window| window == needle))
}

#[test]
fn no_planted_secret_is_left_in_any_spelling() {
    let before = haystacks(&planted());
    let redacted = planted().redacted().unwrap();
    let after = haystacks(&redacted);
    let mut secrets: Vec<Vec<u8>> = NAMES.iter().map(|name| name.as_bytes().to_vec()).collect();
    secrets.extend([GUID.to_be_bytes().to_vec(), MAC.to_be_bytes()[2..].to_vec()]);
    secrets.extend([DIGITS.to_be_bytes()[2..].to_vec(), IP.to_be_bytes().to_vec()]);
    secrets.push(b"10.20.30.40".to_vec());
    for secret in secrets {
        assert!(
            spellings(&secret).iter().any(|spelling| holds(&before, spelling)),
            "{secret:?} is planted"
        );
        for spelling in spellings(&secret) {
            let shown = String::from_utf8_lossy(&spelling);
            assert!(!holds(&after, &spelling), "{shown} of {secret:?} is left");
        }
    }
    let text = String::from_utf8_lossy(&after[0]).into_owned();
    assert!(text.contains("ff:ff:ff:ff:ff:ff") && text.contains("HCA-1"), "{text}");
    assert_eq!(redacted.hosts[1].0.failure.as_ref().unwrap().reason, Reason::Auth);
}

#[test]
fn a_memory_key_gets_a_pseudonym() {
    const KEY: u32 = 0x0028_2f5e;
    let redactor = redactor(&[]);
    // Numbers: 62 of the region, 42 remote key, 43 local key, 48 local key of the domain.
    let region = |remote: u32| {
        let numbers = [(62, 7), (42, remote), (43, KEY), (48, KEY)];
        let fields =
            numbers.map(|(kind, number): (u16, u32)| attribute(kind, &number.to_ne_bytes()));
        let table = attribute(40, &attribute(41, &fields.concat()));
        let redacted = redactor.rdma(&message(&[table])).unwrap();
        let payload = Messages::new(&redacted).next().unwrap().payload.to_vec();
        let entry = Attributes::new(&payload).get(40).unwrap().nest().next().unwrap();
        [62, 42, 43, 48].map(|kind| entry.nest().get(kind).unwrap().number().unwrap())
    };
    let [number, remote, local, of_domain] = region(KEY);
    assert_eq!((number, remote), (7, local));
    assert_eq!(local, of_domain);
    assert!(remote != u64::from(KEY) && remote > 0, "{remote:#x}");
    assert_eq!(region(0)[1], 0, "no key");
    let too_long = attribute(40, &attribute(41, &attribute(42, &u64::MAX.to_ne_bytes())));
    assert_eq!(redactor.rdma(&message(&[too_long])), None);
}

#[test]
fn every_spelling_of_a_number_has_the_same_pseudonym() {
    let redactor = redactor(&[]);
    let other = redactor.guid(GUID);
    assert_ne!(other, GUID);
    let gid = |low: u64| u128::from(low) | 0xfe80 << 112;
    for (text, expected) in [
        (grouped(GUID.into(), 16), grouped(other.into(), 16)),
        (format!("{GUID:#018x}"), format!("{other:#018x}")),
        (format!("ibx{GUID:016x}"), format!("ibx{other:016x}")),
        (pairs(&GUID.to_be_bytes()), pairs(&other.to_be_bytes())),
        (grouped(gid(GUID), 32), grouped(gid(other), 32)),
        (format!("{:032x}", gid(GUID)), format!("{:032x}", gid(other))),
        (
            format!("80:00:02:08:{}", pairs(&gid(GUID).to_be_bytes())),
            format!("80:00:02:08:{}", pairs(&gid(other).to_be_bytes())),
        ),
    ] {
        assert_eq!(redactor.text(&text), expected, "{text}");
    }
}

#[test]
fn values_derived_from_a_mac_address_use_its_pseudonym() {
    let redactor = redactor(&[]);
    let mac = redactor.mac(MAC);
    let eui = |mac: u64, middle: u64| (mac >> 24) << 40 | middle << 24 | mac & 0xff_ffff;
    assert_ne!(mac, MAC);
    assert_eq!(redactor.guid(eui(MAC, 0xfffe)), eui(mac, 0xfffe));
    assert_eq!(redactor.guid(eui(MAC, 0xfffe) ^ 2 << 56), eui(mac, 0xfffe) ^ 2 << 56);
    assert_eq!(redactor.guid(eui(MAC, 0x0300)), eui(mac, 0x0300));
    assert_eq!(redactor.gid(u128::from(MAC) << 80), u128::from(mac) << 80);
    assert_eq!(redactor.token("enx248a073d6cd1"), format!("enx{mac:012x}"));
}

#[test]
fn networks_keep_who_is_in_them_and_kinds_stay() {
    let redactor = redactor(&[]);
    let ip = |text: &str| u32::from(text.parse::<std::net::Ipv4Addr>().unwrap());
    let common = |one: u32, other: u32| (one ^ other).leading_zeros();
    let hosts = ["10.9.0.1", "10.9.0.2", "10.9.1.1", "10.8.0.1", "192.168.1.7", "131.2.3.4"];
    for one in hosts {
        for other in hosts {
            let (a, b) = (ip(one), ip(other));
            assert_eq!(common(redactor.ipv4(a), redactor.ipv4(b)), common(a, b), "{one} {other}");
        }
        assert_eq!(redactor.ipv4(ip(one)) >> 24 == 10, ip(one) >> 24 == 10, "{one}");
    }
    for same in ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.0"] {
        assert_eq!(redactor.ipv4(ip(same)), ip(same), "{same}");
    }
    for same in ["::", "::1", "fe80::", "ff02::1", "ff12:401b:ffff::1"] {
        assert_eq!(redactor.text(same), same);
    }
    let mapped = redactor.gid(0xffff << 32 | u128::from(IP));
    assert_eq!(mapped, 0xffff << 32 | u128::from(redactor.ipv4(IP)));
    let [one, other] = ["2001:db8:1:2::5", "2001:db8:1:2::6"].map(|text| redactor.text(text));
    let network = |text: &str| u128::from(text.parse::<std::net::Ipv6Addr>().unwrap()) >> 64;
    assert_eq!(network(&one), network(&other));
    assert_eq!(network(&one) >> 61, 1, "{one} is a global address");
    assert_ne!((one, other), ("2001:db8:1:2::5".into(), "2001:db8:1:2::6".into()));
}

#[test]
fn values_that_look_like_addresses_are_kept() {
    let redactor = redactor(&["n1", "4", "active", "eth0-store"]);
    for text in ["4: ACTIVE", "123456789012", "1234567890123456", "0000:82:00.0", "0x2651e84a"] {
        assert_eq!(redactor.text(text), text);
    }
    let path = "../../devices/pci0000:80/0000:80:02.2/0000:82:00.0/infiniband/mlx5_0";
    assert_eq!(redactor.path(path), path);
    let version = redactor.file("/sys/class/infiniband/b0/fw_ver", b"227.0.131.0\n");
    assert_eq!(version, Some(b"227.0.131.0\n".to_vec()));
    let counter = "/sys/class/infiniband/b0/ports/1/counters/port_rcv_data";
    assert_eq!(redactor.file(counter, b"248073003646\n"), Some(b"248073003646\n".to_vec()));
    assert_eq!(redactor.program("kworker/0:1H"), "kworker/0:1H");
    assert_eq!(redactor.program("python3.11"), "python3.11");
    assert_ne!(redactor.program("python-alice"), "python-alice");
}

#[test]
fn a_server_has_one_address_whether_a_mount_names_it_or_not() {
    let redactor = redactor(&["stor1"]);
    let mounts = "#c\nstor1:/e /mnt/a nfs4 rw,proto=tcp,addr=10.9.0.1 0 0\n\
                  10.9.0.1:/e /mnt/b nfs4 rw,proto=rdma,port=20049,addr=10.9.0.1 0 0\n\
                  [fe80::1%eth0]:/e /mnt/c nfs4 rw,addr=fe80::1%eth0 0 0\n\
                  tmpfs /tmp tmpfs rw,size=4g 0 0\n";
    let text = redactor.mounts(mounts);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let address = redactor.text("10.9.0.1");
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!((lines[0][0], lines[4][0]), ("#", "#"));
    assert_eq!(lines[1][0].split(':').next(), Some(redactor.host_name("stor1").as_str()));
    assert!(lines[2][0].starts_with(&format!("{address}:/")), "{text}");
    for line in &lines[1..3] {
        assert!(line[3].ends_with(&format!("addr={address}")), "{text}");
    }
    assert!(lines[3][0].starts_with("[fe80:") && lines[3][0].contains("%eth0]:/"), "{text}");
    let statistics = redactor.mount_statistics(
        "device stor1:/e mounted on /mnt/a with fstype nfs4 statvers=1.1\n\txprt:\ttcp 0 0 2\n",
    );
    let (device, place) = (lines[1][0], lines[1][1]);
    let expected =
        format!("device {device} mounted on {place} with fstype nfs4\n\txprt:\ttcp 0 0 2\n");
    assert_eq!(statistics, expected);
}

#[test]
fn a_session_of_iscsi_is_joined_with_its_record() {
    let redactor = redactor(&[]);
    let (target, portal) = ("iqn.2026-01.com.acmelab:zaphod", "10.20.30.40,3260,1");
    let path = redactor.path(&format!("/etc/iscsi/nodes/{target}/{portal}/iface-alice"));
    let parts: Vec<&str> = path.split('/').collect();
    let class = "/sys/class/iscsi_";
    let text = |file: &str, text: &str| {
        let bytes = redactor.file(&format!("{class}{file}"), text.as_bytes()).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(parts[4], text("session/session1/targetname", &format!("{target}\n")).trim());
    let address = text("connection/connection1:0/persistent_address", "10.20.30.40\n");
    assert_eq!(parts[5], format!("{},3260,1", address.trim()));
    assert!(!path.contains("alice"), "{path}");
    let names = |path: &str, names: &str| {
        String::from_utf8(redactor.listing(path, names.as_bytes()).unwrap()).unwrap()
    };
    assert_eq!(names("/etc/iscsi/nodes", &format!("{target}\n")), format!("{}\n", parts[4]));
    let folder = format!("/etc/iscsi/nodes/{target}");
    assert_eq!(names(&folder, &format!("{portal}\n")), format!("{}\n", parts[5]));
    let interfaces = names(&format!("{folder}/{portal}"), "default\niface-alice\n");
    assert_eq!(interfaces, format!("default\n{}\n", parts[6]));
    let moved = redactor.path(&format!("/var/lib/iscsi/nodes/{target}/{portal}/iface-alice"));
    assert_eq!(moved.strip_prefix("/var/lib"), path.strip_prefix("/etc"));
    let of_ipv6 = redactor.path("/etc/iscsi/nodes/zaphod/2001:db8::7,3260,1");
    assert!(of_ipv6.ends_with(",3260,1") && !of_ipv6.contains("db8::7"), "{of_ipv6}");
    assert!(!of_ipv6.contains("zaphod"), "{of_ipv6}");
    let record = "node.session.auth.password = private\niface.transport_name = iser\n\
                  iface.initiatorname = alice\n";
    let kept = redactor.file(&format!("{folder}/{portal}/default"), record.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), "iface.transport_name = iser\n");
    let odd = redactor.file(&format!("{folder}/{portal}/x"), b"iface.transport_name = alice\n");
    assert_eq!(odd.unwrap(), b"");
}

#[test]
fn names_that_an_administrator_chose_are_replaced_in_system_directories() {
    let redactor = redactor(&[]);
    for kept in [
        "/etc",
        "/etc/fstab",
        "/etc/systemd/system/sockets.target.wants",
        "/etc/libibverbs.d/mlx5.driver",
        "/etc/nvme/config.json",
        "/proc/fs/nfsd/clients/3/info",
        "/sys/fs/lustre/osc",
        "/sys/fs/cgroup/system.slice/opensm.service",
    ] {
        assert_eq!(redactor.path(kept), kept);
    }
    for (path, start) in [
        ("/etc/systemd/system/home-alice.mount", "/etc/systemd/system/p"),
        ("/etc/auto.alice", "/etc/p"),
        ("/etc/beegfs/alice.conf", "/etc/beegfs/p"),
        ("/proc/fs/beegfs/1-2-alice/config", "/proc/fs/beegfs/p"),
        ("/sys/fs/lustre/osc/alice-OST0000/import", "/sys/fs/lustre/osc/p"),
        ("/sys/fs/cgroup/system.slice/alice.service", "/sys/fs/cgroup/system.slice/p"),
    ] {
        let redacted = redactor.path(path);
        assert!(redacted.starts_with(start) && !redacted.contains("alice"), "{redacted}");
        assert_eq!(redacted, redactor.path(path));
    }
    let folder = "/sys/fs/cgroup/system.slice";
    let units = redactor.listing(folder, b"opensm.service\nalice.service\n").unwrap();
    let expected = redactor.path(&format!("{folder}/alice.service"));
    let expected = expected.strip_prefix(&format!("{folder}/")).unwrap();
    assert_eq!(String::from_utf8(units).unwrap(), format!("opensm.service\n{expected}\n"));
    let folder = "/etc/systemd/system/sockets.target.wants";
    let units = redactor.listing(folder, b"alice.socket\nibacm.socket\n").unwrap();
    let expected = redactor.path(&format!("{folder}/alice.socket"));
    let expected = expected.strip_prefix(&format!("{folder}/")).unwrap();
    assert_eq!(String::from_utf8(units).unwrap(), format!("{expected}\nibacm.socket\n"));
    assert_eq!(redactor.listing("/etc/systemd/system", b"alice.service\n"), None);
    assert_eq!(redactor.file("/sys/fs/lustre/osc/alice/import", b"target: alice"), None);
}

#[test]
fn a_host_has_one_pseudonym_wherever_it_is_named() {
    let redactor = redactor(&["n17.acmelab.example.com", "n18"]);
    let name = redactor.label("n17");
    assert!(redactor.host_name("N17.acmelab.example.com").starts_with(&format!("{name}.")));
    assert!(redactor.host_name("n17:2222").eq(&format!("{name}:2222")));
    assert_eq!(redactor.description("n17 mlx5_0\n"), format!("{name} mlx5_0\n"));
    assert_eq!(redactor.text("n17-ib0 and n170"), format!("{name}-ib0 and n170"));
    assert_ne!(redactor.host_name("n18"), redactor.host_name("n17"));
    assert!(redactor.host_name("/home/alice/tree").starts_with("/home/p"));
}

#[test]
fn types_of_cards_stay_and_descriptions_in_their_place_go() {
    let redactor = redactor(&["n7"]);
    let path = "/sys/class/infiniband/ionic_0/hca_type";
    let of = |text: &str| String::from_utf8(redactor.file(path, text.as_bytes()).unwrap()).unwrap();
    for text in [
        "MT4129\n",
        "FastLinQ QL41262 RoCE\n",
        "Broadcom NetXtreme-C/E RoCE Driver HCA\n",
        "AMD Pensando\n",
        "OneConnect OCe14401\n",
        "InfiniPath_QLE7340\n",
        "VMW_PVRDMA-1.0.1.0-k\n",
        "0x1760\n",
        "I40IW\n",
        "cxgb4\n",
    ] {
        assert_eq!(of(text), text);
    }
    let hidden = of("zaphod ionic_0\n");
    assert!(!hidden.contains("zaphod"), "{hidden}");
}
