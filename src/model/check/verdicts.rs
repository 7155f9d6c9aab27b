//! Checks that explain the verdicts of `ping`, so that a fault has one id and one remedy
//! everywhere.
//!
//! This module does not look for findings: `analyse::check` looks for the findings of these
//! checks on the hosts of a failed pair.

use VerdictChecks::{AnyOf, NoCheck};

use crate::model::ping::Code;

/// Checks that may explain a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictChecks {
    /// A finding of one of these checks is the cause; the most specific check comes first.
    AnyOf(&'static [&'static str]),
    /// No check shows the cause, for this reason.
    NoCheck(&'static str),
}

impl VerdictChecks {
    /// Returns the checks of a verdict.
    pub fn of(code: Code) -> Self {
        match code {
            Code::Ok | Code::NoTransport | Code::NotTested => NoCheck("it is no failure"),
            Code::Unreached
            | Code::PeerDead
            | Code::AgentFailed
            | Code::ConnectionLost
            | Code::PeerHung => AnyOf(&["host.silent"]),
            Code::Udp4791Blocked => NoCheck("no check reads rules of firewalls and switches"),
            Code::Bridge => NoCheck("no check reads bridges"),
            Code::MacDuplicate => AnyOf(&["mac.duplicate"]),
            Code::NoNeighbour => NoCheck("no check reads VLANs and routes of the switches"),
            Code::MtuBlackhole | Code::MtuMismatch => AnyOf(&["mtu.differs"]),
            Code::NoRoute => NoCheck("no check compares the routing tables of two hosts"),
            Code::Prohibited => NoCheck("no check reads routes of type unreachable or prohibit"),
            Code::LinkDown => AnyOf(&["port.disabled", "port.down", "port.not_active"]),
            Code::Asymmetric => AnyOf(&["network.reverse_path", "network.arp"]),
            Code::NoSubnetManager => {
                AnyOf(&["device.no_guid", "fabric.no_manager", "port.not_active"])
            }
            Code::PKey => AnyOf(&["port.pkey_limited"]),
            Code::NoDatagrams => NoCheck("no check reads Q_Keys"),
            Code::NoUnreliable => NoCheck("no check knows which drivers lack the transport"),
            Code::NoMadReply => AnyOf(&["lid.duplicate", "port.pkey_limited"]),
            Code::GidIndex | Code::LinkLocal => AnyOf(&["gid.none_usable"]),
            Code::GidFamily => AnyOf(&["roce.version_differs", "gid.none_usable"]),
            Code::DeviceGone => AnyOf(&["device.gone", "log.firmware"]),
            Code::Permission => {
                AnyOf(&["device.file_denied", "device.file_missing", "module.missing"])
            }
            Code::NoUmad => AnyOf(&["module.missing"]),
            Code::Memlock => AnyOf(&["limit.locked_memory"]),
            Code::Library => AnyOf(&["device.no_provider"]),
            Code::Resources => AnyOf(&["log.firmware", "device.exhausted"]),
            Code::NoPort => AnyOf(&[
                "host.no_device",
                "device.no_guid",
                "port.disabled",
                "port.down",
                "port.not_active",
                "gid.none_usable",
            ]),
            Code::NoListener => AnyOf(&["service.iwpmd"]),
            Code::RailDown | Code::NoAck => NoCheck("no check reads the path between two ports"),
            Code::NotPosting => NoCheck("no check reads the load of the CPUs"),
            Code::Loss => AnyOf(&["port.errors", "log.cable"]),
            Code::Corrupted => NoCheck("no check reads errors of memory and PCI Express"),
            Code::DriverStuck => AnyOf(&["log.firmware", "log.transmit_timeout"]),
            Code::Agent => NoCheck("it is a bug of rdmactl"),
        }
    }

    /// Returns the ids of the checks.
    pub fn ids(self) -> &'static [&'static str] {
        match self {
            AnyOf(ids) => ids,
            NoCheck(_) => &[],
        }
    }
}

#[test]
fn each_verdict_has_known_checks_or_a_reason() {
    for code in Code::ALL {
        let checks = VerdictChecks::of(code);
        for id in checks.ids() {
            assert!(super::check(id).is_some(), "{}: {id}", code.word());
        }
        let is_said = match checks {
            AnyOf(ids) => !ids.is_empty() && code.is_failure(),
            NoCheck(why) => !why.is_empty(),
        };
        assert!(is_said, "{}", code.word());
    }
}
