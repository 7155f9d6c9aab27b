//! Reads and writes the policy file of `rdmactl check`.
//!
//! The module checks the form of each value and the names of the checks. `analyse::check` applies
//! the policy.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ConfigError;
use super::reader::place_of;
use crate::hosts::HostSet;
use crate::model::{
    Acceptance, CHECKS, Check, ExpectedValue, Policy, Severity, Thresholds, check, nearest_check,
    selects_check,
};

/// Limit of a policy file, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Policy file of `rdmactl check`.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    /// Findings that the site accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accept: Vec<AcceptEntry>,
    /// Values that comparisons expect in place of the majority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expect: Vec<ExpectEntry>,
    /// Severities by check.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    severity: BTreeMap<KnownCheck, SeverityWord>,
    /// Thresholds of checks.
    #[serde(default)]
    threshold: ThresholdTable,
}

/// Findings that the site accepts.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcceptEntry {
    /// Check, or a group: `port.*`.
    check: CheckSelector,
    /// Host set; without it, all hosts.
    hosts: Option<Hosts>,
    /// Subject as `rdmactl check` prints it: `mlx5_0/1`; without it, all subjects.
    subject: Option<String>,
    /// Reason, which the report repeats.
    reason: String,
    /// Last day of the acceptance, as 2027-01-31; without it, it has no end.
    until: Option<Day>,
}

/// Value that a comparison expects.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExpectEntry {
    /// Check that compares: `firmware.differs`.
    check: KnownCheck,
    /// Comparable items: a board, a driver, a setting. Empty if the check has one group.
    #[serde(default)]
    of: String,
    /// Expected value.
    value: String,
}

/// Thresholds of checks.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ThresholdTable {
    /// Limit of locked memory up to which `limit.locked_memory` fails, in MiB.
    locked_memory_fail_mib: Option<u64>,
    /// Limit of locked memory below which it warns, in MiB.
    locked_memory_warn_mib: Option<u64>,
    /// Share of a limit of a device from which `device.exhausted` warns, in percent.
    device_used_percent: Option<u64>,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SeverityWord {
    Info,
    Warn,
    Fail,
}

/// Text that is valid in the file: the type checks it when it is read.
macro_rules! checked_texts {
    ($($(#[$doc:meta])* $name:ident: $parse:path => $value:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
        #[serde(try_from = "String", into = "String")]
        struct $name(#[schemars(with = "String")] String);

        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                $parse(&text).map(|_: $value| Self(text))
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }
    )*};
}

checked_texts! {
    /// Id of a check.
    KnownCheck: known => &'static Check;
    /// Id of a check or of a group.
    CheckSelector: selector => ();
    /// Host set.
    Hosts: host_set => HostSet;
    /// Day: `2027-01-31`.
    Day: day => ();
}

fn known(text: &str) -> Result<&'static Check, String> {
    check(text).ok_or_else(|| no_check(text))
}

fn selector(text: &str) -> Result<(), String> {
    let is_known = CHECKS.iter().any(|one| selects_check(text, one.id));
    if is_known { Ok(()) } else { Err(no_check(text)) }
}

fn no_check(text: &str) -> String {
    let near = nearest_check(text);
    format!("no check {}; did you mean {near}?", crate::names::shortened(text))
}

fn host_set(text: &str) -> Result<HostSet, String> {
    HostSet::parse(text).map_err(|error| error.to_string())
}

fn day(text: &str) -> Result<(), String> {
    let fields: Vec<Option<u32>> = text.split('-').map(|field| field.parse().ok()).collect();
    let is_day =
        text.len() == 10 && matches!(fields[..], [Some(2000..), Some(1..=12), Some(1..=31)]);
    if is_day { Ok(()) } else { Err("expected a day in quotes, such as \"2027-01-31\"".into()) }
}

/// Reads a policy file.
///
/// # Errors
/// The file cannot be read, or the text is no policy. The error then has line and column.
pub fn read_policy(path: &Path) -> Result<Policy, ConfigError> {
    let text = crate::input::read_text(path, MAX_BYTES).map_err(|error| ConfigError {
        what: format!("cannot read {}: {error}", path.display()),
        fix: format!("name a policy file; rdmactl check --learn {} writes one", path.display()),
    })?;
    parse_policy(path, &text)
}

