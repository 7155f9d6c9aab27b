//! What changed between two answers of one agent, so that only that need be sent.
//!
//! It knows JSON and nothing of reports: whatever a report holds, one that is made of the last one and of
//! its [`Change`] is the one that was meant.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What turns one JSON value into another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// It is another value altogether.
    #[serde(rename = "=")]
    Whole(Value),
    /// Members of an object that changed or are new, and those that are gone.
    #[serde(rename = "{")]
    Object(BTreeMap<String, Change>, Vec<String>),
    /// Elements of a list that stays as long as it is, by their places.
    #[serde(rename = "[")]
    Elements(Vec<(usize, Change)>),
    /// From a place on, so many elements of a list make way for others.
    #[serde(rename = "+")]
    Splice(usize, usize, Vec<Value>),
}

/// A change that does not fit the value it is said to be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the change is not one of the last answer")]
pub struct Misfit;

impl Change {
    /// What makes `new` of `old`; `None` when they are equal.
    #[must_use]
    pub fn between(old: &Value, new: &Value) -> Option<Self> {
        match (old, new) {
            _ if old == new => None,
            (Value::Object(old), Value::Object(new)) => {
                let changed = new.iter().filter_map(|(key, new)| {
                    let change = match old.get(key) {
                        Some(old) => Self::between(old, new)?,
                        None => Self::Whole(new.clone()),
                    };
                    Some((key.clone(), change))
                });
                let gone = old.keys().filter(|key| !new.contains_key(*key)).cloned();
                Some(Self::Object(changed.collect(), gone.collect()))
            }
            (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
                let pairs = old.iter().zip(new).enumerate();
                let changed =
                    pairs.filter_map(|(place, (old, new))| Some((place, Self::between(old, new)?)));
                Some(Self::Elements(changed.collect()))
            }
            (Value::Array(old), Value::Array(new)) => {
                let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
                let (old, new) = (&old[start..], &new[start..]);
                let end = old
                    .iter()
                    .rev()
                    .zip(new.iter().rev())
                    .take_while(|(old, new)| old == new)
                    .count();
                Some(Self::Splice(start, old.len() - end, new[..new.len() - end].to_vec()))
            }
            _ => Some(Self::Whole(new.clone())),
        }
    }

    /// Makes the new value of the old one; after a misfit it is neither.
    ///
    /// # Errors
    /// It is a change of another value.
    pub fn apply(self, value: &mut Value) -> Result<(), Misfit> {
        match (self, value) {
            (Self::Whole(new), value) => *value = new,
            (Self::Object(changed, gone), Value::Object(members)) => {
                for key in gone {
                    members.remove(&key).ok_or(Misfit)?;
                }
                for (key, change) in changed {
                    match (members.get_mut(&key), change) {
                        (Some(member), change) => change.apply(member)?,
                        (None, Self::Whole(new)) => drop(members.insert(key, new)),
                        (None, _) => return Err(Misfit),
                    }
                }
            }
            (Self::Elements(changed), Value::Array(elements)) => {
                for (place, change) in changed {
                    change.apply(elements.get_mut(place).ok_or(Misfit)?)?;
                }
            }
            (Self::Splice(start, gone, new), Value::Array(elements)) => {
                let end =
                    start.checked_add(gone).filter(|end| *end <= elements.len()).ok_or(Misfit)?;
                elements.splice(start..end, new);
            }
            _ => return Err(Misfit),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Few keys and few values, so that two of them have much in common.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4_u64).prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            "[a=\\[\\{+\"]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[ab=+]", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn sent(change: &Change) -> Change {
        serde_json::from_str(&serde_json::to_string(change).unwrap()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn what_is_made_of_the_old_value_and_its_change_is_the_new_one(old in value(), new in value()) {
            let mut made = old.clone();
            if let Some(change) = Change::between(&old, &new) {
                sent(&change).apply(&mut made).unwrap();
            }
            prop_assert_eq!(made, new);
        }

        #[test]
        fn a_change_of_another_value_never_panics(old in value(), new in value(), mut other in value()) {
            if let Some(change) = Change::between(&old, &new) {
                let _ = change.apply(&mut other);
            }
        }
    }

    #[test]
    fn one_counter_is_a_small_change() {
        let old = json!({"devices": [{"name": "a", "counters": [1, 2, 3]}, {"name": "b"}]});
        let new = json!({"devices": [{"name": "a", "counters": [1, 9, 3]}, {"name": "b"}]});
        let change = serde_json::to_string(&Change::between(&old, &new).unwrap()).unwrap();
        assert_eq!(
            change,
            r#"{"{":[{"devices":{"[":[[0,{"{":[{"counters":{"[":[[1,{"=":9}]]}},[]]}]]}},[]]}"#
        );
    }

    #[test]
    fn an_element_that_came_or_went_leaves_the_others_alone() {
        let old = json!(["a", "b", "c", "c"]);
        let new = json!(["a", "x", "b", "c", "c"]);
        assert_eq!(Change::between(&old, &new), Some(Change::Splice(1, 0, vec![json!("x")])));
        assert_eq!(Change::between(&new, &old), Some(Change::Splice(1, 1, vec![])));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (old, change) in [
            (json!([1]), Change::Splice(1, 1, vec![])),
            (json!([1]), Change::Splice(usize::MAX, 2, vec![])),
            (json!([1]), Change::Elements(vec![(1, Change::Whole(json!(2)))])),
            (json!({}), Change::Object(BTreeMap::new(), vec!["a".into()])),
            (json!({}), Change::Object([("a".into(), Change::Elements(vec![]))].into(), vec![])),
            (json!(1), Change::Object(BTreeMap::new(), vec![])),
        ] {
            assert_eq!(change.apply(&mut old.clone()), Err(Misfit), "{old}");
        }
    }
}
