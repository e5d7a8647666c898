//! Pages with several shared buffers in whole files: written, verified, read, and read by a kernel.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia::codec::{DecodeCost, Version};
use tarsia::{
    ColumnOptions, EmbedKernels, ErrorKind, OpenOptions, Registry, Tree, WriteOptions, Writer,
};
use tarsia_testkit::cipher::{self, CIPHER, START_TEXT};

const V: Version = Version::new(1, 0);

/// A dictionary of the page, codes of 4 bytes; its shared buffer is number 0.
fn dictionary(codes: Tree) -> Tree {
    Tree::node("tarsia.dict", V, &[1, 4], vec![codes]).with_shared(&[0])
}

fn table() -> RecordBatch {
    let woods = ["oak", "elm", "ash", "walnut", "a rarer one", "", "yew"];
    let text = |i: usize| format!("{START_TEXT}{}", woods[i * 31 % 11 % 7]);
    let strings = StringArray::from_iter_values((0..40_000).map(text));
    let numbers = Int64Array::from_iter_values((0..40_000).map(|i| (i % 90) << 40));
    RecordBatch::try_from_iter([
        ("wood", Arc::new(strings) as ArrayRef),
        ("number", Arc::new(numbers) as ArrayRef),
    ])
    .unwrap()
}

fn registry() -> Arc<Registry> {
    let mut registry = Registry::clone(tarsia::registry());
    registry.add_writer(&CIPHER, DecodeCost::default());
    Arc::new(registry)
}

fn write(trees: &[(&str, Tree)], kernels: EmbedKernels) -> tempfile::TempPath {
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    let options = |tree: &Tree| ColumnOptions::new().with_tree(tree.clone());
    let base = WriteOptions::new().with_registry(registry());
    let options = trees
        .iter()
        .fold(base, |base, (name, tree)| {
            base.with_column(*name, options(tree))
        })
        // Several pages of a column.
        .with_page_bytes(100_000)
        .with_embed_kernels(kernels);
    let batch = table();
    let mut writer = Writer::create(&path, batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    path
}

fn check(path: &std::path::Path, options: OpenOptions) -> tarsia::File {
    let file = tarsia::File::open_with(path, options).unwrap();
    let expect = table();
    let mut first = 0;
    for batch in file.scan().build().unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch, expect.slice(first, batch.num_rows()));
        first += batch.num_rows();
    }
    assert_eq!(first, expect.num_rows());
    let rows = [39_999, 7, 7, 20_000];
    let indices = arrow_array::UInt64Array::from(rows.to_vec());
    let taken = arrow_select::take::take_record_batch(&expect, &indices).unwrap();
    assert_eq!(file.take(&rows).read().unwrap(), taken);
    file.verify().unwrap();
    file
}

#[test]
fn three_kinds_in_one_tree_are_written_verified_and_read() {
    let bitpack = Tree::leaf("tarsia.bitpack", V, &[]);
    let tree = cipher::tree(dictionary(bitpack));
    let path = write(&[("wood", tree)], EmbedKernels::Omit);
    let known = || OpenOptions::new().with_registry(registry());
    let file = check(&path, known());
    let inspected = file.inspect_columns("wood").unwrap();
    assert!(inspected[0].pages > 2, "{} pages", inspected[0].pages);
    assert_eq!(inspected[0].trees[0].0, "test.cipher(dict(bitpack))");
    // Table and start are the same on all pages, and stored once; only the order of the words may differ.
    let words_bytes = 29 + 8 * 4;
    let kept = inspected[0].shared_cache_bytes;
    let most = 256 + START_TEXT.len() as u64 + 2 * 4 + inspected[0].pages * words_bytes;
    assert!(
        kept <= most,
        "{kept} bytes of shared buffers, more than {most}"
    );
    // Whoever does not know the encoding is told so.
    let unknown = tarsia::File::open(&path).and_then(|file| file.take(&[0]).read());
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[cfg(feature = "kernels")]
#[test]
fn several_buffers_in_one_tree_are_read_by_a_kernel() {
    // Codes of codes, and lengths by a dictionary of their own.
    let bitpack = || Tree::leaf("tarsia.bitpack", V, &[]);
    let mut codes = dictionary(bitpack());
    codes.shift_shared(1).unwrap();
    let lengths = Tree::node("tarsia.bytes", V, &[], vec![dictionary(bitpack())]);
    let path = write(
        &[("number", dictionary(codes)), ("wood", lengths)],
        EmbedKernels::Embed,
    );
    check(&path, OpenOptions::default());
    let file = check(
        &path,
        OpenOptions::new().with_kernels(tarsia::Kernels::Forced),
    );
    let counts = file.decoder_counts();
    assert!(counts.native == 0 && counts.kernel > 0, "{counts:?}");
    let trees = |column: &str| file.inspect_columns(column).unwrap()[0].trees[0].0.clone();
    assert_eq!(trees("number"), "dict(dict(bitpack))");
    assert_eq!(trees("wood"), "bytes(dict(bitpack))");
}
