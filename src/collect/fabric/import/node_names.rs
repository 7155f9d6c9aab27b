//! Reads node name maps of infiniband-diags: lines of a GUID and a name in quotation marks.

use std::collections::HashMap;

use super::ImportError;

/// Parses a node name map. Returns names by the GUIDs of their nodes. A line that starts with `#`
/// is a comment.
///
/// # Errors
/// A line has no GUID or no name.
pub fn parse_node_names(text: &str) -> Result<HashMap<u64, String>, ImportError> {
    let mut names = HashMap::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (guid, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let digits = guid.strip_prefix("0x").unwrap_or(guid);
        let name = name.trim().trim_matches('"');
        match u64::from_str_radix(digits, 16) {
            Ok(guid) if !name.is_empty() => names.insert(guid, name.to_owned()),
            _ => return Err(ImportError::new(at + 1, "no GUID and name")),
        };
    }
    Ok(names)
}

#[test]
fn names_are_read_by_their_guids() {
    let text = "# map\n\n0x0002c90200000001 \"leaf001\"\nb83fd203 spine 1 \n";
    let names = parse_node_names(text).unwrap();
    assert_eq!(names[&0x0002_c902_0000_0001], "leaf001");
    assert_eq!((names[&0xb83f_d203].as_str(), names.len()), ("spine 1", 2));
}

#[test]
fn a_line_without_a_guid_or_a_name_is_named() {
    for text in ["\nleaf001", "#\n0x1", "\n0x1 \"\"", "\n0x12345678123456781 x", "\n-1 x"] {
        let error = parse_node_names(text).unwrap_err();
        assert_eq!(error.to_string(), "line 2: no GUID and name", "{text}");
    }
}
