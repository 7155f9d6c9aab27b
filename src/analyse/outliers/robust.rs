//! Medians, and how far the rest is from them: a few wild values move neither.

/// The median, of an even number the mean of the two in the middle; `None` of nothing. The values
/// are finite, and come back in another order.
pub(in crate::analyse) fn median(values: &mut [f32]) -> Option<f32> {
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

/// The lower one of the two in the middle: with two values the smaller.
pub(super) fn lower_median(values: &mut [f32]) -> Option<f32> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f32::total_cmp).1)
}

/// The standard deviation that a normal distribution with this median distance from its median
/// has: 1 / 0.6745 of it.
pub(in crate::analyse) fn spread(values: &mut [f32], center: f32) -> f32 {
    for value in &mut *values {
        *value = (*value - center).abs();
    }
    median(values).map_or(0.0, |distance| distance / NORMAL)
}

/// The third quartile of the normal distribution.
pub(super) const NORMAL: f32 = 0.6745;

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
