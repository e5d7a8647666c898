//! Which file of a crate needs which: the graph, its circles and its layers.
//!
//! A file needs another if it imports or names something that the other declares. A name is followed through `pub use`
//! to the file that declares it. A parent that declares `mod child;` or re-exports a name of its child does not need
//! the child for that; if its own code uses the name, it does.
//!
//! # What this module does not see
//! Methods and trait methods that are called without naming their type, names made by macros, and code under
//! `#[cfg(test)]`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::parse::{Import, Modules, parse};

/// The graph of one crate.
pub(crate) struct Graph {
    /// Paths of the files, the crate's root first.
    pub(crate) files: Vec<String>,
    /// Names that the first file needs of the second. No file needs itself.
    pub(crate) edges: BTreeMap<Edge, BTreeSet<String>>,
}

/// Indices of two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The item that a path names.
#[derive(Clone)]
enum Target {
    Module(usize),
    Item { file: usize, name: String },
}

impl Graph {
    /// The graph of the crate whose root file is `root`; `source` gives the text of a file.
    ///
    /// # Errors
    /// Says which file is missing or is not Rust.
    pub(crate) fn of<'a>(
        root: &str,
        source: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, String> {
        let modules = parse(root, source)?;
        let mut graph = Self {
            files: modules.files.clone(),
            edges: BTreeMap::new(),
        };
        for (this, module) in modules.list.iter().enumerate() {
            let imports = module.imports.iter();
            for import in imports.filter(|import| import.name.is_some()) {
                for target in modules.resolve(this, &import.path, &mut BTreeSet::new()) {
                    if !modules.only_passes_on(this, import, &target) {
                        graph.add(module.file, target);
                    }
                }
            }
            for path in &module.mentions {
                for target in modules.resolve(this, path, &mut BTreeSet::new()) {
                    graph.add(module.file, target);
                }
            }
        }
        Ok(graph)
    }

    fn add(&mut self, from: usize, target: Target) {
        if let Target::Item { file: to, name } = target
            && from != to
        {
            let edge = Edge { from, to };
            self.edges.entry(edge).or_default().insert(name);
        }
    }

    /// Files that `file` needs.
    pub(crate) fn needs(&self, file: usize) -> impl Iterator<Item = usize> {
        let edges = self.edges.keys();
        edges
            .filter(move |edge| edge.from == file)
            .map(|edge| edge.to)
    }

    /// Groups of files that all need each other, directly or not. Each group has two or more files.
    pub(crate) fn circles(&self) -> Vec<Vec<usize>> {
        let reach: Vec<BTreeSet<usize>> = (0..self.files.len()).map(|it| self.reach(it)).collect();
        let mut circles: Vec<Vec<usize>> = Vec::new();
        for file in 0..self.files.len() {
            if circles.iter().any(|circle| circle.contains(&file)) {
                continue;
            }
            let circle: Vec<usize> = reach[file]
                .iter()
                .copied()
                .filter(|other| reach[*other].contains(&file))
                .collect();
            if circle.len() > 1 {
                circles.push(circle);
            }
        }
        circles
    }

    /// All files that `file` needs, directly or not.
    fn reach(&self, file: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = vec![file];
        while let Some(file) = open.pop() {
            open.extend(self.needs(file).filter(|next| reached.insert(*next)));
        }
        reached
    }

    /// The shortest way round in a group of [`Graph::circles`]: the first file is also the end.
    pub(crate) fn shortest(&self, circle: &[usize]) -> Vec<usize> {
        let rounds = circle.iter().filter_map(|start| self.way_back(*start));
        rounds.min_by_key(Vec::len).unwrap_or_default()
    }

    /// The shortest way from a file back to itself.
    fn way_back(&self, start: usize) -> Option<Vec<usize>> {
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(file) = open.pop_front() {
            for next in self.needs(file) {
                if next == start {
                    let mut way = vec![file];
                    while let Some(file) = before.get(&way[way.len() - 1]) {
                        way.push(*file);
                    }
                    way.reverse();
                    return Some(way);
                }
                if let Entry::Vacant(entry) = before.entry(next) {
                    entry.insert(file);
                    open.push_back(next);
                }
            }
        }
        None
    }

