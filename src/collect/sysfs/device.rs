//! Reads the files of one device. `sysfs` calls it.

use super::super::Reader;
use super::port_path::DeviceFacts;
use super::{CLASS, pci, pci_link, port};
use crate::model::{Device, Guid, NodeType, Part, Parts, SOFT_IWARP, SOFT_ROCE, key};

/// Limit of ports; the widest switch chips have 144.
const MAX_PORTS: usize = 256;

pub(super) fn read(reader: &mut Reader<'_>, name: &str, wanted: &Parts) -> Device {
    let key = |field: &str| key::device(name, field);
    let path = |file: &str| format!("{CLASS}/{name}/{file}");
    let mut text = |field: &str, file: &str| {
        reader.text(&key(field), &path(file)).filter(|text| !text.is_empty())
    };
    let firmware = text("firmware", "fw_ver");
    // `top` compares ports of the same type with each sample.
    let hca_type = text("hca_type", "hca_type");
    let board_id = text("board_id", "board_id");
    let has_details = wanted.has(Part::Details);
    let mut detail = |field: &str| has_details.then(|| text(field, field))?;
    let hw_rev = detail("hw_rev");
    let node_desc = detail("node_desc");
    let mut guid = |field: &str| {
        reader.value(&key(field), &path(field), Guid::parse).filter(|guid| guid.0 != 0)
    };
    let node_guid = guid("node_guid");
    let sys_image_guid = has_details.then(|| guid("sys_image_guid")).flatten();
    let node_type = reader.value(&key("node_type"), &path("node_type"), parse_node_type);
    let place = pci::read(reader, name);
    // Only rxe has this file. It holds the netdev on which rxe runs.
    let netdev = if place.is_virtual { reader.text(&key("parent"), &path("parent")) } else { None };
    let driver = place.driver.or_else(|| {
        place.is_virtual.then(|| derive_software_driver(netdev.as_deref(), node_type))?
    });
    let folder = place.folder.as_deref();
    let linked = folder.filter(|_| wanted.has(Part::PciLinks));
    let pci_link = linked.and_then(|folder| pci_link::read(reader, name, folder));
    let virtual_functions =
        linked.and_then(|folder| pci_link::read_virtual_functions(reader, name, folder));
    let cpus = folder.filter(|_| has_details).map(|folder| format!("{folder}/local_cpulist"));
    let local_cpus = cpus
        .and_then(|path| reader.long_text(&key("local_cpus"), &path))
        .filter(|cpus| !cpus.is_empty());
    let numbers = read_port_numbers(reader, name);
    let parent = DeviceFacts {
        name,
        node_type,
        driver: driver.as_deref(),
        has_one_port: numbers.len() == 1,
        netdev: netdev.as_deref(),
        parts: wanted,
    };
    let ports = numbers.into_iter().map(|number| port::read(reader, &parent, number)).collect();
    Device {
        name: name.to_owned(),
        node_type,
        node_guid,
        sys_image_guid,
        firmware,
        hw_rev,
        hca_type,
        board_id,
        node_desc,
        driver,
        pci: place.address,
        numa_node: place.numa_node,
        local_cpus,
        pci_link,
        virtual_functions,
        ports,
        ..Device::default()
    }
}

fn read_port_numbers(reader: &mut Reader<'_>, name: &str) -> Vec<u32> {
    let key = key::device(name, "ports");
    let path = format!("{CLASS}/{name}/ports");
    let mut numbers = reader.indices(&key, &path).unwrap_or_default();
    reader.truncate(&key, &path, MAX_PORTS, &mut numbers);
    numbers
}

/// Derives the driver of a device without hardware. Only rxe has a `parent` file. The only other
/// driver in the kernel is siw, whose devices are iWARP devices.
fn derive_software_driver(netdev: Option<&str>, node_type: Option<NodeType>) -> Option<String> {
    match (netdev, node_type) {
        (Some(_), _) => Some(SOFT_ROCE.into()),
        (None, Some(NodeType::Rnic)) => Some(SOFT_IWARP.into()),
        _ => None,
    }
}

/// Parses `1: CA`. Only the number counts, because the text of unknown types is `<unknown>`.
pub(super) fn parse_node_type(text: &str) -> Option<NodeType> {
    match text.split_once(':')?.0 {
        "1" => Some(NodeType::Ca),
        "2" => Some(NodeType::Switch),
        "3" => Some(NodeType::Router),
        "4" => Some(NodeType::Rnic),
        "5" => Some(NodeType::Usnic),
        "6" => Some(NodeType::UsnicUdp),
        "7" => Some(NodeType::Unspecified),
        _ => None,
    }
}

#[test]
fn a_node_type_is_known_by_its_number() {
    assert_eq!(parse_node_type("4: RNIC"), Some(NodeType::Rnic));
    assert_eq!(parse_node_type("6: usNIC UDP"), Some(NodeType::UsnicUdp));
    for text in ["", "1", "9: <unknown>", "CA", ": CA", "-1: CA"] {
        assert_eq!(parse_node_type(text), None, "{text}");
    }
}
