//! Files and variables of a site that define hosts: groups, host lists and jobs, with the errors
//! for invalid ones.
#![allow(clippy::unwrap_used, reason = "without its files a test must end")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rdmactl::hosts::{HostSet, Site, SitePaths};
use tempfile::TempDir;

/// Creates a directory with files: name and text.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn places(folder: &Path) -> SitePaths {
    SitePaths {
        clustershell: vec![folder.join("system"), folder.join("user")],
        genders: folder.join("genders"),
        dsh: vec![folder.join("mine"), folder.join("dsh")],
        ..SitePaths::default()
    }
}

fn found(expression: &str, places: SitePaths) -> Result<String, String> {
    let set = HostSet::find(expression, &Site::new(places));
    set.map(|set| set.fold()).map_err(|error| error.to_string())
}

/// Shortened groups.conf, groups.d/cluster.yaml.example and local.cfg of `ClusterShell`.
const CONF: &str = r"
[Main]
default: local
confdir: $CFGDIR/groups.conf.d /nowhere
autodir: $CFGDIR/groups.d

[local]
map: [ -f $CFGDIR/groups ] && f=$CFGDIR/groups || f=$CFGDIR/groups.d/local.cfg; sed -n 's/^$GROUP:\(.*\)/\1/p' $f
all: [ -f $CFGDIR/groups ] && f=$CFGDIR/groups || f=$CFGDIR/groups.d/local.cfg; sed -n 's/^all:\(.*\)/\1/p' $f
list: [ -f $CFGDIR/groups ] && f=$CFGDIR/groups || f=$CFGDIR/groups.d/local.cfg; sed -n 's/^\([0-9A-Za-z_-]*\):.*/\1/p' $f
";
const MORE: &str = "[seq,sq]\nmap: echo 'n$GROUP'\n    echo $SOURCE\nlist: echo 1; echo 2\n\
                    [bare]\nmap: test $GROUP = known && echo n7\n\
                    [quiet]\nmap: true\nreverse: echo $NODE\n";
const LOCAL: &str = "adm: example0\noss: example4 example5\ncompute: example[32-159]\nempty:\n\
                     all: example[4-6,32-159]\nwrong: example[1-\nwheel: @wheel\n";
const RACKS: &str = "roles:\n    adm: 'example0'\n    io: '@racks:rack2,example2'\n    all: '@io'\nracks:\n    \
                     rack1: 'example[0,2]'\n    rack2: 'example[4-5]'\n    old: '@rack[1,2]'\n    rack5:\n        \
                     - 'example[200-205]'\n        - 'example245'\n";

fn clustershell() -> TempDir {
    folder(&[
        ("system/groups.conf", CONF),
        ("system/groups.conf.d/more.conf", MORE),
        ("system/groups.d/local.cfg", LOCAL),
        ("system/groups.d/racks.yaml", RACKS),
        ("system/groups.d/racks.yaml.example", "not: [read"),
    ])
}

#[test]
fn groups_of_clustershell_are_those_of_nodeset() {
    let folder = clustershell();
    let table = [
        ("@compute", "example[32-159]"),
        ("@local:oss", "example[4-5]"),
        ("@empty", ""),
        ("@*", "example[4-6,32-159]"),
        ("@roles:io", "example[2,4-5]"),
        ("@roles:*", "example[2,4-5]"),
        ("@racks:old", "example[0,2,4-5]"),
        ("@racks:rack[1-2,5]!example0", "example[2,4-5,200-205,245]"),
        ("@racks:*", "example[0,2,4-5,200-205,245]"),
        ("@seq:1", "n1,seq"),
        ("@sq:1", "n1,sq"),
        ("@sq:*", "n[1-2],sq"),
        ("@bare:known", "n7"),
    ];
    for (expression, expected) in table {
        assert_eq!(
            found(expression, places(folder.path())).as_deref(),
            Ok(expected),
            "{expression}"
        );
    }
}

#[test]
fn clustershell_group_error_lists_the_valid_names() {
    let folder = clustershell();
    let table = [
        (
            "n1,@nogrp",
            "has no group nogrp: use one of these groups: adm, oss, compute, empty, all, wrong, wheel",
        ),
        ("@racks:rack9", "has no group rack9: use one of these groups: rack1, rack2, old, rack5"),
        (
            "@nosource:x",
            "unknown group source nosource: use one of: seq, sq, bare, quiet, roles, racks, local",
        ),
        ("@wrong", "invalid host set in the output of group source local"),
        ("@wheel", "contains itself: @wheel > @local:wheel > @local:wheel"),
        ("@bare:unknown", "failed: exit status: 1"),
        ("@quiet:x", "group source quiet returned no host for group x"),
        ("@quiet:*", "group source quiet has no `all` and no `list` command"),
        ("@seq:a/b", "group names of source seq cannot contain `/`"),
    ];
    for (expression, said) in table {
        let error = found(expression, places(folder.path())).unwrap_err();
        assert!(error.contains(said), "{expression}: {error}");
        assert!(error.contains("^^"), "{error}");
    }
}

