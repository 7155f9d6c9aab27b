//! Compares port counters with thresholds: from a file of infiniband-diags, or 0.

use std::collections::BTreeMap;

use crate::model::{Counter, Fabric, FabricEnd};

const TRAFFIC_COUNTERS: [&str; 9] = [
    "PortXmitData",
    "PortRcvData",
    "PortXmitPkts",
    "PortRcvPkts",
    "PortUnicastXmitPkts",
    "PortUnicastRcvPkts",
    "PortMulticastXmitPkts",
    "PortMulticastRcvPkts",
    "PortXmitWait",
];

/// Largest counter values without a finding; 0 for a counter without an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thresholds(BTreeMap<String, u64>);

/// An invalid line of a threshold file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct ThresholdError {
    /// Line number, from 1.
    pub line: usize,
    /// Description of the mistake.
    pub what: &'static str,
}

impl Thresholds {
    /// Parses `NAME=VALUE` lines; `#` starts a comment.
    ///
    /// # Errors
    /// A line has another form.
    pub fn parse(text: &str) -> Result<Self, ThresholdError> {
        let mut thresholds = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let error = |what| ThresholdError { line: at + 1, what };
            let (name, value) = line.split_once('=').ok_or_else(|| error("no = in the line"))?;
            let value = value.trim().parse().map_err(|_number| error("no number behind ="))?;
            thresholds.insert(name.trim().to_owned(), value);
        }
        Ok(Self(thresholds))
    }

    /// True if a threshold names a counter of traffic or waiting.
    pub fn name_traffic(&self) -> bool {
        self.0.keys().any(|name| !is_error(name))
    }

    /// Returns the largest value of a counter without a finding.
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// True for an error counter.
pub fn is_error(name: &str) -> bool {
    !TRAFFIC_COUNTERS.contains(&name)
}

/// Returns the error counters above their thresholds. Waiting (`PortXmitWait`) is congestion; the
/// counter is returned only if the thresholds name it.
pub fn above<'fabric, 'limits>(
    fabric: &'fabric Fabric,
    thresholds: &'limits Thresholds,
) -> impl Iterator<Item = (FabricEnd, &'fabric Counter)> + use<'fabric, 'limits> {
    let counted = super::ports(fabric)
        .flat_map(|(end, port)| port.counters.iter().flatten().map(move |counter| (end, counter)));
    counted.filter(|(_, counter)| {
        let is_named = thresholds.0.contains_key(&counter.name);
        let is_above = counter.value > Some(thresholds.of(&counter.name));
        (is_error(&counter.name) || is_named) && is_above
    })
}

#[test]
fn a_file_of_thresholds_is_read() {
    let thresholds =
        Thresholds::parse("# defaults\nSymbolErrorCounter=10\n\n LinkDownedCounter = 5 # x\n");
    let thresholds = thresholds.unwrap();
    assert_eq!((thresholds.of("SymbolErrorCounter"), thresholds.of("LinkDownedCounter")), (10, 5));
    assert_eq!(thresholds.of("PortRcvErrors"), 0);
    assert!(!thresholds.name_traffic());
    assert!(Thresholds::parse("PortXmitWait=1000").unwrap().name_traffic());
    let error = |text: &str| Thresholds::parse(text).unwrap_err().to_string();
    assert_eq!(error("\nSymbolErrorCounter"), "line 2: no = in the line");
    assert_eq!(error("SymbolErrorCounter=x"), "line 1: no number behind =");
}
