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

/// The result of `work`; a panic is an error like any other.
pub(crate) fn without_panic<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Err(anyhow::anyhow!("panic: {what}"))
    })
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
