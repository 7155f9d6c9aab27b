//! Returns the local time of this machine, as the C library computes it from the time zone.
//!
//! Formats nothing. `compat` uses it, because the original tools print `ctime`.

#![expect(unsafe_code, reason = "the C library is called")]

/// Calendar time in the local time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalTime {
    /// Year of the common era.
    pub year: i64,
    /// Month from 0 (January) to 11.
    pub month: usize,
    /// Day of the month from 1.
    pub day: i32,
    /// Day of the week from 0 (Sunday) to 6.
    pub weekday: usize,
    /// Hour from 0 to 23.
    pub hour: i32,
    /// Minute from 0 to 59.
    pub minute: i32,
    /// Second from 0 to 60.
    pub second: i32,
}

/// Returns the local time of `seconds` since 1970 UTC; `None` if a C int cannot hold the year.
pub fn local_time(seconds: i64) -> Option<LocalTime> {
    let mut calendar = std::mem::MaybeUninit::<libc::tm>::zeroed();
    let moment: libc::time_t = seconds;
    // SAFETY: both pointers refer to values that live until the call returns.
    let result = unsafe { libc::localtime_r(&raw const moment, calendar.as_mut_ptr()) };
    if result.is_null() {
        return None;
    }
    // SAFETY: a `tm` of zero bytes is valid, and the call has filled it.
    let calendar = unsafe { calendar.assume_init() };
    Some(LocalTime {
        year: i64::from(calendar.tm_year) + 1900,
        month: usize::try_from(calendar.tm_mon).unwrap_or(0),
        day: calendar.tm_mday,
        weekday: usize::try_from(calendar.tm_wday).unwrap_or(0),
        hour: calendar.tm_hour,
        minute: calendar.tm_min,
        second: calendar.tm_sec,
    })
}

#[test]
fn a_moment_is_in_its_year() {
    // 2 July 2021, noon UTC: year and month are equal in every time zone.
    let found = local_time(1_625_227_200).map(|time| (time.year, time.month));
    assert_eq!(found, Some((2021, 6)));
    assert_eq!(local_time(i64::MAX), None);
}
