//! Finds which file of a crate uses which: reads the crate's modules, and the paths in them that lead to
//! another file.
//!
//! A use is a path in code that isn't for tests only: in a `use`, a type, an expression, a pattern or a
//! macro's arguments. It counts for the file that defines the name, so re-exports are followed. `mod x;`
//! and `pub use x::Y;` alone are not uses, since a `mod.rs` only lists what it exports. Method calls are
//! not resolved: code that calls a method got the value through a path that counts already.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::source::SourceFile;

/// One use of a file by another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Use {
    /// The file that uses.
    pub from: String,
    /// The file that is used.
    pub to: String,
    /// Where it is first used, from 1.
    pub line: usize,
    /// By which path.
    pub path: String,
}

/// A module: its place in the crate, its file, and the names that it brings in.
#[derive(Debug, Default)]
struct Module {
    file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    // Name to the path that it was brought in by.
    imports: BTreeMap<String, Vec<String>>,
}

/// A path that a module writes.
struct Mention {
    module: usize,
    path: Vec<String>,
    line: usize,
    // A `pub use` counts only if this module also uses the name.
    shows: bool,
}

/// The modules under one crate root.
struct Tree<'a> {
    sources: &'a BTreeMap<&'a str, &'a str>,
    modules: Vec<Module>,
    mentions: Vec<Mention>,
}

/// Roots among `files`: `src/lib.rs`, `src/main.rs` and `src/bin/*.rs` of any crate.
fn is_root(path: &str) -> bool {
    path.ends_with("/src/lib.rs")
        || path.ends_with("/src/main.rs")
        || path
            .rsplit_once('/')
            .is_some_and(|(folder, name)| folder.ends_with("/src/bin") && name.ends_with(".rs"))
}

/// All uses between files of one crate, of each crate that has its root among `files`. One for each pair of
/// files.
///
/// # Errors
/// The file that isn't Rust, and why.
pub fn uses(files: &[SourceFile]) -> Result<Vec<Use>, (String, String)> {
    let sources: BTreeMap<&str, &str> =
        files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let mut all = BTreeMap::new();
    for root in sources.keys().filter(|path| is_root(path)) {
        let mut tree = Tree { sources: &sources, modules: Vec::new(), mentions: Vec::new() };
        let module = tree.add(root, None);
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        tree.read(module, root, folder)?;
        for found in tree.uses() {
            all.entry((found.from.clone(), found.to.clone())).or_insert(found);
        }
    }
    Ok(all.into_values().collect())
}

impl Tree<'_> {
    fn add(&mut self, file: &str, parent: Option<usize>) -> usize {
        self.modules.push(Module { file: file.to_string(), parent, ..Module::default() });
        self.modules.len() - 1
    }

    /// Reads a module's file, and those of its modules; `folder` is where theirs lie.
    fn read(&mut self, module: usize, file: &str, folder: &str) -> Result<(), (String, String)> {
        let text = self.sources.get(file).copied().unwrap_or_default();
        let parsed = syn::parse_file(text).map_err(|error| (file.to_string(), error.to_string()))?;
        self.read_items(module, file, folder, &parsed.items)
    }

    fn read_items(
        &mut self,
        module: usize,
        file: &str,
        folder: &str,
        items: &[syn::Item],
    ) -> Result<(), (String, String)> {
        // Modules come first, since paths may name modules that are declared further down.
        for item in items {
            let syn::Item::Mod(inner) = item else { continue };
            if is_for_tests(&inner.attrs) {
                continue;
            }
            let name = inner.ident.to_string();
            match &inner.content {
                Some((_, items)) => {
                    let child = self.add(file, Some(module));
                    self.modules[module].children.insert(name.clone(), child);
                    self.read_items(child, file, &format!("{folder}/{name}"), items)?;
                }
                None => {
                    let candidates = match path_attribute(&inner.attrs) {
                        Some(path) => [
                            format!("{}/{path}", file.rsplit_once('/').map_or("", |(at, _)| at)),
                            String::new(),
                        ],
                        None => [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")],
                    };
                    // A file that is generated during the build is left out.
                    let Some(found) = candidates.iter().find(|path| self.sources.contains_key(path.as_str()))
                    else {
                        continue;
                    };
                    let child = self.add(found, Some(module));
                    self.modules[module].children.insert(name.clone(), child);
                    self.read(child, found, &format!("{folder}/{name}"))?;
                }
            }
        }
        let mut reader = Reader { tree: self, module };
        items.iter().for_each(|item| reader.visit_item(item));
        Ok(())
    }

    fn uses(&self) -> Vec<Use> {
        let mut found = Vec::new();
        for mention in &self.mentions {
            if mention.shows {
                continue;
            }
            let Some(target) = self.resolve(mention.module, &mention.path, 0) else { continue };
            let (from, to) = (&self.modules[mention.module].file, &self.modules[target].file);
            if from != to {
                found.push(Use {
                    from: from.clone(),
                    to: to.clone(),
                    line: mention.line,
                    path: mention.path.join("::"),
                });
            }
        }
        found
    }

    /// The module that defines what `path` names in `module`; `None` for names of other crates and of the
    /// prelude.
    fn resolve(&self, module: usize, path: &[String], depth: usize) -> Option<usize> {
        // This recursion ends: a crate whose re-exports form a circle doesn't compile.
        if depth > 16 {
            return None;
        }
        let mut at = module;
        let mut segments = path;
        match path.first()?.as_str() {
            "crate" => {
                while let Some(parent) = self.modules[at].parent {
                    at = parent;
                }
                segments = &path[1..];
            }
            "self" => segments = &path[1..],
            "super" => {
                while let Some(("super", rest)) = segments.split_first().map(|(s, rest)| (s.as_str(), rest)) {
                    at = self.modules[at].parent?;
                    segments = rest;
                }
            }
            first => {
                let known = &self.modules[at];
                if !known.children.contains_key(first) && !known.imports.contains_key(first) {
                    return None;
                }
            }
        }
        while let Some((name, rest)) = segments.split_first() {
            if let Some(&child) = self.modules[at].children.get(name) {
                at = child;
                segments = rest;
                continue;
            }
            if let Some(import) = self.modules[at].imports.get(name) {
                // `use x::x;` would look itself up.
                if *import == path {
                    return None;
                }
                let full: Vec<String> = import.iter().chain(rest).cloned().collect();
                return self.resolve(at, &full, depth + 1);
            }
            break;
        }
        Some(at)
    }
}

