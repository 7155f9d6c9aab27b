//! Parses the times of flags, such as `500ms`.

use std::time::Duration;

/// Parses a time such as `10`, `2.5s`, `500ms` or `2m`, in seconds unless a unit is given.
///
/// # Errors
/// The time is not above zero, is longer than a day, or is not a time.
pub fn parse(text: &str) -> Result<Duration, String> {
    let split = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let scale = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unknown unit {unit}; use ms, s, m or h")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_no_number| "expected a number and a unit, for example 10s".to_owned())?;
    let seconds = number * scale;
    if seconds > 0.0 && seconds <= 86_400.0 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("the time must be above 0 and at most 24h".into())
    }
}

/// Shortest interval between two samples. Drivers cache counters for 10 ms; two samples of one
/// cached value would show no change.
const MIN: Duration = Duration::from_millis(100);

/// Parses a time between samples.
///
/// # Errors
/// As for [`parse`], or the time is shorter than 100 ms.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let interval = parse(text)?;
    if interval < MIN { Err("the interval must be at least 100ms".into()) } else { Ok(interval) }
}

#[test]
fn a_time_may_have_a_unit() {
    assert_eq!(parse("10"), Ok(Duration::from_secs(10)));
    assert_eq!(parse("2.5s"), Ok(Duration::from_millis(2500)));
    assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
    for text in ["", "0", "-1", "nan", "inf", "5 parsecs", "25h", "s"] {
        assert!(parse(text).is_err(), "{text}");
    }
}
