//! Format of `groups.d/local.cfg` of `ClusterShell`, and of its older `groups`: `compute:
//! n[1-16]`.

use super::{Entry, Group, lines};

/// Returns the groups in the order of their first lines. Lines with the same name are merged.
pub fn read_flat_groups(text: &str) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (line, said) in lines(text) {
        let Some((name, hosts)) = said.split_once(':') else { continue };
        let (name, hosts) = (name.trim(), hosts.trim().to_owned());
        let place = *places.entry(name.to_owned()).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group { name: name.to_owned(), entries: Vec::new() });
        }
        if !hosts.is_empty() {
            groups[place].entries.push(Entry { line, hosts });
        }
    }
    groups
}

#[test]
fn a_group_is_all_its_lines() {
    let text = "# groups\nadm: n0\ncompute: n[1-2]\nempty:\n\nno group\ncompute: n9 # late\n";
    let entry = |line, hosts: &str| Entry { line, hosts: hosts.into() };
    let group = |name: &str, entries| Group { name: name.into(), entries };
    let expected = [
        group("adm", vec![entry(2, "n0")]),
        group("compute", vec![entry(3, "n[1-2]"), entry(7, "n9")]),
        group("empty", Vec::new()),
    ];
    assert_eq!(read_flat_groups(text), expected);
}
