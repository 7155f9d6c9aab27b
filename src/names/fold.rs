//! Folds many names into one short expression, for example `n[01-16,18-64]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::natural;

/// Maximum length of a number. A longer run of digits is text.
const MAX_DIGITS: usize = 18;

type Digits<'a> = Vec<&'a str>;

/// Consecutive numbers of one width; the width is 0 for numbers without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Run {
    width: usize,
    low: u64,
    high: u64,
}

/// One list of runs for each number in the names.
type Product = Vec<Vec<Run>>;

/// Folds names into an expression that the host sets of `hosts` can parse.
///
/// Names that differ only in their numbers share one term. The search is greedy and starts with
/// the last number, so that its time is bounded; an irregular set can have more terms than
/// needed.
pub fn fold<I>(names: I) -> String
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let names: Vec<I::Item> = names.into_iter().collect();
    let mut patterns: BTreeMap<Vec<&str>, Vec<Digits<'_>>> = BTreeMap::new();
    for name in &names {
        let (texts, digits) = split_digits(name.as_ref());
        patterns.entry(texts).or_default().push(digits);
    }
    let mut terms: Vec<String> =
        patterns.iter().flat_map(|(texts, members)| fold_pattern(texts, members)).collect();
    terms.sort_by(|a, b| natural::compare(a, b));
    terms.join(",")
}

/// Returns texts and numbers in turn. The first and the last part are texts.
fn split_digits(name: &str) -> (Vec<&str>, Digits<'_>) {
    let host = name.rfind('@').map_or(0, |at| at + 1);
    let rest = name.get(host..).unwrap_or_default();
    let foldable = match rest.matches(':').count() {
        0 => name.len(),
        1 => host + rest.find(':').unwrap_or(rest.len()),
        // An IPv6 address has hexadecimal numbers.
        _ => host,
    };
    let (mut texts, mut digits, mut text_start, mut at) = (Vec::new(), Vec::new(), 0, host);
    // Each run ends before or after an ASCII digit, so every cut is at a character boundary.
    while let Some(tail) = name.get(at..foldable).filter(|tail| !tail.is_empty()) {
        let run = tail.bytes().take_while(u8::is_ascii_digit).count();
        if (1..=MAX_DIGITS).contains(&run) {
            texts.push(&name[text_start..at]);
            digits.push(&tail[..run]);
            text_start = at + run;
        }
        at += match run {
            0 => tail.bytes().take_while(|byte| !byte.is_ascii_digit()).count(),
            _ => run,
        };
    }
    texts.push(&name[text_start..]);
    (texts, digits)
}

fn fold_pattern(texts: &[&str], members: &[Digits<'_>]) -> Vec<String> {
    let (texts, varying) = join_equal_numbers(texts, members);
    if varying.is_empty() {
        return texts;
    }
    let padded: Vec<_> = varying.iter().map(|&d| padded_widths(members, d)).collect();
    let product = |digits: &Digits<'_>| -> Product {
        let numbers = varying.iter().zip(&padded);
        numbers.map(|(&d, padded)| vec![single(digits[d], padded)]).collect()
    };
    let mut products: Vec<Product> = members.iter().map(product).collect();
    for dimension in (0..varying.len()).rev() {
        products = join_dimension(products, dimension);
    }
    products.iter().map(|product| spell(&texts, product)).collect()
}

/// Joins numbers that are equal in all members with the texts beside them. Returns the texts, and
/// the positions of the other numbers, which become runs of a product.
fn join_equal_numbers(texts: &[&str], members: &[Digits<'_>]) -> (Vec<String>, Vec<usize>) {
    let (mut joined, mut varying) = (Vec::new(), Vec::new());
    let mut text = String::new();
    for (dimension, piece) in texts.iter().enumerate() {
        text.push_str(piece);
        let mut numbers = members.iter().filter_map(|digits| digits.get(dimension));
        match numbers.next() {
            Some(first) if numbers.all(|number| number == first) => text.push_str(first),
            Some(_) => {
                joined.push(std::mem::take(&mut text));
                varying.push(dimension);
            }
            None => {}
        }
    }
    joined.push(text);
    (joined, varying)
}

/// Returns the widths in which some name has this number with leading zeros.
fn padded_widths(members: &[Digits<'_>], dimension: usize) -> BTreeSet<usize> {
    let numbers = members.iter().filter_map(|digits| digits.get(dimension));
    let padded = numbers.filter(|digits| digits.len() > 1 && digits.starts_with('0'));
    padded.map(|digits| digits.len()).collect()
}

fn single(digits: &str, padded: &BTreeSet<usize>) -> Run {
    let value = digits.parse().unwrap_or(0);
    let width = if padded.contains(&digits.len()) { digits.len() } else { 0 };
    Run { width, low: value, high: value }
}

fn join_dimension(products: Vec<Product>, dimension: usize) -> Vec<Product> {
    let mut groups: BTreeMap<Product, Vec<Run>> = BTreeMap::new();
    for mut product in products {
        let runs = std::mem::take(&mut product[dimension]);
        groups.entry(product).or_default().extend(runs);
    }
    groups
        .into_iter()
        .map(|(mut product, runs)| {
            product[dimension] = join_runs(runs);
            product
        })
        .collect()
}

fn join_runs(mut runs: Vec<Run>) -> Vec<Run> {
    runs.sort_unstable();
    let mut joined: Vec<Run> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) if last.width == run.width && run.low <= last.high.saturating_add(1) => {
                last.high = last.high.max(run.high);
            }
            _ => joined.push(run),
        }
    }
    joined
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { width, low, high } = self;
        write!(f, "{low:0width$}")?;
        if low == high { Ok(()) } else { write!(f, "-{high:0width$}") }
    }
}

fn spell(texts: &[String], product: &Product) -> String {
    let mut term = String::new();
    for (index, text) in texts.iter().enumerate() {
        term.push_str(text);
        match product.get(index).map(Vec::as_slice) {
            None => {}
            Some([run]) if run.low == run.high => term.push_str(&run.to_string()),
            Some(runs) => {
                let runs: Vec<String> = runs.iter().map(Run::to_string).collect();
                term.push('[');
                term.push_str(&runs.join(","));
                term.push(']');
            }
        }
    }
    term
}