#[test]
fn a_later_configuration_replaces_settings_of_an_earlier_one() {
    let folder = clustershell();
    let user = folder.path().join("user");
    fs::create_dir(&user).unwrap();
    fs::write(
        user.join("groups.conf"),
        "[Main]\ndefault: mine\nautodir=$CFGDIR/y\n[mine]\nmap: echo m1\n",
    )
    .unwrap();
    fs::create_dir(user.join("y")).unwrap();
    fs::write(user.join("y/a.yaml"), "mine2:\n  g: n1\n").unwrap();
    let found = |expression| found(expression, places(folder.path()));
    assert_eq!(found("@x").as_deref(), Ok("m1"));
    assert_eq!(found("@mine2:g").as_deref(), Ok("n1"));
    // The source `local` has the commands of the earlier file, but the directory of the later
    // file.
    assert!(found("@local:compute").unwrap_err().contains("failed"));
    fs::write(user.join("y/b.yaml"), "mine:\n  g: n1\n").unwrap();
    assert!(found("@mine:g").unwrap_err().contains("is defined twice"), "{:?}", found("@mine:g"));
    fs::create_dir(user.join("groups.conf.d")).unwrap();
    fs::write(user.join("groups.conf.d/x.conf"), "nonsense\n").unwrap();
    // The `confdir` of the earlier file is relative to the directory of the later file.
    assert!(found("@mine2:g").unwrap_err().contains("user/groups.conf.d/x.conf:1"));
    fs::remove_file(user.join("groups.conf.d/x.conf")).unwrap();
    fs::write(user.join("y/b.yaml"), "mine:\n- g\n").unwrap();
    let error = found("@mine:g").unwrap_err();
    assert!(error.contains("y/b.yaml:2: not a group: write SOURCE:"), "{error}");
}

#[test]
fn a_configuration_that_is_none_is_named_with_its_line() {
    let folder = clustershell();
    let conf = folder.path().join("system/groups.conf.d/more.conf");
    fs::write(&conf, "[a]\nmap: echo n1\nnonsense\n").unwrap();
    let error = found("@compute", places(folder.path())).unwrap_err();
    assert!(
        error.contains("more.conf:3: `nonsense` is neither a section nor a setting"),
        "{error}"
    );
    fs::write(&conf, "[a]\nlist: echo n1\n").unwrap();
    let error = found("@compute", places(folder.path())).unwrap_err();
    assert!(error.contains("group source a has no `map` command"), "{error}");
}

#[test]
fn without_a_configuration_the_usual_files_are_read() {
    let folder = folder(&[
        ("system/groups.d/local.cfg", "a: n[1-2]\nb: @a,n3\n"),
        ("system/groups.d/r.yaml", "racks:\n  r1: n1\n"),
    ]);
    let ask = |expression| found(expression, places(folder.path()));
    assert_eq!(ask("@b").as_deref(), Ok("n[1-3]"));
    assert_eq!(ask("@*!@racks:r1").as_deref(), Ok("n[2-3]"));
    assert!(ask("@c").unwrap_err().contains("has no group c: use one of these groups: a, b"));
    // The file of older releases has precedence.
    fs::write(folder.path().join("system/groups"), "a: old\n").unwrap();
    assert_eq!(ask("@a").as_deref(), Ok("old"));
    let error = found("@a", SitePaths::default()).unwrap_err();
    assert!(error.contains("no ClusterShell groups are defined on this machine"), "{error}");
}

#[test]
fn commands_of_a_file_that_others_may_write_are_not_run() {
    let folder = clustershell();
    let conf = folder.path().join("system/groups.conf");
    for mode in [0o664, 0o646] {
        fs::set_permissions(&conf, fs::Permissions::from_mode(mode)).unwrap();
        let error = found("@compute", places(folder.path())).unwrap_err();
        assert!(error.contains("are not run") && error.contains("chmod go-w"), "{error}");
        // A file without commands may belong to any user.
        assert_eq!(found("@racks:rack2", places(folder.path())).as_deref(), Ok("example[4-5]"));
    }
}

