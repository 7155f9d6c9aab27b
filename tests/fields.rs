//! Compares docs/fields.tsv with the program. Each field of the original tools has a column of
//! rdmactl, and a fixture whose committed output shows a value of this column. `tests/golden.rs`
//! compares this output.
#![expect(clippy::expect_used, reason = "a test without its fixtures or its table fails")]

#[path = "support/fields.rs"]
mod table;

use std::fs;
use std::path::Path;

use rdmactl::query::{Counters, Devices, Gids, Listing, Ports, Resources};
use table::{Field, fields};

/// Tools whose fields are in the table.
const TOOLS: [&str; 20] = [
    "ibdev2netdev",
    "ibstat",
    "ibstatus",
    "ibv_devices",
    "ibv_devinfo -v",
    "perfquery",
    "rdma dev",
    "rdma link",
    "rdma resource show",
    "rdma resource show cm_id",
    "rdma resource show cq",
    "rdma resource show ctx",
    "rdma resource show mr",
    "rdma resource show pd",
    "rdma resource show qp",
    "rdma resource show srq",
    "rdma statistic",
    "rdma statistic qp mode",
    "rdma system",
    "show_gids",
];

fn has_column<L: Listing>(id: &str) -> bool {
    L::COLUMNS.iter().any(|column| column.id == id)
}

fn is_in_the_registry(field: &Field) -> bool {
    match field.command.as_str() {
        "devices" => has_column::<Devices>(&field.column),
        "ports" => has_column::<Ports>(&field.column),
        "gids" => has_column::<Gids>(&field.column),
        "counters" => has_column::<Counters>(&field.column),
        "resources" => has_column::<Resources>(&field.column),
        _ => false,
    }
}

/// True if a row of the golden file has a value that is neither absent nor unreadable.
fn is_proven(field: &Field) -> bool {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(&field.fixture);
    let path = folder.join(format!("fields_{}.txt", field.command));
    let transcript = fs::read_to_string(path).expect("RDMACTL_BLESS=1 on the golden test makes it");
    let (_, answer) = transcript.split_once('\n').expect("the command is in the first line");
    let (csv, _) = answer.split_once("--- stderr\n").expect("a transcript");
    let mut rows = csv::Reader::from_reader(csv.as_bytes());
    let heads = rows.headers().expect("a heading").clone();
    let at = |id: &str| heads.iter().position(|head| head == id);
    let column = at(&field.column);
    rows.records().any(|row| {
        let row = row.expect("a row");
        let is_meant = field
            .condition
            .as_ref()
            .is_none_or(|(id, value)| at(id).and_then(|at| row.get(at)) == Some(value));
        let value = column.and_then(|column| row.get(column)).unwrap_or_default();
        is_meant && !matches!(value, "" | "-" | "?")
    })
}

#[test]
fn every_field_of_the_original_tools_is_shown() {
    let fields = fields();
    let line = |field: &Field| format!("{}: {}: {}", field.tool, field.name, field.column);
    let unknown: Vec<String> =
        fields.iter().filter(|field| !is_in_the_registry(field)).map(line).collect();
    assert!(unknown.is_empty(), "no such column:\n{}", unknown.join("\n"));
    let unproven: Vec<String> = fields.iter().filter(|field| !is_proven(field)).map(line).collect();
    assert!(unproven.is_empty(), "no value in the golden file:\n{}", unproven.join("\n"));
    for tool in TOOLS {
        assert!(fields.iter().any(|field| field.tool == tool), "nothing of {tool}");
    }
}
