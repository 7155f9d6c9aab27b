//! Names of nodes: from the node name map, else from the node description.
//!
//! Used by every tool that prints names of nodes.

use std::collections::HashMap;

use crate::compat::file_reader::strerror;
use crate::compat::number::parse_any;
use crate::compat::{Job, Transcript};

/// Map that is used if the command line names none.
const DEFAULT: &str = "/etc/rdma/ib-node-name-map";

/// Names by node GUID.
#[derive(Debug, Default)]
pub(crate) struct NodeNames(HashMap<u64, String>);

impl NodeNames {
    /// Reads a map. If the map cannot be read, prints a warning and returns no names.
    pub(crate) fn read(job: &Job<'_>, path: Option<&str>, out: &mut Transcript) -> Self {
        let is_named = path.is_some();
        let path = path.unwrap_or(DEFAULT);
        match job.reading.operator_file(path) {
            Ok(text) => Self::parse(&text).unwrap_or_else(|line| {
                out.warn(format!("WARNING failed to parse node name map \"{path}\"\n"));
                out.warn(format!("WARNING failed line: \"{line}\"\n"));
                Self::default()
            }),
            Err(error) => {
                if is_named {
                    let why = strerror(&error);
                    out.warn(format!("WARNING failed to open node name map \"{path}\" ({why})\n"));
                }
                Self::default()
            }
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut names = HashMap::new();
        for line in text.lines() {
            let start = line.trim_start();
            if start.is_empty() || start.starts_with('#') {
                continue;
            }
            let end = start.find(|it: char| !it.is_ascii_alphanumeric()).unwrap_or(start.len());
            let (guid, rest) = start.split_at(end);
            let follows = rest.chars().next();
            if !guid.starts_with(|it: char| it.is_ascii_digit())
                || follows.is_some_and(|it| !it.is_whitespace() && it != '#')
            {
                return Err(line.to_owned());
            }
            let name = rest.trim_start().trim_start_matches(['"', '#']);
            let name = name.split(['"', '#']).next().unwrap_or_default();
            if !name.is_empty() {
                names.entry(parse_any(guid)).or_insert_with(|| name.to_owned());
            }
        }
        Ok(Self(names))
    }

    pub(crate) fn name(&self, guid: u64, description: &[u8]) -> String {
        self.0.get(&guid).cloned().unwrap_or_else(|| clean(description))
    }
}

/// Returns a description up to its first zero byte, with spaces for non-printable bytes.
pub(crate) fn clean(description: &[u8]) -> String {
    let bytes = description.iter().take_while(|byte| **byte != 0);
    bytes.map(|byte| if (b' '..=b'~').contains(byte) { char::from(*byte) } else { ' ' }).collect()
}

#[test]
fn a_map_has_names_and_a_description_is_cleaned() {
    let names = NodeNames::parse("# map\n\n0x10 \"spine 1\" # rack\n0x11 leaf\n").unwrap();
    assert_eq!(names.name(0x10, b"raw"), "spine 1");
    assert_eq!(names.name(0x11, b"raw"), "leaf");
    assert_eq!(names.name(0x12, b"a\x1b[31mb\0c"), "a [31mb");
    assert!(NodeNames::parse("leaf 0x11\n").is_err());
}
