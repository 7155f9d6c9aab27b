//! Reads RDMA netlink: the interfaces of ports that have none in sysfs, and the owners of queue
//! pairs, memory regions and connections. `collect` calls it.
//!
//! Attribute numbers are those of `enum rdma_nldev_attr` in `include/uapi/rdma/rdma_netlink.h`.
//! They are the same in all kernels from 5.10 to 7.3; kernels only add new ones.

mod attr;
mod inventory;
mod iwarp;
mod resource;

use std::collections::HashMap;

use super::reader::{Reader, is_name};
use super::sysfs::{CLASS, MAX_DEVICES};
use crate::model::{
    Device, HostReport, KnownFix, LinkLayer, Object, Owner, Port, Protocol, Resource, key,
};
use crate::source::{Answer, Messages, Question, RdmaCommand, RdmaQuery, has_capability};
use attr::{Fields, messages};
pub(super) use inventory::{read_counters, read_inventory};

/// Commands for all kinds of objects, in the order of `rdma resource`.
const OBJECTS: [RdmaCommand; 7] = [
    RdmaCommand::QueuePairs,
    RdmaCommand::CmIds,
    RdmaCommand::CompletionQueues,
    RdmaCommand::MemoryRegions,
    RdmaCommand::ProtectionDomains,
    RdmaCommand::Contexts,
    RdmaCommand::SharedReceiveQueues,
];

const DEVICES: RdmaQuery = RdmaQuery { command: RdmaCommand::Devices, device: None, port: None };

const MAX_NAMED_DEVICES: usize = 64;

/// Finds the interfaces of Ethernet ports that sysfs does not name: siw reports its interface
/// only in netlink, and MANA the interfaces of its further ports.
pub(super) fn read_netdevs(reader: &mut Reader<'_>, report: &mut HostReport) {
    let lacks = |port: &Port| {
        let on_ethernet = port.link_layer == Some(LinkLayer::Ethernet);
        port.netdev.is_none() && (on_ethernet || port.protocol == Some(Protocol::Iwarp))
    };
    if !report.devices.iter().any(|device| device.ports.iter().any(lacks)) {
        return;
    }
    let Some(indices) = device_indices(reader, "netdev") else { return };
    for Device { name, ports, .. } in &mut report.devices {
        let index = indices.iter().find(|(_, known)| known == name).map(|(index, _)| *index);
        if !ports.iter().any(lacks) || index.is_none() {
            continue;
        }
        let query = RdmaQuery { command: RdmaCommand::Ports, device: index, port: None };
        let Some(answer) = ask(reader, &key::device(name, "netdev"), query) else { continue };
        for fields in messages(&answer) {
            let number = fields.u32(attr::PORT_INDEX);
            let named = ports.iter_mut().find(|port| Some(port.number) == number && lacks(port));
            let Some(port) = named else { continue };
            port.netdev = fields.text(attr::NDEV_NAME).filter(|netdev| is_name(netdev));
            let mtu = port.netdev.as_ref().map(|netdev| format!("/sys/class/net/{netdev}/mtu"));
            let key = key::port(name, port.number, "netdev_mtu");
            port.netdev_mtu = mtu.and_then(|mtu| reader.value(&key, &mtu, |mtu| mtu.parse().ok()));
        }
    }
}

/// Reports devices that sysfs does not list: in a container, a mount may cover their directory.
pub(super) fn report_covered_devices(reader: &mut Reader<'_>, report: &HostReport) {
    // Without the RDMA core, the query would load it.
    if !report.devices.is_empty() || report.rdma_core != Some(true) {
        return;
    }
    let Ok(answer) = reader.ask(&Question::Rdma(DEVICES)) else { return };
    let names = messages(&answer).filter_map(|fields| fields.text(attr::DEV_NAME));
    let names: Vec<String> = names.take(MAX_NAMED_DEVICES).collect();
    // A device that the second listing contains was added after the first one.
    let listed = reader.ask(&Question::Dir(CLASS.into()));
    if names.is_empty() || listed.is_ok_and(|list| !list.is_empty()) {
        return;
    }
    let names = crate::names::fold(&names);
    let detail = format!("the kernel has {names} (RDMA netlink), but {CLASS} lists no device");
    reader.report_missing("devices", CLASS, detail, KnownFix::UncoverDevices);
}

pub(super) fn read_resources(reader: &mut Reader<'_>, report: &mut HostReport) {
    // Without the RDMA core, the query would load it.
    let Some(true) = report.rdma_core else {
        report.resources = report.rdma_core.map(|_| Vec::new());
        return;
    };
    let Some(devices) = device_indices(reader, "resources") else { return };
    let mut all = Vec::new();
    for (index, name) in devices {
        for command in OBJECTS {
            read_objects(reader, command, index, &name, &mut all);
        }
    }
    name_processes(reader, &mut all);
    report.resources = Some(all);
    iwarp::remove_meaningless_fields(reader, report);
}

fn device_indices(reader: &mut Reader<'_>, key: &str) -> Option<Vec<(u32, String)>> {
    ask(reader, key, DEVICES).map(|answer| indices(reader, key, &answer))
}

/// Returns the indices and names in a reply to [`DEVICES`]. Reports a reply with too many.
fn indices(reader: &mut Reader<'_>, key: &str, answer: &[u8]) -> Vec<(u32, String)> {
    let device =
        |fields: Fields<'_>| Some((fields.u32(attr::DEV_INDEX)?, fields.text(attr::DEV_NAME)?));
    let mut all = messages(answer).filter_map(device).collect();
    reader.truncate(key, &DEVICES.to_string(), MAX_DEVICES, &mut all);
    all
}

