//! Network interfaces of a report, with indexes by name and by the parent of VLANs.
//!
//! Rows, findings and the choice of ports look up an interface for each port. A linear search
//! would take time proportional to the number of ports times the number of interfaces.

use std::ops::Deref;

use serde::{Deserialize, Serialize, Serializer};

use super::Netdev;

/// Network interfaces of a report, in their original order. A binary search finds an interface by
/// its name, and the VLANs of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(from = "Vec<Netdev>")]
pub struct Netdevs {
    all: Vec<Netdev>,
    /// Positions of all interfaces, sorted by name.
    by_name: Vec<usize>,
    /// Positions of the VLANs, sorted by the name of the parent.
    by_parent: Vec<usize>,
}

impl Netdevs {
    /// Returns the first interface with a name.
    pub fn named(&self, name: &str) -> Option<&Netdev> {
        self.place_of(name).map(|place| &self.all[place])
    }

    /// Returns the positions of the VLANs on an interface, in their original order.
    pub fn vlans_on(&self, parent: &str) -> &[usize] {
        let of = |place: usize| parent_of(&self.all[place]);
        let start = self.by_parent.partition_point(|&place| of(place) < Some(parent));
        let rest = &self.by_parent[start..];
        &rest[..rest.partition_point(|&place| of(place) == Some(parent))]
    }

    /// Returns the position of the first interface with a name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        let start = self.by_name.partition_point(|&place| self.all[place].name.as_str() < name);
        self.by_name.get(start).copied().filter(|&place| self.all[place].name == name)
    }

    /// Calls `change` for each interface. `change` must not modify names or parents of VLANs.
    pub fn for_each(&mut self, change: impl FnMut(&mut Netdev)) {
        self.all.iter_mut().for_each(change);
    }
}

fn parent_of(netdev: &Netdev) -> Option<&str> {
    netdev.vlan.as_ref()?.parent.as_deref()
}

impl From<Vec<Netdev>> for Netdevs {
    fn from(all: Vec<Netdev>) -> Self {
        let mut by_name: Vec<usize> = (0..all.len()).collect();
        by_name.sort_by_key(|&place| &all[place].name);
        let is_vlan = |place: &usize| parent_of(&all[*place]).is_some();
        let mut by_parent: Vec<usize> = (0..all.len()).filter(is_vlan).collect();
        by_parent.sort_by_key(|&place| parent_of(&all[place]));
        Self { all, by_name, by_parent }
    }
}

impl Serialize for Netdevs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}

impl Deref for Netdevs {
    type Target = [Netdev];

    fn deref(&self) -> &[Netdev] {
        &self.all
    }
}

impl<'netdevs> IntoIterator for &'netdevs Netdevs {
    type Item = &'netdevs Netdev;
    type IntoIter = std::slice::Iter<'netdevs, Netdev>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn netdevs(json: &str) -> Netdevs {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_first_of_a_name_is_found_and_the_order_stays() {
        let known = netdevs(
            r#"[{"name":"eth1"},{"name":"bond0"},{"name":"eth1","mtu":9000},{"name":"eth0"}]"#,
        );
        assert_eq!(known.named("eth1").map(|found| found.mtu), Some(None));
        assert_eq!(known.place_of("eth0"), Some(3));
        for missing in ["", "bond", "eth2", "a"] {
            assert_eq!((known.named(missing), known.place_of(missing)), (None, None));
        }
        let names: Vec<&str> = known.iter().map(|netdev| &*netdev.name).collect();
        assert_eq!(names, ["eth1", "bond0", "eth1", "eth0"]);
        let again: Netdevs = netdevs(&serde_json::to_string(&known).unwrap());
        assert_eq!(again, known);
        assert_eq!(Netdevs::default().named("eth0"), None);
    }

    #[test]
    fn the_vlans_of_an_interface_are_found_in_their_order() {
        let known = netdevs(
            r#"[{"name":"a","vlan":{"id":7,"parent":"eth1"}},{"name":"eth1"},
            {"name":"b","vlan":{"id":5,"parent":"eth0"}},{"name":"c","vlan":{"id":6}},
            {"name":"d","vlan":{"id":5,"parent":"eth1"}}]"#,
        );
        assert_eq!(known.vlans_on("eth1"), [0, 4]);
        assert_eq!(known.vlans_on("eth0"), [2]);
        assert!(known.vlans_on("c").is_empty() && known.vlans_on("").is_empty());
    }
}
