//! Parses numbers like the C library.

/// Parses like `strtoul` with base 0: white space, sign, prefix `0x` or `0`; 0 without a number.
pub(super) fn parse_any(text: &str) -> u64 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, base) = match hex {
        Some(rest) if rest.starts_with(|letter: char| letter.is_ascii_hexdigit()) => (rest, 16),
        _ if digits.starts_with('0') => (digits, 8),
        _ => (digits, 10),
    };
    with_base(digits, base, text.starts_with('-'))
}

/// Parses like `strtoul` with base 16.
pub(super) fn parse_hex(text: &str) -> u64 {
    let text = text.trim_start();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    with_base(digits, 16, false)
}

/// Parses like `atoi`: 0 without a number.
pub(super) fn parse_decimal(text: &str) -> i32 {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    truncate(with_base(digits, 10, text.starts_with('-'))).cast_signed()
}

/// Returns the lower 32 bits, like an assignment to `unsigned`.
pub(super) fn truncate(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

fn with_base(digits: &str, base: u32, negative: bool) -> u64 {
    let value = digits
        .chars()
        .map_while(|digit| digit.to_digit(base))
        .try_fold(0_u64, |sum, digit| sum.checked_mul(base.into())?.checked_add(digit.into()));
    match value {
        // Out of range: the sign is lost as well.
        None => u64::MAX,
        Some(value) if negative => value.wrapping_neg(),
        Some(value) => value,
    }
}

#[test]
fn numbers_are_read_as_c_does() {
    for (text, number) in [
        ("4: ACTIVE", 4),
        ("0x1f", 0x1f),
        ("010", 8),
        ("2.5 Gb/sec", 2),
        ("0x", 0),
        ("banana", 0),
        ("  12", 12),
        ("", 0),
        ("-1", u64::MAX),
        ("99999999999999999999", u64::MAX),
    ] {
        assert_eq!(parse_any(text), number, "{text}");
    }
    assert_eq!(parse_hex("fe80"), 0xfe80);
    assert_eq!((parse_decimal("10"), parse_decimal("x"), parse_decimal("-3")), (10, 0, -3));
}
