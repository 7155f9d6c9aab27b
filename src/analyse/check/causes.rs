//! Finds the root cause of a finding among the findings of its host.
//!
//! The catalogue names the consequences of each check. `results` gives the findings, and drops
//! the explained findings.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::model::{CHECKS, Check, Finding, HostReport, Subject, check, key, selects_check};

/// Position of a finding of a host.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// Position among the findings of the host alone.
    OfHost(usize),
    /// Position among the findings of several hosts.
    OfSeveral(usize),
}

/// Returns true for a finding that may explain other findings. An observation that may be
/// intended explains nothing.
fn is_cause_of_others(finding: &Finding) -> bool {
    finding.severity.is_problem() && check(finding.code).is_some_and(|one| !one.explains.is_empty())
}

/// Returns false for a missing module that has no effect on libibverbs, if the consequence is a
/// device without a provider. Only `ib_uverbs` has that effect. The text of the finding names the
/// module.
pub(super) fn may_explain(cause: &Finding, consequence: &str) -> bool {
    let is_of_provider = (cause.code, consequence) == ("module.missing", "device.no_provider");
    !is_of_provider || cause.what.contains("ib_uverbs")
}

/// Returns the checks whose findings may explain findings of a check.
fn explaining_checks(id: &str) -> &'static [&'static str] {
    static EXPLAINING: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
        let explaining = |id: &str| -> Vec<&'static str> {
            let explains = |check: &&'static Check| {
                check.id != id && check.explains.iter().any(|word| selects_check(word, id))
            };
            CHECKS.iter().filter(explains).map(|check| check.id).collect()
        };
        CHECKS.iter().map(|check| (check.id, explaining(check.id))).collect()
    });
    EXPLAINING.get(id).map(Vec::as_slice).unwrap_or_default()
}

/// Item of a host, under which [`Causes`] stores the findings of the item.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Item<'found> {
    Host,
    Device(&'found str),
    AnyDevice,
    Port(&'found str, u32),
    AnyPortOf(&'found str),
    /// Part of a subnet. A finding does not name its subnet.
    AnyFabric,
    Other(&'found Subject),
}

impl<'found> Item<'found> {
    /// Returns the items under which a finding is stored.
    fn of_cause(subject: &'found Subject) -> Vec<Self> {
        match subject {
            Subject::Host => vec![Self::Host],
            Subject::Device(device) => vec![Self::Device(device), Self::AnyDevice],
            Subject::Port(device, number) => {
                vec![Self::Port(device, *number), Self::AnyPortOf(device)]
            }
            Subject::Fabric(_) => vec![Self::AnyFabric],
            other => vec![Self::Other(other)],
        }
    }

    /// Returns the items whose findings may explain a finding: the item of the finding, and the
    /// items that contain it.
    fn of_consequence(subject: &'found Subject) -> Vec<Self> {
        let mut items = vec![Self::Host];
        match subject {
            // The host has one device less after a removal.
            Subject::Host => items.push(Self::AnyDevice),
            Subject::Device(device) => {
                items.extend([Self::Device(device), Self::AnyPortOf(device)]);
            }
            Subject::Port(device, number) => {
                items.extend([Self::Device(device), Self::Port(device, *number)]);
            }
            Subject::Fabric(_) => items.push(Self::AnyFabric),
            other => items.push(Self::Other(other)),
        }
        // Without a provider, libibverbs reports no values of the device.
        if let Subject::Part(values) = subject
            && let Some((device, _)) = values.rsplit_once('/')
            && *values == key::device(device, "verbs")
        {
            items.push(Self::Device(device));
        }
        items
    }
}

/// Finding that may explain others.
struct KnownCause<'found> {
    /// Position among all causes of the host.
    order: usize,
    place: Place,
    finding: &'found Finding,
}

/// Findings of a host that may explain others, by check and item. A host may have thousands of
/// findings and thousands of causes, so that no finding is compared with all causes.
pub(super) struct Causes<'found>(HashMap<(&'static str, Item<'found>), Vec<KnownCause<'found>>>);

impl<'found> Causes<'found> {
    /// Returns the findings that may explain others, of all findings of a host.
    pub(super) fn of(
        report: &HostReport,
        findings: impl Iterator<Item = (Place, &'found Finding)>,
    ) -> Self {
        let has_one_subnet = report.fabrics.iter().flatten().count() == 1;
        let mut causes = Self(HashMap::new());
        let found = findings.filter(|(_, finding)| is_cause_of_others(finding));
        for (order, (place, finding)) in found.enumerate() {
            let items = Item::of_cause(&finding.subject).into_iter();
            for item in items.filter(|item| has_one_subnet || *item != Item::AnyFabric) {
                let known = causes.0.entry((finding.code, item)).or_default();
                known.push(KnownCause { order, place, finding });
            }
        }
        causes
    }

    /// Returns the first cause of a finding. The catalogue lists the check of the finding among the
    /// consequences of the cause. The cause concerns the item of the finding, or an item that
    /// contains this item.
    fn cause_of(&self, finding: &'found Finding) -> Option<&KnownCause<'found>> {
        let items = Item::of_consequence(&finding.subject);
        let ids = explaining_checks(finding.code).iter();
        let keys = ids.flat_map(|id| items.iter().map(|item| (*id, *item)));
        let first = |key: (&'static str, Item<'found>)| {
            let mut causes = self.0.get(&key)?.iter();
            causes.find(|cause| may_explain(cause.finding, finding.code))
        };
        keys.filter_map(first).min_by_key(|cause| cause.order)
    }

    /// Returns the root cause of a finding: follows causes until no finding explains the last
    /// one. `None` for a finding without a cause. The catalogue has no cycle (test).
    pub(super) fn root_of(&self, finding: &'found Finding) -> Option<Place> {
        let mut root = self.cause_of(finding)?;
        while let Some(cause) = self.cause_of(root.finding) {
            root = cause;
        }
        Some(root.place)
    }
}
