//! Finds cycles between the direct submodules of a module, in the tokens of the sources.
//!
//! Comments, visibilities and test code do not count as uses. Names are resolved through `use`
//! items. So an item that the parent re-exports counts as a use of the submodule that defines the
//! item. `tests/layers.rs` uses this module.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Names from the root of the crate, or as written in the source.
type Path = Vec<String>;

/// Submodules that each submodule uses, with the names of the files that contain the use.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Maximum number of re-exports between a name and its item. More re-exports are a cycle of
/// names.
const MAX_REEXPORTS: usize = 8;

/// Paths of a module.
#[derive(Default)]
struct Module {
    file: String,
    /// Paths in `use` items and in code, as written.
    paths: BTreeSet<Path>,
    /// Path of each name that a `use` item brings into the module.
    imports: BTreeMap<String, Path>,
}

/// Modules by path.
#[derive(Default)]
struct Modules {
    all: BTreeMap<Path, Module>,
    /// Modules that are compiled for tests only.
    tests: Vec<Path>,
}

/// Returns the uses that are part of a cycle, as `parent: one -> other (files)`. `files` are the
/// names of files in `src` with their texts.
pub(super) fn cycles<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut modules = Modules::default();
    for (file, text) in files {
        let name = file.trim_end_matches(".rs");
        let path: Path = match name {
            "main" => continue,
            "lib" => Path::new(),
            name => name.split('/').map(str::to_owned).collect(),
        };
        let tokens: TokenStream = text.parse().expect(file);
        file.clone_into(&mut modules.module(&path).file);
        modules.read(&path, tokens);
    }
    let tests = std::mem::take(&mut modules.tests);
    modules.all.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
    let mut found = Vec::new();
    for (parent, uses) in modules.uses() {
        let parent = if parent.is_empty() { "crate".to_owned() } else { parent.join("::") };
        for (one, others) in &uses {
            for (other, files) in others.iter().filter(|(other, _)| reaches(&uses, other, one)) {
                let files: Vec<&str> = files.iter().map(String::as_str).collect();
                found.push(format!("{parent}: {one} -> {other} ({})", files.join(", ")));
            }
        }
    }
    found
}

/// True if one submodule uses another, directly or through others.
fn reaches(uses: &Uses, one: &str, other: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![one]);
    while let Some(name) = next.pop() {
        if name == other {
            return true;
        }
        if seen.insert(name) {
            next.extend(uses.get(name).into_iter().flatten().map(|(used, _)| used.as_str()));
        }
    }
    false
}

impl Modules {
    fn module(&mut self, path: &Path) -> &mut Module {
        self.all.entry(path.clone()).or_default()
    }

