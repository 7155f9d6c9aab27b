//! The files of docs/recipes.md. The scripts run with simulated rdmactl, scontrol and NHC, and
//! the script for Slurm also in a real Slurm. All flags and metrics in the recipes exist.
#![expect(clippy::expect_used, reason = "a test without its files fails")]

#[path = "fleet/bed.rs"]
mod bed;
#[path = "fleet/slurm_cluster.rs"]
mod slurm_cluster;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use bed::{wait_until, write_program};
use slurm_cluster::Cluster;

fn recipes() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recipes.md")).expect("recipes.md")
}

/// Returns the indented blocks below a heading.
fn blocks(heading: &str) -> Vec<String> {
    let text = recipes();
    let (_, section) = text.split_once(&format!("## {heading}\n")).expect("a heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    let mut blocks = vec![String::new()];
    for line in section.lines() {
        match (line.strip_prefix("    "), blocks.last_mut()) {
            (Some(code), Some(block)) => block.extend([code, "\n"]),
            (None, Some(block)) if line.is_empty() && !block.is_empty() => *block += "\n",
            _ => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.trim().is_empty());
    blocks
}

/// Runs a script with the program `rdmactl` of a folder.
fn run(shell: &str, script: &str, folder: &Path) -> Output {
    let rdmactl = folder.join("rdmactl").display().to_string();
    let script = script.replace("/usr/bin/rdmactl", &rdmactl);
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let mut command = Command::new(shell);
    command.args(["-c", &script]).env("PATH", path).env("SLURMD_NODENAME", "node7");
    command.output().expect("a shell")
}

#[test]
fn slurm_drains_a_node_that_fails_and_no_other() {
    let script = &blocks("Slurm")[0];
    assert!(script.starts_with("#!/bin/sh\n"), "{script}");
    for (rdmactl, drains) in [
        ("echo 'OK: rdmactl check'", false),
        ("echo 'ERROR: rdmactl check: fail: mlx5_0/1 port.down: down'; exit 1", true),
        ("echo 'rdmactl: wrong usage' >&2; exit 2", false),
        ("exit 127", false),
    ] {
        let folder = tempfile::tempdir().expect("a directory");
        write_program(&folder.path().join("rdmactl"), rdmactl);
        let scontrol = "printf '%s\\n' \"$@\" > \"${0%/*}/said\"";
        write_program(&folder.path().join("scontrol"), scontrol);
        let output = run("/bin/sh", script, folder.path());
        let said = fs::read_to_string(folder.path().join("said")).unwrap_or_default();
        let reason = "Reason=ERROR: rdmactl check: fail: mlx5_0/1 port.down: down";
        let drained = format!("update\nNodeName=node7\nState=DRAIN\n{reason}\n");
        let expected = if drains { drained.as_str() } else { "" };
        assert_eq!(said, expected, "{rdmactl}: {output:?}");
    }
}

/// Replaces a file with the capture of a fixture by a rename. So a program reads either the old
/// or the new file.
fn put_capture(file: &Path, fixture: &str) {
    let capture = format!("{}/tests/fixtures/{fixture}/capture.ndjson", env!("CARGO_MANIFEST_DIR"));
    let next = file.with_extension("next");
    fs::copy(capture, &next).expect("a copy");
    fs::rename(next, file).expect("another name");
}

/// The test uses node n5, which has no job. The only variable that Slurm passes to the program is
/// the name of the node.
#[test]
fn a_real_slurm_drains_a_node_that_fails_until_it_is_resumed() {
    let folder = tempfile::tempdir().expect("a directory");
    let place = folder.path().display();
    let (health, capture) = (folder.path().join("rdma-health"), folder.path().join("capture"));
    write_program(&health, "exit 0");
    let [script, settings, resume] = blocks("Slurm").try_into().expect("three blocks");
    let settings = settings
        .replace("/usr/local/sbin/rdma-health", &health.display().to_string())
        .replace("HealthCheckInterval=300", "HealthCheckInterval=1");
    let cluster = Cluster::start_with(&settings);

    put_capture(&capture, "debian12_rxe");
    let rdmactl = env!("CARGO_BIN_EXE_rdmactl");
    write_program(
        &folder.path().join("rdmactl"),
        &format!(
            "[ \"$*\" = 'check --local --plugin nhc' ] || exit 2\n\
             export RDMACTL_CONFIG=/dev/null\n\
             exec {rdmactl} check --from {place}/capture --plugin nhc"
        ),
    );
    let recipe = folder.path().join("recipe");
    write_program(&recipe, &script.replace("/usr/bin/rdmactl", &format!("{place}/rdmactl")));
    let next = folder.path().join("next");
    write_program(
        &next,
        &format!(
            "[ $SLURMD_NODENAME = n5 ] || exit 0\nexport SLURM_CONF={}\n{place}/recipe\n\
             echo done >> {place}/runs",
            cluster.config().display()
        ),
    );
    fs::rename(next, &health).expect("another name");

    let runs =
        || fs::read_to_string(folder.path().join("runs")).unwrap_or_default().lines().count();
    let wait_for_runs = || {
        let before = runs();
        wait_until("Slurm has run the program twice", || runs() >= before + 2);
    };
    let node = |field: &str| {
        cluster.output("sinfo", &["-h", "-N", "-n", "n5", "-o", field]).trim().to_owned()
    };
    wait_for_runs();
    assert_eq!((node("%T"), node("%E")), ("idle".into(), "none".into()));
    put_capture(&capture, "broken");
    wait_until("the node is drained", || node("%T") == "drained");
    let drained = cluster.output("sinfo", &["-R", "-h", "-o", "%N: %E"]);
    let expected = "n5: ERROR: rdmactl check: fail: mlx5_0/2 port.down: down (Polling); fix: ";
    assert!(drained.starts_with(expected) && drained.lines().count() == 1, "{drained}");

    put_capture(&capture, "debian12_rxe");
    wait_for_runs();
    assert_eq!(node("%T"), "drained", "the administrator resumes it");
    let resume = resume.trim().replace("n17", "n5");
    let words: Vec<&str> = resume.split(' ').collect();
    cluster.run(words[0], &words[1..]);
    // Until Slurm pings the node again, it marks the node as not responding: `idle*`.
    wait_until("the node is idle", || node("%T").starts_with("idle"));
    assert_eq!(node("%E"), "none");
}

#[test]
fn nhc_gets_one_line_that_its_check_accepts() {
    let blocks = blocks("LBNL Node Health Check");
    let (target, check) = blocks[0].trim().split_once(" || ").expect("a line of nhc.conf");
    assert_eq!(target, "*");
    // Arguments of `check_cmd_output`: time limit, exit code, pattern and command.
    for (rdmactl, code) in [("echo 'OK: rdmactl check'", 0), ("echo 'ERROR: x'; exit 1", 1)] {
        let folder = tempfile::tempdir().expect("a directory");
        write_program(&folder.path().join("rdmactl"), rdmactl);
        write_program(
            &folder.path().join("check_cmd_output"),
            "[ \"$1 $2 $3 $4 $5 $6 $7\" = '-t 60 -r 0 -m /^OK/ -e' ] || exit 9\n\
             text=$($8) || exit 1\ncase $text in OK*) ;; *) exit 1 ;; esac",
        );
        let output = run("/bin/sh", check, folder.path());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
    }
}

#[test]
fn the_plug_in_of_kubernetes_is_json_and_its_arguments_are_flags() {
    let plugin: serde_json::Value =
        serde_json::from_str(&blocks("Kubernetes")[0]).expect("JSON of the plug-in");
    let arguments = plugin["rules"][0]["args"].as_array().expect("arguments");
    let arguments: Vec<&str> = arguments.iter().filter_map(|one| one.as_str()).collect();
    assert_eq!(arguments, ["check", "--local", "--plugin", "nhc"]);
}

#[test]
fn each_call_of_rdmactl_has_known_flags_and_each_metric_exists() {
    let text = recipes();
    for line in text.lines().filter(|line| line.starts_with("    ")) {
        let Some((_, call)) = line.split_once("/usr/bin/rdmactl ") else { continue };
        let words = call.split_whitespace().map(|word| word.trim_matches(['\'', ')', ';', '"']));
        let words: Vec<&str> = words.take_while(|word| !matches!(*word, ">" | "&&")).collect();
        let words: Vec<&str> =
            words.into_iter().map(|word| if word.contains('$') { "n1" } else { word }).collect();
        let parsed = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
            .args(&words)
            .arg("--list")
            .env("RDMACTL_CONFIG", "/dev/null")
            .output()
            .expect("rdmactl");
        assert!(parsed.status.success(), "{words:?}: {parsed:?}");
    }
    let capture =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/consumers_client/capture.ndjson");
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(["check", "--from", capture, "-f", "prom", "--fail-on", "never"])
        .env("RDMACTL_CONFIG", "/dev/null")
        .output()
        .expect("rdmactl");
    let metrics = String::from_utf8(output.stdout).expect("text");
    let rule =
        metrics.lines().find(|line| line.starts_with("rdmactl_check_info{")).expect("metrics");
    for label in ["severity=\"fail\"", "hosts=", "subject=", "id="] {
        assert!(rule.contains(label), "{label}: {rule}");
    }
    assert!(text.contains("rdmactl_check_info{severity=\"fail\"}"));
    for label in ["hosts", "subject", "id"] {
        assert!(text.contains(&format!("$labels.{label} }}")), "{label}");
    }
}
