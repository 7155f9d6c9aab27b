//! Median and spread that a few extreme values do not change.

/// Takes the mean of the middle two if necessary. Values must be finite; their order changes.
pub(crate) fn median(values: &mut [f32]) -> Option<f32> {
    let (middle, is_odd) = (values.len() / 2, !values.len().is_multiple_of(2));
    if values.is_empty() {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
    if is_odd {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f32::total_cmp)?;
    Some(f32::midpoint(lower, upper))
}

/// Takes the smaller of the middle two if necessary.
pub(super) fn lower_median(values: &mut [f32]) -> Option<f32> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f32::total_cmp).1)
}

/// Returns the standard deviation of a normal distribution with this median absolute deviation:
/// MAD / 0.6745. Overwrites the values.
pub(crate) fn spread(values: &mut [f32], center: f32) -> f32 {
    for value in &mut *values {
        *value = (*value - center).abs();
    }
    median(values).map_or(0.0, |distance| distance / NORMAL)
}

/// Third quartile of the standard normal distribution.
pub(super) const NORMAL: f32 = 0.6745;

/// The standard error of a median of n normal values is 1.2533 / sqrt(n) standard deviations.
const MEDIAN_ERROR: f32 = 1.2533;

/// Minimum standard error, 0.2 %: a fabric with equal latencies has no spread.
pub(crate) const FINEST: f32 = 0.002;

pub(crate) fn error_of_median(spread: f32, values: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a root needs no more digits")]
    let root = (values.max(1) as f32).sqrt();
    (MEDIAN_ERROR * spread / root).max(FINEST)
}

#[expect(clippy::cast_precision_loss, reason = "seven digits are more than a clock has")]
pub(crate) fn as_ns(ns: u32) -> f32 {
    ns as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [9.0, 1.0, 2.0, 4.0]), Some(3.0));
        assert_eq!(lower_median(&mut [9.0, 1.0, 2.0, 4.0]), Some(2.0));
        assert_eq!(lower_median(&mut []), None);
    }

    #[test]
    fn a_wild_value_does_not_widen_the_spread() {
        let spread = spread(&mut [-1.0, 0.0, 1.0, 2.0, 1e9], 1.0);
        assert!((spread - 1.0 / NORMAL).abs() < 1e-6, "{spread}");
    }
}
