//! Tests that each list beyond its limit is reported.

use std::fmt::Write as _;

use super::host_report;
use crate::model::{HostReport, Part, Via};
use crate::source::{Answer, Question, RdmaCommand, RdmaQuery, ReadError, Source};

/// Machine whose only files are the files that a test names.
struct Machine(Vec<(Question, Answer)>);

impl Source for Machine {
    fn ask(&self, question: &Question) -> Answer {
        let known = self.0.iter().find(|(known, _)| known == question);
        known.map_or_else(|| Err(ReadError::from("ENOENT".to_owned())), |(_, reply)| reply.clone())
    }

    fn taken_ns(&self) -> Option<u64> {
        None
    }

    fn answered_ns(&self, _question: &Question) -> Option<u64> {
        None
    }
}

pub(super) fn report(part: Part, answers: Vec<(Question, Vec<u8>)>) -> HostReport {
    report_of(part, answers.into_iter().map(|(question, text)| (question, Ok(text))).collect())
}

/// Returns the report of a machine whose files may be unreadable. Of several replies to one
/// question, the first one counts.
pub(super) fn report_of(part: Part, answers: Vec<(Question, Answer)>) -> HostReport {
    host_report(&Machine(answers), &[part].into_iter().collect(), "n1", Via::Agent)
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut all = String::new();
    for number in 0..count {
        let _ = writeln!(all, "{}", line(number));
    }
    all.into_bytes()
}

pub(super) fn dir(path: &str) -> Question {
    Question::Dir(path.into())
}

fn file(path: &str) -> Question {
    Question::File(path.into())
}

/// Checks that `limit` entries are no problem with `path`, and that one entry more is.
fn check(
    part: Part,
    path: &str,
    limit: usize,
    answers: impl Fn(usize) -> Vec<(Question, Vec<u8>)>,
) {
    let about = |count: usize| {
        let report = report(part, answers(count));
        let details = report.problems.iter().map(|problem| problem.detail.clone());
        details.filter(|detail| detail.starts_with(path)).collect::<Vec<_>>()
    };
    assert_eq!(about(limit), [""; 0], "{path}");
    let more = format!("{path} has more than {limit} entries; the rest is not read");
    assert_eq!(about(limit + 1), [more]);
}

#[test]
fn a_list_of_consumers_beyond_its_limit_is_reported() {
    for (path, limit) in [
        ("/sys/class/nvme", 16_384),
        ("/sys/kernel/config/nvmet/ports", 16_384),
        ("/sys/class/iscsi_session", 16_384),
    ] {
        check(Part::Connections, path, limit, |count| {
            vec![(dir(path), lines(count, |number| format!("x{number}")))]
        });
    }
    let mounts = "/proc/self/mounts";
    check(Part::Connections, mounts, 65_536, |count| {
        vec![(file(mounts), lines(count, |number| format!("none /m{number} tmpfs rw 0 0")))]
    });
}

#[test]
fn iscsi_records_are_reported_beyond_their_limit_only() {
    let nodes = "/etc/iscsi/nodes";
    check(Part::Connections, nodes, 16_384, |count| {
        let portal = format!("{nodes}/iqn.x/10.0.0.1,3260,1");
        let record = file(&format!("{portal}/default"));
        vec![
            (dir("/sys/class/iscsi_session"), b"session1\n".to_vec()),
            (dir(nodes), b"iqn.x\n".to_vec()),
            (record, b"iface.transport_name = tcp\n".to_vec()),
            (dir(&format!("{nodes}/iqn.x")), b"10.0.0.1,3260,1\n".to_vec()),
            // One record is listed many times, so that the machine needs no file for each.
            (dir(&portal), lines(count, |_| "default".into())),
        ]
    });
}

/// Returns netlink attributes: each a kind and a payload.
fn attributes(all: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, payload) in all {
        let length = u16::try_from(4 + payload.len()).unwrap();
        body.extend(length.to_ne_bytes().into_iter().chain(kind.to_ne_bytes()));
        body.extend(payload);
        body.resize(body.len().next_multiple_of(4), 0);
    }
    body
}

fn message(all: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let body = attributes(all);
    let mut whole = u32::try_from(16 + body.len()).unwrap().to_ne_bytes().to_vec();
    whole.extend([0x01, 0x14, 2, 0]);
    whole.extend([0; 8]);
    whole.extend(body);
    whole
}

pub(super) fn netlink_devices(count: u32) -> Vec<u8> {
    let device = |index: u32| {
        message(&[(1, index.to_ne_bytes().to_vec()), (2, format!("rxe{index}\0").into_bytes())])
    };
    (0..count).flat_map(device).collect()
}

#[test]
fn a_netlink_list_of_devices_beyond_its_limit_is_reported() {
    let query = RdmaQuery { command: RdmaCommand::Devices, device: None, port: None };
    check(Part::Resources, &query.to_string(), 4096, |count| {
        let devices = netlink_devices(u32::try_from(count).unwrap());
        vec![
            (dir("/sys/module/ib_core"), b"parameters\n".to_vec()),
            (dir("/sys/class/infiniband"), Vec::new()),
            (Question::Rdma(query), devices),
        ]
    });
}

#[test]
fn a_netlink_list_of_counters_beyond_its_limit_is_reported() {
    let device = "/sys/class/infiniband/rxe0";
    let query = |command, device, port| RdmaQuery { command, device, port };
    let counters = query(RdmaCommand::Counters, Some(0), Some(1));
    check(Part::Counters, &counters.to_string(), 4096, |count| {
        let counter = |number: usize| {
            let name = format!("c{number}\0").into_bytes();
            let value = 7_u64.to_ne_bytes().to_vec();
            message(&[(80, attributes(&[(81, attributes(&[(82, name), (83, value)]))]))])
        };
        vec![
            (dir("/sys/class/infiniband"), b"rxe0\n".to_vec()),
            (dir(&format!("{device}/ports")), b"1\n".to_vec()),
            (dir(&format!("{device}/ports/1/hw_counters")), Vec::new()),
            (Question::Rdma(query(RdmaCommand::Devices, None, None)), netlink_devices(1)),
            (Question::Rdma(counters), (0..count).flat_map(counter).collect()),
        ]
    });
}

#[test]
fn ports_of_management_datagrams_beyond_their_limit_are_reported() {
    let ports = Question::MadPorts;
    check(Part::Fabric, &ports.to_string(), 64, |count| {
        let line = |number| format!("umad{number} mlx5_{number} 1 Ethernet 4 5");
        vec![(ports.clone(), lines(count, line))]
    });
}

#[test]
fn older_lines_of_a_log_are_reported() {
    let log = |count: usize| {
        let report = report(
            Part::Connections,
            vec![
                (file("/proc/self/mounts"), Vec::new()),
                (dir("/sys/module"), Vec::new()),
                (dir("/proc/fs"), b"beegfs\n".to_vec()),
                (dir("/proc/fs/beegfs"), b"1-2-n1\n".to_vec()),
                (Question::KernelLog("beegfs: ".into()), lines(count, |_| "beegfs: x".into())),
            ],
        );
        report.problems.iter().map(|problem| problem.detail.clone()).collect::<Vec<_>>()
    };
    assert_eq!(log(4096), [""; 0]);
    let more = "/dev/kmsg, lines that start with \"beegfs:\": more than 4096 lines; older lines \
                are not used";
    assert_eq!(log(4097), [more]);
}
