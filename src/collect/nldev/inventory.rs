//! Reads the values of `rdma dev`, `rdma link`, `rdma system` and `rdma statistic` that sysfs
//! lacks. `collect` calls it.

use super::super::{Reader, caps};
use super::attr::{self, Fields, messages};
use super::{DEVICES, ask, indices, whole};
use crate::model::{
    Counter, CounterGroup, CounterMode, CounterUnit, Device, Guid, HostReport, NetlinkDevice,
    NetlinkPort, NetnsMode, ObjectCount, RdmaSystem, key,
};
use crate::source::{Attribute, Question, RdmaCommand, RdmaQuery, ReadError};

const MAX_COUNTERS: usize = 4096;

/// Reads the settings of the RDMA core, and the values of devices and ports that sysfs lacks.
pub(in crate::collect) fn read_inventory(reader: &mut Reader<'_>, report: &mut HostReport) {
    // Without the RDMA core, the query would load it.
    if report.rdma_core != Some(true) {
        return;
    }
    report.rdma_system = read_system(reader);
    let Some(answer) = ask(reader, "netlink", DEVICES) else { return };
    for fields in messages(&answer) {
        let device = named(&mut report.devices, &fields);
        if let (Some(device), Some(index)) = (device, fields.u32(attr::DEV_INDEX)) {
            device.netlink = Some(decode_device(&fields, index));
        }
    }
    let query = RdmaQuery { command: RdmaCommand::Summary, ..DEVICES };
    let summary = ask(reader, "netlink", query).unwrap_or_default();
    for fields in messages(&summary) {
        let device = named(&mut report.devices, &fields);
        if let Some(netlink) = device.and_then(|device| device.netlink.as_mut()) {
            netlink.objects = decode_objects(&fields);
        }
    }
    for device in &mut report.devices {
        read_ports(reader, device);
    }
}

fn named<'devices>(
    devices: &'devices mut [Device],
    fields: &Fields<'_>,
) -> Option<&'devices mut Device> {
    let name = fields.text(attr::DEV_NAME)?;
    devices.iter_mut().find(|device| device.name == name)
}

fn read_system(reader: &mut Reader<'_>) -> Option<RdmaSystem> {
    let query = RdmaQuery { command: RdmaCommand::System, ..DEVICES };
    let answer = ask(reader, "rdma_system", query)?;
    let fields = messages(&answer).next()?;
    let mode = |is_shared| if is_shared { NetnsMode::Shared } else { NetnsMode::Exclusive };
    Some(RdmaSystem {
        netns_mode: fields.flag(attr::SYS_NETNS_MODE).map(mode),
        copy_on_fork: fields.flag(attr::SYS_COPY_ON_FORK),
        privileged_qkey: fields.flag(attr::SYS_PRIVILEGED_QKEY),
        monitor: fields.flag(attr::SYS_MONITOR_MODE),
    })
}

fn decode_device(fields: &Fields<'_>, index: u32) -> NetlinkDevice {
    let cap_flags = fields.u64(attr::CAP_FLAGS);
    NetlinkDevice {
        index,
        protocol: fields.text(attr::DEV_PROTOCOL),
        adaptive_moderation: fields.flag(attr::DEV_DIM),
        cap_flags,
        caps: cap_flags.map(caps::device_words),
        sub_type: fields.word(attr::DEV_TYPE, &[(1, "smi")]),
        parent: fields.text(attr::PARENT_NAME),
        objects: None,
    }
}

fn decode_objects(fields: &Fields<'_>) -> Option<Vec<ObjectCount>> {
    let count = |entry: Attribute<'_>| {
        let fields = Fields(entry.nest());
        Some(ObjectCount {
            kind: fields.text(attr::RES_SUMMARY_ENTRY_NAME)?,
            count: fields.u64(attr::RES_SUMMARY_ENTRY_CURR)?,
            most: fields.u64(attr::RES_SUMMARY_ENTRY_MAX),
        })
    };
    Some(fields.0.get(attr::RES_SUMMARY)?.nest().filter_map(count).collect())
}

