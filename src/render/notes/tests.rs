//! Tests of notes.

use super::*;

fn denied(key: &str) -> Problem {
    let source = format!("/sys/{key}");
    Problem {
        key: key.into(),
        errno: Some("EACCES".into()),
        detail: format!("cannot read {source}: EACCES (permission denied)"),
        source,
        fix: None,
        not_recorded: false,
    }
}

#[test]
fn a_table_whose_entries_are_refused_is_one_note() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    let keys = ["a/1/gids/0", "a/1/gids/1", "a/1/state", "a/1/lid", "a/1/gids/2", "a/2/gids/0"];
    report.problems = keys.into_iter().map(denied).collect();
    let texts: Vec<String> =
        notes(&[report], false, false).into_iter().map(|note| note.text).collect();
    assert_eq!(
        texts,
        [
            "a/1/gids/0: cannot read /sys/a/1/gids/0: EACCES (permission denied), and 2 more values",
            "a/1/lid: cannot read /sys/a/1/lid: EACCES (permission denied)",
            "a/1/state: cannot read /sys/a/1/state: EACCES (permission denied)",
            "a/2/gids/0: cannot read /sys/a/2/gids/0: EACCES (permission denied)",
        ]
    );
}

#[test]
fn device_files_that_cannot_be_opened_are_one_note_for_each_host() {
    let report = |host: &str, files: u32| {
        let mut report = HostReport::empty(host, Via::Agent);
        let file = |number: u32| {
            let path = format!("/dev/infiniband/uverbs{number}");
            let reason = "ENOENT (no such file or directory)";
            Problem::of_device_file(&format!("mlx5_{number}"), &path, "ENOENT", reason)
        };
        report.problems = (0..files).map(file).collect();
        report
    };
    let told = |reports: &[HostReport]| {
        let notes = notes(reports, true, false).into_iter();
        notes.map(|note| note.text).collect::<Vec<_>>()
    };
    let what =
        "mlx5_0/verbs: cannot open /dev/infiniband/uverbs0: ENOENT (no such file or directory)";
    assert_eq!(told(&[report("n1", 1)]), [format!("n1: {what}")]);
    assert_eq!(
        told(&[report("n1", 8), report("n2", 8), report("n3", 2)]),
        [
            format!("n[1-2]: {what}, and 7 more device files"),
            format!("n3: {what}, and 1 more device file"),
        ]
    );
}

#[test]
fn missing_data_of_a_capture_is_one_note_after_the_problems() {
    let missing = |key: &str| Problem { not_recorded: true, errno: None, ..denied(key) };
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    let keys = ["consumers/a", "consumers/b/1", "consumers/b/2", "consumers/c", "resources"];
    report.problems = keys.into_iter().map(missing).chain([denied("mlx5_0/1/state")]).collect();
    let told = |report: &HostReport, is_verbose| -> Vec<String> {
        let notes = notes(std::slice::from_ref(report), true, is_verbose).into_iter();
        notes.map(|note| note.text).collect()
    };
    assert_eq!(
        told(&report, false),
        [
            "n1: mlx5_0/1/state: cannot read /sys/mlx5_0/1/state: EACCES (permission denied)",
            "n1: the file lacks data of consumers/a, consumers/b, consumers/c and 1 more; -v lists the reasons",
        ]
    );
    assert_eq!(told(&report, true).len(), 6);
    report.problems = vec![missing("resources")].into();
    assert_eq!(told(&report, false).len(), 1, "one is told as it is");
}

