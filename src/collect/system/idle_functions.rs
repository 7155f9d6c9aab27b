//! Finds functions of network cards whose driver supports RDMA, and that have no RDMA device.

use std::collections::BTreeSet;

use super::super::Reader;
use super::super::sysfs::{FUNCTIONS, MAX_FUNCTIONS, is_pci_address, last_part};
use crate::model::{Device, IdleFunction};

/// Drivers of PCI functions, and the modules that make their RDMA devices
/// (`kernel-boot/rdma-hw-modules.rules` of rdma-core).
const MODULES: [(&str, &str); 13] = [
    ("be2net", "ocrdma"),
    ("bnxt_en", "bnxt_re"),
    ("cxgb4", "iw_cxgb4"),
    ("efa", "efa"),
    ("hfi1", "hfi1"),
    ("hns3", "hns_roce_hw_v2"),
    ("ib_qib", "ib_qib"),
    ("ice", "irdma"),
    ("ionic", "ionic_rdma"),
    ("mana", "mana_ib"),
    ("mlx4_core", "mlx4_ib"),
    ("mlx5_core", "mlx5_ib"),
    ("qede", "qedr"),
];

/// Drivers by vendor, for InfiniBand and Omni-Path controllers without a driver.
const VENDORS: [(&str, &str); 3] =
    [("0x15b3", "mlx5_core"), ("0x8086", "hfi1"), ("0x1077", "ib_qib")];

/// Returns true for a module that makes RDMA devices.
pub(super) fn is_rdma_module(name: &str) -> bool {
    MODULES.iter().any(|(_, module)| *module == name)
}

/// Finds the functions; `None` if the machine has no PCI bus or its functions could not be
/// listed.
pub(super) fn read(reader: &mut Reader<'_>, devices: &[Device]) -> Option<Vec<IdleFunction>> {
    let mut names = reader.names("system/functions", FUNCTIONS)?;
    reader.truncate("system/functions", FUNCTIONS, MAX_FUNCTIONS, &mut names);
    let used: BTreeSet<&str> = devices.iter().filter_map(|device| device.pci.as_deref()).collect();
    // A driver that bonds the ports of a card makes one device for all functions of the slot.
    let bonded: BTreeSet<&str> = devices
        .iter()
        .filter(|device| device.name.contains("bond"))
        .filter_map(|device| Some(device.pci.as_deref()?.rsplit_once('.')?.0))
        .collect();
    let is_idle = |name: &String| {
        let slot = name.rsplit_once('.').map_or(name.as_str(), |(slot, _)| slot);
        is_pci_address(name) && !used.contains(name.as_str()) && !bonded.contains(slot)
    };
    let idle: Vec<String> = names.into_iter().filter(is_idle).collect();
    Some(idle.into_iter().filter_map(|pci| read_function(reader, pci)).collect())
}

/// Reads a function; `None` if it supports no RDMA, is a virtual function, which another machine
/// or container may use, or has an unreadable link.
fn read_function(reader: &mut Reader<'_>, pci: String) -> Option<IdleFunction> {
    let key = format!("system/functions/{pci}");
    let path = |file: &str| format!("{FUNCTIONS}/{pci}/{file}");
    let class = reader.text(&key, &path("class"))?;
    class.starts_with("0x02").then_some(())?;
    let before = reader.problems.len();
    let driver = reader.link(&key, &path("driver")).and_then(|target| last_part(&target));
    let vendor = reader.text(&key, &path("vendor"))?;
    let is_fabric = class.starts_with("0x0207") || class.starts_with("0x0208");
    let of_vendor = || {
        let entry = VENDORS.iter().find(|(id, _)| is_fabric && *id == vendor);
        entry.map(|(_, driver)| *driver)
    };
    let expected = driver.as_deref().or_else(of_vendor)?;
    let (_, module) = MODULES.iter().find(|(name, _)| *name == expected)?;
    let is_virtual = reader.link(&key, &path("physfn")).is_some();
    // A link that could not be read is not an absent link.
    if is_virtual || reader.problems.len() > before {
        return None;
    }
    let device = reader.text(&key, &path("device"))?;
    let id = format!("{}:{}", vendor.trim_start_matches("0x"), device.trim_start_matches("0x"));
    Some(IdleFunction { pci, id, driver, rdma_module: (*module).to_owned() })
}
