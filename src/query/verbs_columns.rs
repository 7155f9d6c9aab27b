//! Declares the columns of the attributes that libibverbs returns of a device. Ids and headings
//! are the names of the fields. `devices` gives the columns an order.

use super::column::Listing;
use super::place_columns::HasPort;
use super::{Align, Column, ShowCondition, Value, ValueMeaning};
use crate::model::{VerbsDevice, verbs_device_fields, verbs_extended_fields};

/// Declares a function for each field that has a column, as `place_columns` does.
macro_rules! columns {
    (
        ($id:literal |$verbs:ident| $place:expr)
        $(
            $(#[$field_meta:meta])*
            $field:ident $(($default:ident))?: $type:ty $(= $($path:ident).+)?
                $(, $column:ident $help:literal)?;
        )*
    ) => {
        $(columns! { @field
            $field ($id) ($($column $help)?) |$verbs| columns!(@value ($($default)?) $place.$field)
        })*
    };
    (@field $field:ident ($id:literal) () $get:expr) => {};
    (@field $field:ident ($id:literal) ($column:ident $help:literal) $get:expr) => {
        #[doc = $help]
        pub(super) const fn $field<L: Listing>() -> Column<L>
        where
            for<'report> L::Row<'report>: HasPort,
        {
            const NAME: &str = stringify!($field);
            const TITLE: &[u8] = &upper_case::<{ NAME.len() }>(NAME);
            Column {
                id: concat!($id, stringify!($field)),
                title: text(TITLE),
                align: Align::Right,
                shown: ShowCondition::Asked,
                meaning: ValueMeaning::Plain,
                help: $help,
                sources: &[&["verbs"]],
                get: |row| $column(row, $get),
            }
        }
    };
    (@value (default) $value:expr) => { $value };
    (@value () $value:expr) => { Some($value) };
}

verbs_device_fields!(columns "device.verbs." |verbs| verbs);
verbs_extended_fields!(columns "device.verbs.extended." |verbs| verbs.extended.as_ref()?);

const fn upper_case<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
    let mut title = [0; LENGTH];
    title.copy_from_slice(name.as_bytes());
    title.make_ascii_uppercase();
    title
}

const fn text(title: &[u8]) -> &str {
    match std::str::from_utf8(title) {
        Ok(text) => text,
        Err(_) => "",
    }
}

fn verbs(row: &impl HasPort) -> Option<&VerbsDevice> {
    row.place().device.and_then(|device| device.verbs.as_ref())
}

pub(super) fn number<N: TryInto<i64>>(
    row: &impl HasPort,
    get: impl Fn(&VerbsDevice) -> Option<N>,
) -> Value {
    Value::int(verbs(row).and_then(get))
}

pub(super) fn mask<N: Into<u64>>(
    row: &impl HasPort,
    get: impl Fn(&VerbsDevice) -> Option<N>,
) -> Value {
    Value::hex(verbs(row).and_then(get))
}
