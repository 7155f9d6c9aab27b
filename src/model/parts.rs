//! Parts of a report that are read on request.
//! `query` and `cmd` request parts; `collect` reads them and lists them in the report.

use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

json_words! {
    /// Part of a report that is read only on request, because it costs more than reading a few files.
    ///
    /// A new part needs no new version of the protocol: the report lists the parts that were read.
    #[derive(PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub enum Part {
        /// Values that are shown only on request: revision and description of the card, defaults and
        /// capabilities of ports, character devices.
        Details = "details",
        /// PCI Express links from the card up to the CPU, and virtual functions.
        PciLinks = "pci_links",
        /// Complete GID tables.
        Gids = "gids",
        /// Limits and MTU from libibverbs.
        Verbs = "verbs",
        /// Queue pairs and other objects from RDMA netlink.
        Resources = "resources",
        /// Check whether the kernel hides memory keys from rdmactl.
        Keys = "keys",
        /// Counters. Some counters cost a firmware command each.
        Counters = "counters",
        /// `P_Key` tables. Each entry may cost a firmware command.
        Pkeys = "pkeys",
        /// Accelerators, found among all PCI functions of the host.
        Gpus = "gpus",
        /// Network interfaces of the ports.
        Netdevs = "netdevs",
        /// Ethernet settings of the network interfaces, from ethtool netlink and DCB. The queries go
        /// to drivers and firmware.
        Ethernet = "ethernet",
        /// Values of devices and ports from RDMA netlink that sysfs lacks.
        Netlink = "netlink",
        /// Consumers of RDMA, and possible consumers: mounts, sessions, sockets, processes.
        Connections = "connections",
        /// Settings of the operating system: modules, limits, services, faults in the kernel log.
        System = "system",
        /// Values that only the tools in `compat` request.
        Compat = "compat",
        /// InfiniBand subnets of the host: nodes, ports, links, subnet managers.
        Fabric = "fabric",
        /// Method of the sweep: only the tables of subnet administration.
        FabricSa = "fabric_sa",
        /// Method of the sweep: only directed routes.
        FabricSmp = "fabric_smp",
        /// Forwarding tables of the switches in the subnets.
        FabricRoutes = "fabric_routes",
        /// Partition tables of the ports in the subnets.
        FabricPartitions = "fabric_partitions",
        /// Counters of the ports in the subnets.
        FabricCounters = "fabric_counters",
        /// Error counters of the ports in the subnets, for ports that counted errors.
        FabricErrors = "fabric_errors",
        /// Other end of the link of each InfiniBand port of the host, without a sweep.
        FabricPeers = "fabric_peers",
    }
    /// Returns the word in JSON and in the sources of a column. It is also the key of a problem
    /// that affects the whole part.
    pub fn word(self);
}

impl Part {
    /// Returns true for a part of the subnets that the host is connected to.
    pub fn is_of_fabric(self) -> bool {
        self.word().starts_with("fabric")
    }

    /// Returns the part with a word; `None` for an unknown word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.word() == word)
    }
}

/// Set of parts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Parts(BTreeSet<Part>);

impl Parts {
    /// Returns all parts of a host, as captures hold them. A subnet is not a part of a host.
    pub fn all() -> Self {
        Part::ALL.into_iter().filter(|part| !part.is_of_fabric()).collect()
    }

    /// Returns true if the set contains a part.
    pub fn has(&self, part: Part) -> bool {
        self.0.contains(&part)
    }

    /// Returns an iterator over the parts.
    pub fn iter(&self) -> impl Iterator<Item = Part> {
        self.0.iter().copied()
    }

    /// Returns the parts that are not in `some`.
    pub fn without(self, some: &Self) -> Self {
        self.into_iter().filter(|part| !some.has(*part)).collect()
    }

    /// Returns an iterator over the parts that `other` does not contain.
    pub fn missing_in<'parts>(&'parts self, other: &'parts Self) -> impl Iterator<Item = Part> {
        self.0.difference(&other.0).copied()
    }
}

impl IntoIterator for Parts {
    type Item = Part;
    type IntoIter = std::collections::btree_set::IntoIter<Part>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Part> for Parts {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Self {
        Self(parts.into_iter().collect())
    }
}

impl<const N: usize> From<[Part; N]> for Parts {
    fn from(parts: [Part; N]) -> Self {
        Self(parts.into())
    }
}

impl Extend<Part> for Parts {
    fn extend<I: IntoIterator<Item = Part>>(&mut self, parts: I) {
        self.0.extend(parts);
    }
}

/// Skips words of later versions.
impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<Cow<'de, str>>::deserialize(deserializer)?;
        Ok(words.iter().filter_map(|word| Part::named(word)).collect())
    }
}

impl JsonSchema for Parts {
    fn schema_name() -> Cow<'static, str> {
        "Parts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeSet::<Part>::json_schema(generator)
    }
}

#[test]
fn a_part_has_one_word_everywhere() {
    for part in Part::ALL {
        assert_eq!(serde_json::to_value(part).unwrap(), part.word());
        assert_eq!(Part::named(part.word()), Some(part));
    }
}

#[test]
fn unknown_part_names_are_ignored() {
    let asked: Parts = serde_json::from_str(r#"["verbs","telepathy","gids"]"#).unwrap();
    assert_eq!(asked, Parts::from([Part::Gids, Part::Verbs]));
    let read = Parts::from([Part::Gids]);
    assert_eq!(asked.missing_in(&read).collect::<Vec<_>>(), [Part::Verbs]);
}
