//! Parses numbers with units in filter expressions.

use super::super::Value;

/// A number in a filter expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quantity {
    /// Number times 1,000, in the base unit if it has a unit.
    thousandths: i128,
    has_unit: bool,
    /// True for the unit `m`: mega, or minutes for an age.
    is_m: bool,
}

impl Quantity {
    /// Converts to the base unit of `value`. A number without a unit has the displayed unit.
    pub(super) fn thousandths_for(self, value: &Value) -> i128 {
        let scale = match value {
            Value::Age(_) if self.is_m => 60_000,
            _ if self.has_unit => 1,
            Value::Age(_) | Value::Bits(_) => 1_000_000_000,
            Value::Nanoseconds(_) => 1_000,
            _ => 1,
        };
        self.thousandths * scale
    }
}

/// Parses `4096`, `0x3a4`, `400g`, `2.5gb/s`, `4kib`, `2us` or `5min`. Drops digits after the
/// third decimal.
pub(super) fn parse(text: &str) -> Option<Quantity> {
    if let Some(digits) = text.strip_prefix("0x") {
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        let thousandths = i128::from(number) * 1_000;
        return Some(Quantity { thousandths, has_unit: false, is_m: false });
    }
    let (negative, text) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let split = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let scale: i128 = match unit {
        "" | "b/s" | "b" | "ns" => 1,
        "k" | "kb/s" | "us" => 1_000,
        "m" | "mb/s" | "ms" => 1_000_000,
        "g" | "gb/s" | "s" => 1_000_000_000,
        "t" | "tb/s" => 1_000_000_000_000,
        "min" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        "ti" | "tib" => 1 << 40,
        _ => return None,
    };
    let (whole, tail) = number.split_once('.').unwrap_or((number, "0"));
    let tail = format!("{tail:0<3}");
    let whole: i64 = whole.parse().ok()?;
    let tail: i64 = tail.get(..3)?.parse().ok()?;
    let thousandths = negative * (i128::from(whole) * 1_000 + i128::from(tail)) * scale;
    Some(Quantity { thousandths, has_unit: !unit.is_empty(), is_m: unit == "m" })
}

#[test]
fn a_unit_multiplies_and_without_one_the_shown_unit_counts() {
    let number = |text: &str, value: &Value| parse(text).map(|it| it.thousandths_for(value));
    let plain = Value::Int(0);
    for (text, expected) in [
        ("4096", 4_096_000),
        ("0x3a4", 932_000),
        ("400g", 400_000_000_000_000),
        ("2.5gb/s", 2_500_000_000_000),
        ("4kib", 4_096_000),
        ("2us", 2_000_000),
        ("0.25g", 250_000_000_000),
        ("-1", -1_000),
    ] {
        assert_eq!(number(text, &plain), Some(expected), "{text}");
    }
    assert_eq!(number("400", &Value::Bits(0)), number("400g", &Value::Bits(0)));
    assert_eq!(number("7.85", &Value::Nanoseconds(0)), number("7850ns", &plain));
    for text in ["120", "120s", "2m", "2min", "120000ms"] {
        assert_eq!(number(text, &Value::Age(0)), Some(120_000_000_000_000), "{text}");
    }
    assert_eq!(number("1d", &Value::Age(0)), number("24h", &Value::Age(0)));
    assert_eq!(number("1tib", &Value::Size(0)), number("1024gib", &Value::Size(0)));
    for text in [
        "",
        "fast",
        "4 parsecs",
        "0x",
        "0x-1",
        "0x+1",
        "0xzz",
        ".",
        "-",
        "1.2.3",
        "inf",
        "99999999999999999999",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}
