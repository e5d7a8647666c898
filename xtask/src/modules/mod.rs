//! `cargo xtask modules [CRATE]`: which file of a crate needs which.

mod graph;
mod parse;

use std::fmt::Write;
use std::path::Path;

use crate::outcome::Outcome;
use crate::repository::{crate_roots, load, text};

pub(crate) use graph::{Edge, Graph};
pub(crate) use parse::is_test_only;

/// Prints the graph of one crate, named by its folder (`io`, `crates/io`, `encodings/dict`), or of all.
pub(crate) fn print(root: &Path, name: Option<&str>) -> Outcome {
    let files = load(root)?;
    let mut n_printed = 0;
    for root in crate_roots(&files) {
        let (folder, _) = root.split_once("/src/").unwrap_or((root, ""));
        let is_wanted = name.is_none_or(|name| {
            let name = name.trim_end_matches('/');
            folder == name || folder.ends_with(&format!("/{name}"))
        });
        if is_wanted {
            let graph = Graph::of(root, |path| text(files.get(path)?))?;
            print!("{}", shown(root, &graph));
            n_printed += 1;
        }
    }
    match name {
        Some(name) if n_printed == 0 => Err(format!("no crate lies in a folder {name}")),
        _ => Ok(()),
    }
}

/// The files of a crate layer by layer, the highest first, each with those that it needs; then the circles.
fn shown(root: &str, graph: &Graph) -> String {
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let short = |file: usize| {
        let path = graph.files[file].as_str();
        path.strip_prefix(folder)
            .map_or(path, |path| path.trim_start_matches('/'))
    };
    let layers = graph.layers();
    let circles = graph.circles();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{root}: {} files, {} edges, {} circles",
        graph.files.len(),
        graph.edges.len(),
        circles.len()
    );
    for layer in (0..=layers.iter().copied().max().unwrap_or(0)).rev() {
        let _ = writeln!(text, "  layer {layer}");
        let mut files: Vec<usize> = (0..graph.files.len())
            .filter(|file| layers[*file] == layer)
            .collect();
        files.sort_by_key(|file| short(*file));
        for file in files {
            let needs: Vec<&str> = graph.needs(file).map(short).collect();
            let arrow = if needs.is_empty() { "" } else { " -> " };
            let _ = writeln!(text, "    {}{arrow}{}", short(file), needs.join(", "));
        }
    }
    for circle in &circles {
        let _ = writeln!(
            text,
            "  circle of {} files: {}",
            circle.len(),
            round(graph, circle, short)
        );
    }
    text
}

/// The shortest way round in a circle, with the names that make each step.
pub(crate) fn round<'a>(
    graph: &'a Graph,
    circle: &[usize],
    short: impl Fn(usize) -> &'a str,
) -> String {
    let way = graph.shortest(circle);
    let mut text = String::new();
    for (i, file) in way.iter().enumerate() {
        let to = way[(i + 1) % way.len()];
        let edge = Edge { from: *file, to };
        let names = graph.edges.get(&edge).into_iter().flatten();
        let names: Vec<&str> = names.map(String::as_str).collect();
        let _ = write!(text, "{} -({})-> ", short(*file), names.join(", "));
    }
    text + way.first().map_or("", |file| short(*file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_shown_by_layer() {
        let source = |path: &str| match path {
            "x/src/lib.rs" => Some("mod a; mod b; mod c;"),
            "x/src/a.rs" => Some("use crate::{b::B, c::C};"),
            "x/src/b.rs" => Some("use crate::c::C; pub struct B;"),
            "x/src/c.rs" => Some("use crate::b::B; pub struct C;"),
            _ => None,
        };
        let graph = Graph::of("x/src/lib.rs", source).unwrap();
        let expect = "x/src/lib.rs: 4 files, 4 edges, 1 circles\n  layer 1\n    a.rs -> b.rs, c.rs\n  layer 0\n    \
                      b.rs -> c.rs\n    c.rs -> b.rs\n    lib.rs\n  circle of 2 files: b.rs -(C)-> c.rs -(B)-> b.rs\n";
        assert_eq!(shown("x/src/lib.rs", &graph), expect);
    }
}
