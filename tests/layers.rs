//! Imports between modules. The table `src/layers.txt` lists exactly the `crate::` paths in src/,
//! and neither the modules nor the submodules of a module have a cycle.
#![expect(clippy::expect_used, reason = "a test without its sources fails")]

#[path = "layers/cycles.rs"]
mod cycles;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Returns the modules that each module may use.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(source().join("layers.txt")).expect("layers.txt");
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| {
            let (module, uses) = line.split_once(':').expect("module: uses");
            let uses = uses.split_whitespace().map(str::to_owned);
            (module.trim().to_owned(), uses.chain([module.trim().to_owned()]).collect())
        })
        .collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Returns the modules that are named after `crate::`, also in braces: `crate::{a::B, c}`.
fn used(text: &str) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for rest in text.split("crate::").skip(1) {
        let word = |text: &str| -> String {
            text.trim()
                .chars()
                .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                .collect()
        };
        let Some(group) = rest.strip_prefix('{') else {
            modules.insert(word(rest));
            continue;
        };
        let mut depth = 1;
        let mut item = String::new();
        for letter in group.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || (depth == 1 && letter == ',') {
                modules.insert(word(&item));
                item.clear();
            } else {
                item.push(letter);
            }
            if depth == 0 {
                break;
            }
        }
    }
    modules.retain(|module| module.chars().next().is_some_and(char::is_lowercase));
    modules
}

#[test]
fn the_table_has_every_edge_and_no_other() {
    let allowed = allowed();
    let mut found = Vec::new();
    files(&source(), &mut found);
    let mut wrong = Vec::new();
    let mut unused = allowed.clone();
    for path in found {
        let inside = path.strip_prefix(source()).expect("a source");
        let first = inside.iter().next().expect("a part").to_string_lossy();
        let module = first.trim_end_matches(".rs");
        assert_ne!(path.file_name().expect("a name"), "mod.rs", "{}", path.display());
        if matches!(module, "lib" | "main") {
            continue;
        }
        let Some(may_use) = allowed.get(module) else {
            wrong.push(format!("{module} is not in layers.txt"));
            continue;
        };
        let text = fs::read_to_string(&path).expect("a source");
        for other in used(&text) {
            if let Some(uses) = unused.get_mut(module) {
                uses.remove(&other);
            }
            if !allowed.contains_key(&other) {
                wrong.push(format!("{}: {other} is not in layers.txt", inside.display()));
            } else if !may_use.contains(&other) {
                wrong.push(format!("{}: {module} may not use {other}", inside.display()));
            }
        }
    }
    for (module, mut uses) in unused {
        uses.remove(&module);
        wrong.extend(uses.iter().map(|other| format!("{module} does not use {other}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_allowed_edges_have_no_circle() {
    let mut left = allowed();
    while !left.is_empty() {
        let before = left.len();
        let names: BTreeSet<String> = left.keys().cloned().collect();
        left.retain(|module, uses| {
            uses.iter().any(|other| other != module && names.contains(other))
        });
        assert!(left.len() < before, "a circle among {names:?}");
    }
}

#[test]
fn grouped_paths_are_seen() {
    let text = "use crate::{model::{A, B}, sys}; crate::clock::now(); $crate::wire::x";
    let seen: Vec<String> = used(text).into_iter().collect();
    assert_eq!(seen, ["clock", "model", "sys", "wire"]);
}

#[test]
fn submodules_have_no_cycle() {
    let mut paths = Vec::new();
    files(&source(), &mut paths);
    let texts: Vec<(String, String)> = paths
        .into_iter()
        .map(|path| {
            let inside = path.strip_prefix(source()).expect("a source");
            (inside.to_string_lossy().into_owned(), fs::read_to_string(&path).expect("a source"))
        })
        .collect();
    let found = cycles::cycles(texts.iter().map(|(file, text)| (file.as_str(), text.as_str())));
    assert!(found.is_empty(), "these uses are part of a cycle:\n{}", found.join("\n"));
}

#[test]
fn a_cycle_of_submodules_is_found() {
    let lib = ("lib.rs", "pub mod net;");
    let net = ("net.rs", "mod a; mod b; mod c; pub use b::{Deep, Item as Renamed};");
    let found = |a, b, c| {
        cycles::cycles([
            lib,
            net,
            ("net/a.rs", a),
            ("net/b.rs", b),
            ("net/b/deep.rs", ""),
            ("net/c.rs", c),
        ])
    };
    // Each of these texts of `a` uses `b`, which uses `a`.
    for text in [
        "use super::b;",
        "use super::{c, b::Item};",
        "use crate::net::b::deep::{self, Other};",
        "use super::Renamed;",
        "use super::super::net::Renamed as Other;",
        "fn f() { let _ = crate::net::b::item(); }",
        "fn f() { println!(\"{}\", super::b::ITEM); }",
        "#[serde(with = \"super::b\")] struct A;",
        "mod inner { use super::super::b::Item; }",
    ] {
        let cycle = ["net: a -> b (net/a.rs)", "net: b -> a (net/b.rs)"];
        assert_eq!(found(text, "mod deep; fn f(a: super::a::A) {}", ""), cycle, "{text}");
    }
    let three = ["net: a -> b (net/a.rs)", "net: b -> c (net/b.rs)", "net: c -> a (net/c.rs)"];
    let (a, b, c) = ("use super::b::B;", "use super::c::C;", "use super::Renamed;");
    assert_eq!(found(a, b, "use super::a::A;"), three);
    assert_eq!(found(a, b, c).len(), 2, "c uses b through net");
}

#[test]
fn submodules_that_use_each_other_one_way_have_no_cycle() {
    let lib = ("lib.rs", "mod net;");
    let net = ("net.rs", "mod a; mod b; use a::A; struct Own; fn f(b: b::B) {}");
    // `b` uses `a`; none of these texts of `a` is a use of `b`.
    for text in [
        "// super::b::B",
        "/// Uses [`super::b::B`].\nstruct A;",
        "const A: &str = \"super::b::B\";",
        "use super::Own;",
        "pub(in super::b) struct A;",
        "#[cfg(test)] mod tests { use super::super::b::B; }",
        "#[test] fn b_works() { super::b::b(); }",
        "#[cfg(test)] use super::b::B;",
        "use std::b;",
        "struct A; impl A { #[cfg(test)] fn new() -> super::b::B {} }",
    ] {
        let a = format!("#[cfg(test)] mod tests;\n{text}");
        let tests = ("net/a/tests.rs", "use super::super::b::B;");
        let files = [lib, net, ("net/a.rs", &a), tests, ("net/b.rs", "use super::A;")];
        assert_eq!(cycles::cycles(files), [""; 0], "{text}");
    }
}
