//! Finds the GPUs and other accelerators of a host, all called GPUs here, and their distance to
//! each RDMA device. `sysfs` calls it.

use super::super::Reader;
use super::pci::{is_pci_address, last_part, parse_folder, parse_numa_node};
use crate::model::{Device, Gpu, PciPath};

pub(in crate::collect) const FUNCTIONS: &str = "/sys/bus/pci/devices";
/// Limit of functions. Every function costs at least one file. The 64 KiB of a directory listing
/// hold more names of functions than this, but less than twice as many.
pub(in crate::collect) const MAX_FUNCTIONS: usize = 4096;
/// Vendors of display controllers that are GPUs for computing. Controllers of other vendors are
/// part of mainboards and show a console.
const MAKERS: [&str; 3] = ["0x10de", "0x1002", "0x8086"];

/// GPU without its distance to a device.
struct Found {
    pci: String,
    driver: Option<String>,
    folder: Option<String>,
    numa_node: Option<u32>,
}

/// Finds the GPUs and derives the path from each device to each GPU. `folders` are the devices'
/// own directories, in the order of `devices`.
pub(super) fn read(reader: &mut Reader<'_>, devices: &mut [Device], folders: &[Option<String>]) {
    let Some(mut names) = reader.names("gpus", FUNCTIONS) else { return };
    reader.truncate("gpus", FUNCTIONS, MAX_FUNCTIONS, &mut names);
    let found: Vec<Found> =
        names.into_iter().filter_map(|name| read_function(reader, name)).collect();
    for (device, folder) in devices.iter_mut().zip(folders) {
        let Some(folder) = folder else { continue };
        let gpu = |gpu: &Found| Gpu {
            pci: gpu.pci.clone(),
            driver: gpu.driver.clone(),
            path: gpu
                .folder
                .as_ref()
                .and_then(|other| derive_path((folder, device.numa_node), (other, gpu.numa_node))),
        };
        let mut gpus: Vec<Gpu> = found.iter().map(gpu).collect();
        gpus.sort_by_key(|gpu| (gpu.path.is_none(), gpu.path));
        device.gpus = Some(gpus);
    }
}

/// Reads the function of an address; `None` if it is no GPU.
fn read_function(reader: &mut Reader<'_>, pci: String) -> Option<Found> {
    if !is_pci_address(&pci) {
        return None;
    }
    let key = format!("gpus/{pci}");
    let path = |file: &str| format!("{FUNCTIONS}/{pci}/{file}");
    let class = reader.text(&key, &path("class"))?;
    let is_accelerator = class.starts_with("0x12") || class.starts_with("0x0302");
    if !is_accelerator {
        let is_display = class.starts_with("0x03");
        let maker = is_display.then(|| reader.text(&key, &path("vendor")))??;
        MAKERS.contains(&maker.as_str()).then_some(())?;
    }
    let driver = reader.link(&key, &path("driver")).and_then(|target| last_part(&target));
    let folder = reader.link(&key, &format!("{FUNCTIONS}/{pci}"));
    let folder = folder.and_then(|target| parse_folder(&target));
    let numa_node = reader.value(&key, &path("numa_node"), parse_numa_node).flatten();
    Some(Found { pci, driver, folder, numa_node })
}

/// Derives the path between two functions from their directories and NUMA nodes.
fn derive_path(a: (&str, Option<u32>), b: (&str, Option<u32>)) -> Option<PciPath> {
    let parts = |folder: &str| -> Vec<String> {
        folder.trim_start_matches("/sys/devices/").split('/').map(str::to_owned).collect()
    };
    let (one, other) = (parts(a.0), parts(b.0));
    let common = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    // Below a switch, each function has one port of the switch above it.
    let apart = (one.len() - common).max(other.len() - common);
    match (common, apart) {
        (0, _) if a.1? == b.1? => Some(PciPath::Node),
        (0, _) => Some(PciPath::Sys),
        (1, _) => Some(PciPath::Phb),
        (_, 0..=2) => Some(PciPath::Pix),
        _ => Some(PciPath::Pxb),
    }
}

#[test]
fn the_way_between_two_functions_has_five_names() {
    let at = |path: &str| format!("/sys/devices/{path}");
    let nic = at("pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:00.0/0000:83:00.0");
    let way = |path: &str, node| derive_path((&nic, Some(1)), (&at(path), node));
    let cases = [
        ("pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:04.0/0000:84:00.0", PciPath::Pix),
        (
            "pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:05.0/0000:85:00.0/0000:86:00.0/0000:87:00.0",
            PciPath::Pxb,
        ),
        ("pci0000:80/0000:80:03.0/0000:88:00.0", PciPath::Phb),
        ("pci0000:a0/0000:a0:01.0/0000:a1:00.0", PciPath::Node),
    ];
    for (path, expected) in cases {
        assert_eq!(way(path, Some(1)), Some(expected), "{path}");
    }
    assert_eq!(way("pci0000:00/0000:00:01.0/0000:01:00.0", Some(0)), Some(PciPath::Sys));
    assert_eq!(way("pci0000:00/0000:00:01.0/0000:01:00.0", None), None);
}

#[test]
fn the_bound_is_one_that_a_list_of_functions_can_reach() {
    let name = |number: usize| {
        format!("0000:{:02x}:{:02x}.{}\n", number >> 8, number >> 3 & 31, number & 7)
    };
    let list: String = (0..=MAX_FUNCTIONS).map(name).collect();
    assert!(list.len() <= 64 * 1024, "a longer list is refused before it is counted");
    let answer = Ok(list.into_bytes());
    let question = crate::source::Question::Dir(FUNCTIONS.into());
    let entry = crate::source::Entry { question, answer, at_ns: None };
    let source = crate::source::Recorded::new([entry], None);
    let mut reader = Reader::new(&source);
    read(&mut reader, &mut [], &[]);
    let problems = reader.problems;
    assert!(problems.iter().any(|problem| problem.key == "gpus"), "{problems:?}");
}
