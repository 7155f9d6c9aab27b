//! Compares `rdmactl compat` with the original tools byte for byte: stdout, stderr and exit code.
//!
//! The tests run ibstat, ibstatus, `ibv_devices` and `ibv_devinfo` on simulated device trees and
//! with a simulated libibverbs. A mount namespace puts a tree in place of /sys.
//!
//! `show_gids` and ibdev2netdev are in no Debian package. Their output for the trees is in
//! tests/compat/golden. If `RDMACTL_ORIGINALS` names a folder with both scripts, the tests run
//! the scripts and rewrite these files.
#![expect(clippy::expect_used, clippy::panic, reason = "a test without the tools has failed")]

#[path = "support/committed.rs"]
mod committed;
#[path = "compat/side_by_side.rs"]
mod side_by_side;
#[path = "compat/tree.rs"]
mod tree;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use committed::{compare, package};
use rdmactl::compat::{self, Call, CompatError, Release, Tool, ask_everything};
use rdmactl::source::{Live, Recorded, Recorder};
use side_by_side::{Said, User, difference, installed, rdmactl, run};
use tree::Tree;

/// Name of the case in docs/compat.md, tool, and arguments of the tool.
type Case = (&'static str, &'static str, &'static [&'static str]);

/// Cases that run on each tree and are compared with the installed tools.
const CASES: &[Case] = &[
    ("ibstat", "ibstat", &[]),
    ("ibstat_list", "ibstat", &["-l"]),
    ("ibstat_list_long", "ibstat", &["--list_of_cas"]),
    ("ibstat_short", "ibstat", &["-s"]),
    ("ibstat_short_long", "ibstat", &["--sho"]),
    ("ibstat_port_list", "ibstat", &["-p"]),
    ("ibstat_port_list_long", "ibstat", &["--port_list"]),
    ("ibstat_ca", "ibstat", &["mlx4_0"]),
    ("ibstat_ca_port", "ibstat", &["mlx4_0", "2"]),
    ("ibstat_ca_port_hex", "ibstat", &["mlx5_0", "0x1"]),
    ("ibstat_ca_no_port", "ibstat", &["mlx5_1", "7"]),
    ("ibstat_ca_port_0", "ibstat", &["switch_0", "0"]),
    ("ibstat_ca_unknown", "ibstat", &["nowhere_0"]),
    ("ibstat_ca_list", "ibstat", &["mlx5_1", "-l"]),
    ("ibstat_ca_short", "ibstat", &["-s", "mlx5_1", "1"]),
    ("ibstat_config", "ibstat", &["-z", "/nonexistent", "-l"]),
    ("ibstat_verbose", "ibstat", &["-v", "-s"]),
    ("ibstat_version", "ibstat", &["-V"]),
    ("ibstat_help", "ibstat", &["-h"]),
    ("ibstat_bad_option", "ibstat", &["-lx"]),
    ("ibstat_bad_long_option", "ibstat", &["--list=1"]),
    ("ibstat_ambiguous_option", "ibstat", &["--ver"]),
    ("ibstatus", "ibstatus", &[]),
    ("ibstatus_help", "ibstatus", &["-h"]),
    ("ibstatus_device", "ibstatus", &["mlx5_1"]),
    ("ibstatus_device_port", "ibstatus", &["mlx4_0:2"]),
    ("ibstatus_device_no_port", "ibstatus", &["mlx5_0:7"]),
    ("ibstatus_devices", "ibstatus", &["mlx4_0:1", "mlx5_1", "nowhere_0", "mlx5_0"]),
];