    /// Adds the paths of a module and of the modules in its braces.
    fn read(&mut self, module: &Path, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = &tokens[at + 1..];
            at += 1;
            match (token, rest) {
                (TokenTree::Punct(mark), [TokenTree::Group(attribute), rest @ ..])
                    if mark.as_char() == '#' =>
                {
                    at += 1;
                    let text = attribute.stream().to_string();
                    if text == "test" || text.replace(' ', "") == "cfg(test)" {
                        at += self.skip_test(module, rest);
                    } else if !text.starts_with("doc") {
                        self.read(module, without_quotes(attribute.stream()));
                    }
                }
                (TokenTree::Ident(word), [TokenTree::Group(place), ..])
                    if word == "pub" && is_restriction(place.stream()) =>
                {
                    at += 1;
                }
                (TokenTree::Ident(word), [TokenTree::Ident(_), ..]) if word == "use" => {
                    let length = rest.iter().position(|token| is_mark(token, ';')).unwrap_or(0);
                    self.read_use(module, &Path::new(), &rest[..length]);
                    at += length;
                }
                (TokenTree::Ident(word), [TokenTree::Ident(name), TokenTree::Group(body), ..])
                    if word == "mod" =>
                {
                    let mut inner = module.clone();
                    inner.push(name.to_string());
                    let file = self.all[module].file.clone();
                    self.module(&inner).file = file;
                    self.read(&inner, body.stream());
                    at += 2;
                }
                (TokenTree::Ident(_), _) => {
                    let path = path_at(&tokens[at - 1..]);
                    at += (path.len() - 1) * 3;
                    if path.len() > 1 {
                        self.module(module).paths.insert(path);
                    }
                }
                (TokenTree::Group(group), _) => self.read(module, group.stream()),
                _ => {}
            }
        }
    }

    /// Returns the number of tokens of an item of test code.
    fn skip_test(&mut self, module: &Path, tokens: &[TokenTree]) -> usize {
        let is_end = |token: &TokenTree| match token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            other => is_mark(other, ';'),
        };
        let length = tokens.iter().position(is_end).map_or(tokens.len(), |end| end + 1);
        if let [.., TokenTree::Ident(word), TokenTree::Ident(name), end] = &tokens[..length]
            && word == "mod"
            && is_mark(end, ';')
        {
            self.tests.push(module.iter().cloned().chain([name.to_string()]).collect());
        }
        length
    }

    /// Adds the paths of a `use` item, or of its braces, with a prefix.
    fn read_use(&mut self, module: &Path, prefix: &Path, trees: &[TokenTree]) {
        for tree in trees.split(|token| is_mark(token, ',')) {
            let mut path = prefix.clone();
            let mut words = tree.iter();
            let mut alias = None;
            while let Some(token) = words.next() {
                match token {
                    TokenTree::Ident(word) if word == "as" => {
                        alias = words.next().map(ToString::to_string);
                    }
                    TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                    TokenTree::Ident(word) => path.push(word.to_string()),
                    TokenTree::Group(group) => {
                        let trees: Vec<TokenTree> = group.stream().into_iter().collect();
                        self.read_use(module, &path, &trees);
                        path.clear();
                    }
                    _ => {}
                }
            }
            if let Some(last) = path.last() {
                let name = alias.unwrap_or_else(|| last.clone());
                let module = self.module(module);
                module.paths.insert(path.clone());
                module.imports.insert(name, path);
            }
        }
    }

    /// Returns the uses between the submodules of each module.
    fn uses(&self) -> BTreeMap<Path, Uses> {
        let mut all: BTreeMap<Path, Uses> = BTreeMap::new();
        for (user, module) in &self.all {
            let resolved = module.paths.iter().filter_map(|path| self.resolve(user, path, 0));
            for used in resolved {
                let same = user.iter().zip(&used).take_while(|(one, other)| one == other).count();
                if let (Some(one), Some(other)) = (user.get(same), used.get(same)) {
                    let uses = all.entry(user[..same].to_vec()).or_default();
                    let files = uses.entry(one.clone()).or_default().entry(other.clone());
                    files.or_default().insert(module.file.clone());
                }
            }
        }
        all
    }

    /// Returns the module that has the item of a path; `None` for a path of another crate.
    fn resolve(&self, from: &Path, path: &[String], reexports: usize) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let (mut module, mut rest) = match first.as_str() {
            "crate" => (Path::new(), rest),
            "self" | "super" => (from.clone(), path),
            name if self.all.contains_key(&child(from, name)) => (from.clone(), path),
            name => return self.imported(from, name, rest, reexports),
        };
        while let Some((name, behind)) = rest.split_first() {
            match name.as_str() {
                "self" => {}
                "super" => drop(module.pop()),
                name if self.all.contains_key(&child(&module, name)) => {
                    module.push(name.to_owned());
                }
                name => {
                    let imported = self.imported(&module, name, behind, reexports);
                    return Some(imported.unwrap_or(module));
                }
            }
            rest = behind;
        }
        Some(module)
    }

    /// Resolves a name that a `use` item brings into a module, and the names after it.
    fn imported(
        &self,
        module: &Path,
        name: &str,
        behind: &[String],
        reexports: usize,
    ) -> Option<Path> {
        let import = self.all.get(module)?.imports.get(name)?;
        let path = [import, behind].concat();
        if reexports == MAX_REEXPORTS { None } else { self.resolve(module, &path, reexports + 1) }
    }
}

fn child(module: &Path, name: &str) -> Path {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

/// True for the parentheses in `pub(crate)` and `pub(in crate::model)`, but not for a tuple
/// field.
fn is_restriction(place: TokenStream) -> bool {
    let first = place.into_iter().next().map(|token| token.to_string());
    first.is_some_and(|word| matches!(word.as_str(), "crate" | "self" | "super" | "in"))
}

/// Returns the path that starts with the first token.
fn path_at(tokens: &[TokenTree]) -> Path {
    let mut path = Path::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(name), behind @ ..] = rest {
        path.push(name.to_string());
        match behind {
            [one, other, behind @ ..] if is_mark(one, ':') && is_mark(other, ':') => rest = behind,
            _ => break,
        }
    }
    path
}

/// Returns the tokens of an attribute with the tokens of its strings, which may be paths:
/// `#[serde(with = "super::words")]`.
fn without_quotes(attribute: TokenStream) -> TokenStream {
    let token = |token: TokenTree| match token {
        TokenTree::Literal(literal) => {
            literal.to_string().trim_matches('"').parse().unwrap_or_default()
        }
        TokenTree::Group(group) => without_quotes(group.stream()),
        other => TokenStream::from(other),
    };
    attribute.into_iter().map(token).collect()
}
