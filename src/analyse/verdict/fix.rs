//! Fills the names of a pair into the fixes of the verdict table.
//!
//! Names of devices and network interfaces come from other hosts, and users paste a fix into a
//! shell. A name with unusual characters is omitted, and its placeholder stays in capitals.

use std::collections::BTreeSet;

use crate::model::ping::{Pair, Route, RoutePort, Side};
use crate::model::{Protocol, is_plain};
use crate::names;

/// The two hosts of a pair and the route between them.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// Name of the source.
    pub source: &'a str,
    /// Name of the target.
    pub target: &'a str,
    /// Ports of both hosts; `None` if none could be chosen.
    pub route: Option<&'a Route>,
}

impl<'a> Ends<'a> {
    /// Returns the hosts and the route of a pair; `names` has the names of all hosts.
    pub fn of(pair: &'a Pair, names: &[&'a str]) -> Self {
        let name = |host: usize| names.get(host).copied().unwrap_or_default();
        Self { source: name(pair.source), target: name(pair.target), route: pair.route.as_ref() }
    }

    /// Returns the name of the host at a side; for a path the source.
    pub fn host(&self, side: Side) -> &'a str {
        if side == Side::Target { self.target } else { self.source }
    }

    fn port(&self, side: Side) -> Option<&'a RoutePort> {
        let route = self.route?;
        Some(if side == Side::Target { &route.target } else { &route.source })
    }

    pub(super) fn netdev(&self, side: Side) -> Option<&'a str> {
        self.port(side)?.netdev.as_deref()
    }

    /// Returns `None` on InfiniBand, where a GID is not an IP address.
    pub(super) fn peer_address(&self, side: Side) -> Option<String> {
        let is_ip = |route: &&Route| matches!(route.protocol, Protocol::Roce | Protocol::Iwarp);
        self.route.filter(is_ip)?;
        Some(self.port(other(side))?.gid.ip().to_string())
    }

    /// Returns the side with the smaller MTU, first of the port, then of the interface. Returns the
    /// source if they are equal or unknown.
    fn low_mtu(&self) -> Side {
        let mtu = |side| {
            let port = self.port(side)?;
            Some((port.active_mtu.unwrap_or(0), port.netdev_mtu?))
        };
        let is_target = mtu(Side::Target).zip(mtu(Side::Source)).is_some_and(|(a, b)| a < b);
        if is_target { Side::Target } else { Side::Source }
    }

    /// Returns a fix of the verdict table with the names of this pair.
    pub fn fill(&self, fix: &str, side: Side) -> String {
        self.fill_with(fix, side, None)
    }

    /// Returns a fix with the names of this pair; `netdev` is used if the route has none.
    pub fn fill_with(&self, fix: &str, side: Side, netdev: Option<&str>) -> String {
        let address = self.peer_address(side);
        let own_address = self.peer_address(other(side));
        let low = self.low_mtu();
        let mtu = |side| self.port(side)?.netdev_mtu;
        let high_mtu = mtu(Side::Source).max(mtu(Side::Target)).map(|mtu| mtu.to_string());
        let names = [
            ("low_host", Some(self.host(low))),
            ("low_netdev", self.netdev(low)),
            ("high_mtu", high_mtu.as_deref()),
            ("source", Some(self.source)),
            ("target", Some(self.target)),
            ("host", Some(self.host(side))),
            ("peer", Some(self.host(other(side)))),
            ("device", self.port(side).map(|port| port.device.as_str())),
            ("netdev", self.netdev(side).or(netdev)),
            ("peer_netdev", self.netdev(other(side))),
            ("address", address.as_deref()),
            ("own_address", own_address.as_deref()),
        ];
        fill_names(fix, names)
    }
}

/// Returns a fix with its names: `device` replaces `{device}`. A name that is missing or no
/// ordinary shell word stays in capitals.
pub(crate) fn fill_names<'name>(
    fix: &str,
    names: impl IntoIterator<Item = (&'name str, Option<&'name str>)>,
) -> String {
    names.into_iter().fold(fix.to_owned(), |fix, (name, value)| {
        let value = value.filter(|value| is_plain(value));
        fix.replace(&format!("{{{name}}}"), value.unwrap_or(&name.to_uppercase()))
    })
}

/// Returns a fix of the verdict table for documentation: every placeholder in capitals.
pub fn with_placeholders(fix: &str) -> String {
    Ends { source: "", target: "", route: None }.fill(fix, Side::Source)
}