/// Cases that run with the simulated libibverbs and are compared with the installed tools.
const VERBS_CASES: &[Case] = &[
    ("ibv_devices", "ibv_devices", &[]),
    ("ibv_devices_words", "ibv_devices", &["-x", "anything"]),
    ("ibv_devinfo", "ibv_devinfo", &[]),
    ("ibv_devinfo_verbose", "ibv_devinfo", &["-v"]),
    ("ibv_devinfo_verbose_long", "ibv_devinfo", &["--verbose", "--ib-dev=mlx4_0"]),
    ("ibv_devinfo_list", "ibv_devinfo", &["-l"]),
    ("ibv_devinfo_list_long", "ibv_devinfo", &["-v", "--li", "-x"]),
    ("ibv_devinfo_device", "ibv_devinfo", &["-d", "mlx5_1"]),
    ("ibv_devinfo_device_joined", "ibv_devinfo", &["-vdrdmap16s27"]),
    ("ibv_devinfo_device_unknown", "ibv_devinfo", &["-d", "nowhere_0"]),
    ("ibv_devinfo_port", "ibv_devinfo", &["-i", "2"]),
    ("ibv_devinfo_port_device", "ibv_devinfo", &["-v", "-d", "mlx4_0", "-i", "2"]),
    ("ibv_devinfo_port_long", "ibv_devinfo", &["--ib-port", "1", "-d", "mlx4_0"]),
    ("ibv_devinfo_port_wide", "ibv_devinfo", &["-d", "mlx4_0", "-i", "257"]),
    ("ibv_devinfo_port_zero", "ibv_devinfo", &["-i", "0"]),
    ("ibv_devinfo_port_none", "ibv_devinfo", &["-d", "mlx5_0", "-i", "3"]),
    ("ibv_devinfo_words", "ibv_devinfo", &["mlx4_0"]),
    ("ibv_devinfo_bad_option", "ibv_devinfo", &["-q"]),
    ("ibv_devinfo_no_value", "ibv_devinfo", &["-d"]),
    ("ibv_devinfo_stuck_open", "ibv_devinfo", &["-d", "stuck_open"]),
    ("ibv_devinfo_stuck_query", "ibv_devinfo", &["-d", "stuck_query"]),
    ("ibv_devinfo_stuck_port", "ibv_devinfo", &["-d", "stuck_port"]),
    ("ibv_devinfo_stuck_gid", "ibv_devinfo", &["-vd", "stuck_gid"]),
];

/// Cases that run on each tree and are compared with the committed output of the scripts.
const SCRIPT_CASES: &[Case] = &[
    ("show_gids", "show_gids", &[]),
    ("show_gids_device", "show_gids", &["mlx5_0"]),
    ("show_gids_unknown", "show_gids", &["nowhere_0"]),
    ("ibdev2netdev", "ibdev2netdev", &[]),
    ("ibdev2netdev_verbose", "ibdev2netdev", &["-v"]),
    ("ibdev2netdev_help", "ibdev2netdev", &["-h"]),
    ("ibdev2netdev_verbose_long", "ibdev2netdev", &["--verbose"]),
    ("ibdev2netdev_words", "ibdev2netdev", &["-v", "mlx5_0"]),
];

/// Cases that run on the files of a BeeGFS client and are compared with the committed output.
const BEEGFS_CASES: &[Case] = &[("beegfs_net", "beegfs-net", &["-n"])];

/// Releases of rdma-core with different output. The committed files hold the output of rdmactl,
/// which was reviewed.
const RELEASES: &[&str] = &["33", "44", "56", "65"];

fn original(tool: &str) -> PathBuf {
    let package = if tool.starts_with("ibv_") { "ibverbs-utils" } else { "infiniband-diags" };
    installed(tool, package)
}

/// Runs `rdmactl compat` with the tool and its arguments.
fn ours(tree: &Tree, user: User, tool: &str, args: &[&str], env: &[(&str, &str)]) -> Said {
    let args: Vec<&str> = ["compat", tool].into_iter().chain(args.iter().copied()).collect();
    run(tree, user, &rdmactl(), &args, env)
}

