//! Formats nanoseconds since 1970 as UTC, without the time zone of this machine.

/// Returns nanoseconds since 1970 as `20261122-080240Z`, which sorts by time, for file names.
pub fn utc_stamp(wall_ns: u64) -> String {
    utc_text(wall_ns).replace(['-', ':'], "").replace(' ', "-")
}

/// Returns nanoseconds since 1970 as `2026-11-22 08:02:40Z`, for readers.
pub fn utc_text(wall_ns: u64) -> String {
    let (year, month, day) = date(wall_ns / 1_000_000_000 / 86_400);
    format!("{year:04}-{month:02}-{day:02} {}", utc_time(wall_ns))
}

/// Returns the time of day of nanoseconds since 1970 as `08:02:40Z`.
pub fn utc_time(wall_ns: u64) -> String {
    let seconds = wall_ns / 1_000_000_000;
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns year, month and day (Gregorian) of a day that is counted from 1970-01-01.
///
/// Years start in March, so that a leap day is the last day of its year. Eras have 400 years and
/// an equal number of days.
fn date(day: u64) -> (u64, u64, u64) {
    // 1970-01-01 is day 719,468 of the era that began on 0000-03-01.
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next_year, month, day)
}

#[test]
fn a_moment_is_the_one_that_date_prints() {
    for (seconds, expected) in [
        (0, "19700101-000000Z"),
        (951_782_399, "20000228-235959Z"),
        (951_782_400, "20000229-000000Z"),
        (1_709_251_199, "20240229-235959Z"),
        (1_795_334_560, "20261122-080240Z"),
        (4_107_542_400, "21000301-000000Z"),
    ] {
        assert_eq!(utc_stamp(seconds * 1_000_000_000), expected, "{seconds}");
    }
    assert_eq!(utc_stamp(u64::MAX).len(), "20261122-080240Z".len());
    assert_eq!(utc_text(1_795_334_560_000_000_000), "2026-11-22 08:02:40Z");
}
