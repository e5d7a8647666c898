//! The formats that are measured, one module each. Nothing of a peer's API leaves its module.

pub(crate) mod parquet;
pub(crate) mod speed;
pub(crate) mod tarsia;
pub(crate) mod vortex;

/// The bytes of a file, mapped: every format gets the fastest access to a local file.
pub(crate) fn mapped(path: &std::path::Path) -> anyhow::Result<bytes::Bytes> {
    let file = std::fs::File::open(path)?;
    // SAFETY: the file lies in a folder of this run's own; nothing changes or cuts it while it is open.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(bytes::Bytes::from_owner(map))
}

/// Trees with the number of chunks or blocks that have them, on one line, at most `n_max`.
pub(crate) fn trees_line(trees: &[(String, u64)], n_max: usize) -> String {
    let mut parts: Vec<_> = trees
        .iter()
        .take(n_max)
        .map(|(tree, n)| {
            if *n == 1 {
                tree.clone()
            } else {
                format!("{n}× {tree}")
            }
        })
        .collect();
    if trees.len() > n_max {
        parts.push(format!("{} others", trees.len() - n_max));
    }
    parts.join(" | ")
}
