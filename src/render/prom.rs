//! Rows in the text exposition format of Prometheus, version 0.0.4: for the textfile collector of
//! node-exporter, and for any other scraper.
//!
//! Metrics are called `rdmactl_NOUN_COLUMN_UNIT`. Amounts become samples in base units (bytes,
//! seconds). Words, and numbers that are names, become labels of `rdmactl_NOUN_info`. An absent
//! value has no sample; an unreadable value has a sample of `rdmactl_unreadable`.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use super::escape;
use crate::query::{Column, Listing, MetricKind, MetricValue, Value, help_of, metric_value, noun};

/// Nouns that have samples in several listings.
const SHARED: [&str; 5] = ["host", "device", "port", "netdev", "rdma_system"];

/// Labels of a sample: names, and values that are not escaped yet.
type Labels = Vec<(String, String)>;

struct Metric {
    kind: MetricKind,
    help: String,
    /// Labels as they are written, and the number.
    samples: Vec<(String, String)>,
    known: BTreeSet<String>,
    /// Number of the last row with these labels, if several rows have them.
    rows: HashMap<String, usize>,
}

/// Metrics in the order of their first sample.
#[derive(Default)]
struct Exposition {
    order: Vec<String>,
    metrics: HashMap<String, Metric>,
}

impl Exposition {
    fn add(
        &mut self,
        name: &str,
        kind: MetricKind,
        help: &str,
        labels: &Labels,
        number: &str,
    ) -> bool {
        let metric = self.metrics.entry(name.to_owned()).or_insert_with(|| {
            self.order.push(name.to_owned());
            Metric {
                kind,
                help: help.to_owned(),
                samples: Vec::new(),
                known: BTreeSet::new(),
                rows: HashMap::new(),
            }
        });
        let labels = write_labels(labels);
        let is_new = metric.known.insert(labels.clone());
        if is_new {
            metric.samples.push((labels, number.to_owned()));
        }
        is_new
    }

    /// Adds a sample. If several samples have these keys, a row number distinguishes them.
    fn add_row(&mut self, name: &str, kind: MetricKind, help: &str, keys: &Labels, number: &str) {
        let mut labels = keys.clone();
        while !self.add(name, kind, help, &labels, number) {
            let Some(metric) = self.metrics.get_mut(name) else { return };
            let row = metric.rows.entry(write_labels(keys)).or_insert(1);
            *row += 1;
            labels.truncate(keys.len());
            labels.push(("row".to_owned(), row.to_string()));
        }
    }

    fn write(&self, header: bool) -> String {
        let mut text = String::new();
        for name in &self.order {
            let Some(metric) = self.metrics.get(name) else { continue };
            if header {
                let kind = match metric.kind {
                    MetricKind::Gauge => "gauge",
                    MetricKind::Counter => "counter",
                };
                // Text after a semicolon is about tables.
                let help = metric.help.split(';').next().unwrap_or_default();
                let help = escape(help).replace('\\', "\\\\");
                let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
            }
            for (labels, number) in &metric.samples {
                let _ = writeln!(text, "{name}{labels} {number}");
            }
        }
        text
    }
}

