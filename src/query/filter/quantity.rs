/// `4096`, `0x3a4`, `400G`, `2.5Gb/s`, `4KiB`, `2us` in the base unit: bits per second, bytes,
/// nanoseconds. Small letters only. Digits beyond a thousandth of the unit are left out.
pub(super) fn parse(text: &str) -> Option<i128> {
    if let Some(digits) = text.strip_prefix("0x") {
        return i128::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with(['-', '+']));
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
        "ki" | "kib" => 1 << 10,
        "mi" | "mib" => 1 << 20,
        "gi" | "gib" => 1 << 30,
        _ => return None,
    };
    let (whole, tail) = number.split_once('.').unwrap_or((number, "0"));
    let thousandths = format!("{tail:0<3}");
    let whole: i64 = whole.parse().ok()?;
    let thousandths: i64 = thousandths.get(..3)?.parse().ok()?;
    Some(negative * (i128::from(whole) * scale + i128::from(thousandths) * scale / 1_000))
}

#[test]
fn a_unit_multiplies() {
    for (text, number) in [
        ("4096", 4_096),
        ("0x3a4", 932),
        ("400g", 400_000_000_000),
        ("2.5gb/s", 2_500_000_000),
        ("4kib", 4_096),
        ("2us", 2_000),
        ("0.25g", 250_000_000),
        ("-1", -1),
    ] {
        assert_eq!(parse(text), Some(number), "{text}");
    }
    for text in [
        "",
        "fast",
        "4 parsecs",
        "0x",
        "0x-1",
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
