//! The character devices through which programs reach RDMA devices.

use super::super::Reader;
use super::place::parse_index;
use crate::model::{Device, key};

/// More than the kernel makes (`IB_UVERBS_MAX_DEVICES`, `IB_UMAD_MAX_PORTS`: 1024 each).
const MOST: usize = 4096;

/// Reads which of them belong to which device and port.
pub(super) fn read(reader: &mut Reader<'_>, devices: &mut [Device]) {
    for (name, folder) in list(reader, "uverbs", "/sys/class/infiniband_verbs", "uverbs") {
        let Some(owner) = reader.text("uverbs", &format!("{folder}/ibdev")) else { continue };
        if let Some(device) = devices.iter_mut().find(|device| device.name == owner) {
            device.uverbs = Some(name);
            let key = key::device(&owner, "uverbs_abi");
            device.uverbs_abi = reader.value(&key, &format!("{folder}/abi_version"), parse_index);
        }
    }
    for (name, folder) in list(reader, "umad", "/sys/class/infiniband_mad", "umad") {
        let owner = reader.text("umad", &format!("{folder}/ibdev"));
        let number = reader.value("umad", &format!("{folder}/port"), parse_index);
        let device = devices.iter_mut().find(|device| Some(&device.name) == owner.as_ref());
        let mut ports = device.into_iter().flat_map(|device| &mut device.ports);
        if let Some(port) = ports.find(|port| Some(port.number) == number) {
            port.umad = Some(name);
        }
    }
}

/// Name and directory of each device of a class whose name begins so.
fn list(reader: &mut Reader<'_>, key: &str, class: &str, stem: &str) -> Vec<(String, String)> {
    let mut names = reader.names(key, class).unwrap_or_default();
    names.retain(|name| name.strip_prefix(stem).and_then(parse_index).is_some());
    if names.len() > MOST {
        reader.too_long(key, class, MOST);
        names.truncate(MOST);
    }
    let folder = |name: String| (format!("{class}/{name}"), name);
    names.into_iter().map(folder).map(|(folder, name)| (name, folder)).collect()
}