    /// The layer of each file: 0 for one that needs no other, else one above the highest that it needs. Files of a
    /// circle share a layer.
    pub(crate) fn layers(&self) -> Vec<usize> {
        let circles = self.circles();
        let group = |file: usize| {
            let circle = circles.iter().position(|circle| circle.contains(&file));
            circle.map_or(file, |circle| circles[circle][0])
        };
        let mut layers = vec![0; self.files.len()];
        // A layer is at most the number of files, so that many rounds settle all of them.
        for _ in 0..self.files.len() {
            let mut settled = true;
            for edge in self.edges.keys() {
                let (from, to) = (group(edge.from), group(edge.to));
                if from != to && layers[from] <= layers[to] {
                    layers[from] = layers[to] + 1;
                    settled = false;
                }
            }
            if settled {
                break;
            }
        }
        (0..self.files.len())
            .map(|file| layers[group(file)])
            .collect()
    }
}

impl Modules {
    /// True if a parent re-exports a name of its descendant: nothing of the parent itself needs it.
    fn only_passes_on(&self, this: usize, import: &Import, target: &Target) -> bool {
        let Target::Item { file, .. } = target else {
            return false;
        };
        let is_below = |mut module: usize| {
            while module != 0 {
                module = self.list[module].parent;
                if module == this {
                    return true;
                }
            }
            false
        };
        let mut modules = (0..self.list.len()).filter(|it| self.list[*it].file == *file);
        import.is_public && modules.any(is_below)
    }

