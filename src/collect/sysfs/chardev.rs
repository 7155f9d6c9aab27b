//! Reads the character devices through which programs use RDMA devices. `sysfs` calls it.

use super::super::Reader;
use super::port_path::parse_index;
use crate::model::{Device, Problem, key};
use crate::source::{Answer, Question, ReadError};

/// Limit of entries; the kernel makes 1024 (`IB_UVERBS_MAX_DEVICES`, `IB_UMAD_MAX_PORTS`).
const MAX: usize = 4096;

const VERBS: &str = "/sys/class/infiniband_verbs";

/// Reports the devices whose verbs device file cannot be opened. If `has_details`, reads which
/// device files belong to which device and port.
///
/// The module `ib_uverbs` makes the verbs device files. A host without the module has no problem:
/// it can use RDMA in the kernel, for example as an NFS server.
pub(super) fn read(reader: &mut Reader<'_>, devices: &mut [Device], has_details: bool) {
    let listed = reader.ask(&Question::Dir(VERBS.into()));
    // Captures of older versions do not contain this listing.
    if has_details || !listed.as_ref().is_err_and(ReadError::is_missing_in_capture) {
        read_verbs(reader, devices, has_details, listed);
    }
    if has_details {
        read_umad(reader, devices);
    }
}

fn read_verbs(reader: &mut Reader<'_>, devices: &mut [Device], has_details: bool, listed: Answer) {
    let names = reader.decode_names("uverbs", VERBS, listed).unwrap_or_default();
    for (name, folder) in devices_of_class(reader, "uverbs", VERBS, "uverbs", names) {
        let Some(owner) = reader.text("uverbs", &format!("{folder}/ibdev")) else { continue };
        let Some(device) = devices.iter_mut().find(|device| device.name == owner) else { continue };
        let file = format!("/dev/infiniband/{name}");
        // Errors without an errno, as of captures and plain shells, are not reported.
        if let Err(error) = reader.ask(&Question::Access(file.clone()))
            && let Some(errno) = error.errno()
        {
            let reason = error.to_string();
            reader.problems.push(Problem::of_device_file(&owner, &file, &errno, &reason));
        }
        if has_details {
            device.uverbs = Some(name);
            let key = key::device(&owner, "uverbs_abi");
            device.uverbs_abi = reader.value(&key, &format!("{folder}/abi_version"), parse_index);
        }
    }
}

fn read_umad(reader: &mut Reader<'_>, devices: &mut [Device]) {
    let class = "/sys/class/infiniband_mad";
    let names = reader.names("umad", class).unwrap_or_default();
    for (name, folder) in devices_of_class(reader, "umad", class, "umad", names) {
        let owner = reader.text("umad", &format!("{folder}/ibdev"));
        let number = reader.value("umad", &format!("{folder}/port"), parse_index);
        let device = devices.iter_mut().find(|device| Some(&device.name) == owner.as_ref());
        let mut ports = device.into_iter().flat_map(|device| &mut device.ports);
        if let Some(port) = ports.find(|port| Some(port.number) == number) {
            port.umad = Some(name);
        }
    }
}

/// Returns name and directory of each device of a class whose name is `stem` and a number.
fn devices_of_class(
    reader: &mut Reader<'_>,
    key: &str,
    class: &str,
    stem: &str,
    mut names: Vec<String>,
) -> Vec<(String, String)> {
    names.retain(|name| name.strip_prefix(stem).and_then(parse_index).is_some());
    reader.truncate(key, class, MAX, &mut names);
    let with_folder = |name: String| (name.clone(), format!("{class}/{name}"));
    names.into_iter().map(with_folder).collect()
}
