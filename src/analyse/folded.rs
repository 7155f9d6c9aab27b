//! Merges findings that differ only in the name of the host.
//!
//! Makes no finding and does not sort findings. Used by `findings` and `removed_devices`.

use std::collections::HashMap;

use crate::model::{Finding, Subject};

/// Merged findings. All findings of a host come before the findings of the next host.
#[derive(Default)]
pub(super) struct Folded {
    findings: Vec<Finding>,
    known: HashMap<Same, usize>,
}

/// Key of equal findings, without the host name.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Same {
    code: &'static str,
    subject: Subject,
    what: String,
    fix: Option<String>,
}

impl Folded {
    pub(super) fn add(&mut self, host: &str, finding: Finding) {
        let same = Same {
            code: finding.code,
            subject: finding.subject.clone(),
            what: without_name(&finding.what, host, "the host"),
            fix: finding.fix.as_deref().map(|fix| without_name(fix, host, "HOST")),
        };
        if let Some(known) = self.known.get(&same).and_then(|at| self.findings.get_mut(*at)) {
            if known.hosts.last().is_none_or(|last| last != host) {
                known.hosts.push(host.to_owned());
            }
            // The text of a single host keeps the host name; the merged text does not.
            if known.hosts.len() > 1 {
                (known.what, known.fix) = (same.what, same.fix);
            }
            return;
        }
        self.known.insert(same, self.findings.len());
        self.findings.push(Finding { hosts: vec![host.to_owned()], ..finding });
    }

    /// Returns all findings in the order in which they were first found.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.findings
    }
}

/// Replaces a host name in a text where the name is a whole word.
fn without_name(text: &str, host: &str, instead: &str) -> String {
    if host.is_empty() || !text.contains(host) {
        return text.to_owned();
    }
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_');
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(host) {
        let (before, behind) = (&rest[..at], &rest[at + host.len()..]);
        // A dot ends a sentence, or another label of a longer name follows.
        let mut next = behind.chars();
        let goes_on = match next.next() {
            Some('.') => next.next().is_some_and(is_part),
            letter => letter.is_some_and(is_part),
        };
        let last = before.chars().next_back().or_else(|| short.chars().next_back());
        let is_word = !goes_on && !last.is_some_and(|letter| is_part(letter) || letter == '.');
        short.push_str(before);
        short.push_str(if is_word { instead } else { host });
        rest = behind;
    }
    short + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Severity;

    #[test]
    fn a_name_is_taken_out_as_a_word_only() {
        let short = |text: &str, host: &str| without_name(text, host, "HOST");
        assert_eq!(short("ssh-copy-id root@n1", "n1"), "ssh-copy-id root@HOST");
        assert_eq!(short("n1 and n17, n1.site and n1.", "n1"), "HOST and n17, n1.site and HOST.");
        assert_eq!(short("another answer", "an"), "another answer");
        assert_eq!(short("aaaa", "aa"), "aaaa");
        assert_eq!(short("nothing", ""), "nothing");
    }

    fn folded(hosts: &[(&str, &str, &str)]) -> Vec<String> {
        let mut all = Folded::default();
        for (host, what, fix) in hosts {
            let found = Finding::new(Severity::Fail, "host.silent", Subject::Host, *what);
            all.add(host, found.fix(*fix));
        }
        let line =
            |one: Finding| format!("{}: {}: {}", one.hosts.join(","), one.what, one.fix.unwrap());
        all.into_findings().into_iter().map(line).collect()
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
