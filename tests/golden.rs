//! Runs each command on each fixture, and compares stdout, stderr and exit code with a committed
//! file.
#![expect(clippy::expect_used, reason = "a test without the program or its fixtures fails")]

#[path = "support/committed.rs"]
mod committed;
#[path = "support/fields.rs"]
mod table;

use std::fs;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use committed::{compare, package};
use rdmactl::render;

/// Name of the golden file, and the arguments before `--from`.
const CASES: &[(&str, &[&str])] = &[
    ("summary", &[]),
    ("table", &["devices"]),
    ("verbose", &["devices", "-v"]),
    ("plain", &["devices", "--format", "plain"]),
    ("columns", &["devices", "-n", "-o", "host,device,pci,node_desc", "-o", "port.rate_text"]),
    ("json", &["devices", "-v", "--json"]),
    (
        "verbs_devices",
        &[
            "devices",
            "-o",
            "device,transport_type,vendor_id,max_sge_rd,device_cap_flags,max_tso_bytes,max_counters",
        ],
    ),
    (
        "verbs_ports",
        &[
            "ports",
            "-o",
            "device,port,verbs_width,lane_rate,virtual_lanes,port_cap_flags,verbs_lid,effective",
        ],
    ),
    ("filtered", &["devices", "-w", "state!=active or rate>=100G", "-s", "-port.number"]),
    ("counters", &["counters"]),
    ("counters_all", &["counters", "--all", "-v"]),
    ("counters_json", &["counters", "--json"]),
    ("ports", &["ports"]),
    ("ports_verbose", &["ports", "-v"]),
    ("ports_json", &["ports", "--json"]),
    ("gids_json", &["gids", "--json"]),
    ("ports_lossless", &["ports", "--lossless"]),
    (
        "ports_congestion",
        &["ports", "-o", "device,port,cnp_sent,cnp_handled,ecn_marked,out_of_sequence"],
    ),
    ("gids", &["gids"]),
    ("gids_csv", &["gids", "--format", "csv"]),
    ("prom", &["devices", "-v", "--format", "prom"]),
    ("counters_prom", &["counters", "--format", "prom"]),
    ("unfolded", &["devices", "--no-fold"]),
    ("ndjson", &["devices", "--format", "ndjson"]),
    ("resources", &["resources"]),
    ("resources_verbose", &["resources", "-v", "qp", "cm_id"]),
    ("provider", &["devices", "-o", "device,driver,provider,package"]),
    (
        "rdma_dev",
        &[
            "devices",
            "-o",
            "device,index,type,protocol,firmware,guid,sys_guid,dim,sub_type,parent,uverbs,abi,caps",
        ],
    ),
    ("rdma_resource", &["devices", "-o", "device,objects"]),
    (
        "rdma_link",
        &[
            "ports",
            "-o",
            "device,port,link_layer,subnet,lid,sm_lid,lmc,state,phys,netdev,netdev_index,umad,link_caps",
        ],
    ),
    ("rdma_statistic_mode", &["ports", "-o", "device,port,counter_mode"]),
    ("rdma_system", &["devices", "-o", "device,netns,copy_on_fork,privileged_qkey,monitor"]),
    ("rdma_json", &["devices", "-o", "index", "--json"]),
    ("keys", &["resources", "mr", "pd", "-o", "device,kind,id,rkey,lkey,dma_lkey"]),
    ("resources_json", &["resources", "mr", "--json"]),
];

/// Additional cases for fixtures whose hosts have mounts, sessions and processes.
const CONSUMER_CASES: &[(&str, &[&str])] = &[
    ("connections", &["connections"]),
    ("check", &["check"]),
    ("connections_verbose", &["connections", "-v"]),
    ("connections_evidence", &["connections", "-o", "user,instance,peer,verdict,evidence"]),
    ("connections_fallback", &["connections", "--only", "fallback", "--fail-on", "fail"]),
    ("connections_json", &["connections", "--json"]),
    ("connections_ndjson", &["connections", "--format", "ndjson"]),
];

fn fixtures() -> Vec<String> {
    let folders = fs::read_dir(package("tests/fixtures")).expect("fixtures");
    let mut names: Vec<String> = folders
        .map(|entry| entry.expect("a fixture").path())
        .filter(|path| path.join("capture.ndjson").exists())
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 33, "{names:?}");
    names
}

fn rdmactl(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(args)
        .current_dir(package("tests/fixtures"))
        .env_remove("NO_COLOR")
        .output()
        .expect("rdmactl runs")
}

