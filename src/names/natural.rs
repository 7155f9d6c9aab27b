//! Compares names in natural order: `n2` before `n10`, `n1` before `n01`.

use std::cmp::Ordering;

/// Compares two texts: numbers of any length by value, other characters by byte. Only identical
/// texts are equal.
pub fn compare(a: &str, b: &str) -> Ordering {
    let (mut rest_a, mut rest_b) = (a.as_bytes(), b.as_bytes());
    while let ([first_a, tail_a @ ..], [first_b, tail_b @ ..]) = (rest_a, rest_b) {
        let order = if first_a.is_ascii_digit() && first_b.is_ascii_digit() {
            compare_numbers(take_number(&mut rest_a), take_number(&mut rest_b))
        } else {
            (rest_a, rest_b) = (tail_a, tail_b);
            first_a.cmp(first_b)
        };
        if order.is_ne() {
            return order;
        }
    }
    rest_a.len().cmp(&rest_b.len()).then_with(|| a.len().cmp(&b.len())).then_with(|| a.cmp(b))
}

fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(length);
    *text = rest;
    number
}

fn compare_numbers(a: &[u8], b: &[u8]) -> Ordering {
    let (plain_a, plain_b) = (trim_zeros(a), trim_zeros(b));
    plain_a.len().cmp(&plain_b.len()).then_with(|| plain_a.cmp(plain_b))
}

fn trim_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|digit| **digit == b'0').count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_and_padding_comes_after() {
        let mut names = ["n10", "n2", "n01", "n1", "a9b2", "a9b10", "n001", "n"];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(names, ["a9b2", "a9b10", "n", "n1", "n01", "n001", "n2", "n10"]);
    }
}
