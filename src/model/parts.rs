use std::borrow::Cow;
use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

/// A part of a report that costs more than reading a few files, and is read only when asked for.
///
/// A part may be added without a new protocol: a report says which parts were read.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// What is shown only to those who ask for it by name: identity of the card, defaults and
    /// capabilities of ports, character devices.
    Details,
    /// The PCI Express links from the card up to the processor, and virtual functions.
    PciLinks,
    /// Whole GID tables.
    Gids,
    /// Limits and MTU from libibverbs.
    Verbs,
    /// Queue pairs and other objects from RDMA netlink.
    Resources,
    /// Whether keys of memory are hidden from the reader.
    Keys,
    /// Counters, of which some cost a firmware command each.
    Counters,
    /// The `P_Key` tables, of which each entry may cost a firmware command.
    Pkeys,
    /// Accelerators, which are looked for among all PCI functions of the host.
    Gpus,
    /// The interfaces of the ports.
    Netdevs,
    /// What ethtool netlink and DCB say of those interfaces; it asks drivers and firmware.
    Ethernet,
    /// What RDMA netlink knows of devices and ports beyond their files.
    Netlink,
    /// Who uses RDMA, or could: mounts, sessions, sockets, processes.
    Connections,
    /// What only the tools that `compat` stands in for ask.
    Compat,
    /// The InfiniBand subnets of the host: nodes, ports, links, subnet managers.
    Fabric,
    /// Reads subnets from the tables of subnet administration, and in no other way.
    FabricSa,
    /// Reads subnets by directed routes, and in no other way.
    FabricSmp,
    /// The forwarding tables of the switches of those subnets.
    FabricRoutes,
    /// The partition tables of the ports of those subnets.
    FabricPartitions,
    /// The counters of the ports of those subnets.
    FabricCounters,
    /// The error counters of the ports of those subnets that have counted errors.
    FabricErrors,
    /// The other end of the link of each InfiniBand port of the host, without a sweep.
    FabricPeers,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 22] = [
        Self::Details,
        Self::PciLinks,
        Self::Gids,
        Self::Verbs,
        Self::Resources,
        Self::Keys,
        Self::Counters,
        Self::Pkeys,
        Self::Gpus,
        Self::Netdevs,
        Self::Ethernet,
        Self::Netlink,
        Self::Connections,
        Self::Compat,
        Self::Fabric,
        Self::FabricSa,
        Self::FabricSmp,
        Self::FabricRoutes,
        Self::FabricPartitions,
        Self::FabricCounters,
        Self::FabricErrors,
        Self::FabricPeers,
    ];

    /// The word in JSON, among the sources of a column, and as the key of a problem with all of it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Details => "details",
            Self::PciLinks => "pci_links",
            Self::Gids => "gids",
            Self::Verbs => "verbs",
            Self::Resources => "resources",
            Self::Keys => "keys",
            Self::Counters => "counters",
            Self::Pkeys => "pkeys",
            Self::Gpus => "gpus",
            Self::Netdevs => "netdevs",
            Self::Ethernet => "ethernet",
            Self::Netlink => "netlink",
            Self::Connections => "connections",
            Self::Compat => "compat",
            Self::Fabric => "fabric",
            Self::FabricSa => "fabric_sa",
            Self::FabricSmp => "fabric_smp",
            Self::FabricRoutes => "fabric_routes",
            Self::FabricPartitions => "fabric_partitions",
            Self::FabricCounters => "fabric_counters",
            Self::FabricErrors => "fabric_errors",
            Self::FabricPeers => "fabric_peers",
        }
    }

    /// True for a part of the subnets that the host is connected to.
    #[must_use]
    pub fn is_of_fabric(self) -> bool {
        self.word().starts_with("fabric")
    }

    /// The part of a word.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.word() == word)
    }
}

/// Some parts, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Parts(BTreeSet<Part>);

impl Parts {
    /// All there is of a host, as captures have it. A subnet is not a part of a host.
    #[must_use]
    pub fn all() -> Self {
        Part::ALL.into_iter().filter(|part| !part.is_of_fabric()).collect()
    }

    /// Whether a part is among them.
    #[must_use]
    pub fn has(&self, part: Part) -> bool {
        self.0.contains(&part)
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Part> {
        self.0.iter().copied()
    }

    /// Returns these parts without some.
    #[must_use]
    pub fn without(self, some: &Self) -> Self {
        self.into_iter().filter(|part| !some.has(*part)).collect()
    }

    /// Those that the others lack.
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

/// Words of a later version are left out.
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
fn what_an_older_side_does_not_know_is_not_among_its_parts() {
    let asked: Parts = serde_json::from_str(r#"["verbs","telepathy","gids"]"#).unwrap();
    assert_eq!(asked, Parts::from([Part::Gids, Part::Verbs]));
    let read = Parts::from([Part::Gids]);
    assert_eq!(asked.missing_in(&read).collect::<Vec<_>>(), [Part::Verbs]);
}
