//! Finds functions of network cards whose driver supports RDMA, and that have no RDMA device.

use std::collections::BTreeSet;

use super::super::Reader;
use super::super::sysfs::{FUNCTIONS, MAX_FUNCTIONS, is_pci_address, last_part};
use crate::model::{Device, HostReport, IdleFunction};

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
const VENDORS: [(&str, &str); 2] = [("0x8086", "hfi1"), ("0x1077", "ib_qib")];

/// Vendor whose Ethernet controllers support RDMA, too.
const MELLANOX: &str = "0x15b3";

/// Returns true for a module that makes RDMA devices.
pub(super) fn is_rdma_module(name: &str) -> bool {
    MODULES.iter().any(|(_, module)| *module == name)
}

/// Returns the driver of a function: the bound one, else the one that makes its RDMA device.
pub(super) fn driver_of(function: &IdleFunction) -> Option<&str> {
    let of_module = MODULES.iter().find(|(_, module)| *module == function.rdma_module);
    function.driver.as_deref().or(of_module.map(|(driver, _)| *driver))
}

/// Driver that makes one RDMA device for all functions of a card: function 4 has it, and
/// functions 0 to 3 exist for virtual functions only (`cxgb4_main.c`).
const ONE_DEVICE: &str = "cxgb4";

/// Vendors and devices without RDMA, which a driver with RDMA uses (`hns3_pci_tbl` of
/// `hns3_enet.c`).
const ETHERNET_ONLY: [(&str, &str); 2] = [("0x19e5", "0xa220"), ("0x19e5", "0xa221")];

/// Finds the functions; `None` if the machine has no PCI bus or its functions could not be
/// listed.
pub(super) fn read(reader: &mut Reader<'_>, report: &HostReport) -> Option<Vec<IdleFunction>> {
    let mut names = reader.names("system/functions", FUNCTIONS)?;
    reader.truncate("system/functions", FUNCTIONS, MAX_FUNCTIONS, &mut names);
    let devices = &report.devices;
    let used: BTreeSet<&str> = devices.iter().filter_map(|device| device.pci.as_deref()).collect();
    // A driver that bonds the ports of a card makes one device for all functions of the slot.
    let has_one_device = |device: &&Device| {
        device.name.contains("bond") || device.driver.as_deref() == Some(ONE_DEVICE)
    };
    let shared: BTreeSet<&str> =
        devices.iter().filter(has_one_device).filter_map(Device::pci_slot).collect();
    let is_idle = |name: &String| {
        is_pci_address(name) && !used.contains(name.as_str()) && !shared.contains(slot(name))
    };
    let idle: Vec<String> = names.into_iter().filter(is_idle).collect();
    Some(idle.into_iter().filter_map(|pci| read_function(reader, report, pci)).collect())
}

/// Returns the PCI address of a function without its number.
fn slot(pci: &str) -> &str {
    pci.rsplit_once('.').map_or(pci, |(slot, _)| slot)
}

/// Reads a function; `None` if it supports no RDMA, is a virtual function, which another machine
/// or container may use, has an unreadable link, or belongs to the bond of a port of its card.
fn read_function(
    reader: &mut Reader<'_>,
    report: &HostReport,
    pci: String,
) -> Option<IdleFunction> {
    let key = format!("system/functions/{pci}");
    let path = |file: &str| format!("{FUNCTIONS}/{pci}/{file}");
    let class = reader.text(&key, &path("class"))?;
    class.starts_with("0x02").then_some(())?;
    let before = reader.problems.len();
    let driver = reader.link(&key, &path("driver")).and_then(|target| last_part(&target));
    let vendor = reader.text(&key, &path("vendor"))?;
    let device = reader.text(&key, &path("device"))?;
    let is_fabric = class.starts_with("0x0207") || class.starts_with("0x0208");
    let of_vendor = || {
        if vendor == MELLANOX {
            return Some(mellanox_driver(&device));
        }
        let entry = VENDORS.iter().find(|(id, _)| is_fabric && *id == vendor);
        entry.map(|(_, driver)| *driver)
    };
    let expected = driver.as_deref().or_else(of_vendor)?;
    let (_, module) = MODULES.iter().find(|(name, _)| *name == expected)?;
    let is_virtual = reader.link(&key, &path("physfn")).is_some();
    let is_of_bond = belongs_to_bond(reader, report, &pci);
    // A link that could not be read is not an absent link.
    if is_virtual || is_of_bond || reader.problems.len() > before {
        return None;
    }
    if ETHERNET_ONLY.contains(&(vendor.as_str(), device.as_str())) {
        return None;
    }
    let id = format!("{}:{}", vendor.trim_start_matches("0x"), device.trim_start_matches("0x"));
    Some(IdleFunction { pci, id, driver, rdma_module: (*module).to_owned() })
}

/// Returns the driver of a controller of Mellanox: `mlx4_core` up to ConnectX-3 Pro
/// (`mlx4_pci_table` of `drivers/net/ethernet/mellanox/mlx4/main.c`).
fn mellanox_driver(device: &str) -> &'static str {
    let number = device.strip_prefix("0x").and_then(|hex| u16::from_str_radix(hex, 16).ok());
    match number {
        Some(0x1002..=0x1010 | 0x6340..=0x676e) => "mlx4_core",
        _ => "mlx5_core",
    }
}