/// Parses the text of a policy file.
///
/// # Errors
/// The text is no policy. The error has line and column.
pub fn parse_policy(path: &Path, text: &str) -> Result<Policy, ConfigError> {
    let entries: PolicyFile = toml::from_str(text).map_err(|error| {
        let (line, column) = place_of(text, error.span().map_or(0, |span| span.start));
        let what = error.message().replace('\n', ", ");
        ConfigError {
            what: format!("{}:{line}:{column}: {what}", path.display()),
            fix: "correct the line; the form of the file: rdmactl check --policy-schema".into(),
        }
    })?;
    let acceptance = |one: AcceptEntry| Acceptance {
        check: one.check.0,
        hosts: one.hosts.and_then(|hosts| {
            let set = HostSet::parse(&hosts.0).ok()?;
            Some(set.iter().map(|host| host.name.clone()).collect::<BTreeSet<String>>())
        }),
        subject: one.subject,
        reason: one.reason,
        until: one.until.map(|day| day.0),
    };
    let severity = |(id, word): (KnownCheck, SeverityWord)| {
        let severity = match word {
            SeverityWord::Info => Severity::Info,
            SeverityWord::Warn => Severity::Warn,
            SeverityWord::Fail => Severity::Fail,
        };
        Some((check(&id.0)?.id, severity))
    };
    let expected =
        |one: ExpectEntry| ExpectedValue { check: one.check.0, of: one.of, value: one.value };
    let default = Thresholds::default();
    let ThresholdTable { locked_memory_fail_mib, locked_memory_warn_mib, device_used_percent } =
        entries.threshold;
    Ok(Policy {
        file: path.display().to_string(),
        accepted: entries.accept.into_iter().map(acceptance).collect(),
        expected: entries.expect.into_iter().map(expected).collect(),
        severities: entries.severity.into_iter().filter_map(severity).collect(),
        thresholds: Thresholds {
            locked_memory_fail_mib: locked_memory_fail_mib
                .unwrap_or(default.locked_memory_fail_mib),
            locked_memory_warn_mib: locked_memory_warn_mib
                .unwrap_or(default.locked_memory_warn_mib),
            device_used_percent: device_used_percent.unwrap_or(default.device_used_percent),
        },
    })
}

/// Writes a policy file with expected values.
pub fn write_policy(expected: &[ExpectedValue]) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let mut text = String::from(
        "# Policy of `rdmactl check`: values that hosts of this cluster have.\n\
         # Accept a finding like this:\n\
         # [[accept]]\n\
         # check = \"port.down\"\n\
         # hosts = \"n[1-4]\"\n\
         # subject = \"mlx5_1/1\"\n\
         # reason = \"no cable\"\n\
         # until = \"2027-01-31\"\n",
    );
    for ExpectedValue { check, of, value } in expected {
        let _ = writeln!(text, "\n[[expect]]\ncheck = {}", quoted(check));
        if !of.is_empty() {
            let _ = writeln!(text, "of = {}", quoted(of));
        }
        let _ = writeln!(text, "value = {}", quoted(value));
    }
    text
}

/// Returns the JSON Schema of a policy file.
pub fn policy_schema() -> serde_json::Value {
    schemars::schema_for!(PolicyFile).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Policy, String> {
        parse_policy(Path::new("site.toml"), text).map_err(|error| error.what)
    }

    #[test]
    fn a_policy_has_four_parts() {
        let policy = parsed(
            "[[accept]]\ncheck = \"port.*\"\nhosts = \"n[1-2]\"\nreason = \"no cable\"\n\
             until = \"2027-01-31\"\n[[expect]]\ncheck = \"kernel.differs\"\nvalue = \"6.1\"\n\
             [severity]\n\"kernel.differs\" = \"info\"\n[threshold]\nlocked_memory_warn_mib = 64\n",
        )
        .unwrap();
        let hosts: Vec<&String> = policy.accepted[0].hosts.iter().flatten().collect();
        assert_eq!(hosts, ["n1", "n2"]);
        assert_eq!(policy.expected("kernel.differs", ""), Some("6.1"));
        assert_eq!(policy.expected("kernel.differs", "x"), None);
        assert_eq!(policy.severities["kernel.differs"], Severity::Info);
        assert_eq!(policy.thresholds.locked_memory_warn_mib, 64);
        assert_eq!(policy.thresholds.locked_memory_fail_mib, 8);
        assert_eq!(parsed("").unwrap(), Policy { file: "site.toml".into(), ..Policy::default() });
    }

    #[test]
    fn every_mistake_has_a_line() {
        for (text, what) in [
            (
                "[[accept]]\ncheck = \"port.dwn\"\nreason = \"x\"",
                "site.toml:2:9: no check port.dwn; did you mean port.down?",
            ),
            ("[[accept]]\ncheck = \"port.down\"", "site.toml:1:1: missing field `reason`"),
            (
                "\n[[accept]]\ncheck = \"port.down\"\nreason = \"x\"\nuntil = \"soon\"",
                "site.toml:5:9: expected a day",
            ),
            (
                "[[accept]]\ncheck = \"port.down\"\nreason = \"x\"\nhosts = \"n[1\"",
                "site.toml:4:9: ",
            ),
            ("[severity]\n\"port.*\" = \"info\"", "site.toml:2:1: no check port.*"),
            ("[severity]\n\"port.down\" = \"bad\"", "site.toml:2:15: unknown variant `bad`"),
            ("[thresholds]", "site.toml:1:2: unknown field `thresholds`"),
            ("x", "site.toml:1:2: "),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with(what), "{text}: {error}");
        }
    }

    #[test]
    fn a_written_policy_is_read_back() {
        let expected = [("firmware.differs", "MT_1", "28.39"), ("kernel.differs", "", "6.\"1\"\n")];
        let expected = expected.map(|(check, of, value)| ExpectedValue {
            check: check.into(),
            of: of.into(),
            value: value.into(),
        });
        assert_eq!(parsed(&write_policy(&expected)).unwrap().expected, expected);
    }
}
