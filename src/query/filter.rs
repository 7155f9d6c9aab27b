//! Filters rows by an expression: `--where 'state!=active and rate<400G'`.
//!
//! Words name columns as in `-o`. Numbers are compared by size, text without regard to case. A
//! word without a comparison is searched in every cell. `cmd` and `tui` use this module.

mod error;
mod parse;
mod quantity;

use std::cmp::Ordering;

pub use error::FilterError;

use super::{Column, Listing, Value, Words, is_live};
use crate::model::Parts;
use crate::names;
use quantity::Quantity;

/// A filter expression for rows of a listing.
pub struct Filter<L: Listing>(Condition<L>);

enum Condition<L: Listing> {
    All(Vec<Condition<L>>),
    Any(Vec<Condition<L>>),
    Not(Box<Condition<L>>),
    Cell(&'static Column<L>, Relation, Operand),
    /// A word that some cell of the row contains.
    Somewhere(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Operand {
    /// In lower case.
    text: String,
    quantity: Option<Quantity>,
}

impl<L: Listing> Filter<L> {
    /// Parses an expression.
    ///
    /// # Errors
    /// The expression is invalid. The error contains the position.
    pub fn parse(expression: &str) -> Result<Self, FilterError> {
        parse::parse(expression, |_| true).map(Self)
    }

    /// Parses an expression for `rdmactl top`, which reads fewer parts of a report than a
    /// listing.
    ///
    /// # Errors
    /// The expression is invalid, or names a column that `top` cannot fill.
    pub fn parse_live(expression: &str) -> Result<Self, FilterError> {
        parse::parse(expression, is_live).map(Self)
    }

    /// True if a row matches.
    pub fn matches(&self, row: &L::Row<'_>) -> bool {
        self.0.holds(row)
    }

    /// Returns the word if the whole expression is one word, which is searched in every cell.
    pub fn word(&self) -> Option<&str> {
        match &self.0 {
            Condition::Somewhere(word) => Some(word),
            _ => None,
        }
    }

    /// Returns the parts of a report that the columns of the expression need.
    pub fn parts(&self) -> Parts {
        let mut parts = Parts::default();
        self.0.each_column(&mut |column| parts.extend(column.parts()));
        parts
    }
}

impl<L: Listing> Condition<L> {
    fn holds(&self, row: &L::Row<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(row)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(row)),
            Self::Not(part) => !part.holds(row),
            Self::Cell(column, relation, operand) => {
                let has_numbers = matches!(column.words(), Words::Number(_));
                operand.accepts(*relation, &column.value(row), has_numbers)
            }
            Self::Somewhere(word) => L::COLUMNS
                .iter()
                .any(|column| column.value(row).to_string().to_lowercase().contains(word)),
        }
    }

    fn each_column(&self, visit: &mut dyn FnMut(&Column<L>)) {
        match self {
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.each_column(visit);
                }
            }
            Self::Not(part) => part.each_column(visit),
            Self::Cell(column, ..) => visit(column),
            // A word is searched in all columns, but requests no part of a report.
            Self::Somewhere(_) => {}
        }
    }
}