fn read_ports(reader: &mut Reader<'_>, device: &mut Device) {
    let Some(index) = device.netlink.as_ref().map(|netlink| netlink.index) else { return };
    let key = key::device(&device.name, "netlink");
    let query = RdmaQuery { command: RdmaCommand::Ports, device: Some(index), port: None };
    let Some(answer) = ask(reader, &key, query) else { return };
    for fields in messages(&answer) {
        let number = fields.u32(attr::PORT_INDEX);
        let Some(port) = device.ports.iter_mut().find(|port| Some(port.number) == number) else {
            continue;
        };
        let cap_flags = fields.u64(attr::CAP_FLAGS);
        let caps = cap_flags.zip(port.link_layer);
        port.netlink = Some(NetlinkPort {
            subnet_prefix: fields.u64(attr::SUBNET_PREFIX).map(Guid),
            cap_flags,
            caps: caps.map(|(flags, layer)| caps::port_words(flags, layer)),
            netdev_index: fields.u32(attr::NDEV_INDEX),
            counter_mode: None,
        });
    }
    for port in &mut device.ports {
        let Some(netlink) = &mut port.netlink else { continue };
        let key = key::port(&device.name, port.number, "netlink");
        let command = RdmaCommand::CounterMode;
        let query = RdmaQuery { command, device: Some(index), port: Some(port.number) };
        if let Some(answer) = ask(reader, &key, query) {
            netlink.counter_mode = messages(&answer).next().and_then(|fields| decode_mode(&fields));
        }
    }
}

/// Decodes `enum rdma_nl_counter_mode` and `rdma_nl_counter_mask` of `rdma_netlink.h`.
fn decode_mode(fields: &Fields<'_>) -> Option<CounterMode> {
    match (fields.u32(attr::STAT_MODE)?, fields.u32(attr::STAT_AUTO_MODE_MASK)) {
        (0, _) => Some(CounterMode::Off),
        (1, Some(1)) => Some(CounterMode::AutoByType),
        (1, Some(2)) => Some(CounterMode::AutoByPid),
        (1, Some(3)) => Some(CounterMode::AutoByTypeAndPid),
        (2, _) => Some(CounterMode::Manual),
        _ => None,
    }
}

/// Adds the optional counters that only netlink has. An administrator turns them on one by one.
/// The counters of sysfs are valid without them, so a problem has a key below the part.
pub(in crate::collect) fn read_counters(reader: &mut Reader<'_>, report: &mut HostReport) {
    const KEY: &str = "counters/netlink";
    if report.devices.is_empty() {
        return;
    }
    // A directory tree has the counters of the files, which are all but the optional ones. A
    // kernel that returns EINVAL is older than this netlink command and has no optional ones.
    let has_none = |error: &ReadError| *error == ReadError::NotRecorded || error.is_invalid();
    let answer = reader.ask(&Question::Rdma(DEVICES));
    if answer.as_ref().is_err_and(has_none) {
        return;
    }
    let Some(answer) = whole(reader, KEY, DEVICES, answer) else { return };
    let indices = indices(reader, KEY, &answer);
    for Device { name, ports, .. } in &mut report.devices {
        let Some((index, _)) = indices.iter().find(|(_, known)| known == name) else { continue };
        for port in ports {
            let Some(counters) = &mut port.counters else { continue };
            let command = RdmaCommand::Counters;
            let query = RdmaQuery { command, device: Some(*index), port: Some(port.number) };
            let key = key::port(name, port.number, "counters");
            let Some(answer) = ask(reader, &key, query) else { continue };
            let read_ns = reader.source.answered_ns(&Question::Rdma(query));
            for (name, value) in messages(&answer).flat_map(|fields| decode_counters(&fields)) {
                let mut hardware =
                    counters.iter().filter(|known| known.group == CounterGroup::Hardware);
                if hardware.any(|known| known.name == name) {
                    continue;
                }
                if counters.len() == MAX_COUNTERS {
                    reader.report_too_long(&key, &query.to_string(), MAX_COUNTERS);
                    break;
                }
                counters.push(counter(name, value, read_ns));
            }
            counters.sort_by_key(|counter| counter.group);
        }
    }
}

fn decode_counters(fields: &Fields<'_>) -> Vec<(String, u64)> {
    let entries = fields.0.get(attr::STAT_HWCOUNTERS).map(|table| table.nest());
    let counter = |entry: Attribute<'_>| {
        let fields = Fields(entry.nest());
        let name = fields.text(attr::STAT_HWCOUNTER_NAME)?;
        Some((name, fields.u64(attr::STAT_HWCOUNTER_VALUE)?))
    };
    entries.into_iter().flatten().filter_map(counter).collect()
}

fn counter(name: String, value: u64, read_ns: Option<u64>) -> Counter {
    let is_bytes = name.ends_with("_bytes");
    Counter {
        group: CounterGroup::Hardware,
        value: Some(value),
        unit: if is_bytes { CounterUnit::Bytes } else { CounterUnit::Events },
        saturated: false,
        read_ns,
        rate: None,
        name,
    }
}
