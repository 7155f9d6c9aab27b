use super::escape;
use crate::query::{Column, Listing, Value};

/// One record for each row, for spreadsheets and programs: ids as heading, numbers in their base
/// units (bits per second, bytes, nanoseconds), an empty cell for what is absent, `?` for what is
/// unreadable.
///
/// # Errors
/// The writer fails, which memory does not.
pub fn csv<L: Listing>(
    columns: &[&Column<L>],
    rows: &[L::Row<'_>],
    header: bool,
) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if header {
        writer.write_record(columns.iter().map(|column| column.id))?;
    }
    for row in rows {
        writer.write_record(columns.iter().map(|column| cell(&column.value(row))))?;
    }
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Absent => String::new(),
        Value::Bad(text) => escape(text).into_owned(),
        Value::PerSecond(rate) => rate.to_string(),
        value => match value.number() {
            Some(number) => number.to_string(),
            None => escape(&value.to_string()).into_owned(),
        },
    }
}