fn read_objects(
    reader: &mut Reader<'_>,
    command: RdmaCommand,
    device: u32,
    name: &str,
    all: &mut Vec<Resource>,
) {
    let query = RdmaQuery { command, device: Some(device), port: None };
    let key = format!("resources/{name}");
    let Some(answer) = ask(reader, &key, query) else { return };
    if !resource::is_whole(command, &answer) {
        reader.report_malformed(&key, &query.to_string(), "an attribute exceeds its message");
    }
    all.extend(resource::decode_resources(command, &answer));
}

/// Sends a query. Returns the reply if it consists of whole messages.
fn ask(reader: &mut Reader<'_>, key: &str, query: RdmaQuery) -> Option<Vec<u8>> {
    let answer = reader.ask(&Question::Rdma(query));
    whole(reader, key, query, answer)
}

/// Checks a reply for [`ask`]. Reports a problem and returns `None` unless the reply consists of
/// whole messages. An unsupported command is no problem.
fn whole(reader: &mut Reader<'_>, key: &str, query: RdmaQuery, answer: Answer) -> Option<Vec<u8>> {
    match answer {
        Ok(answer) => {
            let mut messages = Messages::new(&answer);
            if messages.by_ref().any(|message| message.is_interrupted()) {
                let why = "the list changed during each read";
                reader.report_incomplete(key, &query.to_string(), why);
            }
            if messages.last_is_whole() {
                return Some(answer);
            }
            reader.report_malformed(key, &query.to_string(), "an incomplete message");
        }
        // Kernels before 6.1 do not know some commands and return EINVAL.
        Err(error) if error.is_invalid() && query.command.is_since_6_1() => {}
        // Drivers without counters return EINVAL too.
        Err(error) if error.is_invalid() && is_of_counters(query.command) => {}
        Err(error) => reader.report_unreadable(key, &query.to_string(), &error, None),
    }
    None
}

fn is_of_counters(command: RdmaCommand) -> bool {
    matches!(command, RdmaCommand::Counters | RdmaCommand::CounterMode)
}

/// Reports memory keys that the reader may not see: the kernel omits them without an error.
pub(super) fn report_hidden_keys(reader: &mut Reader<'_>, report: &HostReport) {
    let lacks =
        |resource: &Resource| matches!(resource.object, Object::Mr { lkey: None, rkey: None, .. });
    if !report.resources.iter().flatten().any(lacks) {
        return;
    }
    let path = "/proc/self/status";
    let is_capable = match reader.ask(&Question::File(path.into())) {
        Ok(status) => has_capability(&String::from_utf8_lossy(&status), NET_ADMIN),
        Err(error) if error.is_absent() => None,
        Err(error) => return reader.report_unreadable("keys", path, &error, None),
    };
    // A process with the capability that gets no keys runs on a kernel without them.
    if is_capable != Some(true) {
        reader.report_hidden(
            "keys",
            "RDMA netlink, memory regions",
            "the kernel shows memory keys only to processes with CAP_NET_ADMIN",
        );
    }
}

/// Bit of `CAP_NET_ADMIN` (include/uapi/linux/capability.h).
const NET_ADMIN: u32 = 12;

/// Fills in the names of processes, and replaces the ID of a thread by the ID of its process.
fn name_processes(reader: &mut Reader<'_>, all: &mut [Resource]) {
    let mut known: HashMap<u32, Option<(u32, String)>> = HashMap::new();
    let mut refused = None;
    for resource in all {
        let Some(Owner::Process { pid, name }) = &mut resource.owner else { continue };
        let process = known.entry(*pid).or_insert_with(|| {
            let path = format!("/proc/{pid}/status");
            match reader.ask(&Question::File(path.clone())) {
                Ok(status) => parse_status(&String::from_utf8_lossy(&status)),
                // A process that has ended has no name.
                Err(error) if error.is_absent() => None,
                Err(error) => {
                    refused.get_or_insert((path, error));
                    None
                }
            }
        });
        if let Some((process, its_name)) = process {
            (*pid, *name) = (*process, Some(its_name.clone()));
        }
    }
    // One problem is enough for all hidden processes.
    if let Some((path, error)) = refused {
        reader.report_unreadable("resources/owner", &path, &error, None);
    }
}

/// Parses ID and name of the process from `/proc/PID/status`; `PID` may be a thread.
fn parse_status(status: &str) -> Option<(u32, String)> {
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Some((field("Tgid")?.trim().parse().ok()?, field("Name")?.trim().to_owned()))
}

#[test]
fn effective_capability_is_read_from_proc_status() {
    assert_eq!(has_capability("Name:\tx\nCapEff:\t000001ffffffffff\n", NET_ADMIN), Some(true));
    assert_eq!(has_capability("CapEff:\t0000000000000000\n", NET_ADMIN), Some(false));
    assert_eq!(has_capability("CapPrm:\t000001ffffffffff\nCapEff:\tno\n", NET_ADMIN), None);
}

#[test]
fn the_status_of_a_thread_names_its_process() {
    let status = "Name:\trping\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t247\nPid:\t249\n";
    assert_eq!(parse_status(status), Some((247, "rping".into())));
    for text in ["", "Name:\tx\n", "Tgid:\tx\nName:\ty\n"] {
        assert_eq!(parse_status(text), None, "{text}");
    }
}
