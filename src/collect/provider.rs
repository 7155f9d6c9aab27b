//! Finds by file names if libibverbs has a userspace provider for each device.
//!
//! The version of libibverbs decides which of several versions of a file it loads: here any
//! version counts. `collect` calls this module.

use std::collections::HashMap;

use super::Reader;
use crate::model::{HostReport, Provider};

const FOLDERS: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/libibverbs",
    "/usr/lib/aarch64-linux-gnu/libibverbs",
    "/usr/lib64/libibverbs",
    "/usr/lib/libibverbs",
];
/// Directory of the provider list (`.driver` files of rdma-core).
const LISTS: &str = "/etc/libibverbs.d";
const RELEASE: &str = "/etc/os-release";

/// Kernel drivers, as `device/driver` names them, and the providers in rdma-core's `providers/`
/// for their devices. The newest provider comes first: irdma replaced i40iw.
const PROVIDERS: [(&str, &[&str]); 21] = [
    ("mlx5_core", &["mlx5"]),
    ("mlx4_core", &["mlx4"]),
    ("ib_mthca", &["mthca"]),
    ("cxgb4", &["cxgb4"]),
    ("bnxt_en", &["bnxt_re"]),
    ("be2net", &["ocrdma"]),
    ("qede", &["qedr"]),
    ("i40e", &["irdma", "i40iw"]),
    ("ice", &["irdma"]),
    ("idpf", &["irdma"]),
    ("iavf", &["irdma"]),
    ("hns3", &["hns"]),
    ("vmw_pvrdma", &["vmw_pvrdma"]),
    ("hfi1", &["hfi1verbs"]),
    ("ib_qib", &["ipathverbs"]),
    ("efa", &["efa"]),
    ("erdma", &["erdma"]),
    ("mana", &["mana"]),
    ("ionic", &["ionic"]),
    ("rdma_rxe", &["rxe"]),
    ("siw", &["siw"]),
];

pub(super) fn read(reader: &mut Reader<'_>, report: &mut HostReport) {
    if report.devices.is_empty() {
        return;
    }
    let mut files = Vec::new();
    for folder in FOLDERS {
        let names = reader.names("provider", folder).unwrap_or_default();
        files.extend(names.into_iter().map(|name| (folder, name)));
    }
    let release = reader.content("provider", RELEASE);
    if files.is_empty() && release.is_none() {
        // A copy of /sys, or an unknown distribution: a missing provider would be a guess.
        return;
    }
    let mut listed = HashMap::new();
    for device in &mut report.devices {
        let known = PROVIDERS.iter().find(|(driver, _)| Some(*driver) == device.driver.as_deref());
        let Some((_, names)) = known else { continue };
        let file = |name: &&str| {
            let stem = format!("lib{name}-rdmav");
            let is_it = |(_, file): &&(&str, String)| {
                file.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(".so")).is_some()
            };
            files.iter().find(is_it).map(|(folder, file)| format!("{folder}/{file}"))
        };
        let found = names.iter().find_map(|name| Some((*name, file(name)?)));
        let name = found.as_ref().map_or(names[0], |(name, _)| *name);
        device.provider = Some(Provider {
            is_listed: *listed.entry(name).or_insert_with(|| is_listed(reader, name)),
            name: name.to_owned(),
            file: found.map(|(_, file)| file),
            package: release.as_deref().and_then(package).map(str::to_owned),
        });
    }
}

fn is_listed(reader: &mut Reader<'_>, name: &str) -> bool {
    let text = reader.text("provider", &format!("{LISTS}/{name}.driver"));
    text.is_some_and(|text| text.lines().any(|line| line.trim() == format!("driver {name}")))
}

/// Returns the package with the providers, for the distribution or one that it is like.
fn package(release: &str) -> Option<&'static str> {
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches(['"', '\'']).to_owned()
    };
    let words = format!("{} {}", value("ID"), value("ID_LIKE"));
    words.split_whitespace().find_map(|word| match word {
        "debian" | "ubuntu" => Some("ibverbs-providers"),
        "rhel" | "fedora" | "centos" | "suse" | "sles" | "opensuse" => Some("libibverbs"),
        _ => None,
    })
}

#[test]
fn each_family_has_its_package() {
    for (release, expected) in [
        ("NAME=x\nID=ubuntu\nID_LIKE=debian\n", Some("ibverbs-providers")),
        ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", Some("libibverbs")),
        ("ID=\"sles\"\nID_LIKE=\"suse\"\n", Some("libibverbs")),
        ("ID=alpine\n", None),
        ("", None),
    ] {
        assert_eq!(package(release), expected, "{release}");
    }
}