/// Compares one call. Returns the differences.
fn check(tree: &Tree, user: User, what: &str, tool: &str, args: &[&str]) -> Option<String> {
    let theirs = run(tree, user, &original(tool), args, &[]);
    // The messages of a tool name the path of the tool.
    let path = original(tool).display().to_string();
    let theirs = Said { stderr: theirs.stderr.replace(&path, tool), ..theirs };
    difference(what, &theirs, &ours(tree, user, tool, args, &[]))
}

fn assert_none(differences: &[String]) {
    assert!(differences.is_empty(), "{}\n{} differ", differences.join("\n"), differences.len());
}

#[test]
fn every_tree_is_shown_as_the_originals_show_it() {
    let mut differences = Vec::new();
    for tree in tree::all() {
        for (name, tool, args) in CASES {
            let what = format!("{name} over {}", tree.name);
            differences.extend(check(&tree, User::Root, &what, tool, args));
        }
    }
    assert_none(&differences);
}

/// Removes, empties, corrupts, forbids or replaces each file of a device. rdmactl must report
/// these faults like the originals.
#[test]
fn damaged_trees_are_shown_as_the_originals_show_them() {
    let mut differences = Vec::new();
    for file in [
        "node_type",
        "node_guid",
        "sys_image_guid",
        "fw_ver",
        "hca_type",
        "ports/1/state",
        "ports/1/phys_state",
        "ports/1/rate",
        "ports/1/link_layer",
        "ports/1/lid",
        "ports/1/sm_lid",
        "ports/1/sm_sl",
        "ports/1/lid_mask_count",
        "ports/1/cap_mask",
        "ports/1/gids/0",
        "ports/1/pkeys/1",
        "ports/1/pkeys",
        "ports/1/gids",
        "ports",
    ] {
        for damage in ["missing", "empty", "garbage", "forbidden", "folder"] {
            let tree = tree::mlx5_ib();
            let path = tree.path(&format!("class/infiniband/mlx5_1/{file}"));
            let is_folder = path.is_dir();
            match damage {
                "forbidden" => {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("a mode");
                }
                _ if is_folder => fs::remove_dir_all(&path).expect("removed"),
                _ => fs::remove_file(&path).expect("removed"),
            }
            match damage {
                "empty" if is_folder => fs::create_dir(&path).expect("a directory"),
                "empty" => fs::write(&path, "").expect("a file"),
                "garbage" => fs::write(&path, "  7 of:\tnine\nlines \n").expect("a file"),
                "folder" => fs::create_dir(&path).expect("a directory"),
                _ => {}
            }
            for tool in ["ibstat", "ibstatus"] {
                let what = format!("{tool} with {file} {damage}");
                differences.extend(check(&tree, User::Nobody, &what, tool, &[]));
            }
            differences.extend(check(&tree, User::Nobody, file, "ibstat", &["-p"]));
            // The temporary directory can be removed only with its permissions.
            if damage == "forbidden" {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("a mode");
            }
        }
    }
    assert_none(&differences);
}

