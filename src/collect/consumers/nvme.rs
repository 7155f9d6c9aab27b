//! Reads NVMe over Fabrics: controllers, target ports, and the transports that the files of
//! nvme-cli request. `consumers` calls it.

use super::Reader;
use super::mounts::parse_address;
use crate::model::{Consumers, NvmeController, NvmeIntent, NvmetPort};

const CONTROLLERS: &str = "/sys/class/nvme";
const TARGET: &str = "/sys/kernel/config/nvmet/ports";
const DISCOVERY: &str = "/etc/nvme/discovery.conf";
const CONFIG: &str = "/etc/nvme/config.json";

/// Limit of controllers and of ports; no host has as many.
const MAX: usize = 16_384;

/// Reads controllers and target ports, and configured transports if a fabrics controller exists.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Consumers) {
    let mut names = reader.sorted_names("consumers/nvme", CONTROLLERS);
    reader.truncate("consumers/nvme", CONTROLLERS, MAX, &mut names);
    let all: Vec<NvmeController> =
        names.iter().filter_map(|name| read_controller(reader, name)).collect();
    if !all.is_empty() {
        found.nvme_intents = Some(read_intents(reader));
        found.nvme = Some(all);
    }
    let mut ports = reader.sorted_names("consumers/nvmet", TARGET);
    reader.truncate("consumers/nvmet", TARGET, MAX, &mut ports);
    if !ports.is_empty() {
        found.nvmet = Some(ports.into_iter().map(|id| read_port(reader, id)).collect());
    }
}

/// Reads one controller; `None` for a local PCI Express controller.
fn read_controller(reader: &mut Reader<'_>, name: &str) -> Option<NvmeController> {
    let mut text = |field: &str| {
        reader.text(&format!("consumers/nvme/{name}"), &format!("{CONTROLLERS}/{name}/{field}"))
    };
    let transport = text("transport").filter(|transport| transport != "pcie")?;
    let address = text("address").unwrap_or_default();
    let part = |name: &str| {
        address.split(',').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='))
    };
    Some(NvmeController {
        name: name.to_owned(),
        transport,
        address: part("traddr").and_then(parse_address),
        port: part("trsvcid").and_then(|port| port.parse().ok()),
        subsystem: text("subsysnqn"),
        state: text("state"),
        queues: text("queue_count").and_then(|count| count.parse().ok()),
    })
}

fn read_port(reader: &mut Reader<'_>, id: String) -> NvmetPort {
    let key = format!("consumers/nvmet/{id}");
    let mut text = |field: &str| reader.text(&key, &format!("{TARGET}/{id}/addr_{field}"));
    let (transport, address, port) = (text("trtype"), text("traddr"), text("trsvcid"));
    NvmetPort {
        transport: transport.unwrap_or_default(),
        address: address.as_deref().and_then(parse_address),
        port: port.and_then(|port| port.parse().ok()),
        subsystems: reader.sorted_names(&key, &format!("{TARGET}/{id}/subsystems")),
        id,
    }
}

fn read_intents(reader: &mut Reader<'_>) -> Vec<NvmeIntent> {
    let mut all = Vec::new();
    if let Some(text) = reader.content("consumers/nvme_intents", DISCOVERY) {
        all.extend(parse_discovery(&text));
    }
    if let Some(text) = reader.content("consumers/nvme_intents", CONFIG) {
        match parse_config(&text) {
            Some(intents) => all.extend(intents),
            None => reader.report_malformed("consumers/nvme_intents", CONFIG, &text),
        }
    }
    all
}

/// Parses lines of `nvme discover` options, for example `-t rdma -a 10.0.0.1 -s 4420`.
fn parse_discovery(text: &str) -> Vec<NvmeIntent> {
    let intent = |(number, line): (usize, &str)| {
        let words: Vec<&str> =
            line.split([' ', '\t', '=']).filter(|word| !word.is_empty()).collect();
        let value = |short: &str, long: &str| {
            let at = words.iter().position(|word| *word == short || *word == long)?;
            words.get(at + 1).copied()
        };
        Some(NvmeIntent {
            source: format!("{DISCOVERY}:{number}"),
            transport: value("-t", "--transport")?.to_owned(),
            address: value("-a", "--traddr").and_then(parse_address),
        })
    };
    (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#')).filter_map(intent).collect()
}

/// Parses `[{"subsystems": [{"ports": [{"transport": "rdma", "traddr": "10.0.0.1"}]}]}]`.
fn parse_config(text: &str) -> Option<Vec<NvmeIntent>> {
    let root: serde_json::Value = serde_json::from_str(text).ok()?;
    let items = |value: &serde_json::Value, name: &str| {
        value.get(name).and_then(|list| list.as_array()).cloned().unwrap_or_default()
    };
    let hosts = root.as_array().cloned().unwrap_or_else(|| vec![root.clone()]);
    let ports = hosts.iter().flat_map(|host| items(host, "subsystems"));
    let ports = ports.flat_map(|subsystem| items(&subsystem, "ports"));
    let intent = |port: serde_json::Value| {
        let word = |name: &str| port.get(name)?.as_str().map(str::to_owned);
        Some(NvmeIntent {
            source: CONFIG.to_owned(),
            transport: word("transport")?,
            address: word("traddr").as_deref().and_then(parse_address),
        })
    };
    Some(ports.filter_map(intent).collect())
}