/// Collects what a module's items name.
struct Reader<'t, 'a> {
    tree: &'t mut Tree<'a>,
    module: usize,
}

impl Reader<'_, '_> {
    fn mention(&mut self, path: Vec<String>, line: usize, shows: bool) {
        self.tree.mentions.push(Mention { module: self.module, path, line, shows });
    }

    fn read_use(&mut self, prefix: &[String], tree: &syn::UseTree, shows: bool) {
        let with = |name: String| prefix.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.read_use(&with(path.ident.to_string()), &path.tree, shows),
            syn::UseTree::Name(name) => self.import(prefix, &name.ident, &name.ident, shows),
            syn::UseTree::Rename(rename) => self.import(prefix, &rename.ident, &rename.rename, shows),
            syn::UseTree::Glob(glob) => {
                self.mention(prefix.to_vec(), glob.star_token.spans[0].start().line, shows)
            }
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.read_use(prefix, tree, shows));
            }
        }
    }

    fn import(&mut self, prefix: &[String], name: &syn::Ident, known_as: &syn::Ident, shows: bool) {
        let mut path = prefix.to_vec();
        // `use x::{self}` brings in `x`.
        let known_as = if name == "self" {
            path.last().cloned().filter(|_| known_as == "self").unwrap_or_else(|| known_as.to_string())
        } else {
            path.push(name.to_string());
            known_as.to_string()
        };
        self.mention(path.clone(), name.span().start().line, shows);
        if path.len() > 1 {
            self.tree.modules[self.module].imports.insert(known_as, path);
        }
    }

    /// Paths among a macro's arguments, which may be anything.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut colons, mut line) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_path(&mut path, line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => colons += 1,
                TokenTree::Group(group) => {
                    self.end_path(&mut path, line);
                    self.read_tokens(group.stream());
                }
                _ => self.end_path(&mut path, line),
            }
        }
        self.end_path(&mut path, line);
    }

    fn end_path(&mut self, path: &mut Vec<String>, line: usize) {
        let path = std::mem::take(path);
        // A single word may have any meaning to a macro, such as a field or a variant that it declares.
        if path.len() > 1 {
            self.mention(path, line, false);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_, '_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {
        // This is read as a separate module.
    }
    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Fn(item) => &item.attrs[..],
            syn::ImplItem::Const(item) => &item.attrs[..],
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let shows = !matches!(item.vis, syn::Visibility::Inherited);
        self.read_use(&[], &item.tree, shows);
    }
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let line = path.segments.first().map_or(1, |segment| segment.ident.span().start().line);
        self.mention(names, line, false);
        visit::visit_path(self, path);
    }
    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.read_tokens(called.tokens.clone());
        visit::visit_macro(self, called);
    }
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(crate)` and `pub(super)` state who may use this, not what this uses.
    }
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {
        // Names of derives and lints.
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[cfg(test)]`, `#[cfg(all(test, …))]` or `#[test]`.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("cfg") => {
            let words: Vec<String> = words(list.tokens.clone());
            words.first().is_some_and(|first| first == "test" || first == "all")
                && words.iter().any(|word| word == "test")
                && !words.iter().any(|word| word == "not")
        }
        _ => false,
    })
}

fn words(tokens: TokenStream) -> Vec<String> {
    let of = |token| match token {
        TokenTree::Ident(ident) => vec![ident.to_string()],
        TokenTree::Group(group) => words(group.stream()),
        _ => Vec::new(),
    };
    tokens.into_iter().flat_map(of).collect()
}

fn path_attribute(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// The names of all files of `uses`.
pub fn files_of(uses: &[Use]) -> BTreeSet<&str> {
    uses.iter().flat_map(|used| [used.from.as_str(), used.to.as_str()]).collect()
}
