//! Baseline: the findings of an earlier run, which a later run does not report again.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::model::Finding;

/// Findings of an earlier run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    /// Name of the file, for texts.
    file: String,
    /// Check, host and subject of each finding, with the checks whose findings it explains.
    findings: BTreeMap<(String, String, String), BTreeSet<String>>,
}

/// Part of the JSON of `rdmactl check` that a baseline needs.
#[derive(Deserialize)]
struct Document {
    schema: String,
    findings: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    hosts: Vec<String>,
    subject: String,
    #[serde(default)]
    explains: BTreeSet<String>,
}

impl Baseline {
    /// Parses the JSON of `rdmactl check --format json`.
    ///
    /// # Errors
    /// The text is no such JSON. The error says what is wrong, without the name of the file.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let document: Document = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if document.schema != "rdmactl.check/1" {
            return Err("the schema is not rdmactl.check/1".into());
        }
        let of_hosts = |Entry { id, hosts, subject, explains }: Entry| {
            let key = move |host| (id.clone(), host, subject.clone());
            hosts.into_iter().map(move |host| (key(host), explains.clone()))
        };
        let findings = document.findings.into_iter().flat_map(of_hosts).collect();
        Ok(Self { file: file.to_owned(), findings })
    }

    /// Returns the reason not to report a finding of a host again; `None` for a new finding.
    pub(super) fn knows(&self, host: &str, finding: &Finding) -> Option<String> {
        self.explained(host, finding).map(|_| format!("in the baseline {}", self.file))
    }

    /// Returns the checks whose findings a finding of a host explained in the earlier run; `None`
    /// for a new finding.
    pub(super) fn explained(&self, host: &str, finding: &Finding) -> Option<&BTreeSet<String>> {
        let key = (finding.code.to_owned(), host.to_owned(), finding.subject.to_string());
        self.findings.get(&key)
    }
}

#[test]
fn a_baseline_is_the_json_of_an_earlier_run() {
    use crate::model::{Severity, Subject};
    let text = r#"{ "schema": "rdmactl.check/1", "tool": "x", "findings":
        [{ "id": "port.down", "hosts": ["n1", "n2"], "subject": "mlx5_0/1", "what": "y",
          "explains": ["ping.failed"] }] }"#;
    let baseline = Baseline::parse("b.json", text).unwrap();
    let subject = Subject::Port("mlx5_0".into(), 1);
    let finding = Finding::new(Severity::Fail, "port.down", subject, "another text");
    assert_eq!(baseline.knows("n2", &finding).as_deref(), Some("in the baseline b.json"));
    assert!(baseline.explained("n2", &finding).unwrap().contains("ping.failed"));
    assert_eq!(baseline.knows("n3", &finding), None);
    for bad in ["", "[]", r#"{ "schema": "rdmactl.ping/1", "findings": [] }"#, "{}"] {
        assert!(Baseline::parse("b.json", bad).is_err(), "{bad}");
    }
}
