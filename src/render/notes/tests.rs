use super::*;
use crate::model::Reason;

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

fn report(host: &str, via: Via, problems: impl IntoIterator<Item = Problem>) -> HostReport {
    HostReport { problems: problems.into_iter().collect(), ..HostReport::empty(host, via) }
}

fn texts(reports: &[HostReport], hosts_named: bool, is_verbose: bool) -> Vec<String> {
    notes(reports, hosts_named, is_verbose).into_iter().map(|note| note.text).collect()
}

#[test]
fn a_table_whose_entries_are_refused_is_one_note() {
    let keys = ["a/1/gids/0", "a/1/gids/1", "a/1/state", "a/1/lid", "a/1/gids/2", "a/2/gids/0"];
    let report = report("n1", Via::Local, keys.map(denied));
    assert_eq!(
        texts(&[report], false, false),
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
        let file = |number: u32| {
            let path = format!("/dev/infiniband/uverbs{number}");
            let reason = "ENOENT (no such file or directory)";
            Problem::of_device_file(&format!("mlx5_{number}"), &path, "ENOENT", reason)
        };
        report(host, Via::Agent, (0..files).map(file))
    };
    let what =
        "mlx5_0/verbs: cannot open /dev/infiniband/uverbs0: ENOENT (no such file or directory)";
    assert_eq!(texts(&[report("n1", 1)], true, false), [format!("n1: {what}")]);
    assert_eq!(
        texts(&[report("n1", 8), report("n2", 8), report("n3", 2)], true, false),
        [
            format!("n[1-2]: {what}, and 7 more device files"),
            format!("n3: {what}, and 1 more device file"),
        ]
    );
}

#[test]
fn missing_data_of_a_capture_is_one_note_after_the_problems() {
    let missing = |key: &str| Problem { not_recorded: true, errno: None, ..denied(key) };
    let keys = ["consumers/a", "consumers/b/1", "consumers/b/2", "consumers/c", "resources"];
    let problems = keys.into_iter().map(missing).chain([denied("mlx5_0/1/state")]);
    let reports = [report("n1", Via::Local, problems)];
    assert_eq!(
        texts(&reports, true, false),
        [
            "n1: mlx5_0/1/state: cannot read /sys/mlx5_0/1/state: EACCES (permission denied)",
            "n1: the file lacks data of consumers/a, consumers/b, consumers/c and 1 more; -v lists the reasons",
        ]
    );
    assert_eq!(texts(&reports, true, true).len(), 6);
    let one = report("n1", Via::Local, [missing("resources")]);
    assert_eq!(texts(&[one], true, false).len(), 1, "one is told as it is");
}

#[test]
fn data_that_needs_rdmactl_on_hosts_is_one_note() {
    let needed = |source: &str, key: &str| Problem {
        source: source.into(),
        errno: None,
        detail: format!("cannot read {source}: {}", crate::model::NEEDS_PROGRAM),
        ..denied(key)
    };
    let of_shell = |host: &str| {
        let problems = [
            needed("RDMA netlink, queue pairs", "resources/qp"),
            needed("RDMA netlink, memory regions", "resources/mr"),
            needed("sock_diag, TCP over IPv4", "consumers/tcp4"),
            needed("/proc/PID/fd", "consumers/holders"),
        ];
        report(host, Via::Shell, problems)
    };
    let all = ["n1", "n2", "n3", "n4"].map(of_shell);
    let what = "sockets, open files and RDMA objects are not read: rdmactl is not on";
    assert_eq!(texts(&all, true, false), [format!("n[1-4]: {what} these hosts")]);
    assert_eq!(texts(&all[..1], true, false), [format!("n1: {what} this host")]);
    assert_eq!(notes(&all[..1], true, true).len(), 1, "-v adds nothing that a person can act on");
    // A recording of a shell lacks the same data.
    let missing = |key: &str| Problem { not_recorded: true, ..denied(key) };
    let recorded = report("n1", Via::Shell, ["resources/qp", "resources/mr"].map(missing));
    let fixes: Vec<_> = notes(&[recorded], true, false).into_iter().map(|note| note.fix).collect();
    assert_eq!(fixes, [Some("add --upload, or install rdmactl on the host".to_owned())]);
}

#[test]
fn data_that_redact_removed_needs_no_fix() {
    let redacted = |key: &str, source: &str| Problem {
        source: source.into(),
        not_recorded: true,
        errno: None,
        detail: format!("cannot read {source}: {}", crate::model::REDACTED),
        ..denied(key)
    };
    let problems = [
        redacted("consumers/autofs", "/etc"),
        redacted("consumers/sockets", "/proc/net/tcp"),
        redacted("consumers/sockets", "/proc/net/tcp6"),
        redacted("consumers/units", "/etc/systemd/system"),
    ];
    let notes = notes(&[report("n1", Via::File, problems)], true, false);
    assert_eq!(notes[0].fix, None);
    let text = "n1: capture --redact removed sockets, systemd units and files in /etc";
    assert_eq!((notes.len(), notes[0].text.as_str()), (1, text));
}