/// The files of the client come from the kernel module of BeeGFS 8.3.1. The script of BeeGFS
/// 7.4.6 printed the expected output.
#[test]
fn beegfs_net_is_shown_as_the_script_showed_it() {
    let root = tempfile::tempdir().expect("a directory");
    let client = root.path().join("proc/fs/beegfs/c95-6B0112EA-node2");
    fs::create_dir_all(&client).expect("directories");
    for (list, text) in [
        ("mgmt_nodes", "management [ID: 1]\n   Connections: TCP: 1 (10.9.0.1:8008); \n"),
        ("meta_nodes", "node_meta_01 [ID: 1]\n   Root: <yes>\n   Connections: <none>\n"),
        (
            "storage_nodes",
            "node_storage_01 [ID: 1]\n   Connections: RDMA: 1 (10.9.0.1:8003); \n\
             node_storage_02 [ID: 2]\n   Connections: TCP: 1 (10.9.0.1:8103); \n\
             node_storage_03 [ID: 3]\n   Connections: TCP: 1 (10.9.0.1:8203 [fallback route]); \n\
             node_storage_04 [ID: 4]\n   Connections: <none>\n",
        ),
    ] {
        fs::write(client.join(list), text).expect("a list");
    }
    let run = |args: &[&str], root: &Path| {
        let source = Live::with_root(root).expect("a root");
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let tool = Tool::BeegfsNet;
        compat::run(
            &Call { tool, program: tool.name(), args: &args, release: None, pid: 0 },
            &source,
        )
    };
    let golden = package("tests/compat/golden/beegfs_net/lab.txt");
    let expected = fs::read_to_string(golden).expect("what the script printed");
    for (_, _, args) in BEEGFS_CASES {
        let said = run(args, root.path()).expect("an answer");
        assert_eq!((said.stdout.as_str(), said.code), (expected.as_str(), 0));
    }
    // A machine without a BeeGFS client.
    let empty = tempfile::tempdir().expect("a directory");
    let said = run(&["-n"], empty.path()).expect("an answer");
    assert_eq!((said.stdout.as_str(), said.code), ("\n", 1));
    assert_eq!(said.stderr, "No active BeeGFS mounts found.\n");
    assert!(matches!(run(&["-h"], empty.path()), Err(CompatError::NotOffered { .. })));
}

/// Simulated libibverbs with the symbol versions that the installed tools require.
struct Library {
    folder: tempfile::TempDir,
}