/// Formats rows as metrics. `hosts` are the queried hosts, each with the reason if it did not
/// reply. Without `header`, no line explains a metric.
pub fn prom<L: Listing>(
    columns: &[&Column<L>],
    rows: &[L::Row<'_>],
    hosts: &[(&str, Option<&str>)],
    header: bool,
) -> String {
    let mut all = Exposition::default();
    let command = || ("command".to_owned(), L::NAME.to_owned());
    for (host, reason) in hosts {
        let mut labels = vec![("host".to_owned(), (*host).to_owned()), command()];
        let up = if reason.is_none() { "1" } else { "0" };
        let help = "1 if the host replied, 0 if it did not";
        all.add("rdmactl_up", MetricKind::Gauge, help, &labels, up);
        if let Some(reason) = reason {
            labels.push(("reason".to_owned(), (*reason).to_owned()));
            let help = "Reason for which the host did not reply";
            all.add("rdmactl_failure_info", MetricKind::Gauge, help, &labels, "1");
        }
    }
    let keys = || L::KEYS.iter().filter_map(|key| L::COLUMNS.iter().find(|it| it.id == key.column));
    let is_key = |column: &Column<L>| L::KEYS.iter().any(|key| key.column == column.id);
    let others = columns.iter().copied().filter(|column| !is_key(column));
    let mut nouns: Vec<&str> = Vec::new();
    for noun in others.clone().map(|column| noun(column.id)) {
        if !nouns.contains(&noun) {
            nouns.push(noun);
        }
    }
    for row in rows {
        for column in keys().chain(others.clone()) {
            if column.value(row) == Value::Failed {
                let mut labels = key_labels::<L>(row, noun(column.id));
                labels.retain(|(name, _)| name != "command");
                labels.extend([command(), ("column".to_owned(), column.id.to_owned())]);
                let help = "A value that exists and could not be read";
                all.add("rdmactl_unreadable", MetricKind::Gauge, help, &labels, "1");
            }
        }
        for noun in &nouns {
            if is_there::<L>(row, noun) {
                let columns = others.clone().filter(|column| self::noun(column.id) == *noun);
                add_noun(&mut all, noun, row, columns);
            }
        }
    }
    all.write(header)
}

/// Adds the samples of a noun, and one more sample for its words.
fn add_noun<'columns, L: Listing>(
    all: &mut Exposition,
    noun: &str,
    row: &L::Row<'_>,
    columns: impl Iterator<Item = &'columns Column<L>>,
) {
    let keys = key_labels::<L>(row, noun);
    let mut words = Labels::new();
    for column in columns {
        let value = column.value(row);
        match metric_value(column.id, &value) {
            Some(MetricValue { metric, kind, number }) => {
                if matches!(value, Value::Count { is_full: true, .. }) {
                    let help = "A counter at its maximum; the real value may be larger";
                    let metric = format!("rdmactl_{noun}_saturated");
                    all.add(&metric, MetricKind::Gauge, help, &keys, "1");
                }
                let help = help_of(column.id).unwrap_or(column.help);
                if is_last_noun::<L>(noun) {
                    all.add_row(&metric, kind, help, &keys, &number);
                } else {
                    all.add(&metric, kind, help, &keys, &number);
                }
            }
            None => words.extend(value.name().map(|word| (label(column.id, &keys), word))),
        }
    }
    if !words.is_empty() {
        let help = format!("Text values of the {noun}");
        let labels = [keys, words].concat();
        all.add(&format!("rdmactl_{noun}_info"), MetricKind::Gauge, &help, &labels, "1");
    }
}

/// True if each row is one item of this noun, and not a part of an item.
fn is_last_noun<L: Listing>(noun: &str) -> bool {
    L::KEYS.iter().rposition(|key| key.noun == noun).is_none_or(|at| at + 1 == L::KEYS.len())
}

/// Returns the keys of a noun: all keys up to its own, or all keys if it has none.
fn keys_of<L: Listing>(noun: &str) -> &'static [crate::query::MetricLabel] {
    let last = L::KEYS.iter().rposition(|key| key.noun == noun);
    last.map_or(L::KEYS, |last| &L::KEYS[..=last])
}

/// Returns the value of a key column; `None` if it is a bad word, the reason of a missing value.
fn key_value<L: Listing>(row: &L::Row<'_>, column: &str) -> Option<String> {
    let column = L::COLUMNS.iter().find(|it| it.id == column)?;
    let value = column.value(row);
    if matches!(value, Value::Bad(_)) {
        return None;
    }
    value.name().or_else(|| value.number().map(|number| number.to_string()))
}

fn is_there<L: Listing>(row: &L::Row<'_>, noun: &str) -> bool {
    let mut own = L::KEYS.iter().filter(|key| key.noun == noun).peekable();
    own.peek().is_none() || own.any(|key| key_value::<L>(row, key.column).is_some())
}

fn key_labels<L: Listing>(row: &L::Row<'_>, noun: &str) -> Labels {
    let mut labels: Labels = keys_of::<L>(noun)
        .iter()
        .filter(|key| !key.label.is_empty())
        .filter_map(|key| Some((key.label.to_owned(), key_value::<L>(row, key.column)?)))
        .collect();
    // Listings share samples of hosts, devices and ports, and a scraper may read the files of
    // several listings together.
    if SHARED.contains(&noun) {
        labels.push(("command".to_owned(), L::NAME.to_owned()));
    }
    labels
}

/// Returns the part of a column id after the noun, or the whole id if a key has this label.
fn label(id: &str, keys: &Labels) -> String {
    let rest = id.split_once('.').map_or(id, |(_, rest)| rest).replace('.', "_");
    if keys.iter().any(|(key, _)| *key == rest) { id.replace('.', "_") } else { rest }
}

fn write_labels(labels: &Labels) -> String {
    let label = |(name, value): &(String, String)| {
        let value = escape(value).replace('\\', "\\\\").replace('"', "\\\"");
        format!("{name}=\"{value}\"")
    };
    let labels: Vec<String> = labels.iter().map(label).collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}
