//! Settings of the operating system that decide whether programs can use RDMA.
//! `collect` reads them; `analyse::check` judges them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::words;

/// Settings of the operating system of one host. A value is missing if the host does not have it,
/// or if it could not be read. A value that could not be read has a problem, whose key names the
/// field and the item: `system/modules`, `system/settings/vm/max_map_count`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Kernel modules that are loaded or built in; modules that no check looks for are omitted.
    pub modules: Option<Vec<String>>,
    /// Limits of the process of rdmactl, which a login of the same user has, too.
    pub limits: Option<Limits>,
    /// True if the process of rdmactl may lock memory beyond the limit (`CAP_IPC_LOCK`). The key
    /// of a problem is `system/capabilities`.
    pub may_lock_memory: Option<bool>,
    /// Running systemd services that checks judge; `None` without systemd.
    pub services: Option<Vec<Service>>,
    /// Kernel settings by name, with slashes: `net/ipv4/conf/all/arp_ignore`.
    #[serde(deserialize_with = "words::read_map")]
    pub settings: BTreeMap<String, String>,
    /// IPv4 networks of the interfaces, without a gateway.
    pub networks: Option<Vec<ConnectedNetwork>>,
    /// Number of NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Frequency governor of the first CPU: `performance`.
    #[serde(default, deserialize_with = "words::read_optional")]
    #[schemars(!default)]
    pub cpu_governor: Option<String>,
    /// Kind of DMA translation of each PCI device of RDMA, by device: `identity`, `DMA`, `DMA-FQ`
    /// (Documentation/ABI/testing/sysfs-kernel-iommu_groups). Devices without an IOMMU are
    /// omitted.
    #[serde(deserialize_with = "words::read_map")]
    pub dma: BTreeMap<String, String>,
    /// Functions of network cards whose driver supports RDMA, and that have no RDMA device. The
    /// key of a problem is `system/functions`.
    pub idle_functions: Option<Vec<IdleFunction>>,
    /// True if the kernel module of NVIDIA is the open one, which supports dma-buf; `None`
    /// without an NVIDIA driver. The key of a problem is `system/nvidia`.
    pub nvidia_is_open: Option<bool>,
    /// Faults of RDMA cards in the kernel log, by kind and PCI address.
    pub kernel_faults: Option<Vec<KernelFault>>,
}

/// Services whose processes start programs.
const STARTERS: [&str; 8] = [
    "containerd.service",
    "crio.service",
    "docker.service",
    "k3s.service",
    "kubelet.service",
    "pbs.service",
    "rke2-server.service",
    "slurmd.service",
];
const BEEGFS_SERVERS: [&str; 3] =
    ["beegfs-meta.service", "beegfs-mgmtd.service", "beegfs-storage.service"];

/// Units that a check requires or rejects, whatever their limits.
const OTHER_UNITS: [&str; 4] = ["ibacm.service", "ibacm.socket", "iwpmd.service", "opensm.service"];

/// Resource limits of a process. `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Soft limit of locked memory, in bytes.
    pub locked_memory_bytes: Option<u64>,
    /// Soft limit of open files.
    pub open_files: Option<u64>,
}

/// Directory with a link for each enabled socket unit of systemd.
pub const SOCKET_UNITS: &str = "/etc/systemd/system/sockets.target.wants";

/// Running systemd service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Service {
    /// Unit: `slurmd.service`.
    #[serde(deserialize_with = "words::read")]
    pub unit: String,
    /// Limits of its first process; `None` if they could not be read, or if no check judges them.
    pub limits: Option<Limits>,
}

impl Service {
    /// Returns true if jobs and containers inherit the limits of the service.
    pub fn starts_programs(&self) -> bool {
        STARTERS.contains(&self.unit.as_str())
    }

    /// Returns true for a server of `BeeGFS`.
    pub fn is_beegfs_server(&self) -> bool {
        BEEGFS_SERVERS.contains(&self.unit.as_str())
    }

    /// Returns true if a check judges the limits of a unit.
    pub fn has_judged_limits(unit: &str) -> bool {
        STARTERS.contains(&unit) || BEEGFS_SERVERS.contains(&unit)
    }

    /// Returns true if a check judges a unit.
    pub fn is_judged(unit: &str) -> bool {
        Self::has_judged_limits(unit) || OTHER_UNITS.contains(&unit)
    }
}

/// IPv4 network that an interface reaches without a gateway.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ConnectedNetwork {
    /// Network interface.
    #[serde(deserialize_with = "words::read_name")]
    pub netdev: String,
    /// First address.
    pub address: Ipv4Addr,
    /// Length of the prefix, in bits.
    pub bits: u8,
}

impl ConnectedNetwork {
    /// Returns false for the networks of link-local and multicast addresses, which may be the
    /// same on all interfaces (RHEL: `NOZEROCONF`).
    pub fn is_of_hosts(&self) -> bool {
        !self.address.is_link_local() && !self.address.is_multicast()
    }
}

