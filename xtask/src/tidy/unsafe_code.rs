//! `unsafe` is in files that are listed, each with its reason.

use super::{Files, Violation, code_only, find_word, sources};

/// Files with `unsafe`, sorted by path, each with the reason.
const UNSAFE_ALLOWED: [(&str, &str); 23] = [
    (
        "benchmarks/src/peers/mod.rs",
        "maps the files of other formats, as Tarsia maps its own",
    ),
    (
        "benchmarks/src/speed/cold.rs",
        "asks the operating system to drop a file from its cache, and whether it did",
    ),
    (
        "benchmarks/src/speed/memory.rs",
        "an allocator that counts what each format allocates",
    ),
    (
        "crates/arrow/src/kernels/mod.rs",
        "makes Arrow arrays of parts that were checked while decoding",
    ),
    (
        "crates/arrow/src/kernels/selected.rs",
        "makes arrays of strings of a valid array, without checking them again",
    ),
    (
        "crates/bits/benches/loops.rs",
        "calls the bit packing of another crate, to compare with it",
    ),
    (
        "crates/bits/src/loops/compress.rs",
        "calls functions that are compiled for AVX-512, after asking for that level",
    ),
    (
        "crates/bits/src/loops/expand.rs",
        "calls functions that are compiled for AVX2, after asking for that level",
    ),
    (
        "crates/bits/src/loops/gather.rs",
        "reads entries at codes whose bound was checked before the loop",
    ),
    (
        "crates/bits/src/loops/mod.rs",
        "calls functions that are compiled for a level of the processor, after asking for that level",
    ),
    (
        "crates/bits/src/loops/row_wasm.rs",
        "loads and stores vectors of WebAssembly from and to arrays of their size",
    ),
    (
        "crates/bits/src/loops/shuffle.rs",
        "calls functions that are compiled for AVX2, after asking for that level, or for NEON, as the program is",
    ),
    (
        "crates/cli/src/budget/allocator.rs",
        "an allocator that counts what an import takes",
    ),
    (
        "crates/integrations/store/tests/all/allocator.rs",
        "an allocator that counts what transfers take, in all threads",
    ),
    (
        "crates/io/src/mapped.rs",
        "maps a file: another process may rewrite the memory behind it",
    ),
    (
        "crates/kernel-guest/src/allocator.rs",
        "links free blocks through their own memory",
    ),
    (
        "crates/kernel-guest/src/entry.rs",
        "takes addresses of the host on trust, and keeps the one state of a module without threads",
    ),
    (
        "crates/kernel-guest/src/export.rs",
        "exports functions that take addresses of the host",
    ),
    (
        "crates/kernel-guest/src/memory.rs",
        "makes slices of addresses in the module's own memory",
    ),
    (
        "crates/metadata/src/generated/column.rs",
        "written by flatc",
    ),
    (
        "crates/metadata/src/generated/footer.rs",
        "written by flatc",
    ),
    (
        "crates/table-meta/src/generated/table.rs",
        "written by flatc",
    ),
    ("crates/testkit/src/memory.rs", "an allocator that counts"),
];

pub(super) fn unsafe_is_listed(files: &Files) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut used = Vec::new();
    for (path, source) in sources(files) {
        let allowed = UNSAFE_ALLOWED.iter().any(|(listed, _)| *listed == path);
        let code = code_only(source);
        let mut lines = code
            .lines()
            .enumerate()
            .filter(|(_, line)| find_word(line, "unsafe"));
        if let Some((i, _)) = lines.next() {
            used.push(path);
            if !allowed {
                violations.push(Violation {
                    path: path.to_owned(),
                    line: i + 1,
                    what: "`unsafe` in a file that is not listed for it".to_owned(),
                    repair: "write it without, or move it into a file of kernels/ beside a safe twin; list that file with \
                             a reason in xtask/src/tidy/unsafe_code.rs, UNSAFE_ALLOWED"
                        .to_owned(),
                });
            }
        }
    }
    for (listed, reason) in UNSAFE_ALLOWED {
        // Only of files there are: the rules are also run on excerpts.
        if files.contains_key(listed) && !used.contains(&listed) {
            violations.push(Violation {
                path: listed.to_owned(),
                line: 0,
                what: format!("listed as using `unsafe` ({reason}), but it does not"),
                repair: "remove it from xtask/src/tidy/unsafe_code.rs, UNSAFE_ALLOWED".to_owned(),
            });
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::tests::check_one;
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(UNSAFE_ALLOWED.is_sorted());
    }

    #[test]
    fn unsafe_in_files_that_are_not_listed_is_found() {
        let rule = unsafe_is_listed;
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "fn a() {\n    unsafe { b() }\n}",
            &[2],
        );
        check_one(
            rule,
            "crates/x/src/kernels/avx2.rs",
            "unsafe fn a() {}",
            &[1],
        );
        check_one(
            rule,
            "crates/x/src/lib.rs",
            "#![forbid(unsafe_code)] // unsafe\n",
            &[],
        );
        check_one(rule, UNSAFE_ALLOWED[0].0, "unsafe fn a() {}", &[]);
        check_one(rule, UNSAFE_ALLOWED[0].0, "fn a() {}", &[0]);
    }
}