/// Returns true if an interface of a function is a member of the bond that a port of the card
/// uses. The device of the port has all functions of the card that are in the bond. A member on
/// another card has a device of its own.
fn belongs_to_bond(reader: &mut Reader<'_>, report: &HostReport, pci: &str) -> bool {
    let is_of_card = |device: &&Device| device.pci_slot() == Some(slot(pci));
    let ports = report.devices.iter().filter(is_of_card).flat_map(|device| &device.ports);
    let used: BTreeSet<&str> = ports.filter_map(|port| port.netdev.as_deref()).collect();
    let bonds = report.netdevs.iter().flatten();
    let bonds = bonds.filter_map(|netdev| Some((netdev.name.as_str(), netdev.bond.as_ref()?)));
    let of_ports = bonds.filter(|(name, _)| used.contains(name));
    let members: BTreeSet<&String> = of_ports.flat_map(|(_, bond)| &bond.members).collect();
    // Without a bond, the interfaces of the function do not matter.
    let (key, folder) = (format!("system/functions/{pci}"), format!("{FUNCTIONS}/{pci}/net"));
    let names = if members.is_empty() { None } else { reader.names(&key, &folder) };
    names.iter().flatten().any(|name| members.contains(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Via;
    use crate::source::{Entry, Question, Recorded};

    /// Returns the idle functions of a machine with an RDMA device, whose port uses a bond, and
    /// one more network function with the interface `eth7`.
    fn idle(device: (&str, &str), driver: &str, pci: &str, id: (&str, &str)) -> Vec<String> {
        idle_with(device, driver, (pci, "eth7"), id)
    }

    /// Returns the idle functions likewise; `eth0` and `eth1` are the members of the bond.
    fn idle_with(
        device: (&str, &str),
        driver: &str,
        function: (&str, &str),
        id: (&str, &str),
    ) -> Vec<String> {
        let ((name, used), (pci, netdev)) = (device, function);
        let mut report = HostReport::empty("n1", Via::Agent);
        let ports = json!([{ "number": 1, "netdev": "bond0" }]);
        let device = json!({ "name": name, "driver": driver, "pci": used, "ports": ports });
        report.devices = vec![serde_json::from_value(device).unwrap()];
        let bond = json!({ "name": "bond0", "bond": { "members": ["eth0", "eth1"] } });
        report.netdevs = serde_json::from_value(json!([bond])).unwrap();
        let of = |file: &str| format!("{FUNCTIONS}/{pci}/{file}");
        let (vendor, number) = id;
        let answers = [
            (Question::Dir(FUNCTIONS.into()), format!("{used}\n{pci}\n")),
            (Question::File(of("class")), "0x020000\n".into()),
            (Question::File(of("vendor")), format!("{vendor}\n")),
            (Question::File(of("device")), format!("{number}\n")),
            (Question::Link(of("driver")), format!("../../bus/pci/drivers/{driver}")),
            (Question::Dir(of("net")), format!("{netdev}\n")),
        ];
        let absent = Entry {
            question: Question::Link(of("physfn")),
            answer: Err("ENOENT".to_owned().into()),
            at_ns: None,
        };
        let entry = |(question, text): (Question, String)| Entry {
            question,
            answer: Ok(text.into_bytes()),
            at_ns: None,
        };
        let source = Recorded::new(answers.map(entry).into_iter().chain([absent]), None);
        let mut reader = Reader::new(&source);
        let found = read(&mut reader, &report).unwrap();
        assert!(reader.problems.is_empty(), "{:?}", reader.problems);
        found.into_iter().map(|function| function.pci).collect()
    }

    #[test]
    fn the_functions_of_a_bond_have_one_device() {
        let idle = |name: &str, function: (&str, &str)| {
            idle_with((name, "0000:17:00.0"), "mlx5_core", function, ("0x15b3", "0x1021"))
        };
        let second = "0000:17:00.1";
        assert_eq!(idle("rocep23s0f0", (second, "eth7")), [second], "no member");
        assert_eq!(idle("rocep23s0f0", (second, "eth1")), [""; 0]);
        assert_eq!(idle("mlx5_bond_0", (second, "eth7")), [""; 0]);
        let other = "0000:18:00.0";
        for name in ["rocep23s0f0", "mlx5_bond_0"] {
            assert_eq!(idle(name, (other, "eth1")), [other], "{name}: member on another card");
        }
    }

    #[test]
    fn the_first_functions_of_a_chelsio_card_have_no_device() {
        let (device, card) = (("cxgb4_0", "0000:17:00.4"), ("0x1425", "0x6407"));
        assert_eq!(idle(device, "cxgb4", "0000:17:00.0", card), [""; 0]);
        let other = "0000:18:00.4";
        assert_eq!(idle(device, "cxgb4", other, card), [other], "another card");
    }

    #[test]
    fn a_function_without_rdma_is_not_idle() {
        for (number, expected) in [("0xa221", &[][..]), ("0xa222", &["0000:7d:00.1"][..])] {
            let device = ("hns_0", "0000:7d:00.0");
            assert_eq!(idle(device, "hns3", "0000:7d:00.1", ("0x19e5", number)), expected);
        }
    }
}
