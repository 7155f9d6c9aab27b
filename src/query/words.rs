//! Lists the words that a column with few values can have, so that a filter with another word is
//! an error.
//!
//! The filter and the completion of filters use this module. It does not read which words occur
//! on a host.

use super::device_row::GONE;
use super::live_hosts::DEVICE_GONE;
use super::{Align, Column, Listing};
use crate::model::ping::Code;
use crate::model::{
    ConnectionVerdict, ConsumerKind, CounterGroup, LinkLayer, Object, PortState, Protocol, Reason,
    Transport,
};

/// Columns of numbers that also show words.
const MIXED: [(&str, &[&str]); 1] = [("counter.rate.delta", &["reset", "saturated"])];

/// Right-aligned columns whose cells are not one number: `7/8` or `1, 2`.
const NO_NUMBER: [&str; 2] = ["live.ports_up", "rdma.remote_port"];

/// Values of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Words {
    /// One of these words.
    Few {
        /// The words, as the column shows them.
        words: Vec<&'static str>,
        /// True if the column shows the reason of a host that did not respond.
        has_reasons: bool,
    },
    /// A number, or one of these words.
    Number(&'static [&'static str]),
    /// Any text.
    Any,
}

impl Words {
    /// Returns all words, reasons of hosts that did not respond last. Empty for any text.
    #[must_use]
    pub fn all(&self) -> Vec<&'static str> {
        match self {
            Self::Few { words, has_reasons } => {
                let reasons = if *has_reasons { &Reason::ALL[..] } else { &[] };
                words.iter().copied().chain(reasons.iter().map(|reason| reason.word())).collect()
            }
            Self::Number(words) => words.to_vec(),
            Self::Any => Vec::new(),
        }
    }
}

impl<L: Listing> Column<L> {
    /// Returns the values that the column can have.
    #[must_use]
    pub fn words(&self) -> Words {
        if let Some((_, words)) = MIXED.iter().find(|(id, _)| *id == self.id) {
            return Words::Number(words);
        }
        match words_of(self.id) {
            Words::Any if self.align == Align::Right && !NO_NUMBER.contains(&self.id) => {
                Words::Number(&[])
            }
            words => words,
        }
    }
}