fn transcript(args: &[&str], output: &Output) -> String {
    format!(
        "$ rdmactl {}\n{}--- stderr\n{}--- exit {}\n",
        args.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code().expect("an exit code"),
    )
}

/// Returns the cases of a fixture: the cases of all fixtures, and a case for each field of
/// docs/fields.tsv that names the fixture.
fn cases(fixture: &str) -> impl Iterator<Item = (String, Vec<String>)> + use<> {
    let owned = |(case, args): &(&str, &[&str])| {
        ((*case).to_owned(), args.iter().map(|arg| (*arg).to_owned()).collect())
    };
    let more = if fixture.starts_with("consumers") { CONSUMER_CASES } else { &[] };
    CASES.iter().chain(more).map(owned).chain(table::cases(fixture))
}

/// Runs a case on a fixture. Returns the differences from the committed file and the violations
/// of the schema.
fn judge(
    fixture: &str,
    case: &str,
    args: &[&str],
    [report, connections]: &[jsonschema::Validator; 2],
) -> Vec<String> {
    let file = format!("{fixture}/capture.ndjson");
    let whole: Vec<&str> = args.iter().copied().chain(["--from", &file]).collect();
    let output = rdmactl(&whole);
    let path = package(&format!("tests/golden/{fixture}/{case}.txt"));
    let mut wrong: Vec<String> = compare(&path, &transcript(&whole, &output)).into_iter().collect();
    let documents: Vec<&[u8]> = match args.iter().find(|word| word.ends_with("json")) {
        None => Vec::new(),
        Some(&"--json") => vec![&output.stdout],
        Some(_) => output.stdout.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()).collect(),
    };
    let (validator, kind) = match args.first() {
        Some(&"connections") => (connections, "connections"),
        _ => (report, "report"),
    };
    for document in documents {
        let json = serde_json::from_slice(document).expect("JSON");
        let errors = validator.iter_errors(&json);
        wrong.extend(errors.map(|error| format!("{}: {error}", path.display())));
        // The schema is the first key, with or without line breaks.
        let start = format!(r#"{{"schema":"rdmactl.{kind}/1","#);
        let text = document.iter().filter(|byte| !byte.is_ascii_whitespace()).copied();
        assert!(text.take(start.len()).eq(start.bytes()), "{}", path.display());
    }
    wrong
}

