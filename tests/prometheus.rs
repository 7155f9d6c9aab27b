//! Parses the output of `--format prom` for each listing and each fixture with a strict parser of
//! the text format of Prometheus. The textfile collector of node-exporter accepts what this
//! parser accepts.
#![expect(clippy::expect_used, reason = "a test without the program or its fixtures fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Name, labels in their order, and the text of the number.
type Sample = (String, Labels, String);

type Labels = Vec<(String, String)>;

fn fixtures() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let folders = fs::read_dir(folder).expect("fixtures");
    let files = folders.map(|entry| entry.expect("a fixture").path().join("capture.ndjson"));
    files.filter(|path| path.exists()).collect()
}

fn exposition(arguments: &[&str], fixture: &PathBuf) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_rdmactl"))
        .args(arguments)
        .args(["--format", "prom", "--from"])
        .arg(fixture)
        .output()
        .expect("rdmactl runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn is_name(name: &str, colons: bool) -> bool {
    let good =
        |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || (colons && letter == ':');
    !name.is_empty()
        && !name.starts_with(|one: char| one.is_ascii_digit())
        && name.chars().all(good)
}

fn text_of(escaped: &str, quotes: bool) -> Result<String, String> {
    let mut text = String::new();
    let mut letters = escaped.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('\\') => text.push('\\'),
                Some('n') => text.push('\n'),
                Some('"') if quotes => text.push('"'),
                other => return Err(format!("an escape of {other:?}")),
            },
            letter if letter.is_control() => return Err(format!("{letter:?} as it is")),
            letter => text.push(letter),
        }
    }
    Ok(text)
}

/// Parses `{name="value",…}`. Returns the labels and the rest of the line.
fn labels(line: &str) -> Result<(Labels, &str), String> {
    let Some(mut rest) = line.strip_prefix('{') else { return Ok((Vec::new(), line)) };
    let mut labels = Labels::new();
    loop {
        let (name, value) = rest.split_once("=\"").ok_or("no value of a label")?;
        if !is_name(name, false) || name.starts_with("__") {
            return Err(format!("{name:?} is no name of a label"));
        }
        let mut is_escaped = false;
        let end = value.find(|letter| {
            let ends = letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            ends
        });
        let end = end.ok_or("a value without end")?;
        if labels.iter().any(|(known, _)| known == name) {
            return Err(format!("label {name} twice"));
        }
        labels.push((name.to_owned(), text_of(&value[..end], true)?));
        rest = &value[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Ok((labels, rest.strip_prefix('}').ok_or("labels without end")?)),
        }
    }
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ']).ok_or("no value")?;
    let name = &line[..end];
    let (labels, rest) = labels(&line[end..])?;
    let number = rest.strip_prefix(' ').ok_or("no blank before the value")?;
    let value: f64 = number.parse().map_err(|error| format!("{number:?}: {error}"))?;
    if !is_name(name, true) || !value.is_finite() {
        return Err(format!("{name:?} {value}"));
    }
    Ok((name.to_owned(), labels, number.to_owned()))
}

/// Parses a complete exposition.
fn parse(text: &str) -> Result<Vec<Sample>, String> {
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("no line break at the end".into());
    }
    let (mut kinds, mut helps) = (BTreeMap::new(), BTreeSet::new());
    let (mut done, mut series, mut samples) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let mut now = String::new();
    for line in text.lines() {
        let at = |error: String| format!("{line}: {error}");
        let name = if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').ok_or_else(|| at("no help".into()))?;
            text_of(help, false).map_err(at)?;
            if !helps.insert(name.to_owned()) {
                return Err(at("a second HELP".into()));
            }
            name.to_owned()
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').ok_or_else(|| at("no type".into()))?;
            if !["counter", "gauge"].contains(&kind)
                || (kind == "counter") != name.ends_with("_total")
                || kinds.insert(name.to_owned(), kind.to_owned()).is_some()
            {
                return Err(at("the type is wrong".into()));
            }
            name.to_owned()
        } else {
            let (name, labels, number) = sample(line).map_err(at)?;
            if !kinds.contains_key(&name) || !helps.contains(&name) {
                return Err(at("before its TYPE and HELP".into()));
            }
            let mut sorted = labels.clone();
            sorted.sort();
            if !series.insert((name.clone(), sorted)) {
                return Err(at("the same series twice".into()));
            }
            samples.push((name.clone(), labels, number));
            name
        };
        if name != now {
            done.insert(std::mem::replace(&mut now, name.clone()));
            if done.contains(&name) {
                return Err(at("a metric in two places".into()));
            }
        }
    }
    Ok(samples)
}

