//! Removes each answer of each fixture, then replaces it with a permission error. Each cell that
//! changes becomes `-` or `?`, no listing panics, and each permission error is reported.
//!
//! `RDMACTL_ABSENCE_CHANGES=1000` runs the long test.
#![expect(clippy::expect_used, reason = "a test without its fixtures fails")]

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::env;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rdmactl::analyse::check::{CheckOptions, run as run_checks};
use rdmactl::analyse::connections::connections;
use rdmactl::analyse::errors::is_error;
use rdmactl::analyse::lossless::{Losslessness, judge};
use rdmactl::capture::{Capture, CapturedHost};
use rdmactl::collect::host_report;
use rdmactl::model::{
    Connection, ConnectionVerdict, Counter, CounterChange, CounterGroup, CounterRate, CounterUnit,
    Device, HostReport, Part, Parts, Port, Protocol, Role, VerbsState, Via,
};
use rdmactl::query::{
    Column, Connections, Counters, DeviceRow, Devices, Gids, Listing, Lossless, Ports, Resources,
    Value, Words, connection_rows, counter_rows, device_rows, gid_rows, lossless_rows,
    resource_rows,
};
use rdmactl::source::{Answer, Entry, Question, ReadError, Recorded, Recorder, Source};

type Cells = BTreeMap<(Option<String>, Option<u32>, &'static str), Value>;

/// Recording in which one answer is replaced.
struct Changed<'recorded> {
    recorded: &'recorded Recorded,
    question: &'recorded Question,
    answer: Answer,
}

impl Source for Changed<'_> {
    fn ask(&self, question: &Question) -> Answer {
        if question == self.question { self.answer.clone() } else { self.recorded.ask(question) }
    }

    fn taken_ns(&self) -> Option<u64> {
        self.recorded.taken_ns()
    }

    fn answered_ns(&self, question: &Question) -> Option<u64> {
        self.recorded.answered_ns(question)
    }
}

/// Returns the entries of a host that a test changes `changes` times each: all, or entries at
/// equal distances. A host with megabytes of answers has fewer entries, so that the test ends in
/// time.
fn sample(entries: &[Entry], changes: usize) -> impl Iterator<Item = &Entry> {
    const CHANGES_OF_HOST: usize = 140;
    const BYTES: usize = 20_000_000;
    let wanted = env::var("RDMACTL_ABSENCE_CHANGES").ok();
    let wanted = wanted.map(|number| number.parse().expect("a number of changes"));
    let most = wanted.unwrap_or(CHANGES_OF_HOST) / changes;
    let size: usize = entries.iter().flat_map(|entry| &entry.answer).map(Vec::len).sum();
    let most = most.min(BYTES / size.max(1)).max(1);
    entries.iter().step_by(entries.len().div_ceil(most).max(1))
}