impl Library {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let private = private_version(&original("ibv_devinfo"));
        let map = format!(
            "IBVERBS_1.0 {{ global: ibv_read_sysfs_file; }};\n\
             IBVERBS_1.1 {{ global: ibv_*; _ibv_query_comp_cntr_caps; }} IBVERBS_1.0;\n\
             {private} {{ global: ibv_query_gid_type; local: *; }};\n"
        );
        fs::write(folder.path().join("map"), map).expect("a file");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"])
            .arg("-Wno-missing-field-initializers")
            .arg(format!("-Wl,--version-script={}", folder.path().join("map").display()))
            .arg("-o")
            .arg(folder.path().join("libibverbs.so.1"))
            .arg(package("tests/compat/devices.c"))
            .status()
            .expect("cc is there");
        assert!(status.success());
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Returns the version of the private interface of libibverbs that a program was linked to, for
/// example `IBVERBS_PRIVATE_34`.
fn private_version(program: &Path) -> String {
    let bytes = fs::read(program).expect("the program");
    let text = String::from_utf8_lossy(&bytes);
    let start = text.find("IBVERBS_PRIVATE_").expect("a version");
    text[start..].chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// Returns a tree with the files in /sys of the devices of the simulated library.
fn verbs_tree() -> Tree {
    let tree = Tree::new("verbs");
    let local = "fe80:0000:0000:0000:9ca3:ba03:0012:3450";
    let zero = "0000:0000:0000:0000:0000:0000:0000:0000";
    for (port, gids) in [
        ("mlx5_1/ports/1", &[(local, "IB/RoCE v1"), (zero, "IB/RoCE v1")][..]),
        ("mlx5_0/ports/1", &[(local, "IB/RoCE v1")]),
        ("mlx4_0/ports/1", &[(local, "IB/RoCE v1")]),
        (
            "mlx4_0/ports/2",
            &[("0000:0000:0000:0000:0000:ffff:0a09:0001", "RoCE v2"), (local, "IB/RoCE v1")],
        ),
        ("rdmap16s27/ports/1", &[("fe80:0000:0000:0000:0000:0000:0000:0000", "IB/RoCE v1")]),
        ("stuck_gid/ports/1", &[("0000:0000:0000:0000:0000:0000:c0a8:0001", "RoCE v2")]),
    ] {
        for (index, (gid, kind)) in (0..).zip(gids) {
            tree.gid(port, index, gid, kind, "");
        }
    }
    tree.file("class/infiniband/mlx5_1/board_id", "MT_0000000838\n");
    tree.file("class/infiniband/mlx5_0/board_id", "\n");
    tree.file("class/infiniband/mlx4_0/board_id", "two\nlines\n");
    tree
}

#[test]
fn simulated_adapters_are_shown_as_the_originals_show_them() {
    let (library, tree) = (Library::new(), verbs_tree());
    let folder = library.path().display().to_string();
    let file = library.path().join("libibverbs.so.1").display().to_string();
    let mut differences = Vec::new();
    for kind in ["all", "empty"] {
        for (name, tool, args) in VERBS_CASES {
            let env = [("LD_LIBRARY_PATH", folder.as_str()), ("FAKE_VERBS", kind)];
            let theirs = run(&tree, User::Root, &original(tool), args, &env);
            let path = original(tool).display().to_string();
            let theirs = Said {
                stdout: theirs.stdout.replace(&path, tool),
                stderr: theirs.stderr.replace(&path, tool),
                ..theirs
            };
            let env = [("RDMACTL_LIBIBVERBS", file.as_str()), ("FAKE_VERBS", kind)];
            let ours = ours(&tree, User::Root, tool, args, &env);
            differences.extend(difference(&format!("{name} of {kind} cards"), &theirs, &ours));
        }
    }
    assert_none(&differences);
}

#[test]
fn without_rdma_in_the_kernel_the_verbs_tools_fail_as_the_originals_do() {
    let tree = tree::none();
    let mut differences = Vec::new();
    for (name, tool, args) in VERBS_CASES {
        let theirs = run(&tree, User::Root, &original(tool), args, &[]);
        let path = original(tool).display().to_string();
        let theirs = Said {
            stdout: theirs.stdout.replace(&path, tool),
            stderr: theirs.stderr.replace(&path, tool),
            ..theirs
        };
        differences.extend(difference(name, &theirs, &ours(&tree, User::Root, tool, args, &[])));
    }
    assert_none(&differences);
}

/// Formats a call and its output like `tests/golden.rs`.
fn transcript(tool: &str, args: &[&str], said: &Said) -> String {
    let words: Vec<&str> = [tool].into_iter().chain(args.iter().copied()).collect();
    format!(
        "$ {}\n{}--- stderr\n{}--- exit {}\n",
        words.join(" "),
        said.stdout,
        said.stderr,
        said.code
    )
}

/// Script that prints the interfaces of the tree in the format of `ip link show`.
const FAKE_IP: &str = r#"#!/bin/sh
for path in /sys/class/net/*; do
    echo "$(cat "$path/ifindex") ${path##*/} $(cat "$path/type") $(cat "$path/address")"
done | sort -n | while read -r index name type address; do
    case $type in 32) type=infiniband ;; 772) type=loopback ;; *) type=ether ;; esac
    echo "$index: $name: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 2044 qdisc mq state UP mode DEFAULT group default qlen 256"
    echo "    link/$type $address brd 00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff"
done
"#;

/// Runs an original script, with [`FAKE_IP`] in place of `ip`.
fn run_script(folder: &Path, tree: &Tree, tool: &str, args: &[&str]) -> Said {
    let bin = tempfile::tempdir().expect("a temporary directory");
    let ip = bin.path().join("ip");
    fs::write(&ip, FAKE_IP).expect("a file");
    fs::set_permissions(&ip, fs::Permissions::from_mode(0o755)).expect("a mode");
    let path = format!("{}:{}", bin.path().display(), env::var("PATH").expect("PATH"));
    let script = folder.join(tool);
    let said = run(tree, User::Root, &script, args, &[("PATH", &path)]);
    // An error message of bash about the script names a line of the script.
    let is_bash = |line: &&str| !line.contains(": line ");
    let lines: String = said.stderr.lines().filter(is_bash).flat_map(|line| [line, "\n"]).collect();
    Said { stderr: lines, ..said }
}

