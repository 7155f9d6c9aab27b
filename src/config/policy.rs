//! Reads and writes the policy file of `rdmactl check`.
//!
//! The module checks the form of each value and the names of the checks. `analyse::check` applies
//! the policy.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::ConfigError;
use super::check::quoted;
use super::reader::place_of;
use crate::hosts::HostSet;
use crate::input;
use crate::model::{
    Acceptance, CHECKS, Check, ExpectedValue, Policy, Severity, Thresholds, check, nearest_check,
    selects_check,
};

/// Limit of a policy file, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// Policy file of `rdmactl check`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    /// Findings that the site accepts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accept: Vec<AcceptEntry>,
    /// Values that comparisons expect in place of the majority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<ExpectEntry>")]
    expect: Vec<Spanned<ExpectEntry>>,
    /// Severities by check.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    severity: BTreeMap<KnownCheck, SeverityWord>,
    /// Thresholds of checks.
    #[serde(default)]
    threshold: ThresholdTable,
}

/// Findings that the site accepts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcceptEntry {
    /// Check, or a group: `port.*`.
    check: CheckSelector,
    /// Host set; default: all hosts. A name alone stands for the host with any user and port.
    hosts: Option<Hosts>,
    /// Subject as `rdmactl check` prints it: `mlx5_0/1`; default: all subjects.
    subject: Option<String>,
    /// Reason, which the report repeats.
    reason: String,
    /// Last day of the acceptance, as 2027-01-31; default: the acceptance has no last day.
    until: Option<Day>,
}

/// Value that a comparison expects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExpectEntry {
    /// Check that compares: `firmware.differs`.
    check: ComparedCheck,
    /// Comparable items: a board, a driver, a setting; default: all items.
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
    /// Limit of locked memory below which `limit.locked_memory` warns, in MiB.
    locked_memory_warn_mib: Option<u64>,
    /// Share of a limit of a device from which `device.exhausted` warns, in percent.
    device_used_percent: Option<u64>,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SeverityWord {
    Info,
    Warn,
    Fail,
}

/// Types that parse a text of the file when it is read.
macro_rules! parsed_texts {
    ($($(#[$doc:meta])* $name:ident($value:ty): $parse:path;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        #[serde(try_from = "String")]
        struct $name(#[schemars(with = "String")] $value);

        impl TryFrom<String> for $name {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                $parse(&text).map(Self)
            }
        }
    )*};
}

parsed_texts! {
    /// Id of a check.
    KnownCheck(&'static Check): known;
    /// Id of a check that compares values.
    ComparedCheck(&'static Check): compared;
    /// Id of a check or of a group.
    CheckSelector(String): selector;
    /// Host set.
    Hosts(HostSet): host_set;
    /// Day: `2027-01-31`.
    Day(String): day;
}

impl Ord for KnownCheck {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.id.cmp(other.0.id)
    }
}

impl PartialOrd for KnownCheck {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn known(text: &str) -> Result<&'static Check, String> {
    check(text).ok_or_else(|| no_check(text))
}

fn compared(text: &str) -> Result<&'static Check, String> {
    let check = known(text)?;
    if ExpectedValue::CHECKS.contains(&check.id) {
        return Ok(check);
    }
    let ids = ExpectedValue::CHECKS.join(", ");
    Err(format!("{} compares no values; these checks do: {ids}", check.id))
}

fn selector(text: &str) -> Result<String, String> {
    let is_known = CHECKS.iter().any(|one| selects_check(text, one.id));
    if is_known { Ok(text.to_owned()) } else { Err(no_check(text)) }
}

fn no_check(text: &str) -> String {
    let near = nearest_check(text);
    format!("no check {}; did you mean {near}?", crate::names::shortened(text))
}

fn host_set(text: &str) -> Result<HostSet, String> {
    HostSet::parse(text).map_err(|error| error.to_string())
}

fn day(text: &str) -> Result<String, String> {
    if is_day(text) {
        Ok(text.to_owned())
    } else {
        Err("expected a day in quotes, such as \"2027-01-31\"".into())
    }
}

/// Returns true for a day in the form `2027-01-31`. Days are compared as texts, so each field has
/// all its digits.
fn is_day(text: &str) -> bool {
    let has_form = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let fields: Vec<u32> = text.split('-').filter_map(|field| field.parse().ok()).collect();
    let [year, month, day] = fields[..] else { return false };
    let is_leap_year =
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year => 29,
        2 => 28,
        _ => 0,
    };
    has_form && year >= 2000 && (1..=last).contains(&day)
}