/// Calls a function for each host of all fixtures, with a thread for each CPU.
fn for_each_host(look: impl Fn(&[Entry]) + Sync) {
    let hosts = hosts();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((_, entries)) = hosts.get(next.fetch_add(1, Ordering::Relaxed)) {
            look(entries);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

fn hosts() -> Vec<(CapturedHost, Vec<Entry>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut hosts: Vec<(CapturedHost, Vec<Entry>)> = Vec::new();
    for folder in fs::read_dir(folder).expect("fixtures") {
        let path = folder.expect("a fixture").path().join("capture.ndjson");
        if path.exists() {
            for (host, entries) in Capture::read(&path).expect("a fixture").hosts {
                // The hosts of the fixture `fleet` are also fixtures of their own.
                if !hosts.iter().any(|(_, known)| *known == entries) {
                    hosts.push((host, entries));
                }
            }
        }
    }
    hosts
}

fn report(source: &dyn Source) -> HostReport {
    host_report(source, &Parts::all(), "h", Via::File)
}

/// Returns the report, and the questions that the collectors asked.
fn read(recorded: &Recorded) -> (HostReport, HashSet<Question>) {
    let asking = Recorder::new(recorded.clone());
    let report = report(&asking);
    let asked = asking.into_entries().into_iter().map(|entry| entry.question).collect();
    (report, asked)
}

fn cells(report: &HostReport) -> Cells {
    let reports = std::slice::from_ref(report);
    let mut cells = Cells::new();
    for row in device_rows(reports, true) {
        add::<Devices>(&row, &mut cells);
        add::<Ports>(&row, &mut cells);
    }
    cells
}

/// Adds the cells of a row. A column has the same value in each listing of ports.
fn add<'report, L: Listing<Row<'report> = DeviceRow<'report>>>(
    row: &DeviceRow<'report>,
    cells: &mut Cells,
) {
    let DeviceRow { device, port, .. } = row;
    for column in L::COLUMNS {
        let key = (device.map(|one| one.name.clone()), port.map(|one| one.number), column.id);
        let value = column.value(row);
        let known = cells.insert(key, value.clone());
        assert!(known.is_none_or(|known| known == value), "{}", column.id);
    }
}

/// True if a removed answer may change a value to another value. Without its best GID, a port
/// shows another address. Without a `P_Key` or an interface, a list has the other elements.
fn may_move(column: &str, question: &Question, removed: bool) -> bool {
    let path = question.to_string();
    let is_interface = path.contains("/net/") || matches!(question, Question::Route(_));
    removed
        && match column {
            "port.address" => path.contains("/gids/"),
            "port.pkeys" => path.contains("/pkeys/"),
            "port.vlans" => path.contains("/gids/") || is_interface,
            "netdev.ipoib.children" => is_interface,
            // The cells of a bond come from the members that are left.
            column if column.starts_with("netdev.ethernet.") => {
                is_interface || matches!(question, Question::Ethtool(_))
            }
            // An accelerator, or its NUMA node, is missing.
            "device.gpus" => path.contains("/bus/pci/") || path.ends_with("/numa_node"),
            // The column has a word for a missing userspace provider.
            "device.provider.file" => path.contains("libibverbs"),
            // Without its maximum speed, a link is not compared with the maximum.
            column => path.contains("/max_link_") && column.starts_with("device.pci_link"),
        }
}

fn check(before: &Cells, after: &Cells, question: &Question, removed: bool) {
    for ((device, port, column), old) in before {
        // If ports cannot be listed, the row of their device is left. If devices cannot be
        // listed, the row of the host is left.
        let new = after
            .get(&(device.clone(), *port, column))
            .or_else(|| after.get(&(device.clone(), None, column)))
            .or_else(|| after.get(&(None, None, column)))
            .expect("no row is ever dropped");
        let allowed = match new {
            _ if new == old || may_move(column, question, removed) => true,
            // Without the name of the driver, the link layer of the kernel stands for the
            // protocol.
            Value::Text(layer) if *column == "port.protocol" => layer == "InfiniBand",
            Value::Failed => true,
            Value::Absent => removed || matches!(question, Question::Dir(_)),
            _ => false,
        };
        assert!(
            allowed,
            "{question:?} removed {removed}: {device:?}/{port:?} {column}: {old} is {new}"
        );
    }
}

/// Asserts that a filter on a column accepts each value of the column.
fn hold_their_words<L: Listing>(rows: &[L::Row<'_>]) {
    for (row, column) in rows.iter().flat_map(|row| L::COLUMNS.iter().map(move |it| (row, it))) {
        let value = column.value(row);
        if value.is_unknown() {
            continue;
        }
        let is_word = value.name().is_some_and(|word| column.words().all().contains(&&*word));
        let is_right = match column.words() {
            Words::Any => true,
            Words::Few { .. } => is_word,
            Words::Number(_) => is_word || value.number().is_some(),
        };
        assert!(is_right, "{} holds {value}, which no filter accepts", column.id);
    }
}

#[test]
fn every_column_holds_what_a_filter_accepts() {
    for_each_host(|entries| {
        let source = Recorded::new(entries.to_vec(), None);
        let reports = [report(&source)];
        hold_their_words::<Devices>(&device_rows(&reports, true));
        hold_their_words::<Ports>(&device_rows(&reports, true));
        hold_their_words::<Gids>(&gid_rows(&reports, true));
        hold_their_words::<Counters>(&counter_rows(&reports, true));
        hold_their_words::<Resources>(&resource_rows(&reports));
        hold_their_words::<Lossless>(&lossless_rows(&reports, true));
        let all = connections(&reports);
        hold_their_words::<Connections>(&connection_rows(&reports, all));
    });
}

fn print<L: Listing>(rows: &[L::Row<'_>]) {
    for row in rows {
        for column in L::COLUMNS {
            let _ = column.value(row).to_string();
        }
    }
}

/// Returns the number of unreadable cells (`?`) of a listing.
fn failed<L: Listing>(rows: &[L::Row<'_>]) -> usize {
    let is_failed = |column: &Column<L>, row| column.value(row) == Value::Failed;
    rows.iter().map(|row| L::COLUMNS.iter().filter(|column| is_failed(column, row)).count()).sum()
}

#[test]
fn a_refused_answer_shows_in_the_listing_it_is_for() {
    for_each_host(|entries| {
        let recorded = Recorded::new(entries.to_vec(), None);
        let (whole, asked) = read(&recorded);
        for entry in sample(entries, 1) {
            if entry.answer.is_err() || !asked.contains(&entry.question) {
                continue;
            }
            let question = &entry.question;
            let answer = Err(ReadError::from("EACCES".to_owned()));
            let report = report(&Changed { recorded: &recorded, question, answer });
            // An invalid answer may have made the cells unreadable before the change.
            let grows = |count: &dyn Fn(&[HostReport]) -> usize| {
                let (before, after) = (std::slice::from_ref(&whole), std::slice::from_ref(&report));
                count(after) >= count(before).max(1)
            };
            let question = entry.question.to_string();
            let shows = match &entry.question {
                Question::File(path) if path.contains("/gids/") || path.contains("/gid_attrs/") => {
                    grows(&|reports| failed::<Gids>(&gid_rows(reports, true)))
                }
                Question::File(path) if path.contains("counters/") || path.contains("/cm_") => {
                    grows(&|reports| failed::<Counters>(&counter_rows(reports, true)))
                }
                Question::Rdma(query)
                    if query.port.is_none() && question.contains(" of device") =>
                {
                    grows(&|reports| failed::<Resources>(&resource_rows(reports)))
                        || grows(&|reports| failed::<Devices>(&device_rows(reports, true)))
                        || grows(&|reports| failed::<Ports>(&device_rows(reports, true)))
                }
                _ => continue,
            };
            assert!(shows, "{question} was refused, and no cell says so");
        }
    });
}

#[test]
fn an_answer_that_is_gone_or_refused_costs_only_its_own_cells() {
    for_each_host(|entries| {
        let recorded = Recorded::new(entries.to_vec(), None);
        let (whole, asked) = read(&recorded);
        let before = cells(&whole);
        let errors = [("ENOENT", true), ("EACCES", false)];
        for Entry { question, answer: was, .. } in sample(entries, errors.len()) {
            for (errno, removed) in errors {
                let answer = Err(ReadError::from(errno.to_owned()));
                let report = report(&Changed { recorded: &recorded, question, answer });
                check(&before, &cells(&report), question, removed);
                let path = question.to_string();
                let is_reported = report.problems.iter().any(|problem| problem.source == path)
                    || (*question == Question::Verbs
                        && matches!(report.verbs, VerbsState::Unavailable { .. }));
                if !removed && was.is_ok() && asked.contains(question) {
                    assert!(is_reported, "{question:?} was refused, and no problem names it");
                }
            }
        }
    });
}

#[test]
fn devices_that_only_netlink_lists_are_a_problem() {
    let question = &Question::Dir("/sys/class/infiniband".into());
    let covered = AtomicUsize::new(0);
    for_each_host(|entries| {
        let recorded = Recorded::new(entries.to_vec(), None);
        let whole = report(&recorded);
        let has_netlink = whole.devices.iter().any(|device| device.netlink.is_some());
        let covering = Changed { recorded: &recorded, question, answer: Ok(Vec::new()) };
        let report = report(&covering);
        let problem = report.problems.iter().find(|problem| problem.key == "devices");
        assert_eq!(problem.is_some(), has_netlink, "{:?}", report.problems);
        if let Some(problem) = problem {
            let name = &whole.devices[0].name;
            assert!(problem.detail.starts_with("the kernel has "), "{problem:?}");
            assert!(whole.devices.len() > 1 || problem.detail.contains(name), "{problem:?}");
            assert_eq!(report.no_device(), None);
            covered.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(covered.into_inner() > 0, "no fixture has RDMA netlink");
}

/// Lets the first error counter of a host rise by 3. Returns false if the host has none.
fn raise_errors(report: &mut HostReport) -> bool {
    let is_of_errors = |counter: &&mut Counter| {
        let is_of_port = matches!(counter.group, CounterGroup::Pma | CounterGroup::Hardware);
        is_of_port && counter.unit == CounterUnit::Events && is_error(&counter.name)
    };
    let ports = report.devices.iter_mut().flat_map(|device| &mut device.ports);
    let mut counters = ports.filter_map(|port| port.counters.as_mut()).flatten();
    let Some(counter) = counters.find(is_of_errors) else { return false };
    counter.rate = Some(CounterRate {
        change: CounterChange::Counted,
        interval_ns: 1_000_000_000,
        delta: Some(3),
        rate_per_s: None,
        rate_bps: None,
    });
    true
}

#[test]
fn counters_of_files_are_checked_without_the_counters_of_netlink() {
    let checked = AtomicUsize::new(0);
    for_each_host(|entries| {
        let recorded = Recorded::new(entries.to_vec(), None);
        let devices =
            entries.iter().find(|entry| entry.question.to_string() == "RDMA netlink, devices");
        let Some(Entry { question, answer: Ok(_), .. }) = devices else { return };
        let answer = Err(ReadError::NeedsProgram);
        let mut report = report(&Changed { recorded: &recorded, question, answer });
        if !raise_errors(&mut report) {
            return;
        }
        assert!(!report.problems.has("counters") && !report.problems.within("counters").is_empty());
        let reports = [report];
        let found = run_checks(&reports, &connections(&reports), &CheckOptions::default());
        assert_eq!(found.hosts[0].results["port.errors"].word(), "warn");
        checked.fetch_add(1, Ordering::Relaxed);
    });
    assert!(checked.into_inner() > 0, "no fixture has counters and RDMA netlink");
}

#[test]
fn unreadable_data_never_makes_a_port_lossless() {
    let verdicts = |report: &HostReport| {
        let judge_all = |device: &Device| {
            let of = |port: &Port| judge(report, device, port).verdict;
            device.ports.iter().map(|port| (port.number, of(port))).collect::<Vec<_>>()
        };
        let devices = report.devices.iter();
        devices.map(|device| (device.name.clone(), judge_all(device))).collect::<BTreeMap<_, _>>()
    };
    for_each_host(|entries| {
        let recorded = Recorded::new(entries.to_vec(), None);
        let (whole, asked) = read(&recorded);
        let is_roce = |port: &Port| port.protocol == Some(Protocol::Roce);
        if !whole.devices.iter().flat_map(|device| &device.ports).any(is_roce) {
            return;
        }
        let before = verdicts(&whole);
        // Only these answers influence the verdict. The answers about addresses and counters are
        // too many.
        let matters = |question: &Question| {
            let path = question.to_string();
            matches!(question, Question::Route(_) | Question::Ethtool(_))
                || ["/net/", "roce", "link_layer", "node_type", "driver", "/ndevs/"]
                    .iter()
                    .any(|part| path.contains(part))
        };
        let deciding = entries.iter().map(|entry| &entry.question);
        for question in deciding.filter(|it| asked.contains(it) && matters(it)) {
            for (errno, removed) in [("EOPNOTSUPP", true), ("EACCES", false)] {
                let answer = Err(ReadError::from(errno.to_owned()));
                let changed = report(&Changed { recorded: &recorded, question, answer });
                for (device, ports) in verdicts(&changed) {
                    for (port, new) in ports {
                        let old = before[&device].iter().find(|(number, _)| *number == port);
                        let old = old.expect("no port comes from nowhere").1;
                        let allowed = match new {
                            Losslessness::Unknown => true,
                            Losslessness::Lossless => old == new,
                            Losslessness::Lossy | Losslessness::NotApplicable => {
                                removed || old == new
                            }
                        };
                        assert!(allowed, "{question} {errno}: {device}/{port} is {new:?}");
                    }
                }
            }
        }
    });
}

/// Connection with the cells of its row: column and value.
type Connected = (Connection, Vec<(&'static str, Value)>);

/// Returns the connections of a host by name. Connections with equal names are numbered.
fn connected(report: &HostReport) -> BTreeMap<(String, usize), Connected> {
    let reports = std::slice::from_ref(report);
    let mut all: BTreeMap<(String, usize), Connected> = BTreeMap::new();
    for row in connection_rows(reports, connections(reports)) {
        let cells = Connections::COLUMNS.iter().map(|column| (column.id, column.value(&row)));
        let cells = cells.collect();
        let Some(one) = row.connection.map(Cow::into_owned) else { continue };
        // A server has one row for each transport of a client.
        let transport = (one.consumer.role == Role::Server).then_some(one.transport);
        let name = format!("{:?} {:?} {transport:?}", one.consumer, one.peer.name);
        let number = all.keys().filter(|(known, _)| *known == name).count();
        all.insert((name, number), (one, cells));
    }
    all
}

/// True for a column that a program evaluates. The other columns hold sentences, which may change
/// with the available data.
fn is_fact(column: &str) -> bool {
    !["cause.", "change", "evidence", "missing", "memory.recommended"]
        .iter()
        .any(|start| column.starts_with(start))
}

#[test]
fn unreadable_data_never_makes_a_connection_verdict_ok() {
    for_each_host(|entries| {
        let recorded = Recorded::new(entries.to_vec(), None);
        let parts = [Part::Connections, Part::Resources, Part::Gids].into();
        let read = |source: &dyn Source| connected(&host_report(source, &parts, "h", Via::File));
        let asking = Recorder::new(recorded.clone());
        let before = read(&asking);
        // Other tests cover the files of devices.
        let is_of_devices = |question: &Question| matches!(question, Question::File(path) if path.starts_with("/sys/class/infiniband/"));
        for Entry { question, answer, .. } in asking.into_entries() {
            if before.is_empty() || answer.is_err() || is_of_devices(&question) {
                continue;
            }
            let answer = Err(ReadError::from("EACCES".to_owned()));
            let after = read(&Changed { recorded: &recorded, question: &question, answer });
            for (name, (old, cells)) in &before {
                // A connection without a row is reported as a problem of the host.
                let Some((new, new_cells)) = after.get(name) else { continue };
                if !new.missing.is_empty() {
                    continue;
                }
                let is_judged = new.verdict.needs_attention()
                    || new.verdict == ConnectionVerdict::Unknown
                    || !old.verdict.needs_attention();
                assert!(
                    is_judged,
                    "{question} was refused: {name:?} was {:?} and is {:?}",
                    old.verdict, new.verdict
                );
                for ((column, old), (_, new)) in cells.iter().zip(new_cells) {
                    let is_lost = *new == Value::Absent && *old != Value::Absent;
                    assert!(
                        !is_lost || !is_fact(column),
                        "{question} was refused: {name:?} {column} was {old} and is -"
                    );
                }
            }
        }
    });
}

#[test]
fn no_text_of_any_kind_panics() {
    let hostile: [&[u8]; 7] = [
        b"",
        b"\0",
        b"\xff\xfe",
        b": ",
        b"99999999999999999999",
        b"../../..\n.\n/\n",
        &b":".repeat(60_000),
    ];
    for_each_host(|entries| {
        let recorded = Recorded::new(entries.to_vec(), None);
        let (_, asked) = read(&recorded);
        let changed = sample(entries, hostile.len());
        for Entry { question, .. } in changed.filter(|it| asked.contains(&it.question)) {
            for text in hostile {
                let answer = Ok(text.to_vec());
                let report = report(&Changed { recorded: &recorded, question, answer });
                let reports = std::slice::from_ref(&report);
                print::<Devices>(&device_rows(reports, true));
                print::<Ports>(&device_rows(reports, true));
                print::<Gids>(&gid_rows(reports, true));
                print::<Counters>(&counter_rows(reports, true));
                print::<Resources>(&resource_rows(reports));
                print::<Connections>(&connection_rows(reports, connections(reports)));
            }
        }
    });
}
