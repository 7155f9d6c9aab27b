//! Findings of changes between consecutive samples. `live` and `ports` use this module.

use std::collections::BTreeSet;

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
}

impl Changed<'_> {
    /// Returns the finding of the change.
    pub(super) fn finding(self) -> Finding {
        match self {
            Self::Connection { consumer: (user, instance), was, is } => {
                let subject = Subject::Connection(user.to_owned(), instance.to_owned());
                let what = format!("was {was}; is {is}");
                Finding::new(Severity::Warn, "connection.changed", subject, what)
            }
            Self::Errors { port: (device, port), counted } => {
                port_errors(Subject::Port(device.to_owned(), port), counted)
            }
        }
    }
}

/// Returns the finding of a port whose error counters increased, with the fix of each kind once.
pub(super) fn port_errors(port: Subject, counted: &[ErrorIncrease]) -> Finding {
    let mut increased: Vec<_> = counted.iter().filter(|one| one.last > 0).collect();
    // A sample of `top` and a report list the counters in different orders.
    increased.sort_by(|one, other| one.name.cmp(&other.name));
    let words = increased.iter().map(|one| format!("{} +{}", one.name, one.last));
    let words: Vec<String> = words.collect();
    let what = format!("new errors: {}", words.join(", "));
    let kinds: BTreeSet<_> = increased.iter().filter_map(|one| ErrorKind::of(&one.name)).collect();
    let fixes: Vec<&str> = kinds.into_iter().map(ErrorKind::fix).collect();
    let fix = (!fixes.is_empty()).then(|| fixes.join("; "));
    Finding { fix, ..Finding::new(Severity::Warn, "port.errors", port, what) }
}

#[test]
fn each_kind_of_errors_has_its_own_advice() {
    let fix = |names: &[&str]| {
        let counted = |name: &&str| ErrorIncrease { name: (*name).into(), last: 1, sum: 1 };
        let counted: Vec<ErrorIncrease> = names.iter().map(counted).collect();
        Changed::Errors { port: ("mlx5_0", 1), counted: &counted }.finding().fix.unwrap()
    };
    assert!(fix(&["symbol_error"]).contains("cable"));
    assert!(!fix(&["out_of_buffer"]).contains("cable"));
    let both = fix(&["out_of_sequence", "symbol_error", "link_downed"]);
    assert_eq!(both.matches("cable").count(), 1, "{both}");
    assert!(both.contains("flow control"), "{both}");
}

#[test]
fn the_order_of_the_counters_does_not_change_the_finding() {
    let finding = |names: [&str; 2]| {
        let counted = names.map(|name| ErrorIncrease { name: name.into(), last: 2, sum: 3 });
        port_errors(Subject::Port("mlx5_0".into(), 1), &counted)
    };
    let found = finding(["symbol_error", "link_downed"]);
    assert_eq!(found, finding(["link_downed", "symbol_error"]));
    assert_eq!(found.what, "new errors: link_downed +2, symbol_error +2");
}