#[test]
fn equal_notes_of_several_hosts_name_the_set() {
    let told = |names: &[String]| {
        let report = |name: &String| report(name, Via::Agent, [denied("mlx5_0/1/lid")]);
        let reports: Vec<HostReport> = names.iter().map(report).collect();
        texts(&reports, true, false)[0].clone()
    };
    let rest = "mlx5_0/1/lid: cannot read /sys/mlx5_0/1/lid: EACCES (permission denied)";
    assert_eq!(told(&["n1".into(), "n2".into()]), format!("n[1-2]: {rest}"));
    // A set that cannot be folded would fill the screen.
    let names: Vec<String> =
        (b'a'..=b'z').map(|letter| char::from(letter).to_string().repeat(3)).collect();
    assert_eq!(told(&names), format!("aaa and 25 more: {rest}"));
}

/// Returns text and fix of the only note of failed hosts. A host has its name, the detail of its
/// failure, and the fix.
fn told_of_failures(hosts: impl Iterator<Item = (String, String, String)>) -> (String, String) {
    let report = |(host, detail, fix): (String, String, String)| {
        let failure = HostFailure::new(Reason::Refused, detail).fix(fix);
        HostReport { failure: Some(failure), ..HostReport::empty(&host, Via::Agent) }
    };
    let reports: Vec<HostReport> = hosts.map(report).collect();
    let mut notes = notes(&reports, true, false);
    assert_eq!(notes.len(), 1, "{notes:?}");
    let Note { text, fix } = notes.remove(0);
    (text, fix.unwrap())
}

#[test]
fn address_of_one_host_does_not_describe_a_set() {
    let told = |hosts: &[(&str, &str)]| {
        told_of_failures(hosts.iter().map(|(host, detail)| {
            ((*host).to_owned(), (*detail).to_owned(), format!("check {detail}"))
        }))
    };
    let note = |text: &str, fix: &str| (text.to_owned(), fix.to_owned());
    assert_eq!(
        told(&[("n1", "10.0.0.1:22: refused"), ("n2", "[fe80::2%eth0]:22: refused")]),
        note("n[1-2]: refused", "on each host, as for n1: check 10.0.0.1:22: refused")
    );
    assert_eq!(
        told(&[("n1", "10.0.0.9:22: refused"), ("n2", "10.0.0.9:22: refused")]),
        note("n[1-2]: 10.0.0.9:22: refused", "check 10.0.0.9:22: refused")
    );
    assert_eq!(
        told(&[("n1", "10.0.0.1:22: refused")]),
        note("n1: 10.0.0.1:22: refused", "check 10.0.0.1:22: refused")
    );
    assert_eq!(
        told(&[("n1", "no route to 10.0.0.1"), ("n2", "no route to 10.0.0.2")]),
        note(
            "n1 and 1 more: no route to 10.0.0.1",
            "on each host, as for n1: check no route to 10.0.0.1"
        )
    );
}

#[test]
fn only_a_fix_that_differs_between_hosts_is_an_example_for_the_first_host() {
    const DENIED: &str = "permission denied for user root; offered: publickey";
    let told = |detail: fn(u32) -> String, fix: fn(u32) -> String| {
        let failure = |number: u32| (format!("n{number}"), detail(number), fix(number));
        told_of_failures((1..=64).map(failure))
    };
    let note = |text: &str, fix: &str| (text.to_owned(), fix.to_owned());
    assert_eq!(
        told(|_| DENIED.into(), |number| format!("ssh-copy-id root@n{number}")),
        note(&format!("n[1-64]: {DENIED}"), "on each host, as for n1: ssh-copy-id root@n1")
    );
    assert_eq!(
        told(|number| format!("10.0.0.{number}:22: refused"), |_| "check the port: -p 22".into()),
        note("n[1-64]: refused", "check the port: -p 22")
    );
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
    let problem = |number: usize| Problem {
        errno: None,
        detail: "unreadable".into(),
        ..denied(&format!("mlx5_0/1/gids/{number}"))
    };
    let report = report("n1", Via::Local, (0..MAX + 5).map(problem));
    let texts = texts(&[HostReport { rdma_core: None, ..report }], false, false);
    assert_eq!(texts.len(), MAX + 1);
    assert_eq!(texts[MAX], "5 more problems");
}