#[test]
fn every_tree_is_shown_as_the_scripts_showed_it() {
    let originals = env::var_os("RDMACTL_ORIGINALS").map(PathBuf::from);
    let mut differences = Vec::new();
    for tree in tree::all() {
        for (name, tool, args) in SCRIPT_CASES {
            let path = package(&format!("tests/compat/golden/{name}/{}.txt", tree.name));
            if let Some(folder) = &originals {
                let said = run_script(folder, &tree, tool, args);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
                fs::write(&path, transcript(tool, args, &said)).expect("a file");
            }
            let said = ours(&tree, User::Root, tool, args, &[]);
            let made = transcript(tool, args, &said);
            let committed = fs::read_to_string(&path).unwrap_or_default();
            if committed != made {
                differences.push(format!("{name} over {}:\n{committed}\n{made}", tree.name));
            }
        }
    }
    assert_none(&differences);
}

#[test]
fn each_release_prints_in_its_own_way() {
    let library = Library::new();
    let file = library.path().join("libibverbs.so.1").display().to_string();
    let env = [("RDMACTL_LIBIBVERBS", file.as_str())];
    let mut differences = Vec::new();
    let refused = tree::refused();
    let verbs = verbs_tree();
    for release in RELEASES {
        for (tree, words) in [
            (&verbs, &["ibv_devinfo", "-v"][..]),
            (&refused, &["ibstat"]),
            (&refused, &["ibstat", "-h"]),
            (&refused, &["ibstat", "d_good", "7"]),
        ] {
            let args: Vec<&str> =
                ["compat", "--as", release].into_iter().chain(words.iter().copied()).collect();
            let said = run(tree, User::Root, &rdmactl(), &args, &env);
            let made = transcript("rdmactl", &args, &said);
            let name = words.join("_").replace('-', "");
            let path = package(&format!("tests/compat/golden/as_{release}/{name}.txt"));
            differences.extend(compare(&path, &made));
        }
    }
    assert_none(&differences);
}

#[test]
fn a_recording_answers_every_case_like_the_machine() {
    let release = Release::of(44);
    for tree in tree::all() {
        let live = || Live::with_root(tree.root()).expect("a root");
        let recorder = Recorder::new(live());
        ask_everything(&recorder.once());
        let replayed = Recorded::new(recorder.into_entries(), None);
        for (name, tool, args) in CASES.iter().chain(SCRIPT_CASES) {
            let tool = Tool::from_name(tool).expect("a tool");
            let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
            let (program, release) = (tool.name(), release.clone());
            let call = Call { tool, program, args: &args, release, pid: 1 };
            let machine = compat::run(&call, &live());
            match compat::run(&call, &replayed) {
                // A capture omits the vital product data of an adapter: it names more than RDMA.
                Err(CompatError::NotRecorded { missing, .. }) => {
                    let is_vpd = missing.iter().all(|path| path.ends_with("/device/vpd"));
                    assert!(is_vpd && *name == "ibdev2netdev_verbose", "{name}: {missing:?}");
                }
                answer => assert_eq!(answer, machine, "{name} over {}", tree.name),
            }
        }
    }
}

#[test]
fn a_capture_and_another_root_answer_like_the_machine() {
    for tree in [tree::mlx5_roce(), tree::mixed(), tree::none()] {
        let root = tree.root().display().to_string();
        let saved = tree.root().join("saved.ndjson").display().to_string();
        let args = ["--root", &root, "capture", "--save", &saved];
        let capture = Command::new(rdmactl()).args(args).output().expect("rdmactl runs");
        assert!(capture.status.code().is_some(), "{capture:?}");
        for tool in ["ibstat", "ibstatus", "show_gids", "ibdev2netdev"] {
            let of = |place: &[&str]| {
                let args = ["compat", "--as", "44"].iter().chain(place).chain([&tool]);
                run(&tree, User::Root, &rdmactl(), &args.copied().collect::<Vec<_>>(), &[])
            };
            let live = of(&[]);
            for place in [["--from", &saved], ["--root", &root]] {
                assert_eq!(of(&place), live, "{tool} over {} {}", tree.name, place[0]);
            }
        }
    }
}

