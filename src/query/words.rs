//! Lists the words that a column with few values can have, so that a filter with another word is
//! an error.
//!
//! The filter and the completion of filters use this module. It does not read which words occur
//! on a host.

use super::device_row::GONE;
use super::live_hosts::DEVICE_GONE;
use super::{Align, Column, Listing};
use crate::model::ping::{Code, PairTransport, Side};
use crate::model::probe::{Method, Stage};
use crate::model::{
    ConnectionState, ConnectionVerdict, ConsumerKind, CounterGroup, CounterMode, CounterUnit,
    GidKind, LinkLayer, NodeType, Object, PortState, Protocol, Reason, Role, Severity, SweepMethod,
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
    pub fn all(&self) -> Vec<&'static str> {
        match self {
            Self::Few { words, has_reasons } => {
                let reasons = if *has_reasons { &Reason::WORDS[..] } else { &[] };
                [words, reasons].concat()
            }
            Self::Number(words) => words.to_vec(),
            Self::Any => Vec::new(),
        }
    }
}

impl<L: Listing> Column<L> {
    /// Returns the values that the column can have.
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
pub fn words_of(id: &str) -> Words {
    let few = |words: &[&'static str]| Words::Few { words: words.to_vec(), has_reasons: false };
    let or_reason = |words: Vec<&'static str>| Words::Few { words, has_reasons: true };
    match id {
        "port.state" => or_reason([&PortState::WORDS[..], &[GONE]].concat()),
        "live.state" => or_reason(vec!["up", DEVICE_GONE]),
        "verdict" => or_reason(ConnectionVerdict::WORDS.to_vec()),
        "resource.kind" => or_reason(Object::WORDS.to_vec()),
        "lossless.verdict" => or_reason(vec!["lossless", "lossy", "unknown", "not applicable"]),
        "port.protocol" => few(&[&Protocol::WORDS[..], &[LinkLayer::Infiniband.word()]].concat()),
        "verdict.code" | "first.code" => few(&Code::WORDS),
        "verdict.side" => few(&Side::WORDS),
        "finding.severity" => few(&Severity::WORDS),
        "problem.severity" => few(&["fail", "warn", "unknown"]),
        "via" => few(&["local", "agent", "upload", "sh", "file"]),
        "consumer.kind" => few(&ConsumerKind::WORDS),
        "transport" | "requested.transport" => few(&Transport::WORDS),
        "consumer.role" => few(&Role::WORDS),
        "state" => few(&ConnectionState::WORDS),
        "device.node_type" => few(&NodeType::WORDS),
        "node.kind" => few(&["ca", "switch", "router"]),
        "gid.kind" | "port.default_roce_mode" => few(&GidKind::WORDS),
        "counter.group" => few(&CounterGroup::WORDS),
        "counter.unit" => few(&CounterUnit::WORDS),
        "port.link_layer" => few(&LinkLayer::WORDS),
        "port.netlink.counter_mode" => few(&CounterMode::WORDS),
        "subnet.via" => few(&SweepMethod::WORDS),
        "pair.transport" => few(&PairTransport::WORDS),
        "pair.unreliable" => few(&["ok", "n/a", "failed"]),
        "route.method" => few(&Method::WORDS),
        "verdict.stage" => few(&Stage::WORDS),
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
}