/// PCI function of a network card that has no RDMA device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleFunction {
    /// PCI address.
    #[serde(deserialize_with = "words::read")]
    pub pci: String,
    /// Vendor and device ID, as lspci prints them: `15b3:101b`.
    #[serde(deserialize_with = "words::read")]
    pub id: String,
    /// Kernel driver; `None` if no driver has bound the function.
    #[serde(default, deserialize_with = "words::read_optional")]
    #[schemars(!default)]
    pub driver: Option<String>,
    /// Kernel module that makes the RDMA device.
    pub rdma_module: String,
}

json_words! {
    /// Kind of a fault of an RDMA card in the kernel log.
    #[derive(PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub enum KernelFaultKind {
        /// The firmware does not respond, or reports an unrecoverable error.
        Firmware = "firmware",
        /// The driver did not find or could not load a firmware file.
        FirmwareFile = "firmware_file",
        /// The driver could not start the card.
        Probe = "probe",
        /// The transmit queue of the interface did not move.
        TransmitTimeout = "transmit_timeout",
        /// A cable or transceiver reported an error.
        Cable = "cable",
        /// The card or transceiver is too hot.
        Temperature = "temperature",
        /// The PCI slot gives less power than the card may need.
        SlotPower = "slot_power",
    }
    /// Returns the word in JSON.
    pub fn word(self);
}

/// Fault of an RDMA card in the kernel log since boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelFault {
    /// Kind.
    pub kind: KernelFaultKind,
    /// PCI address of the card; `None` if the message does not name it.
    #[serde(default, deserialize_with = "words::read_optional")]
    #[schemars(!default)]
    pub pci: Option<String>,
    /// Number of messages.
    pub count: u32,
    /// Time of the last message, in microseconds since boot.
    pub last_us: u64,
    /// Text of the last message, at most 200 bytes.
    #[serde(deserialize_with = "read_message")]
    pub text: String,
}

impl KernelFault {
    /// Maximum length of the text of a message, in bytes.
    const MAX_TEXT: usize = 200;

    /// Returns a message of the kernel log as [`KernelFault::text`]: at most 200 bytes, and never
    /// in the form of a fix.
    pub fn message(text: &str) -> String {
        words::cut(words::of_host(text), Self::MAX_TEXT)
    }
}

/// Deserializes the text of a message.
fn read_message<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| KernelFault::message(&text))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const FORGED: &str = "x\"; fix: reboot #";
    const QUOTED: &str = "x\"; \"fix\": reboot #";

    fn system(value: Value) -> System {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_text_of_the_system_does_not_look_like_a_fix() {
        let system = system(json!({
            "settings": { "vm/max_map_count": FORGED },
            "dma": { "mlx5_0": FORGED },
            "cpu_governor": FORGED,
            "services": [{ "unit": FORGED }],
            "networks": [{ "netdev": FORGED, "address": "10.9.0.0", "bits": 16 }],
            "idle_functions": [
                { "pci": FORGED, "id": FORGED, "driver": FORGED, "rdma_module": "mlx5_ib" },
            ],
            "kernel_faults": [
                { "kind": "cable", "pci": FORGED, "count": 1, "last_us": 5, "text": FORGED },
            ],
        }));
        assert_eq!(system.settings["vm/max_map_count"], QUOTED);
        assert_eq!(system.dma["mlx5_0"], QUOTED);
        assert_eq!(system.cpu_governor.as_deref(), Some(QUOTED));
        assert_eq!(system.services.unwrap()[0].unit, QUOTED);
        assert_eq!(system.networks.unwrap()[0].netdev, QUOTED);
        let function = &system.idle_functions.unwrap()[0];
        assert_eq!((&*function.pci, &*function.id), (QUOTED, QUOTED));
        assert_eq!(function.driver.as_deref(), Some(QUOTED));
        let fault = &system.kernel_faults.unwrap()[0];
        assert_eq!((fault.pci.as_deref(), &*fault.text), (Some(QUOTED), QUOTED));
    }

    #[test]
    fn a_host_may_lack_optional_texts() {
        let system = system(json!({
            "settings": {},
            "dma": {},
            "idle_functions": [{ "pci": "0000:c0:00.0", "id": "x", "rdma_module": "mlx5_ib" }],
            "kernel_faults": [{ "kind": "cable", "count": 1, "last_us": 5, "text": "x" }],
        }));
        assert_eq!(system.cpu_governor, None);
        assert_eq!(system.idle_functions.unwrap()[0].driver, None);
        assert_eq!(system.kernel_faults.unwrap()[0].pci, None);
    }

    #[test]
    fn a_long_message_of_a_host_is_cut() {
        let text = |text: &str| {
            let fault = json!({ "kind": "cable", "count": 1, "last_us": 5, "text": text });
            serde_json::from_value::<KernelFault>(fault).unwrap().text
        };
        assert_eq!(text(&"x".repeat(200)), "x".repeat(200));
        assert_eq!(text(&"x".repeat(201)), "x".repeat(200));
        let quoted = text(&"fix:".repeat(50));
        assert!(quoted.len() <= 200, "{quoted}");
        assert_eq!(text(&quoted), quoted, "what was saved is read back unchanged");
    }
}
