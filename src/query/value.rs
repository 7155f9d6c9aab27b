//! Defines the value of a cell, and its text in tables and in `top`. Formats for programs print
//! numbers in base units instead.

use std::fmt;

use crate::model::{CounterUnit, HostFailure, HostReport, PerSecond, Reason, Severity};

/// Value of a cell. The variant defines the unit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// A word or a name.
    Text(String),
    /// A word for something bad, which is marked with `!`.
    Bad(String),
    /// A plain number.
    Int(i64),
    /// A number of something bad, which is marked with `!`.
    BadInt(i64),
    /// A number that identifies an item, for example a process or a queue pair.
    Id(u32),
    /// Value of a counter.
    Count {
        /// Number.
        number: u64,
        /// Unit.
        unit: CounterUnit,
        /// True if the counter stopped at its maximum, which is marked with `!`.
        is_full: bool,
    },
    /// A rate per second.
    PerSecond(PerSecond),
    /// Bits per second.
    Bits(u64),
    /// Bytes.
    Bytes(u64),
    /// A time in nanoseconds, displayed in microseconds.
    Nanoseconds(u64),
    /// A time in nanoseconds, displayed as an age: `5 min`.
    Age(u64),
    /// A number of bytes, displayed in binary units.
    Size(u64),
    /// A number that is displayed in hexadecimal.
    Hex(u64),
    /// The value does not exist on this kernel or driver; displayed as `-`.
    Absent,
    /// The value exists but could not be read; displayed as `?`.
    Failed,
}

impl Value {
    /// Returns a word, marked if it is bad.
    pub(super) fn word(word: &str, is_bad: bool) -> Self {
        if is_bad { Self::Bad(word.to_owned()) } else { Self::Text(word.to_owned()) }
    }

    /// Returns a number of something bad, which is marked unless it is 0.
    pub(super) fn bad_count(count: u32) -> Self {
        if count == 0 { Self::Int(0) } else { Self::BadInt(count.into()) }
    }

    pub(super) fn severity(severity: Severity) -> Self {
        Self::word(severity.word(), severity == Severity::Fail)
    }

    /// Returns the number in its base unit: bits per second, bytes or nanoseconds.
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Int(number) | Self::BadInt(number) => Some((*number).into()),
            Self::Id(number) => Some((*number).into()),
            Self::Count { number, .. }
            | Self::Bits(number)
            | Self::Bytes(number)
            | Self::Nanoseconds(number)
            | Self::Age(number)
            | Self::Size(number)
            | Self::Hex(number) => Some((*number).into()),
            // Rounded up, so that a rate below 1 does not become 0.
            Self::PerSecond(PerSecond(thousandths)) => Some(thousandths.div_ceil(1_000).into()),
            Self::Text(_) | Self::Bad(_) | Self::Absent | Self::Failed => None,
        }
    }

    /// Returns the number in thousandths of its base unit, which are exact for rates.
    pub(super) fn thousandths(&self) -> Option<i128> {
        match self {
            Self::PerSecond(PerSecond(thousandths)) => Some((*thousandths).into()),
            value => value.number().map(|number| number * 1_000),
        }
    }

    /// Returns a word or an identifier without marks; `None` for other values.
    pub fn name(&self) -> Option<String> {
        match self {
            Self::Text(text) | Self::Bad(text) => Some(text.clone()),
            Self::Id(_) | Self::Hex(_) => Some(self.to_string()),
            _ => None,
        }
    }

    /// Marks a text as bad. Other values stay unchanged.
    pub(super) fn marked(self) -> Self {
        match self {
            Self::Text(text) => Self::Bad(text),
            value => value,
        }
    }

    /// True for `-` and `?`.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Absent | Self::Failed)
    }

    /// Returns the word for the way in which a report was read.
    pub(super) fn via(report: &HostReport) -> Self {
        Self::text(Some(report.via.word()).filter(|word| *word != "-"))
    }

    /// Returns the reason why a host did not respond; `value` for a host that responded.
    pub(super) fn or_failure(report: &HostReport, value: impl FnOnce() -> Self) -> Self {
        report.failure.as_ref().map_or_else(value, Self::of_failure)
    }

    pub(super) fn of_failure(failure: &HostFailure) -> Self {
        Self::word(failure.reason.word(), failure.reason != Reason::Connecting)
    }
}

/// Cells of optional values; `Absent` for `None`.
impl Value {
    pub(super) fn int(number: Option<impl TryInto<i64>>) -> Self {
        number.and_then(|number| number.try_into().ok()).map_or(Self::Absent, Self::Int)
    }

    /// Returns a number; a number beyond `i64` as text.
    pub(super) fn count(count: Option<u64>) -> Self {
        count.map_or(Self::Absent, |count| {
            i64::try_from(count).map_or_else(|_| Self::Text(count.to_string()), Self::Int)
        })
    }

    pub(super) fn id(number: Option<impl Into<u32>>) -> Self {
        number.map_or(Self::Absent, |number| Self::Id(number.into()))
    }

    pub(super) fn hex(number: Option<impl Into<u64>>) -> Self {
        number.map_or(Self::Absent, |number| Self::Hex(number.into()))
    }

    pub(super) fn bytes(number: Option<impl Into<u64>>) -> Self {
        number.map_or(Self::Absent, |number| Self::Bytes(number.into()))
    }

    pub(super) fn bits(rate_bps: Option<u64>) -> Self {
        rate_bps.map_or(Self::Absent, Self::Bits)
    }

    pub(super) fn per_second(rate: Option<PerSecond>) -> Self {
        rate.map_or(Self::Absent, Self::PerSecond)
    }