#[test]
fn every_fixture_answers_as_committed_and_in_the_form_of_the_schema() {
    let schemas = [
        render::schema_of::<render::ReportDocument<'_>>(),
        render::schema_of::<render::ConnectionsDocument<'_>>(),
    ];
    let validators = schemas.map(|schema| jsonschema::validator_for(&schema).expect("a schema"));
    let fixtures = fixtures();
    let next = AtomicUsize::new(0);
    let work = || {
        let fixtures = std::iter::from_fn(|| fixtures.get(next.fetch_add(1, Ordering::Relaxed)));
        let cases = fixtures.flat_map(|fixture| cases(fixture).map(move |case| (fixture, case)));
        let judge = |(fixture, (case, args)): (&String, (String, Vec<String>))| {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            judge(fixture, &case, &args, &validators)
        };
        cases.flat_map(judge).collect()
    };
    let differences: Vec<String> = thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        let join =
            |worker: thread::ScopedJoinHandle<'_, Vec<String>>| worker.join().expect("judged");
        workers.into_iter().flat_map(join).collect()
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let schemas = [
        ("report", render::schema_of::<render::ReportDocument<'_>>()),
        ("connections", render::schema_of::<render::ConnectionsDocument<'_>>()),
        ("fabric", render::schema_of::<render::FabricDocument<'_>>()),
        ("check", render::schema_of::<render::CheckDocument<'_>>()),
        ("ping", render::schema_of::<render::PingDocument<'_>>()),
        ("ping-event", render::schema_of::<render::PingEvent<'_>>()),
        ("ping-plan", render::schema_of::<render::PingPlanDocument<'_>>()),
        ("ping-diff", render::schema_of::<render::PingDiffDocument<'_>>()),
        ("hosts", render::schema_of::<render::HostsDocument>()),
        ("config", render::schema_of::<render::SettingsDocument<'_>>()),
    ];
    for (name, schema) in schemas {
        let mut made = serde_json::to_string_pretty(&schema).expect("JSON");
        made.push('\n');
        let committed = package(&format!("tests/schema/rdmactl.{name}.json"));
        if let Some(difference) = compare(&committed, &made) {
            panic!("{difference}");
        }
    }
}

#[test]
fn nothing_unescaped_reaches_a_terminal() {
    for flags in [&["devices", "-v"][..], &["devices", "-o", "node_desc,description,firmware"]] {
        let args: Vec<&str> =
            flags.iter().copied().chain(["--from", "broken/capture.ndjson"]).collect();
        let output = rdmactl(&args);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(!text.chars().any(|letter| letter.is_control() && letter != '\n'), "{text:?}");
        assert!(!text.contains('\u{202e}'), "{text:?}");
    }
}

#[test]
fn usage_errors_exit_with_2_and_name_the_mistake() {
    for (args, said) in [
        (&["devices", "-o", "speed"][..], "no column speed"),
        (&["devices", "--bogus"], "--bogus"),
        (&["devices", "--from", "/nowhere"], "cannot open /nowhere"),
        (&["devices", "--root", "/nowhere"], "cannot read the directory /nowhere of --root"),
        (&["devices", "--from", "make_fixtures.py"], "make_fixtures.py: line 1: not a header"),
        (&["devices", "--timeout", "5 parsecs"], "unknown unit"),
        (&["agent", "emperor"], "invalid agent role emperor"),
        (&["--json"], "the summary does not support --json"),
    ] {
        let output = rdmactl(args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(said), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn without_rdma_a_message_names_what_is_missing() {
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().to_str().expect("UTF-8");
    let output = rdmactl(&["devices", "--root", path]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("/sys/module does not exist: sysfs is not mounted"), "{stderr}");

    fs::create_dir_all(root.path().join("sys/module")).expect("a directory");
    let output = rdmactl(&["devices", "--root", path]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(output.stdout.is_empty());
    assert!(stderr.contains("no RDMA device: the RDMA core of the kernel"), "{stderr}");
    assert!(stderr.contains("  fix: load the driver"), "{stderr}");
}

#[test]
fn a_saved_capture_answers_like_the_host_it_was_taken_on() {
    let folder = tempfile::tempdir().expect("a directory");
    let saved = folder.path().join("saved.ndjson");
    let saved = saved.to_str().expect("UTF-8");
    let live = rdmactl(&["devices", "--save", saved]);
    let replayed = rdmactl(&["devices", "--from", saved]);
    assert_eq!(live.status.code(), replayed.status.code());
    assert_eq!(live.stdout, replayed.stdout);
    // Only the fix for the live host mentions other hosts.
    let others = "other hosts: -H SET; this host: ";
    let live = String::from_utf8_lossy(&live.stderr).replace(others, "");
    assert_eq!(live, String::from_utf8_lossy(&replayed.stderr));
    let copied = rdmactl(&["capture", "--from", saved]);
    assert_eq!(copied.stdout, fs::read(saved).expect("the capture"));
}

#[test]
fn saved_listing_prints_the_output_of_its_source() {
    let folder = tempfile::tempdir().expect("a directory");
    for fixture in fixtures() {
        let from = format!("{fixture}/capture.ndjson");
        let saved = folder.path().join(&fixture);
        let saved = saved.to_str().expect("UTF-8");
        let asked = rdmactl(&["gids", "--from", &from, "--save", saved]);
        let again = rdmactl(&["gids", "--from", saved]);
        assert_eq!(asked.stdout, again.stdout, "{fixture}");
        assert_eq!(asked.stderr, again.stderr, "{fixture}");
        let kept = fs::read_to_string(saved).expect("the capture");
        assert!(!kept.contains("counters/"), "{fixture}: the listing has no counters");
    }
}

#[test]
fn a_file_is_not_saved_over_while_it_is_read() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("capture.ndjson");
    fs::copy(package("tests/fixtures/efa/capture.ndjson"), &file).expect("a copy");
    let name = file.to_str().expect("UTF-8");
    let output = rdmactl(&["devices", "--from", name, "--save", name]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("--save would overwrite"), "{stderr}");
    let original = fs::read(package("tests/fixtures/efa/capture.ndjson")).expect("the fixture");
    assert!(fs::read(&file).expect("the file") == original);
}

#[test]
fn a_closed_pipe_ends_silently() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["devices", "--json", "--from"])
        .arg(package("tests/fixtures/fleet/capture.ndjson"))
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .output()
        .expect("rdmactl runs");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}
