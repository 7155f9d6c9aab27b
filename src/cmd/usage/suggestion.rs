//! Finds the known word that is nearest to a misspelled word.
//!
//! A wrong suggestion is worse than none, so only a few letters may differ.

const MAX_EDITS: usize = 2;
const MIN_COMMON_LETTERS: usize = 4;

pub(super) fn nearest<'known>(
    word: &str,
    known: impl Iterator<Item = &'known str>,
) -> Option<&'known str> {
    let near = |one: &&str| {
        distance(word, one) <= MAX_EDITS && common_letters(word, one) >= MIN_COMMON_LETTERS
    };
    known.filter(near).min_by_key(|one| distance(word, one))
}

/// Counts the common letters of two words, in any order.
fn common_letters(one: &str, other: &str) -> usize {
    let mut rest: Vec<char> = other.chars().collect();
    let take = |letter: char| {
        let at = rest.iter().position(|known| *known == letter)?;
        Some(rest.swap_remove(at))
    };
    one.chars().filter_map(take).count()
}

/// Counts inserts, deletes, replacements and swaps of neighbors; `MAX_EDITS + 1` if the lengths
/// differ by more.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > MAX_EDITS {
        return MAX_EDITS + 1;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, letter) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, known) in other.iter().enumerate() {
            let mut best =
                (rows[i][j] + usize::from(letter != known)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == other[j - 1] && one[i - 1] == *known {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or_default()
}

#[test]
fn only_a_word_with_few_other_letters_is_near() {
    let known = ["hosts", "matrix", "quick", "errors", "devices", "ping"];
    let near = |word| nearest(word, known.into_iter());
    assert_eq!(near("hots"), Some("hosts"));
    assert_eq!(near("pign"), Some("ping"));
    assert_eq!(near("devcies"), Some("devices"));
    for far in ["no-matrix", "quiet", "q", "pin", "", "x\u{1b}"] {
        assert_eq!(near(far), None, "{far}");
    }
    assert_eq!(distance("ab", "ba"), 1);
    assert_eq!(distance(&"x".repeat(100_000), "hosts"), MAX_EDITS + 1);
}
