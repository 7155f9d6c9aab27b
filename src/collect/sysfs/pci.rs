//! Reads the PCI address, driver and NUMA node of a device. `device` and `gpu` use it.

use super::super::Reader;
use super::CLASS;
use crate::model::key;

#[derive(Debug, Default)]
pub(super) struct PciLocation {
    pub(super) address: Option<String>,
    pub(super) driver: Option<String>,
    pub(super) numa_node: Option<u32>,
    /// Directory of the PCI function below `/sys/devices`; its parents are the bridges to it.
    pub(super) folder: Option<String>,
    /// True below `/sys/devices/virtual`: the device has no hardware (rxe, siw).
    pub(super) is_virtual: bool,
}

pub(super) fn read(reader: &mut Reader<'_>, name: &str) -> PciLocation {
    let class = format!("{CLASS}/{name}");
    let device = format!("{class}/device");
    // The class entry is a link to the device's real path; its parents are the bus devices.
    let real = reader.link(&key::device(name, "pci"), &class);
    // Virtual devices have no bus device.
    let is_virtual = real.as_deref().is_some_and(|path| path.contains("/devices/virtual/"));
    let mut link = |field: &str, path: &str| {
        (!is_virtual).then(|| reader.link(&key::device(name, field), path))?
    };
    let address = real
        .as_deref()
        .and_then(parse_pci_address)
        .or_else(|| parse_pci_address(&link("pci", &device)?));
    let driver = link("driver", &format!("{device}/driver")).and_then(|target| last_part(&target));
    let (key, own) = (key::device(name, "numa_node"), format!("{device}/numa_node"));
    let numa_node = address.as_ref().and_then(|_| reader.value(&key, &own, parse_numa_node)?);
    let folder = real.as_deref().and_then(parse_folder);
    PciLocation { address, driver, numa_node, folder, is_virtual }
}

/// Reads the directory of a device's PCI function below `/sys/devices`.
pub(super) fn read_folder(reader: &mut Reader<'_>, name: &str) -> Option<String> {
    parse_folder(&reader.link(&key::device(name, "pci"), &format!("{CLASS}/{name}"))?)
}

/// Returns the last part of a link's target; `None` if it is empty.
pub(in crate::collect) fn last_part(target: &str) -> Option<String> {
    target.rsplit('/').next().filter(|part| !part.is_empty()).map(str::to_owned)
}

/// Returns the deepest PCI address in a path; devices on the auxiliary bus are below it.
pub(super) fn parse_pci_address(path: &str) -> Option<String> {
    path.split('/').rev().find(|part| is_pci_address(part)).map(str::to_owned)
}

/// Returns the directory of the PCI function to which, or through which, a link in `/sys` leads.
pub(super) fn parse_folder(target: &str) -> Option<String> {
    let real = target.trim_start_matches("../");
    let parts: Vec<&str> = real.split('/').collect();
    let last = parts.iter().rposition(|part| is_pci_address(part))?;
    let is_plain = parts.iter().all(|part| !matches!(*part, "" | "." | ".."));
    (is_plain && parts[0] == "devices").then(|| format!("/sys/{}", parts[..=last].join("/")))
}

/// True if the text is a PCI address such as `0000:0c:00.0`. Domains of virtual machines and of
/// VMD have more than four digits.
pub(in crate::collect) fn is_pci_address(part: &str) -> bool {
    let hex = |text: &str, least: usize, most: usize| {
        (least..=most).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    let mut fields = part.split([':', '.']);
    let shape = [(4, 8), (2, 2), (2, 2), (1, 1)];
    shape.iter().all(|(least, most)| fields.next().is_some_and(|field| hex(field, *least, *most)))
        && fields.next().is_none()
        && part.matches(':').count() == 2
}

/// Parses the number of a NUMA node; -1 means that the firmware reports none.
#[expect(clippy::option_option, reason = "malformed, unknown and known are three answers")]
pub(super) fn parse_numa_node(text: &str) -> Option<Option<u32>> {
    match text {
        "-1" => Some(None),
        number => super::port_path::parse_index(number).map(Some),
    }
}

#[test]
fn the_deepest_pci_address_counts() {
    let path = "../../devices/pci0000:80/0000:80:02.2/0000:82:00.0/infiniband/mlx5_0";
    assert_eq!(parse_pci_address(path).unwrap(), "0000:82:00.0");
    let auxiliary = "../../devices/pci10000:00/10000:01:00.1/mlx5_core.rdma.0/infiniband/mlx5_1";
    assert_eq!(parse_pci_address(auxiliary).unwrap(), "10000:01:00.1");
}

#[test]
fn a_link_leads_to_the_directory_of_its_function() {
    let target = "../../devices/pci0000:80/0000:80:02.2/0000:82:00.0/infiniband/mlx5_0";
    let folder = "/sys/devices/pci0000:80/0000:80:02.2/0000:82:00.0";
    assert_eq!(parse_folder(target).unwrap(), folder);
    for other in
        ["../../devices/virtual/infiniband/rxe0", "../devices/../x/0000:82:00.0", "/0000:82:00.0"]
    {
        assert_eq!(parse_folder(other), None, "{other}");
    }
}

#[test]
fn other_paths_have_no_pci_address() {
    for path in
        ["", "../../devices/virtual/infiniband/rxe0", "0000:82:00", "0000.82.00:0", "000:82:00.0"]
    {
        assert_eq!(parse_pci_address(path), None, "{path}");
    }
}

#[test]
fn an_unknown_numa_node_is_no_mistake() {
    assert_eq!(parse_numa_node("-1"), Some(None));
    assert_eq!(parse_numa_node("3"), Some(Some(3)));
    assert_eq!(parse_numa_node("-2"), None);
}
