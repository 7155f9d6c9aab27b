//! Merges findings that differ only in the name of the host.
//!
//! Makes no finding and does not sort findings. Used by `check` and `removed_devices`.

use std::collections::HashMap;

use crate::model::{Finding, Subject};
use crate::names;

/// Merged findings. All findings of a host come before the findings of the next host.
#[derive(Default)]
pub(super) struct Folded {
    /// Findings in the order in which they were first found.
    pub(super) findings: Vec<Finding>,
    known: HashMap<WithoutHost, usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct WithoutHost {
    code: &'static str,
    subject: Subject,
    what: String,
    fix: Option<String>,
}

impl Folded {
    pub(super) fn add(&mut self, host: &str, finding: Finding) {
        let same = WithoutHost {
            code: finding.code,
            subject: finding.subject.clone(),
            what: names::replace(&finding.what, host, "the host"),
            fix: finding.fix.as_deref().map(|fix| names::replace(fix, host, "HOST")),
        };
        if let Some(known) = self.known.get(&same).and_then(|at| self.findings.get_mut(*at)) {
            if known.hosts.last().is_none_or(|last| last != host) {
                known.hosts.push(host.to_owned());
            }
            // A failed pair can make the finding of one host worse. The merged finding has the
            // worst severity.
            known.severity = known.severity.min(finding.severity);
            // The text of a single host keeps the host name; the merged text does not.
            if known.hosts.len() > 1 {
                (known.what, known.fix) = (same.what, same.fix);
            }
            return;
        }
        self.known.insert(same, self.findings.len());
        self.findings.push(Finding { hosts: vec![host.to_owned()], ..finding });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Severity;

    fn folded(hosts: &[(&str, &str, &str)]) -> Vec<String> {
        let mut all = Folded::default();
        for (host, what, fix) in hosts {
            let found = Finding::new(Severity::Fail, "host.silent", Subject::Host, *what);
            all.add(host, found.fix(*fix));
        }
        let line =
            |one: Finding| format!("{}: {}: {}", one.hosts.join(","), one.what, one.fix.unwrap());
        all.findings.into_iter().map(line).collect()
    }

    #[test]
    fn hosts_whose_findings_differ_in_their_names_alone_are_one() {
        let hosts = [
            ("n1", "n1 refused root", "ssh-copy-id root@n1"),
            ("n2", "n2 refused root", "ssh-copy-id root@n2"),
        ];
        assert_eq!(folded(&hosts), ["n1,n2: the host refused root: ssh-copy-id root@HOST"]);
        assert_eq!(folded(&hosts[..1]), ["n1: n1 refused root: ssh-copy-id root@n1"]);
    }

    #[test]
    fn host_name_that_equals_a_word_of_the_text_is_not_replaced() {
        let text = "no answer within 1 s";
        let hosts = [("no", text, "look"), ("n2", text, "look"), ("n3", text, "look")];
        assert_eq!(
            folded(&hosts),
            ["no: no answer within 1 s: look", "n2,n3: no answer within 1 s: look"]
        );
    }
}
