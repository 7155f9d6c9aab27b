//! Delta encoding: the changes between two reports of one agent, so that only these are sent.
//!
//! The module works on any text and does not parse it. The last report and its [`TextDelta`] give
//! the new report, equal to the byte. A text is split after its commas, which separate the values
//! of JSON. Parsing the JSON would cost both ends many times more than the delta. Applying a
//! delta only copies text.

use serde::{Deserialize, Serialize};

/// Edits that turn one text into another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TextDelta(Vec<Splice>);

/// One edit: bytes of the old text to keep, bytes to remove after them, and the text to insert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Splice(usize, usize, String);

/// Error: a change does not fit the text to which it is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the delta does not fit the last report")]
pub struct DeltaMismatch;

/// Limit of the search after an insertion or a removal, in pieces of both texts together.
const REACH: usize = 64;
/// Number of equal pieces after which the two texts count as aligned again.
const ALIKE: usize = 8;

impl TextDelta {
    /// Returns the edits that turn `old` into `new`.
    pub fn between(old: &str, new: &str) -> Self {
        let pieces = [old, new].map(|text| text.split_inclusive(',').collect::<Vec<_>>());
        let [mut old_pieces, mut new_pieces] = [&pieces[0][..], &pieces[1][..]];
        let (mut old, mut new) = (old, new);
        let (mut splices, mut same) = (Vec::new(), 0);
        while !old_pieces.is_empty() || !new_pieces.is_empty() {
            let (gone, come) = match (old_pieces.first(), new_pieces.first()) {
                (Some(one), Some(other)) if one == other => (1, 1),
                _ => apart(old_pieces, new_pieces),
            };
            let before = behind(&mut old, &mut old_pieces, gone);
            let after = behind(&mut new, &mut new_pieces, come);
            let (start, end) = alike(before, after);
            same += start;
            if start < before.len() || start < after.len() {
                let text = after[start..after.len() - end].into();
                splices.push(Splice(same, before.len() - end - start, text));
                same = end;
            }
        }
        Self(splices)
    }

    /// Returns the new text, made from the old one.
    ///
    /// # Errors
    /// The change does not fit `old`.
    pub fn apply(&self, old: &str) -> Result<String, DeltaMismatch> {
        let mut new = String::with_capacity(old.len());
        let mut left = old;
        for Splice(same, gone, text) in &self.0 {
            let (stays, rest) = left.split_at_checked(*same).ok_or(DeltaMismatch)?;
            new.push_str(stays);
            new.push_str(text);
            left = rest.get(*gone..).ok_or(DeltaMismatch)?;
        }
        new.push_str(left);
        Ok(new)
    }
}

/// Takes `count` pieces from the front of a text.
fn behind<'text>(text: &mut &'text str, pieces: &mut &[&str], count: usize) -> &'text str {
    let (front, rest) = pieces.split_at(count);
    let (taken, left) = text.split_at(front.iter().map(|piece| piece.len()).sum());
    (*pieces, *text) = (rest, left);
    taken
}

/// Returns the lengths in bytes of the common prefix, and of the common suffix of the rests.
fn alike(old: &str, new: &str) -> (usize, usize) {
    let mut start = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    while !old.is_char_boundary(start) || !new.is_char_boundary(start) {
        start -= 1;
    }
    let (old, new) = (&old[start..], &new[start..]);
    let pairs = old.bytes().rev().zip(new.bytes().rev());
    let mut end = pairs.take_while(|(old, new)| old == new).count();
    while !old.is_char_boundary(old.len() - end) || !new.is_char_boundary(new.len() - end) {
        end -= 1;
    }
    (start, end)
}

/// Returns how many pieces of each text to skip until both are aligned again.
fn apart(old: &[&str], new: &[&str]) -> (usize, usize) {
    let is_one_value = old.len() > 1 && old.get(1) == new.get(1);
    // Both texts have equally many pieces left: only one value changed.
    if is_one_value && old.len() == new.len() {
        return (1, 1);
    }
    let goes_on = |(gone, come): &(usize, usize)| match (old.get(*gone..), new.get(*come..)) {
        (Some(old), Some(new)) if old.len() > ALIKE => new.get(..ALIKE) == old.get(..ALIKE),
        (old, new) => old == new,
    };
    let mut near = (1..=REACH).flat_map(|far| (0..=far).map(move |gone| (gone, far - gone)));
    near.find(goes_on).unwrap_or_else(|| {
        if is_one_value {
            return (1, 1);
        }
        let pairs = old.iter().rev().zip(new.iter().rev());
        let end = pairs.take_while(|(old, new)| old == new).count();
        (old.len() - end, new.len() - end)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Generates texts from few words, so that two texts have much in common.
    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec("[ab\"äü]{0,2},{0,1}", 0..60).prop_map(|pieces| pieces.concat())
    }

    fn sent(change: &TextDelta) -> TextDelta {
        serde_json::from_str(&serde_json::to_string(change).unwrap()).unwrap()
    }

    fn change(json: &str) -> TextDelta {
        serde_json::from_str(json).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn delta_applied_to_the_old_text_is_the_new_text(old in text(), new in text()) {
            prop_assert_eq!(sent(&TextDelta::between(&old, &new)).apply(&old).unwrap(), new);
        }

        #[test]
        fn a_change_of_another_text_never_panics(old in text(), new in text(), other in text()) {
            let _ = TextDelta::between(&old, &new).apply(&other);
        }
    }

    fn list(numbers: impl Iterator<Item = u32>) -> String {
        let members: Vec<String> =
            numbers.map(|number| format!(r#"{{"qp":{number},"kind":"RC"}}"#)).collect();
        format!(r#"{{"qps":[{}],"end":0}}"#, members.join(","))
    }

    #[test]
    fn one_counter_is_a_small_change() {
        let [old, new] = [2, 9].map(|it| format!(r#"{{"a":[1,{it},3],"b":"x","c":{it}}}"#));
        let change = serde_json::to_string(&TextDelta::between(&old, &new)).unwrap();
        assert_eq!(change, r#"[[8,1,"9"],[16,1,"9"]]"#);
        assert_eq!(TextDelta::between(&old, &old), TextDelta(vec![]));
    }

    #[test]
    fn a_member_that_came_or_went_leaves_those_far_away_alone() {
        let (old, new) = (list(0..500), list((0..500).filter(|number| *number != 250)));
        for (old, new) in [(&old, &new), (&new, &old)] {
            let change = serde_json::to_string(&TextDelta::between(old, new)).unwrap();
            assert!(change.len() < 100, "{change}");
        }
    }

    #[test]
    fn delta_that_does_not_fit_the_text_is_rejected() {
        for (old, json) in [
            ("a,b", r#"[[4,0,"x"]]"#),
            ("a,b", r#"[[1,3,"x"]]"#),
            ("a,b", r#"[[1,1,"x"],[2,0,"x"]]"#),
            ("ä", r#"[[1,0,"x"]]"#),
            ("ä", r#"[[0,1,"x"]]"#),
            ("a,b", r#"[[18446744073709551615,1,"x"]]"#),
            ("a,b", r#"[[1,18446744073709551615,"x"]]"#),
            ("", r#"[[0,1,""]]"#),
        ] {
            assert_eq!(change(json).apply(old), Err(DeltaMismatch), "{old} {json}");
        }
        assert_eq!(change(r#"[[3,0,"x"]]"#).apply("a,b").unwrap(), "a,bx");
    }
}
