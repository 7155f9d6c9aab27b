//! Reads RDMA devices from `/sys` and `/proc`. `collect` calls it.
//!
//! The files and their quirks are those of the kernel's `drivers/infiniband/core/sysfs.c`, 5.10
//! to 7.3. A special case for a driver needs a stated reason.

mod chardev;
mod counter;
mod device;
mod gid;
mod gpu;
mod interface;
mod netdev;
mod pci;
mod pci_link;
mod pkey;
mod port;
mod port_path;
mod protocol;

pub(super) use gpu::{FUNCTIONS, MAX_FUNCTIONS};
pub(super) use interface::{read_all as read_netdevs, read_rates};
pub(super) use pci::{is_pci_address, last_part};
pub(super) use pci_link::compare as compare_links;

use super::Reader;
use crate::model::{CounterGroup, Device, HostReport, KnownFix, Part, key};
use crate::source::{Answer, CORE_MODULE, Question};

pub(super) const CLASS: &str = "/sys/class/infiniband";
/// Directory of loaded modules, and of built-in modules with parameters.
const MODULES: &str = "/sys/module";
/// Limit of devices of one host; hosts with 512 virtual functions exist.
pub(super) const MAX_DEVICES: usize = 4096;

pub(super) fn read_host(reader: &mut Reader<'_>, report: &mut HostReport) {
    report.kernel = reader.text("kernel", "/proc/sys/kernel/osrelease");
    let listed = reader.ask(&Question::Dir(CLASS.into()));
    report.rdma_core = match exists(&listed) {
        Some(false) => is_core_loaded(reader),
        known => known,
    };
    let Some(mut names) = reader.decode_names("devices", CLASS, listed) else { return };
    reader.truncate("devices", CLASS, MAX_DEVICES, &mut names);
    names.sort_by(|a, b| crate::names::compare(a, b));
    report.devices = names.iter().map(|name| device::read(reader, name, &report.parts)).collect();
    drop_vanished(reader, report);
    if !report.devices.is_empty() {
        chardev::read(reader, &mut report.devices, report.parts.has(Part::Details));
    }
}

/// Returns whether the item of a reply exists; `None` if that is unknown.
fn exists(answer: &Answer) -> Option<bool> {
    match answer {
        Ok(_) => Some(true),
        Err(error) if error.is_absent() => Some(false),
        Err(_) => None,
    }
}

/// Returns whether the RDMA core is loaded, for a host without [`CLASS`]; `None` if that is
/// unknown, because another mount may cover sysfs.
fn is_core_loaded(reader: &mut Reader<'_>) -> Option<bool> {
    match exists(&reader.ask(&Question::Dir(CORE_MODULE.into()))) {
        Some(true) => return Some(true),
        // Captures of older versions have no record of the module.
        None => return Some(false),
        Some(false) => {}
    }
    // Each kernel lists modules or parts of its own in this directory.
    if exists(&reader.ask(&Question::Dir(MODULES.into()))) == Some(false) {
        let detail =
            format!("{MODULES} does not exist: sysfs is not mounted, or another mount covers it");
        reader.report_missing("devices", MODULES, detail, KnownFix::UncoverDevices);
        return None;
    }
    Some(false)
}

pub(super) fn read_counters(reader: &mut Reader<'_>, report: &mut HostReport) {
    for device in &mut report.devices {
        let (name, path) = (&device.name, format!("{CLASS}/{}", device.name));
        device.counters = Some(counter::read_group(reader, name, &path, CounterGroup::Hardware));
        for port in &mut device.ports {
            let key = format!("{name}/{}", port.number);
            let path = format!("{path}/ports/{}", port.number);
            port.counters = Some(counter::read_port(reader, &key, &path));
        }
    }
}

/// Finds the GPUs of the host, sorted for each device by their distance.
pub(super) fn read_gpus(reader: &mut Reader<'_>, report: &mut HostReport) {
    let folder = |device: &Device| {
        device.pci.is_some().then(|| pci::read_folder(reader, &device.name)).flatten()
    };
    let folders: Vec<Option<String>> = report.devices.iter().map(folder).collect();
    if folders.iter().any(Option::is_some) {
        gpu::read(reader, &mut report.devices, &folders);
    }
}

pub(super) fn read_pkeys(reader: &mut Reader<'_>, report: &mut HostReport) {
    for Device { name, ports, .. } in &mut report.devices {
        for port in ports {
            let key = key::port(name, port.number, "pkeys");
            let folder = format!("{CLASS}/{name}/ports/{}/pkeys", port.number);
            port.pkeys = pkey::read_table(reader, &key, &folder, port.link_layer);
        }
    }
}

/// Removes devices that a second listing no longer contains: they vanished during the reading.
fn drop_vanished(reader: &mut Reader<'_>, report: &mut HostReport) {
    let is_blank = |device: &Device| {
        device.node_type.is_none() && device.node_guid.is_none() && device.ports.is_empty()
    };
    if report.devices.iter().any(is_blank)
        && let Some(names) = reader.names("devices", CLASS)
    {
        report.devices.retain(|device| !is_blank(device) || names.contains(&device.name));
    }
}