    /// Finds what a path in module `from` names: nothing for one of another crate, several where `cfg` selects one.
    fn resolve(
        &self,
        from: usize,
        path: &[String],
        seen: &mut BTreeSet<(usize, String)>,
    ) -> Vec<Target> {
        let Some((first, mut rest)) = path.split_first() else {
            return Vec::new();
        };
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(from)],
            "super" => {
                let mut module = self.list[from].parent;
                while rest.first().is_some_and(|next| next == "super") {
                    module = self.list[module].parent;
                    rest = &rest[1..];
                }
                vec![Target::Module(module)]
            }
            name => self.named(from, name, seen),
        };
        for name in rest {
            // Only a module or a type has parts, and the two cannot share a name.
            if targets.iter().any(|it| matches!(it, Target::Module(_))) {
                targets.retain(|it| matches!(it, Target::Module(_)));
            }
            targets = targets
                .into_iter()
                .flat_map(|target| match target {
                    Target::Module(module) => {
                        let found = self.named(module, name, seen);
                        if found.is_empty() {
                            // Made by a macro of that module, or seen before on a way round.
                            let file = self.list[module].file;
                            let name = name.clone();
                            vec![Target::Item { file, name }]
                        } else {
                            found
                        }
                    }
                    // What follows an item is a part of it.
                    item => vec![item],
                })
                .collect();
        }
        targets
    }

    /// Finds what a name stands for inside a module.
    fn named(
        &self,
        module: usize,
        name: &str,
        seen: &mut BTreeSet<(usize, String)>,
    ) -> Vec<Target> {
        let this = &self.list[module];
        let mut targets: Vec<Target> = Vec::new();
        // A module and a function may share a name.
        if let Some(children) = this.children.get(name) {
            targets.extend(children.iter().copied().map(Target::Module));
        }
        if let Some(file) = this.items.get(name) {
            let (file, name) = (*file, name.to_owned());
            targets.push(Target::Item { file, name });
        }
        // Imports may lead round in a circle.
        if !seen.insert((module, name.to_owned())) {
            return targets;
        }
        for import in &this.imports {
            if import.name.as_deref() == Some(name) {
                targets.extend(self.resolve(module, &import.path, seen));
            }
        }
        if !targets.is_empty() {
            return targets;
        }
        // Each glob may look up the same names on its own way.
        let globs = this.imports.iter().filter(|import| import.name.is_none());
        globs
            .flat_map(|glob| {
                let seen = &mut seen.clone();
                let from = self.resolve(module, &glob.path, seen);
                let found = from.into_iter().flat_map(|target| match target {
                    Target::Module(module) => self.named(module, name, seen),
                    Target::Item { .. } => Vec::new(),
                });
                found.collect::<Vec<_>>()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges of a crate with these files, each as `from -> to: names`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let graph = graph(files);
        let edges = graph.edges.iter().map(|(edge, names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (from, to) = (&graph.files[edge.from], &graph.files[edge.to]);
            format!("{from} -> {to}: {}", names.join(" "))
        });
        let mut edges: Vec<String> = edges.collect();
        edges.sort();
        edges
    }

    fn graph(files: &[(&str, &str)]) -> Graph {
        let files: BTreeMap<&str, &str> = files.iter().copied().collect();
        Graph::of("lib.rs", |path| files.get(path).copied()).unwrap()
    }

    #[test]
    fn imports_and_paths_are_edges() {
        let root = ("lib.rs", "mod a; mod b;");
        let b = ("b.rs", "pub struct B; pub struct C; pub fn f() {}");
        for (a, names) in [
            ("use crate::b::B;", "B"),
            ("use super::b::{B, C as D};", "B C"),
            ("use crate::{b::{self, B}};", "B"),
            ("use crate::b; fn g(b: b::B) {}", "B"),
            ("fn g() { crate::b::f() }", "f"),
            ("fn g() -> Vec<super::b::C> { vec![] }", "C"),
            ("use crate::b::*; fn g() { f() }", "f"),
            ("fn g() { assert_eq!(crate::b::f(), ()); }", "f"),
            ("macro_rules! m { () => { $crate::b::f() } }", "f"),
            ("mod inner { use super::super::b::B; }", "B"),
            ("fn g() { use crate::b::C; let _ = C; }", "C"),
            ("use crate::b::made_by_a_macro;", "made_by_a_macro"),
        ] {
            let found = edges(&[root, b, ("a.rs", a)]);
            assert_eq!(found, [format!("a.rs -> b.rs: {names}")], "{a}");
        }
    }

    #[test]
    fn what_needs_no_other_file_is_no_edge() {
        let root = ("lib.rs", "mod a; mod b;");
        let b = ("b.rs", "pub struct B;");
        for a in [
            "use std::fmt; fn g() { fmt::write() }",
            "use ::b::B;",
            "use crate::b;",
            "use crate::b::*;",
            "#[cfg(test)] mod tests { use crate::b::B; }",
            "#[cfg(all(test, unix))] use crate::b::B;",
            "#[test] fn t() { crate::b::f() }",
            "struct S; impl S { #[cfg(test)] fn t() { crate::b::f() } }",
            "pub(in crate::b) struct A;",
            "// use crate::b::B;",
            "const TEXT: &str = \"crate::b::B\";",
            "use self::inner::A; mod inner { pub struct A; }",
        ] {
            assert_eq!(edges(&[root, b, ("a.rs", a)]), [""; 0], "{a}");
        }
    }

    #[test]
    fn names_are_followed_to_the_file_that_declares_them() {
        let files = [
            (
                "lib.rs",
                "mod a; mod b; pub use b::B; pub use b::deep as d;",
            ),
            (
                "a.rs",
                "use crate::B; use crate::d::{D, all::*}; fn f() { E }",
            ),
            ("b/mod.rs", "mod own; pub use own::*; pub mod deep;"),
            ("b/own.rs", "pub struct B;"),
            (
                "b/deep.rs",
                "pub struct D; pub mod all { pub use super::D as E; }",
            ),
        ];
        let expect = ["a.rs -> b/deep.rs: D", "a.rs -> b/own.rs: B"];
        assert_eq!(edges(&files), expect);
        // A function and a module of one name.
        let files = [
            ("lib.rs", "mod a; mod join; pub use join::join;"),
            ("a.rs", "use crate::join; fn f() { join() }"),
            ("join.rs", "pub fn join() {}"),
        ];
        assert_eq!(edges(&files), ["a.rs -> join.rs: join"]);
        // Exported macros are named at the root.
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "fn f() { crate::m!() }"),
            ("b.rs", "#[macro_export] macro_rules! m { () => {} }"),
        ];
        assert_eq!(edges(&files), ["a.rs -> b.rs: m"]);
    }

    #[test]
    fn a_parent_needs_its_child_only_where_its_own_code_does() {
        let child = (
            "a.rs",
            "use crate::Root; pub struct A; pub fn f(_: Root) {}",
        );
        for (root, is_circle) in [
            ("mod a; pub struct Root;", false),
            ("mod a; pub struct Root; pub use a::A;", false),
            ("mod a; pub struct Root; pub(crate) use a::*;", false),
            ("mod a; pub struct Root(A); pub use a::A;", true),
            ("mod a; pub struct Root(A); pub use a::*;", true),
            ("mod a; pub struct Root; fn g() { a::f(Root) }", true),
            ("mod a; pub struct Root; use a::A;", true),
        ] {
            let graph = graph(&[("lib.rs", root), child]);
            assert_eq!(graph.circles().len(), usize::from(is_circle), "{root}");
        }
    }

    #[test]
    fn files_are_found_where_the_compiler_finds_them() {
        let files = [
            (
                "lib.rs",
                "mod a; #[path = \"other/place.rs\"] mod b; mod c { mod d; }",
            ),
            ("a/mod.rs", "mod e;"),
            ("a/e.rs", "use crate::b::B;"),
            ("other/place.rs", "pub struct B;"),
            ("c/d.rs", "use crate::b::B;"),
        ];
        let expect = ["a/e.rs -> other/place.rs: B", "c/d.rs -> other/place.rs: B"];
        assert_eq!(edges(&files), expect);
        let missing = Graph::of("lib.rs", |path| (path == "lib.rs").then_some("mod a;"));
        assert_eq!(missing.err().unwrap(), "lib.rs: no file for `mod a;`");
        let broken = Graph::of("lib.rs", |_| Some("fn f() {\n    1 +\n}"));
        assert!(broken.err().unwrap().starts_with("lib.rs:3: "));
    }

    #[test]
    fn circles_and_layers() {
        let graph = graph(&[
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e; pub use d::D;"),
            ("a.rs", "use crate::{b::B, c::C, e::E}; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::a::A; pub struct C;"),
            ("d.rs", "use crate::a::A; pub struct D;"),
            ("e.rs", "pub struct E;"),
        ]);
        let name = |file: &usize| graph.files[*file].as_str();
        let circles = graph.circles();
        assert_eq!(circles.len(), 1);
        let names: Vec<&str> = circles[0].iter().map(name).collect();
        assert_eq!(names, ["a.rs", "b.rs", "c.rs"]);
        let shortest = graph.shortest(&circles[0]);
        let names: Vec<&str> = shortest.iter().map(name).collect();
        assert_eq!(names, ["a.rs", "c.rs"]);
        let layers = graph.layers();
        let of = |wanted: &str| layers[graph.files.iter().position(|it| it == wanted).unwrap()];
        assert_eq!([of("e.rs"), of("lib.rs")], [0, 0]);
        assert_eq!(
            [of("a.rs"), of("b.rs"), of("c.rs"), of("d.rs")],
            [1, 1, 1, 2]
        );
    }

    #[test]
    fn globs_that_lead_round_end() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            (
                "a.rs",
                "pub use super::b::*; use x::*; fn f() { nothing() }",
            ),
            ("b.rs", "pub use crate::a::*; fn f() { nothing(); x::y() }"),
        ];
        assert_eq!(edges(&files), [""; 0]);
    }
}