const LISTINGS: &[&[&str]] = &[
    &["devices", "-v"],
    &["ports", "-v"],
    &["gids"],
    &["counters", "--all", "-v"],
    &["resources", "-v", "-o", "+rkey,lkey,cqn"],
];

#[test]
fn every_listing_of_every_fixture_can_be_scraped() {
    let mut counters = 0;
    for fixture in fixtures() {
        for arguments in LISTINGS {
            let text = exposition(arguments, &fixture);
            let samples = parse(&text)
                .unwrap_or_else(|error| panic!("{} {arguments:?}: {error}", fixture.display()));
            assert!(samples.iter().any(|(name, ..)| name == "rdmactl_up"));
            counters += samples.iter().filter(|(name, ..)| name.ends_with("_total")).count();
        }
    }
    assert!(counters > 50, "{counters}");
}

/// node-exporter rejects files in which a metric has two help texts or a series occurs twice.
#[test]
fn expositions_of_several_listings_share_no_series() {
    let more: &[&[&str]] = &[&["devices"], &["ports"], &["ports", "--lossless"]];
    for fixture in fixtures() {
        for usual in [LISTINGS, &[more, &LISTINGS[2..]].concat()] {
            let (mut series, mut heads) = (BTreeSet::new(), BTreeMap::new());
            for arguments in usual {
                let text = exposition(arguments, &fixture);
                for line in text.lines().filter_map(|line| line.strip_prefix("# ")) {
                    let mut words = line.splitn(3, ' ');
                    let head = (words.next().expect("a kind"), words.next().expect("a metric"));
                    let head = (head.0.to_owned(), head.1.to_owned());
                    let says = words.next().unwrap_or_default().to_owned();
                    let before = heads.insert(head, says.clone());
                    assert!(before.is_none_or(|before| before == says), "{arguments:?}: {line}");
                }
                for (name, labels, _) in parse(&text).expect("an exposition") {
                    let one = format!("{name} {labels:?}");
                    assert!(series.insert(one.clone()), "{}: {one}", fixture.display());
                }
            }
        }
    }
}

#[test]
fn a_saturated_counter_is_marked() {
    let full = fixtures().into_iter().find(|path| path.ends_with("mthca/capture.ndjson"));
    let text = exposition(&["counters"], &full.expect("the fixture with full counters"));
    let samples = parse(&text).expect("an exposition");
    let saturated = samples.iter().filter(|(name, ..)| name == "rdmactl_counter_saturated");
    assert!(saturated.count() > 0, "{text}");
}

#[test]
fn unreadable_value_is_a_sample_of_rdmactl_unreadable() {
    let broken = fixtures().into_iter().find(|path| path.ends_with("broken/capture.ndjson"));
    let text = exposition(&["devices"], &broken.expect("the broken fixture"));
    let samples = parse(&text).expect("an exposition");
    let column = |labels: &[(String, String)]| {
        labels.iter().find(|(name, _)| name == "column").map(|(_, id)| id.clone())
    };
    let unreadable: Vec<_> =
        samples.iter().filter(|(name, ..)| name == "rdmactl_unreadable").collect();
    assert!(!unreadable.is_empty());
    assert!(unreadable.iter().all(|(_, labels, number)| number == "1" && column(labels).is_some()));
}

#[test]
fn the_parser_is_strict() {
    for wrong in [
        "a 1",
        "a 1\n",
        "# HELP a b\n# TYPE a counter\na 1\n",
        "# HELP a b\n# TYPE a gauge\na{b=\"\\x\"} 1\n",
        "# HELP a b\n# TYPE a gauge\na{b=\"c\"} 1\na{b=\"c\"} 2\n",
        "# HELP a b\n# TYPE a gauge\na{b=\"c\",b=\"d\"} 1\n",
        "# HELP a b\n# TYPE a gauge\na{2=\"c\"} 1\n",
        "# HELP a b\n# TYPE a gauge\na -\n",
        "# HELP a b\n# TYPE a gauge\na{b=\"\x1b\"} 1\n",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
    let fine = "# HELP a \\\\b\n# TYPE a gauge\na{b=\"\\\"\\\\\",c=\"}\"} 1.5\na 2\n";
    assert_eq!(parse(fine).map(|samples| samples.len()), Ok(2));
}
