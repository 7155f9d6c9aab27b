//! Groups of `ClusterShell` in YAML (`groups.d/*.yaml`): `source: {group: nodeset or list}`.
//!
//! The parser reads events, not a tree. It accepts no other structure, and no alias can expand.

use saphyr_parser::{Event, Parser};

use super::{Entry, FormatError, Group};

/// Returns the sources of a file with their groups.
///
/// # Errors
/// The text is no valid YAML, or has another structure.
pub fn read_yaml_groups(text: &str) -> Result<Vec<(String, Vec<Group>)>, FormatError> {
    let mut sources: Vec<(String, Vec<Group>)> = Vec::new();
    let mut at = Place::Top;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            FormatError::new(error.marker().line(), format!("invalid YAML: {}", error.info()))
        })?;
        let line = span.start.line();
        at = match (at, event) {
            (
                at,
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd,
            ) => at,
            (Place::Top, Event::MappingStart(..)) | (Place::Groups, Event::MappingEnd) => {
                Place::Sources
            }
            // An empty document has one empty value.
            (Place::Top, Event::Scalar(text, ..)) if is_nothing(&text) => Place::Top,
            (Place::Sources, Event::Scalar(name, ..)) => {
                sources.push((name.into_owned(), Vec::new()));
                Place::Source
            }
            (Place::Sources, Event::MappingEnd) => Place::Top,
            (Place::Source, Event::MappingStart(..)) | (Place::List, Event::SequenceEnd) => {
                Place::Groups
            }
            (Place::Groups, Event::Scalar(name, ..)) => {
                let group = Group { name: name.into_owned(), entries: Vec::new() };
                if let Some((_, groups)) = sources.last_mut() {
                    groups.push(group);
                }
                Place::Group
            }
            (Place::Group, Event::SequenceStart(..)) => Place::List,
            (at @ (Place::Group | Place::List), Event::Scalar(hosts, ..)) => {
                let group = sources.last_mut().and_then(|(_, groups)| groups.last_mut());
                if let Some(group) = group.filter(|_| !is_nothing(&hosts)) {
                    group.entries.push(Entry { line, hosts: hosts.into_owned() });
                }
                if at == Place::Group { Place::Groups } else { Place::List }
            }
            (_, Event::Alias(_)) => {
                return Err(FormatError::new(line, "YAML aliases are not supported")
                    .fix("name the group instead, for example '@group'"));
            }
            _ => {
                return Err(FormatError::new(line, "not a group")
                    .fix("write SOURCE: and, indented below it, GROUP: 'n[1-4]'"));
            }
        };
    }
    Ok(sources)
}

/// Position in the file, which decides what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Sources,
    Source,
    Groups,
    Group,
    List,
}

fn is_nothing(text: &str) -> bool {
    matches!(text, "" | "~" | "null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_a_set_or_a_list_of_sets() {
        let text = "# two\nroles:\n    adm: 'n0'\n    io: '@racks:rack2,n2'\nracks:\n    rack2: n[4-5]\n    \
                    rack5:\n        - 'n[200-205]'  # five\n        - n245\n    none:\n";
        let entry = |line, hosts: &str| Entry { line, hosts: hosts.into() };
        let group = |name: &str, entries| Group { name: name.into(), entries };
        let expected = vec![
            (
                "roles".to_owned(),
                vec![
                    group("adm", vec![entry(3, "n0")]),
                    group("io", vec![entry(4, "@racks:rack2,n2")]),
                ],
            ),
            (
                "racks".to_owned(),
                vec![
                    group("rack2", vec![entry(6, "n[4-5]")]),
                    group("rack5", vec![entry(8, "n[200-205]"), entry(9, "n245")]),
                    group("none", Vec::new()),
                ],
            ),
        ];
        assert_eq!(read_yaml_groups(text), Ok(expected));
        assert_eq!(read_yaml_groups("# nothing\n"), Ok(Vec::new()));
        assert_eq!(read_yaml_groups("---\n"), Ok(Vec::new()));
    }

    #[test]
    fn anything_else_is_refused_with_its_line() {
        let table = [
            ("a:\n  b: [1\n", 3, "invalid YAML"),
            ("- a\n", 1, "not a group"),
            ("a: n1\n", 1, "not a group"),
            ("a:\n  b:\n    c: n1\n", 3, "not a group"),
            ("a:\n  b: [[n1]]\n", 2, "not a group"),
            ("a:\n  b: &x [n1]\n  c: *x\n", 3, "aliases"),
            ("a:\n  [b]: n1\n", 2, "not a group"),
        ];
        for (text, line, said) in table {
            let error = read_yaml_groups(text).unwrap_err();
            assert!(error.line == line && error.message.contains(said), "{text}: {error:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(read_yaml_groups(&deep).is_err());
    }
}