    pub(super) fn switch(is_on: Option<bool>) -> Self {
        Self::text(is_on.map(|is_on| if is_on { "on" } else { "off" }))
    }

    /// Joins items with commas; `Absent` for no items.
    pub(super) fn list(parts: Option<&[impl fmt::Display]>) -> Self {
        let parts = parts.unwrap_or_default().iter().map(ToString::to_string);
        Self::joined(&parts.collect::<Vec<_>>(), ", ")
    }

    /// Joins words; `Absent` for no words.
    pub(super) fn joined(words: &[String], separator: &str) -> Self {
        Self::text((!words.is_empty()).then(|| words.join(separator)))
    }

    pub(super) fn text(text: Option<impl fmt::Display>) -> Self {
        text.map_or(Self::Absent, |text| Self::Text(text.to_string()))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => out.write_str(text),
            Self::Bad(text) => write!(out, "{text} !"),
            Self::Int(number) => number.fmt(out),
            Self::BadInt(number) => write!(out, "{number} !"),
            Self::Id(number) => number.fmt(out),
            Self::Count { number, is_full: true, .. } => write!(out, "{number} !"),
            Self::Count { number, .. } | Self::Bytes(number) => number.fmt(out),
            Self::PerSecond(rate) => rate.fmt(out),
            Self::Hex(number) => write!(out, "{number:#x}"),
            Self::Nanoseconds(ns) => write_microseconds(out, *ns),
            Self::Age(ns) => write_age(out, *ns),
            Self::Size(bytes) => write_size(out, *bytes),
            Self::Bits(bits) => write_bits(out, *bits),
            Self::Absent => out.write_str("-"),
            Self::Failed => out.write_str("?"),
        }
    }
}

/// Writes a rate with at most one decimal, rounded down: `400 Gb/s`, `2.5 Gb/s`.
fn write_bits(out: &mut fmt::Formatter<'_>, bits: u64) -> fmt::Result {
    let units = [("Tb/s", 1_000_000_000_000), ("Gb/s", 1_000_000_000), ("Mb/s", 1_000_000)];
    // 1600 Gb/s stays in Gb/s, so that readers can compare it with the rates of other ports.
    let (unit, size) = match bits {
        10_000_000_000_000.. => units[0],
        1_000_000_000.. => units[1],
        1_000_000.. => units[2],
        _ => return write!(out, "{bits} b/s"),
    };
    match bits % size * 10 / size {
        0 => write!(out, "{} {unit}", bits / size),
        tenth => write!(out, "{}.{tenth} {unit}", bits / size),
    }
}

/// Writes microseconds: two decimals, rounded down, below 100 us; rounded to whole numbers above.
fn write_microseconds(out: &mut fmt::Formatter<'_>, ns: u64) -> fmt::Result {
    if ns < 100_000 {
        write!(out, "{}.{:02}", ns / 1_000, ns % 1_000 / 10)
    } else {
        write!(out, "{}", ns.saturating_add(500) / 1_000)
    }
}

/// Writes an age, rounded down: `3 s`, `5 min`, `2 h` or `4 d`.
fn write_age(out: &mut fmt::Formatter<'_>, ns: u64) -> fmt::Result {
    let seconds = ns / 1_000_000_000;
    match seconds {
        0..100 => write!(out, "{seconds} s"),
        100..6_000 => write!(out, "{} min", seconds / 60),
        6_000..172_800 => write!(out, "{} h", seconds / 3_600),
        _ => write!(out, "{} d", seconds / 86_400),
    }
}

/// Writes a size, rounded to at most one decimal: `512 B`, `1.5 GiB`.
fn write_size(out: &mut fmt::Formatter<'_>, bytes: u64) -> fmt::Result {
    if bytes < 1 << 10 {
        return write!(out, "{bytes} B");
    }
    let tenths = |shift: u32| (u128::from(bytes) * 10 + (1 << (shift - 1))) >> shift;
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)].into_iter();
    let mut fitting = units.map(|(unit, shift)| (unit, tenths(shift)));
    let (unit, tenths) =
        fitting.find(|(_, tenths)| *tenths < 10_240).unwrap_or(("TiB", tenths(40)));
    match tenths % 10 {
        0 => write!(out, "{} {unit}", tenths / 10),
        tenth => write!(out, "{}.{tenth} {unit}", tenths / 10),
    }
}

#[test]
fn ages_and_sizes_are_short() {
    let age = |seconds: u64| Value::Age(seconds * 1_000_000_000).to_string();
    assert_eq!(
        [age(0), age(99), age(130), age(7_200), age(400_000)],
        ["0 s", "99 s", "2 min", "2 h", "4 d"]
    );
    let size = |bytes: u64| Value::Size(bytes).to_string();
    assert_eq!([size(1_023), size(1_536), size(3 << 30)], ["1023 B", "1.5 KiB", "3 GiB"]);
    assert_eq!([size(4_501_494_000), size((1 << 20) - 1)], ["4.2 GiB", "1 MiB"]);
    assert_eq!(size(u64::MAX), "16777216 TiB");
}

#[test]
fn latencies_have_two_decimals_where_they_matter() {
    for (ns, text) in [(1_629, "1.62"), (99_990, "99.99"), (1_234_567, "1235"), (0, "0.00")] {
        assert_eq!(Value::Nanoseconds(ns).to_string(), text);
    }
}

#[test]
fn a_rate_has_its_unit() {
    for (bits, text) in [
        (400_000_000_000, "400 Gb/s"),
        (2_500_000_000, "2.5 Gb/s"),
        (1_600_000_000_000, "1600 Gb/s"),
        (100_000_000, "100 Mb/s"),
        (0, "0 b/s"),
    ] {
        assert_eq!(Value::Bits(bits).to_string(), text);
    }
}
