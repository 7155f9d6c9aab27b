//! docs/fields.tsv: the fields of the original tools, each with its column and a fixture that has
//! a value.

use std::collections::BTreeSet;
use std::fs;

/// Path of the table.
const FIELDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/fields.tsv");

/// Line of the table.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "not every test that reads the table needs all of it")]
pub(crate) struct Field {
    /// Tool that prints the field.
    pub(crate) tool: String,
    /// Name of the field in the output of the tool.
    pub(crate) name: String,
    /// Listing of rdmactl that shows the field.
    pub(crate) command: String,
    /// Column of the listing.
    pub(crate) column: String,
    /// Column and value that select the rows with the field; `None` if all rows have it.
    pub(crate) condition: Option<(String, String)>,
    /// Fixture whose committed output has a value of the field.
    pub(crate) fixture: String,
}

/// Returns all lines of the table.
pub(crate) fn fields() -> Vec<Field> {
    let table = fs::read_to_string(FIELDS).expect("the table");
    let field = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let cells: [&str; 6] = cells.try_into().expect("six cells");
        let [tool, name, command, column, condition, fixture] = cells;
        let part = |(column, value): (&str, &str)| (column.to_owned(), value.to_owned());
        Field {
            tool: tool.into(),
            name: name.into(),
            command: command.into(),
            column: column.into(),
            condition: condition.split_once('=').map(part),
            fixture: fixture.into(),
        }
    };
    table.lines().filter(|line| !line.starts_with('#')).map(field).collect()
}

/// Returns the commands that print the fields with a value in a fixture, as CSV: name of the
/// golden file, and arguments before `--from`.
#[allow(dead_code, reason = "one test prints, the other reads")]
pub(crate) fn cases(fixture: &str) -> Vec<(String, Vec<String>)> {
    let fields: Vec<Field> =
        fields().into_iter().filter(|field| field.fixture == fixture).collect();
    let commands: BTreeSet<&String> = fields.iter().map(|field| &field.command).collect();
    let case = |command: &String| {
        let of_command = fields.iter().filter(|field| field.command == *command);
        let columns: BTreeSet<&str> = of_command
            .flat_map(|field| {
                let condition = field.condition.as_ref().map(|(column, _)| column.as_str());
                condition.into_iter().chain([field.column.as_str()])
            })
            .collect();
        let columns = columns.into_iter().collect::<Vec<_>>().join(",");
        let mut args = vec![command.clone()];
        if command == "counters" {
            args.push("--all".into());
        }
        args.extend(["--format", "csv", "-o", &columns].map(str::to_owned));
        (format!("fields_{command}"), args)
    };
    commands.into_iter().map(case).collect()
}