/// Reads a policy file.
///
/// # Errors
/// The file cannot be read, or the text is no policy. The error then has line and column.
pub fn read_policy(path: &Path) -> Result<Policy, ConfigError> {
    let text = input::read_text(path, MAX_BYTES).map_err(|error| {
        let file = input::free_path(path);
        ConfigError {
            what: format!("cannot read {}: {error}", path.display()),
            fix: format!("name a policy file; write one: rdmactl check --learn {file}"),
        }
    })?;
    parse_policy(path, &text)
}

/// Parses the text of a policy file.
///
/// # Errors
/// The text is no policy. The error has line and column.
pub fn parse_policy(path: &Path, text: &str) -> Result<Policy, ConfigError> {
    let error_at = |at: usize, what: &str, fix: &str| {
        let (line, column) = place_of(text, at);
        let what = format!("{}:{line}:{column}: {what}", path.display());
        ConfigError { what, fix: fix.into() }
    };
    let file = toml::from_str::<PolicyFile>(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let fix = "correct the line; the form of the file: rdmactl check --policy-schema";
        error_at(at, &error.message().replace('\n', ", "), fix)
    })?;
    let PolicyFile { accept, expect, severity, threshold } = file;
    let mut groups = BTreeSet::new();
    let mut expected = Vec::new();
    for entry in expect {
        let at = entry.span().start;
        let ExpectEntry { check: ComparedCheck(check), of, value } = entry.into_inner();
        let entry = ExpectedValue { check: check.id.to_owned(), of, value };
        if !groups.insert((check.id, entry.of.clone())) {
            let group = match entry.of.as_str() {
                "" => String::new(),
                of => format!(" of {}", quoted(of)),
            };
            let what = format!("{}{group} has two expected values", check.id);
            return Err(error_at(at, &what, "remove this entry or the earlier one"));
        }
        expected.push(entry);
    }
    Ok(Policy {
        file: path.display().to_string(),
        accepted: accept.into_iter().map(Acceptance::from).collect(),
        expected,
        severities: severity.into_iter().map(|(check, word)| (check.0.id, word.into())).collect(),
        thresholds: threshold.into(),
    })
}

impl From<AcceptEntry> for Acceptance {
    fn from(entry: AcceptEntry) -> Self {
        let names = |Hosts(set): Hosts| set.iter().map(ToString::to_string).collect();
        Self {
            check: entry.check.0,
            hosts: entry.hosts.map(names),
            subject: entry.subject,
            reason: entry.reason,
            until: entry.until.map(|day| day.0),
        }
    }
}

impl From<SeverityWord> for Severity {
    fn from(word: SeverityWord) -> Self {
        match word {
            SeverityWord::Info => Self::Info,
            SeverityWord::Warn => Self::Warn,
            SeverityWord::Fail => Self::Fail,
        }
    }
}