/// Returns the words that the column of this id can have; [`Words::Any`] for any text.
#[must_use]
pub fn words_of(id: &str) -> Words {
    let few = |words: &[&'static str]| Words::Few { words: words.to_vec(), has_reasons: false };
    let or_reason = |words: Vec<&'static str>| Words::Few { words, has_reasons: true };
    match id {
        "port.state" => {
            let states = PortState::ALL.map(PortState::word);
            or_reason([&states[..], &[GONE]].concat())
        }
        "live.state" => or_reason(vec!["up", DEVICE_GONE]),
        "verdict" => or_reason(ConnectionVerdict::ALL.map(ConnectionVerdict::word).to_vec()),
        "resource.kind" => or_reason(Object::WORDS.to_vec()),
        "lossless.verdict" => or_reason(vec!["lossless", "lossy", "unknown", "not applicable"]),
        "port.protocol" => {
            let known = Protocol::ALL.map(Protocol::word);
            few(&[&known[..], &[LinkLayer::Infiniband.word()]].concat())
        }
        "verdict.code" | "first.code" => {
            few(&Code::ALL.iter().map(|code| code.word()).collect::<Vec<_>>())
        }
        "verdict.side" => few(&["source", "target", "path"]),
        "finding.severity" => few(&["fail", "warn", "unknown", "past"]),
        "problem.severity" => few(&["fail", "warn", "unknown"]),
        "via" => few(&["local", "agent", "upload", "sh", "file"]),
        "consumer.kind" => few(&ConsumerKind::ALL.map(ConsumerKind::word)),
        "transport" | "requested.transport" => few(&Transport::ALL.map(Transport::word)),
        "consumer.role" => few(&["client", "server", "peer"]),
        "state" => few(&["up", "idle", "connecting", "down", "unknown"]),
        "device.node_type" => {
            few(&["ca", "switch", "router", "rnic", "usnic", "usnic_udp", "unspecified"])
        }
        "node.kind" => few(&["ca", "switch", "router"]),
        "gid.kind" | "port.default_roce_mode" => few(&["IB", "RoCE v1", "RoCE v2"]),
        "counter.group" => few(&CounterGroup::ALL.map(CounterGroup::word)),
        "counter.unit" => few(&["bytes", "ticks", "events", "level"]),
        "port.link_layer" => few(&["InfiniBand", "Ethernet", "Unknown"]),
        "port.netlink.counter_mode" => {
            few(&["off", "auto type", "auto pid", "auto type, pid", "manual"])
        }
        "subnet.via" => few(&["sa", "smp", "ibnetdiscover", "opensm-subnet.lst"]),
        "pair.transport" => few(&["rdma", "tcp-fallback", "rdma-only", "down"]),
        "pair.unreliable" => few(&["ok", "n/a", "failed"]),
        "route.method" => few(&["relay", "cm", "datagrams"]),
        "verdict.stage" => few(&[
            "agent",
            "choose",
            "open",
            "tcp",
            "connect",
            "first_message",
            "full_mtu",
            "latency",
            "bandwidth",
            "mad",
        ]),
        "port.pci_suffices" => few(&["yes", "no"]),
        "rdma_system.netns_mode" => few(&["shared", "exclusive"]),
        "device.netlink.adaptive_moderation"
        | "resource.adaptive_moderation"
        | "rdma_system.copy_on_fork"
        | "rdma_system.privileged_qkey"
        | "rdma_system.monitor"
        | "node.enhanced" => few(&["on", "off"]),
        _ => Words::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Counters, Filter};
    use super::*;
    use crate::model::ping::PairTransport;
    use crate::model::probe::{Method, Stage};
    use crate::model::{CounterMode, GidKind, SweepMethod};

    fn has(id: &str, words: &[&str]) {
        let known = words_of(id).all();
        assert_eq!(known, words, "{id}");
    }

    #[test]
    fn the_group_of_a_counter_is_one_of_few_words() {
        let error = Filter::<Counters>::parse("group==error").err().unwrap();
        let groups = "GROUP is one of: pma, hardware, cm_tx_msgs, cm_tx_retries, cm_rx_msgs, \
                      cm_rx_duplicates";
        assert_eq!(error.what, groups);
        for possible in ["group==pma", "group~cm_", "group!=hardware", "group=-"] {
            assert!(Filter::<Counters>::parse(possible).is_ok(), "{possible}");
        }
    }

    #[test]
    fn the_lists_have_the_words_of_the_model() {
        has("gid.kind", &[GidKind::Ib, GidKind::RoceV1, GidKind::RoceV2].map(GidKind::word));
        let layers = [LinkLayer::Infiniband, LinkLayer::Ethernet, LinkLayer::Unknown];
        has("port.link_layer", &layers.map(LinkLayer::word));
        let modes = [
            CounterMode::Off,
            CounterMode::AutoByType,
            CounterMode::AutoByPid,
            CounterMode::AutoByTypeAndPid,
            CounterMode::Manual,
        ];
        has("port.netlink.counter_mode", &modes.map(CounterMode::words));
        let sweeps = [
            SweepMethod::Sa,
            SweepMethod::Smp,
            SweepMethod::Ibnetdiscover,
            SweepMethod::OpensmSubnetList,
        ];
        has("subnet.via", &sweeps.map(SweepMethod::word));
        let transports = [
            PairTransport::Rdma,
            PairTransport::TcpFallback,
            PairTransport::RdmaOnly,
            PairTransport::Down,
        ];
        has("pair.transport", &transports.map(PairTransport::word));
        has("route.method", &[Method::Relay, Method::Cm, Method::Datagrams].map(Method::word));
        let stages = [
            Stage::Agent,
            Stage::Choose,
            Stage::Open,
            Stage::Tcp,
            Stage::Connect,
            Stage::FirstMessage,
            Stage::FullMtu,
            Stage::Latency,
            Stage::Bandwidth,
            Stage::Mad,
        ];
        has("verdict.stage", &stages.map(Stage::word));
    }
}