#[test]
fn a_link_with_the_name_of_a_tool_is_that_tool() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let tree = tree::mlx4_vpi();
    for (tool, args) in [
        ("ibstat", &["mlx4_0", "2"][..]),
        ("ibstatus", &[]),
        ("show_gids", &[]),
        ("ibv_devices", &[]),
    ] {
        let link = folder.path().join(tool);
        symlink(rdmactl(), &link).expect("a link");
        let named = run(&tree, User::Root, &link, args, &[]);
        assert_eq!(named, ours(&tree, User::Root, tool, args, &[]), "{tool}");
    }
}

#[test]
fn unsupported_tool_or_option_is_an_error_with_its_name() {
    let tree = tree::mlx5_ib();
    let root = tree.root().display().to_string();
    for (args, said) in [
        (&["compat", "ibstat", "-d"][..], "compat ibstat does not support -d"),
        (&["compat", "ibsysstat"], "unknown tool ibsysstat"),
        (&["compat", "--as", "12", "ibstat"], "12 is not in 33..=65"),
        (&["compat", "--json", "ibstat"], "compat does not support --json"),
        (
            &["compat", "--root", &root, "ibv_devices"],
            "compat ibv_devices: libibverbs not recorded",
        ),
        (
            &["compat", "--from", "tests/fixtures/mlx5_ib/capture.ndjson", "ibv_devinfo"],
            "an older rdmactl wrote the capture",
        ),
        (
            &["compat", "--from", "tests/fixtures/fleet/capture.ndjson", "ibstat"],
            "choose one host with -H",
        ),
    ] {
        let output = Command::new(rdmactl())
            .args(args)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("rdmactl runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(said), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}

/// Returns the names of cases in the tables of docs/compat.md.
fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(package("docs/compat.md")).expect("docs/compat.md");
    // The table of the fabric tools lists options. Its calls are tested in compat_fabric and
    // compat_mads.
    let (hosts, _) =
        text.split_once("\n## Tools of the fabric\n").expect("the tools of the fabric");
    let rows = hosts.lines().filter(|line| line.starts_with('|') && !line.starts_with("|-"));
    let last = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    let words = last.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.map(str::to_owned).collect()
}

#[test]
fn every_case_is_documented_and_every_documented_case_exists() {
    let cases: BTreeSet<String> = CASES
        .iter()
        .chain(VERBS_CASES)
        .chain(SCRIPT_CASES)
        .chain(BEEGFS_CASES)
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    let documented = documented();
    let unknown: Vec<&String> = documented.difference(&cases).collect();
    let missing: Vec<&String> = cases.difference(&documented).collect();
    assert!(
        unknown.is_empty() && missing.is_empty(),
        "no such case {unknown:?}; not in docs {missing:?}"
    );
}

/// docs/compat.md has a line for each option in the help of the originals.
#[test]
fn every_option_of_the_originals_is_listed() {
    let docs = fs::read_to_string(package("docs/compat.md")).expect("docs/compat.md");
    for (tool, args) in [("ibstat", ["-h"]), ("ibv_devinfo", ["--nope"])] {
        let output = Command::new(original(tool)).args(args).output().expect("it runs");
        let help = [output.stdout, output.stderr].concat();
        let help = String::from_utf8_lossy(&help).into_owned();
        let options = help.split([' ', ',', '=']).filter(|word| word.starts_with("--"));
        let section = docs.split(&format!("## {tool}\n")).nth(1).expect("a section");
        let section = section.split("\n## ").next().expect("its text");
        for option in options.filter(|option| !option.contains("nope")) {
            let option = option.trim_end();
            assert!(section.contains(&format!("`{option}`")), "{tool} {option} is not in docs");
        }
    }
}