impl Operand {
    /// True if the comparison holds. An absent (`-`) or unreadable (`?`) value has no order,
    /// because an unknown size is neither small nor large. Neither has a word of a column with
    /// numbers, such as `reset`, relative to a number.
    fn accepts(&self, relation: Relation, value: &Value, has_numbers: bool) -> bool {
        let text = match value {
            Value::Bad(text) => text.to_lowercase(),
            Value::BadInt(number) => number.to_string(),
            value => value.to_string().to_lowercase(),
        };
        let numbers = value.thousandths().zip(self.quantity);
        let of_numbers = numbers.map(|(mine, theirs)| mine.cmp(&theirs.thousandths_for(value)));
        // A number that is compared with a word has no order.
        let is_text = !value.is_unknown()
            && value.number().is_none()
            && !(has_numbers && self.quantity.is_some());
        let order = of_numbers.or_else(|| is_text.then(|| names::compare(&text, &self.text)));
        match relation {
            Relation::Contains => text.contains(&self.text),
            Relation::Equal => of_numbers.map_or(text == self.text, Ordering::is_eq),
            Relation::Less => order.is_some_and(Ordering::is_lt),
            Relation::LessOrEqual => order.is_some_and(Ordering::is_le),
            Relation::Greater => order.is_some_and(Ordering::is_gt),
            Relation::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceRow, Devices, device_rows};
    use super::*;
    use crate::model::{HostReport, Port, PortState, Via};

    fn report() -> HostReport {
        let mut report = HostReport::empty("n17", Via::Local);
        let port = |number: u32, state: &str, rate: Option<u64>| serde_json::json!({ "number": number, "state": state, "rate_bps": rate, "gids": [] });
        let device = serde_json::json!({
            "name": "mlx5_0",
            "ports": [port(1, "active", Some(400_000_000_000)), port(2, "init", None)],
        });
        report.devices = vec![serde_json::from_value(device).unwrap()];
        report
    }

    fn ports(expression: &str) -> Vec<u32> {
        let filter = Filter::<Devices>::parse(expression).unwrap();
        let reports = [report()];
        let rows: Vec<DeviceRow<'_>> = device_rows(&reports, false);
        let wanted = rows.iter().filter(|row| filter.matches(row));
        wanted.filter_map(|row| row.port).map(|port: &Port| port.number).collect()
    }

    #[test]
    fn words_and_numbers_are_compared_as_what_they_are() {
        assert_eq!(report().devices[0].ports[1].state, Some(PortState::Init));
        assert_eq!(ports("state=active"), [1]);
        assert_eq!(ports("state != ACTIVE"), [2]);
        assert_eq!(ports("rate>=400G"), [1]);
        assert_eq!(ports("rate<400.5"), [1]);
        assert_eq!(ports("rate < 400Gb/s"), [0; 0]);
        assert_eq!(ports("port>1"), [2]);
        assert_eq!(ports("device~mlx"), [1, 2]);
        assert_eq!(ports("device<mlx5_10"), [1, 2]);
    }

    #[test]
    fn a_word_among_numbers_has_no_order() {
        let operand = |text: &str| Operand { text: text.into(), quantity: quantity::parse(text) };
        let reset = Value::Bad("reset".into());
        for relation in [Relation::Less, Relation::Greater, Relation::GreaterOrEqual] {
            assert!(!operand("5").accepts(relation, &reset, true), "{relation:?}");
        }
        assert!(operand("reset").accepts(Relation::Equal, &reset, true));
        assert!(operand("5").accepts(Relation::Greater, &Value::Text("n17".into()), false));
        assert!(operand("1").accepts(Relation::Greater, &Value::bad_count(2), true));
        assert!(operand("2").accepts(Relation::Equal, &Value::bad_count(2), true));
    }

    #[test]
    fn unknown_rate_does_not_match_a_less_than_filter() {
        assert_eq!(ports("rate<1T"), [1]);
        assert_eq!(ports("rate=-"), [2]);
        assert_eq!(ports("rate!=400G"), [2]);
    }

    #[test]
    fn conditions_are_joined() {
        assert_eq!(ports("state=active or port=2"), [1, 2]);
        assert_eq!(ports("state=active and port=2"), [0; 0]);
        assert_eq!(ports("state=active port=1"), [1]);
        assert_eq!(ports("!(state=active) and !port=1"), [2]);
        assert_eq!(ports("state=active || state=init && port=2"), [1, 2]);
        assert_eq!(ports("init"), [2]);
        assert_eq!(ports("'400 Gb'"), [1]);
    }

    const TYPES: &str = "TYPE is one of: ca, switch, router, rnic, usnic, usnic_udp, unspecified";

    #[test]
    fn a_word_that_a_column_cannot_have_is_a_mistake() {
        let error = Filter::<Devices>::parse("port=1 and state==aktive").err().unwrap();
        assert_eq!(error.at, 18);
        assert_eq!(
            error.what,
            "STATE is one of: NOP, DOWN, INIT, ARMED, ACTIVE, ACTIVE_DEFER, gone, or the reason of a host \
             that did not respond: timeout, refused, ..."
        );
        for possible in [
            "state==ACTIVE",
            "state~activ",
            "state!=timeout",
            "state=-",
            "state=?",
            "rate=?",
            "rate!=-",
            "rate~40",
            "port.rate_bps>=2.5gb/s",
            "driver==mlx5",
            "lid=0x3a4",
            "state<init",
        ] {
            assert!(Filter::<Devices>::parse(possible).is_ok(), "{possible}");
        }
        assert!(Filter::<super::super::Counters>::parse("delta==reset").is_ok());
        assert!(Filter::<super::super::Counters>::parse("delta==set").is_err());
        assert!(Filter::<super::super::LiveHosts>::parse("ports=7/8").is_ok());
        for possible in ["kind==\"RoCE v2\"", "kind==roce_v2", "kind!=roce_v1"] {
            assert!(Filter::<super::super::Gids>::parse(possible).is_ok(), "{possible}");
        }
        let error = Filter::<super::super::Gids>::parse("kind==RoCE v2").err().unwrap();
        assert_eq!(error.what, "KIND is one of: IB, \"RoCE v1\", \"RoCE v2\"");
    }

    #[test]
    fn a_mistake_is_pointed_at() {
        for (expression, at, what) in [
            ("", 0, "expected a filter expression"),
            ("state=", 6, "expected a value"),
            ("speed=4", 0, "no column speed"),
            ("state=active and", 16, "expected a filter expression"),
            ("(state=active", 13, "expected )"),
            ("state=active)", 12, "unmatched )"),
            ("'state", 0, "this quote is not closed"),
            ("= 4", 0, "expected a filter expression"),
            ("rate>slow", 5, "RATE is a number; write for example 4096, 0x3a4 or 400G"),
            ("port.number == one", 15, "PORT is a number; write for example 4096, 0x3a4 or 400G"),
            ("type=switches", 5, TYPES),
            ("type~swotch", 5, TYPES),
        ] {
            let error = Filter::<Devices>::parse(expression).err().unwrap();
            assert_eq!((error.at, error.what.as_str()), (at, what), "{expression}");
        }
    }

    #[test]
    fn deeply_nested_filter_is_an_error() {
        let deep = "(".repeat(100_000);
        assert!(Filter::<Devices>::parse(&deep).err().unwrap().what.contains("too deep"));
        let long = "!".repeat(100_000);
        assert!(Filter::<Devices>::parse(&long).err().unwrap().what.contains("too deep"));
    }
}