#[test]
fn genders_and_dsh_are_known_without_a_configuration() {
    let folder = folder(&[
        (
            "genders",
            "# all\nslc0 passwdhost\nn[1-4] compute,ib=hdr\nn5 compute,ib=ndr\nx[1- broken\n",
        ),
        ("dsh/web", "www1\nwww[2-3] # two\n#include db\n"),
        ("dsh/db", "db1\n"),
        ("mine/db", "db7\n"),
        ("dsh/.hidden", "h1\n"),
        ("dsh/wheel", "#include wheel\n"),
    ]);
    let ask = |expression| found(expression, places(folder.path()));
    assert_eq!(ask("@genders:compute").as_deref(), Ok("n[1-5]"));
    assert_eq!(ask("@genders:ib=ndr").as_deref(), Ok("n5"));
    let error = ask("@genders:gpu").unwrap_err();
    assert!(
        error.contains("has no group gpu: use one of these groups: broken, compute, ib,"),
        "{error}"
    );
    let error = ask("@genders:broken").unwrap_err();
    assert!(error.contains("genders:5\nx[1-\n ^^^ unclosed bracket"), "{error}");
    assert_eq!(ask("@dsh:web").as_deref(), Ok("db7,www[1-3]"));
    assert!(ask("@dsh:wheel").unwrap_err().contains("contains itself"));
    assert!(
        ask("@dsh:x")
            .unwrap_err()
            .contains("has no group x: use one of these groups: db, web, wheel")
    );
    assert!(ask("@dsh:../genders").unwrap_err().contains("has no group"));
    let error = found("@genders:x", SitePaths::default()).unwrap_err();
    assert!(error.contains("cannot open"), "{error}");
}

#[test]
fn the_job_is_that_of_slurm_or_pbs() {
    let folder = folder(&[("nodefile", "n1\nn1\nn2\n"), ("broken", "n[1-\n")]);
    let of = |slurm: Option<&str>, pbs: Option<&str>| SitePaths {
        slurm_job: slurm.map(str::to_owned),
        pbs_job: pbs.map(|name| folder.path().join(name)),
        ..SitePaths::default()
    };
    assert_eq!(found("@job", of(Some("n[1-3],gpu01"), None)).as_deref(), Ok("gpu01,n[1-3]"));
    assert_eq!(found("@job!n1", of(None, Some("nodefile"))).as_deref(), Ok("n2"));
    let error = found("@job", of(Some("n[1-"), None)).unwrap_err();
    assert!(error.contains("invalid host set in SLURM_JOB_NODELIST\nn[1-\n ^^^"), "{error}");
    assert!(found("@job", of(None, Some("broken"))).unwrap_err().contains("broken:1\n"));
    assert!(found("@job", of(None, Some("nowhere"))).unwrap_err().contains("cannot open"));
    assert!(found("@job", of(None, None)).unwrap_err().contains("not within a job"));
}

#[test]
fn a_file_of_hosts_is_read_as_its_kind() {
    let folder = folder(&[
        ("list", "# all\nn[1-4]!n2\nuser@n9\n"),
        ("openmpi", "foo\nbar slots=2\n"),
        ("counts", "donner:2\nfoo\n"),
        ("inventory", "[web]\nwww[01:05:2]\n[dc:children]\nweb\n"),
        ("etc", "127.0.0.1 localhost\n10.0.0.1 n1 n1.example\n"),
        ("genders", "n[1-2] compute\n"),
        ("groups", "@racks:r1\n"),
        ("bad", "n1\n\nn[1-03]\n"),
        ("empty", "# nothing\n"),
        ("sneaky", "[web]\n@all\n"),
        ("list:x", "odd\n"),
    ]);
    let read = |kind: &str, name: &str| {
        let path = folder.path().join(name);
        found(&format!("^{kind}{}", path.display()), SitePaths::default())
    };
    let table = [
        ("", "list", "n[1,3-4],user@n9"),
        ("", "openmpi", "bar,foo"),
        ("mpich:", "counts", "donner,foo"),
        ("list:", "counts", "donner:2,foo"),
        ("", "inventory", "www[01,03,05]"),
        ("", "etc", "n1"),
        ("", "genders", "n[1-2]"),
        ("pbs:", "genders", "n[1-2]"),
        ("", "list:x", "odd"),
    ];
    for (kind, name, expected) in table {
        assert_eq!(read(kind, name).as_deref(), Ok(expected), "{kind}{name}");
    }
    let table = [
        ("", "counts", "counts:1: `donner:2` is ambiguous: port 2 in a list of hosts, 2 processes"),
        (
            "",
            "bad",
            "bad:3\nn[1-03]\n  ^^^^ the bounds have different widths: write [01-03] or [1-3]",
        ),
        ("", "empty", "contains no host"),
        ("", "nowhere", "cannot open"),
        ("", "", "cannot read"),
        ("", "sneaky", "this kind of file cannot contain groups"),
        ("", "groups", "unknown group source racks"),
    ];
    for (kind, name, said) in table {
        let error = read(kind, name).unwrap_err();
        assert!(error.contains(said), "{kind}{name}: {error}");
    }
}

#[test]
fn a_file_without_an_end_is_refused() {
    let error = found("^/dev/zero", SitePaths::default()).unwrap_err();
    assert!(error.contains("/dev/zero is larger than 4 MiB"), "{error}");
    let folder = folder(&[]);
    fs::write(folder.path().join("bytes"), [0xff, 0xfe]).unwrap();
    let error = found(&format!("^{}/bytes", folder.path().display()), SitePaths::default());
    assert!(error.unwrap_err().contains("is not UTF-8 text"));
}