impl From<ThresholdTable> for Thresholds {
    fn from(table: ThresholdTable) -> Self {
        let default = Self::default();
        let ThresholdTable { locked_memory_fail_mib, locked_memory_warn_mib, device_used_percent } =
            table;
        Self {
            locked_memory_fail_mib: locked_memory_fail_mib
                .unwrap_or(default.locked_memory_fail_mib),
            locked_memory_warn_mib: locked_memory_warn_mib
                .unwrap_or(default.locked_memory_warn_mib),
            device_used_percent: device_used_percent.unwrap_or(default.device_used_percent),
        }
    }
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
        assert_eq!(policy.expected("kernel.differs", "x"), Some("6.1"), "all items");
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
            (
                "[[expect]]\ncheck = \"port.down\"\nvalue = \"x\"",
                "site.toml:2:9: port.down compares no values; these checks do: board.differs, ",
            ),
            (
                "[[expect]]\ncheck = \"port.dwn\"\nvalue = \"x\"",
                "site.toml:2:9: no check port.dwn; did you mean port.down?",
            ),
            ("[[expect]]\ncheck = \"kernel.differs\"", "site.toml:1:1: missing field `value`"),
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
    fn two_expected_values_of_one_group_are_refused() {
        let entry =
            |of: &str| format!("[[expect]]\ncheck = \"firmware.differs\"\n{of}value = \"28.39\"\n");
        let (of_all, of_one, of_other) =
            (entry(""), entry("of = \"MT_1\"\n"), entry("of = \"MT_2\"\n"));
        assert_eq!(parsed(&[&*of_all, &of_one, &of_other].concat()).unwrap().expected.len(), 3);
        assert_eq!(
            parsed(&[&*of_one, &of_all, &of_one].concat()).unwrap_err(),
            "site.toml:8:1: firmware.differs of \"MT_1\" has two expected values"
        );
        assert_eq!(
            parsed(&[&*of_all, &of_all].concat()).unwrap_err(),
            "site.toml:4:1: firmware.differs has two expected values"
        );
    }

    #[test]
    fn the_checks_that_compare_are_those_of_the_rules() {
        let rules = include_str!("../analyse/check/compared.rs");
        let id = |line: &'static str| line.strip_prefix("    id: \"")?.strip_suffix("\",");
        let ids: BTreeSet<&str> = rules.lines().filter_map(id).collect();
        assert_eq!(ids, BTreeSet::from(ExpectedValue::CHECKS));
        for id in ids {
            assert!(check(id).is_some(), "{id}");
        }
    }

    #[test]
    fn a_day_has_all_its_digits_and_is_in_the_calendar() {
        for text in ["2027-01-31", "2028-02-29", "2000-02-29", "2027-12-01"] {
            assert!(is_day(text), "{text}");
        }
        for text in [
            "2027-1-031",
            "02027-1-31",
            "2027-+1-01",
            "2027-01-+1",
            "2027-00-10",
            "2027-13-01",
            "2027-01-00",
            "2027-01-32",
            "2027-04-31",
            "2027-02-29",
            "2100-02-29",
            "1999-01-01",
            "2027/01/31",
            "2027-01-31 ",
            "2027-01-3",
            "soon",
            "",
        ] {
            assert!(!is_day(text), "{text}");
        }
    }

    #[test]
    fn accepted_hosts_have_their_user_and_port() {
        let text = "[[accept]]\ncheck = \"port.down\"\nreason = \"x\"\n\
                    hosts = \"n[1-2],bob@10.0.0.5:2222\"";
        let policy = parsed(text).unwrap();
        let hosts: Vec<&String> = policy.accepted[0].hosts.iter().flatten().collect();
        assert_eq!(hosts, ["bob@10.0.0.5:2222", "n1", "n2"]);
        let subject = crate::model::Subject::Port("mlx5_0".into(), 1);
        let finding = crate::model::Finding::new(Severity::Fail, "port.down", subject, "down");
        for host in ["n1", "root@n2", "bob@10.0.0.5:2222"] {
            assert!(policy.accepts(host, &finding, "2027-01-31").is_some(), "{host}");
        }
        assert_eq!(policy.accepts("10.0.0.5", &finding, "2027-01-31"), None);
    }

    #[test]
    fn the_fix_of_a_missing_policy_names_a_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("my site.toml");
        let fix = read_policy(&missing).unwrap_err().fix;
        assert!(fix.ends_with(&format!(" --learn '{}'", missing.display())), "{fix}");
        std::fs::write(&missing, [0xff]).unwrap();
        let fix = read_policy(&missing).unwrap_err().fix;
        let other = folder.path().join("my site.2.toml");
        assert!(fix.ends_with(&format!(" --learn '{}'", other.display())), "{fix}");
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
