//! Findings of changes between consecutive samples. `top` uses this module.

use std::collections::BTreeSet;

use super::Folded;
use crate::analyse::errors::{ErrorIncrease, ErrorKind};
use crate::analyse::transport_state::TransportState;
use crate::model::{Finding, Severity, Subject};

/// A change on a host.
#[derive(Debug, Clone, Copy)]
pub enum Changed<'facts> {
    /// The transport or verdict of a connection changed.
    Connection {
        /// Consumer and instance.
        consumer: (&'facts str, &'facts str),
        /// State before the change.
        was: TransportState,
        /// State after the change.
        is: TransportState,
    },
    /// Error counters of a port increased.
    Errors {
        /// Device and port number.
        port: (&'facts str, u32),
        /// Error counters of the port, also those without an increase.
        counted: &'facts [ErrorIncrease],
    },
    /// A finding no longer applies.
    Passed {
        /// Code of the earlier finding.
        code: &'static str,
        /// Subject on the host.
        subject: &'facts Subject,
        /// Description of the state, its duration and its end.
        what: &'facts str,
    },
}

/// Returns the findings of changes. All changes of a host come before those of the next host.
pub fn changes<'facts>(all: impl Iterator<Item = (&'facts str, Changed<'facts>)>) -> Vec<Finding> {
    let mut findings = Folded::default();
    for (host, changed) in all {
        let finding = match changed {
            Changed::Passed { code, subject, what } => {
                Finding::new(Severity::Past, code, subject.clone(), what)
            }
            Changed::Connection { consumer: (user, instance), was, is } => {
                let subject = Subject::Connection(user.to_owned(), instance.to_owned());
                let what = format!("was {was}; is {is}");
                Finding::new(Severity::Warn, "connection.changed", subject, what)
            }
            Changed::Errors { port: (device, port), counted } => {
                port_errors(Subject::Port(device.to_owned(), port), counted)
            }
        };
        findings.add(host, finding);
    }
    findings.findings
}

/// Returns the finding of a port whose error counters increased, with the fix of each kind once.
pub(crate) fn port_errors(port: Subject, counted: &[ErrorIncrease]) -> Finding {
    let increased = || counted.iter().filter(|one| one.last > 0);
    let words: Vec<_> = increased().map(|one| format!("{} +{}", one.name, one.last)).collect();
    let what = format!("new errors: {}", words.join(", "));
    let kinds: BTreeSet<_> = increased().filter_map(|one| ErrorKind::of(&one.name)).collect();
    let fixes: Vec<&str> = kinds.into_iter().map(ErrorKind::fix).collect();
    let fix = (!fixes.is_empty()).then(|| fixes.join("; "));
    Finding { fix, ..Finding::new(Severity::Warn, "port.errors", port, what) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ConnectionVerdict, Transport};

    const RDMA: TransportState =
        TransportState { transport: Transport::Rdma, verdict: ConnectionVerdict::Ok };
    const TCP: TransportState =
        TransportState { transport: Transport::Tcp, verdict: ConnectionVerdict::FallbackConfirmed };

    #[test]
    fn a_mount_that_changes_on_many_hosts_is_one_finding() {
        let hosts: Vec<String> = (1..=64).map(|at| format!("n{at}")).collect();
        let changed = Changed::Connection { consumer: ("nfs", "/scratch"), was: RDMA, is: TCP };
        let found = changes(hosts.iter().map(|host| (host.as_str(), changed)));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].hosts, hosts);
        assert_eq!(found[0].what, "was RDMA, ok; is TCP, fallback_confirmed");
    }

    #[test]
    fn each_kind_of_errors_has_its_own_advice() {
        let fix = |names: &[&str]| {
            let counted = |name: &&str| ErrorIncrease { name: (*name).into(), last: 1, sum: 1 };
            let counted: Vec<ErrorIncrease> = names.iter().map(counted).collect();
            let errors = Changed::Errors { port: ("mlx5_0", 1), counted: &counted };
            changes(std::iter::once(("n1", errors))).remove(0).fix.unwrap()
        };
        assert!(fix(&["symbol_error"]).contains("cable"));
        assert!(!fix(&["out_of_buffer"]).contains("cable"));
        let both = fix(&["out_of_sequence", "symbol_error", "link_downed"]);
        assert_eq!(both.matches("cable").count(), 1, "{both}");
        assert!(both.contains("flow control"), "{both}");
    }
}