#[test]
fn data_that_needs_rdmactl_on_hosts_is_one_note() {
    let needed = |source: &str, key: &str| Problem {
        source: source.into(),
        errno: None,
        detail: format!("cannot read {source}: {}", crate::model::NEEDS_PROGRAM),
        ..denied(key)
    };
    let report = |host: &str| {
        let mut report = HostReport::empty(host, Via::Shell);
        report.problems = vec![
            needed("RDMA netlink, queue pairs", "resources/qp"),
            needed("RDMA netlink, memory regions", "resources/mr"),
            needed("sock_diag, TCP over IPv4", "consumers/tcp4"),
            needed("/proc/PID/fd", "consumers/holders"),
        ]
        .into();
        report
    };
    let told = |hosts: &[&str]| {
        let reports: Vec<HostReport> = hosts.iter().copied().map(report).collect();
        let notes = notes(&reports, true, false).into_iter();
        notes.map(|note| note.text).collect::<Vec<_>>()
    };
    let what = "sockets, open files and RDMA objects are not read: rdmactl is not on";
    assert_eq!(told(&["n1", "n2", "n3", "n4"]), [format!("n[1-4]: {what} these hosts")]);
    assert_eq!(told(&["n1"]), [format!("n1: {what} this host")]);
    assert_eq!(
        notes(&[report("n1")], true, true).len(),
        1,
        "-v adds nothing that a person can act on"
    );
    // A recording of a shell lacks the same data.
    let mut recorded = report("n1");
    recorded.problems = vec![
        Problem { not_recorded: true, ..denied("resources/qp") },
        Problem { not_recorded: true, ..denied("resources/mr") },
    ]
    .into();
    let fixes: Vec<_> = notes(&[recorded], true, false).into_iter().map(|note| note.fix).collect();
    assert_eq!(fixes, [Some("add --upload, or install rdmactl on the host".to_owned())]);
}

#[test]
fn data_that_redact_removed_needs_no_fix() {
    let mut report = HostReport::empty("n1", Via::File);
    let redacted = |key: &str, source: &str| Problem {
        source: source.into(),
        not_recorded: true,
        errno: None,
        detail: format!("cannot read {source}: {}", crate::model::REDACTED),
        ..denied(key)
    };
    report.problems = vec![
        redacted("consumers/autofs", "/etc"),
        redacted("consumers/sockets", "/proc/net/tcp"),
        redacted("consumers/sockets", "/proc/net/tcp6"),
        redacted("consumers/units", "/etc/systemd/system"),
    ]
    .into();
    let notes = notes(&[report], true, false);
    assert_eq!(notes[0].fix, None);
    let text = "n1: capture --redact removed sockets, systemd units and files in /etc";
    assert_eq!((notes.len(), notes[0].text.as_str()), (1, text));
}

#[test]
fn equal_notes_of_several_hosts_name_the_set() {
    let report = |host: &str| {
        let mut report = HostReport::empty(host, Via::Agent);
        report.problems = vec![denied("mlx5_0/1/lid")].into();
        report
    };
    let told = |names: &[String]| {
        let reports: Vec<HostReport> = names.iter().map(|name| report(name)).collect();
        notes(&reports, true, false)[0].text.clone()
    };
    let rest = "mlx5_0/1/lid: cannot read /sys/mlx5_0/1/lid: EACCES (permission denied)";
    assert_eq!(told(&["n1".into(), "n2".into()]), format!("n[1-2]: {rest}"));
    // A set that cannot be folded would fill the screen.
    let names: Vec<String> =
        (b'a'..=b'z').map(|letter| char::from(letter).to_string().repeat(3)).collect();
    assert_eq!(told(&names), format!("aaa and 25 more: {rest}"));
}

#[test]
fn a_host_without_devices_misses_no_library() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    report.rdma_core = Some(false);
    report.verbs = VerbsState::Unavailable { detail: "no ib_uverbs".into(), fix: None };
    let notes = notes(&[report], false, false);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].text.starts_with("no RDMA device"), "{notes:?}");
}

#[test]
fn a_flood_of_problems_ends_with_their_number() {
    let mut report = HostReport::empty("n1", crate::model::Via::Local);
    report.rdma_core = None;
    report.problems = (0..MAX + 5)
        .map(|number| crate::model::Problem {
            key: format!("mlx5_0/1/gids/{number}"),
            source: String::new(),
            errno: None,
            detail: "unreadable".into(),
            fix: None,
            not_recorded: false,
        })
        .collect();
    let notes = notes(&[report], false, false);
    assert_eq!(notes.len(), MAX + 1);
    assert_eq!(notes[MAX].text, "5 more problems");
}