fn other(side: Side) -> Side {
    if side == Side::Target { Side::Source } else { Side::Target }
}

/// Returns the set of hosts; a name that is no ordinary shell word is `HOST`.
pub(crate) fn plain_set(names: &[&str], hosts: &BTreeSet<usize>) -> String {
    let names = hosts.iter().filter_map(|&host| names.get(host));
    names::fold(names.map(|name| plain_or(name, "HOST")))
}

/// Returns the name if it is one ordinary shell word, else the placeholder.
pub(crate) fn plain_or<'a>(name: &'a str, placeholder: &'a str) -> &'a str {
    if is_plain(name) { name } else { placeholder }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ping::Code;
    use crate::model::probe::Method;

    fn port(netdev: &str, gid: &str) -> RoutePort {
        let netdev = Some(netdev.into());
        RoutePort { device: "mlx5_0".into(), netdev, ..RoutePort::example(gid) }
    }

    fn route(protocol: Protocol, netdev: &str) -> Route {
        Route {
            method: Method::Relay,
            protocol,
            unreliable: false,
            mtu: None,
            source: port(netdev, "::ffff:10.10.1.1"),
            target: port("eth7", "::ffff:10.10.1.2"),
        }
    }

    const FIX: &str =
        "on {host} ({source} to {target}): ip route get {address} oif {netdev}; {device}";

    fn fill(route: Option<&Route>, side: Side) -> String {
        Ends { source: "n1", target: "n2", route }.fill(FIX, side)
    }

    #[test]
    fn each_side_has_its_own_names() {
        let route = route(Protocol::Roce, "eth1");
        let source = "on n1 (n1 to n2): ip route get 10.10.1.2 oif eth1; mlx5_0";
        let target = "on n2 (n1 to n2): ip route get 10.10.1.1 oif eth7; mlx5_0";
        assert_eq!(fill(Some(&route), Side::Source), source);
        assert_eq!(fill(Some(&route), Side::Path), source);
        assert_eq!(fill(Some(&route), Side::Target), target);
    }

    #[test]
    fn the_end_with_the_smaller_mtu_is_the_one_to_change() {
        let fix = Code::MtuMismatch.fixes()[0];
        let with = |source, target| {
            let mut route = route(Protocol::Roce, "eth1");
            (route.source.netdev_mtu, route.target.netdev_mtu) = (source, target);
            let ends = Ends { source: "n1", target: "n2", route: Some(&route) };
            ends.fill(fix, Side::Source)
        };
        let text = with(Some(9_000), Some(1_500));
        assert!(text.contains("; on n2: ip link set eth7 mtu 9000; compare"), "{text}");
        let text = with(Some(1_500), Some(9_000));
        assert!(text.contains("; on n1: ip link set eth1 mtu 9000; compare"), "{text}");
        assert!(with(None, None).contains("eth1 mtu HIGH_MTU"), "{text}");
    }

    #[test]
    fn an_unknown_name_stays_a_placeholder_in_capitals() {
        let unknown = "on n1 (n1 to n2): ip route get ADDRESS oif NETDEV; DEVICE";
        assert_eq!(fill(None, Side::Source), unknown);
        let infiniband = fill(Some(&route(Protocol::Ib, "ib0")), Side::Source);
        assert_eq!(infiniband, "on n1 (n1 to n2): ip route get ADDRESS oif ib0; mlx5_0");
    }

    #[test]
    fn a_name_that_a_shell_would_run_is_left_out() {
        for name in ["eth1; reboot", "$(reboot)", "`reboot`", "a b", "-rf", "", "eth1\n", "é"] {
            let text = fill(Some(&route(Protocol::Roce, name)), Side::Source);
            assert_eq!(text, "on n1 (n1 to n2): ip route get 10.10.1.2 oif NETDEV; mlx5_0");
        }
    }

    #[test]
    fn every_placeholder_of_the_table_is_known() {
        let route = route(Protocol::Roce, "eth1");
        let ends = Ends { source: "n1", target: "n2", route: Some(&route) };
        for (code, fix) in
            Code::ALL.iter().flat_map(|code| code.fixes().iter().map(move |fix| (code, fix)))
        {
            let text = ends.fill(fix, Side::Target);
            // Only the braces of awk commands may remain.
            assert!(!text.contains('{'), "{code:?}: {text}");
        }
    }
}
