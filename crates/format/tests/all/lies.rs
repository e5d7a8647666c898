//! Files that lie: what they say was changed, and their checksums and digests were computed again. `verify` tells,
//! since a reader or a command believes what they say.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DictionaryArray, Float64Array, Int32Array, NullArray,
    RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Schema};
use tarsia::{ColumnOptions, ErrorKind, LAYOUT_KEY, OpenOptions, WriteOptions};
use tarsia_metadata::{ColumnMeta, Footer, NodeRecord, Postscript, Records, limits};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::seal::Seals;

use crate::common::{deterministic, one_column, open, open_with, read_all, write};

/// A file, and where its parts are.
pub(crate) struct Lies {
    pub(crate) bytes: Vec<u8>,
    seals: Seals,
    postscript: Postscript,
    footer: Footer,
    footer_place: Range<usize>,
}

impl Lies {
    /// A file that tells the truth.
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        let end = bytes.len() as u64;
        let tail = &bytes[bytes.len() - limits::POSTSCRIPT_BYTES..];
        let place = Postscript::footer_range(tail, end).unwrap();
        let footer_place = place.start as usize..place.end as usize;
        let footer = &bytes[footer_place.clone()];
        let postscript = Postscript::parse(tail, end, footer).unwrap();
        let footer = Footer::parse(footer, &postscript, &[]).unwrap();
        let seals = Seals::of(&bytes);
        let lies = Self {
            bytes,
            seals,
            postscript,
            footer,
            footer_place,
        };
        assert!(open(&lies.bytes).unwrap().verify().is_ok());
        lies
    }

    pub(crate) fn of_table(batch: &RecordBatch, options: WriteOptions) -> Self {
        Self::of(write(batch.schema(), std::slice::from_ref(batch), options))
    }

    fn of_column(array: ArrayRef) -> Self {
        Self::of_table(&one_column(array), deterministic())
    }

    /// The file after a change.
    pub(crate) fn told(&self, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        change(&mut bytes);
        assert!(bytes != self.bytes, "nothing was changed");
        self.seals.reseal(&mut bytes);
        bytes
    }

    /// Returns what verify says after a change. It is always that the file is bad.
    #[track_caller]
    fn refused(&self, change: impl FnOnce(&mut [u8])) -> String {
        let bytes = self.told(change);
        refused(&bytes)
    }

    /// The place of the record of a path, and the place of its column record in it.
    pub(crate) fn record(&self, path: &[&str]) -> (Range<usize>, Option<usize>) {
        let place = self.footer.records_range(&self.postscript);
        let (start, end) = (place.start as usize, place.end as usize);
        let mut records = Records::new(&self.bytes[start..end], self.footer.n_nodes);
        let path = tarsia_metadata::encode_path(path).unwrap();
        loop {
            let at = start + records.position();
            let record = records.next().expect("a record of the path").unwrap();
            if record.path == path {
                let range = at..start + records.position();
                return (range, record.column_at().map(|column| at + column));
            }
        }
    }

    /// The pages of a column.
    fn pages(&self, path: &[&str]) -> ColumnMeta {
        let (place, _) = self.record(path);
        let record = NodeRecord::parse(&self.bytes[place]).unwrap();
        let bounds = self.footer.bounds(&self.postscript);
        let read = |range: Range<u64>| -> tarsia_metadata::Result<&[u8]> {
            Ok(&self.bytes[range.start as usize..range.end as usize])
        };
        ColumnMeta::load(&record.column.unwrap(), &bounds, read).unwrap()
    }

    /// Where the bytes stand, which stand nowhere else within the range.
    #[track_caller]
    pub(crate) fn find(&self, within: Range<usize>, what: &[u8]) -> usize {
        let mut found = self.bytes[within.clone()].windows(what.len());
        let at = found.position(|window| window == what).expect("the bytes");
        assert!(!found.any(|window| window == what), "twice");
        within.start + at
    }

    /// The place of a bit in the footer whose change is `wanted`, and the changed bit's byte.
    fn footer_bit(&self, wanted: impl Fn(&Footer) -> bool) -> (usize, u8) {
        let mut footer = self.bytes[self.footer_place.clone()].to_vec();
        for at in 0..footer.len() {
            for bit in 0..8 {
                footer[at] ^= 1 << bit;
                let parsed = Footer::parse(&footer, &self.postscript, &[]);
                if parsed.is_ok_and(|parsed| wanted(&parsed)) {
                    return (self.footer_place.start + at, footer[at]);
                }
                footer[at] ^= 1 << bit;
            }
        }
        panic!("no bit of the footer says that");
    }
}

#[track_caller]
fn refused(bytes: &[u8]) -> String {
    match open(bytes).and_then(|file| file.verify()) {
        Ok(_) => panic!("verify believes it"),
        Err(error) => {
            assert_ne!(error.kind(), ErrorKind::Io);
            error.to_string()
        }
    }
}

fn add(bytes: &mut [u8], at: usize, more: u32) {
    let field: &mut [u8; 4] = bytes[at..].first_chunk_mut().unwrap();
    *field = (u32::from_le_bytes(*field) + more).to_le_bytes();
}

fn vectors(nulls: bool) -> ArrayRef {
    let mut rng = Rng::new(2);
    let mut vectors = FixedSizeListBuilder::new(Float32Builder::new(), 64);
    for row in 0..40 {
        for _ in 0..64 {
            let value = f32::from_bits(rng.u64() as u32);
            vectors.values().append_value(value);
        }
        vectors.append(!nulls || row % 9 != 4);
    }
    Arc::new(vectors.finish())
}

#[test]
fn checksums_of_rows_inside_full_zip_blocks() {
    for nulls in [false, true] {
        let lies = Lies::of_column(vectors(nulls));
        let page = lies.pages(&["x", "item"]).pages[0];
        let stride = 64 * 4 + 4 + usize::from(nulls);
        let checksum_of_row_2 = page.place as usize + 32 + 3 * stride - 4;
        let text = lies.refused(|bytes| bytes[checksum_of_row_2] ^= 1);
        assert!(
            text.contains("column `x.item`, page 0, block 0: row 2 of the block: checksum"),
            "{text}"
        );
    }
}

/// Each column has nulls in a way of its own: values dropped or not, row by row, strings row by row, and in lists.
pub(crate) fn table_with_nulls() -> RecordBatch {
    let mut rng = Rng::new(4);
    let some: Vec<bool> = (0..3000).map(|_| rng.below(4) > 0).collect();
    let few: Vec<bool> = (0..3000).map(|_| rng.below(40) > 0).collect();
    let mut lists = ListBuilder::new(Int32Builder::new());
    for row in 0..3000 {
        for item in 0..row % 4 {
            let valid = some[(row + item) % 3000];
            lists.values().append_option(valid.then_some(item as i32));
        }
        lists.append(row % 7 != 0);
    }
    let mut wide = FixedSizeListBuilder::new(Float32Builder::new(), 64);
    for row in 0..3000 {
        (0..64).for_each(|_| wide.values().append_value(f32::from_bits(rng.u64() as u32)));
        wide.append(row % 50 != 3);
    }
    let random = |valid: &[bool], rng: &mut Rng| -> ArrayRef {
        let values = valid.iter().map(|valid| valid.then(|| rng.u64() as i32));
        Arc::new(Int32Array::from_iter(values))
    };
    let long = (0..3000).map(|row| few[row].then(|| "text ".repeat(row % 20)));
    let blobs: ArrayRef = Arc::new(StringArray::from_iter(long));
    let columns = [
        ("some", random(&some, &mut rng), ""),
        ("few", random(&few, &mut rng), ""),
        ("lists", Arc::new(lists.finish()), ""),
        ("rows", Arc::new(wide.finish()), ""),
        ("strings", blobs, "full-zip"),
    ];
    let fields = columns.iter().map(|(name, array, layout)| {
        let field = Field::new(*name, array.data_type().clone(), true);
        match *layout {
            "" => field,
            layout => field.with_metadata([(LAYOUT_KEY.to_owned(), layout.to_owned())].into()),
        }
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let arrays = columns.iter().map(|(_, array, _)| array.clone());
    RecordBatch::try_new(Arc::new(schema), arrays.collect()).unwrap()
}

#[test]
fn null_counts_of_pages_and_blocks() {
    let paths: [&[&str]; 5] = [
        &["some"],
        &["few"],
        &["lists", "item"],
        &["rows", "item"],
        &["strings"],
    ];
    for page_bytes in [1 << 20, 9000] {
        let options = deterministic().with_page_bytes(page_bytes);
        let lies = Lies::of_table(&table_with_nulls(), options);
        for path in paths {
            let page = lies.pages(path).pages[0];
            let (_, column_at) = lies.record(path);
            let (column_at, name) = (column_at.unwrap(), path.join("."));
            // In the record of a column of one page, else in the list of pages.
            let of_page = match lies.bytes[column_at] {
                1 | 3 => column_at + 20,
                _ => lies.find(0..lies.bytes.len(), &page.digest) - 8,
            };
            let place = format!("column `{name}`, page 0");
            let text = lies.refused(|bytes| add(bytes, of_page, 1));
            assert!(
                text.contains(&place) && text.contains("null count"),
                "{text}"
            );
            let of_block = page.place as usize + 28;
            let text = lies.refused(|bytes| add(bytes, of_block, 1));
            assert!(text.contains(&place), "{text}");
            // A page that says what its block says.
            let text = lies.refused(|bytes| {
                add(bytes, of_page, 1);
                add(bytes, of_block, 1);
            });
            assert!(text.contains(&format!("{place}, block 0")), "{text}");
        }
    }
}

#[test]
fn buckets_that_do_not_lead_to_a_column() {
    let names: Vec<String> = (0..5).map(|i| format!("column {i}")).collect();
    let columns = names.iter().map(|name| {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
        (name, array)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let lies = Lies::of_table(&batch, deterministic());
    let (place, _) = lies.record(&["column 3"]);
    let path = tarsia_metadata::encode_path(["column 3"]).unwrap();
    let hash = tarsia_metadata::path_hash(&path).to_le_bytes();
    let entry = lies.find(0..lies.bytes.len(), &hash);
    let expected = format!(
        "no bucket leads to the record of \"column 3\" at byte {}",
        place.start
    );
    // Of another name, at the place of another record, of another length.
    for at in [entry, entry + 8, entry + 14] {
        let text = lies.refused(|bytes| bytes[at] ^= 8);
        assert!(text.contains(&expected), "{text}");
    }
    // The root has an entry, too.
    let root = lies.footer.root_place.to_le_bytes();
    let entry = lies.find(
        lies.postscript.bucket_place as usize..lies.footer.tree_place as usize,
        &root[..6],
    );
    let text = lies.refused(|bytes| bytes[entry] ^= 8);
    assert!(
        text.contains("no bucket leads to the record of \"\""),
        "{text}"
    );
}

#[test]
fn lists_and_numbers_of_the_footer() {
    let (batch, lies) = {
        let batch = table_with_nulls();
        let lies = Lies::of_table(&batch, deterministic());
        (batch, lies)
    };
    let n_columns = batch.num_columns() as u32;
    let (at, byte) = lies.footer_bit(|footer| footer.n_leaves == n_columns ^ 1);
    let text = lies.refused(|bytes| bytes[at] = byte);
    assert!(
        text.contains("footer: 4 columns, the schema has 5"),
        "{text}"
    );
    let (at, byte) = lies.footer_bit(|footer| {
        footer.metas == lies.footer.metas && footer.encodings != lies.footer.encodings
    });
    let text = lies.refused(|bytes| bytes[at] = byte);
    assert!(text.contains("footer: the list of encodings"), "{text}");
}

#[test]
fn columns_that_were_never_rounded() {
    let array: ArrayRef = Arc::new(Float64Array::from_iter_values((0..500).map(f64::from)));
    let rounding = ColumnOptions::new().with_rounding("bf16");
    let options = deterministic().with_column("x", rounding);
    let lies = Lies::of_table(&one_column(array), options);
    let (root, _) = lies.record(&[]);
    let key = lies.find(root, b"rounded.x");
    let text = lies.refused(|bytes| bytes[key + 8] = b'y');
    assert!(text.contains("`rounded.y`, which is no column"), "{text}");
}

#[test]
fn a_column_of_nulls_with_pages() {
    let nulls: ArrayRef = Arc::new(NullArray::new(3));
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    // Two columns with the same META: it lies in the footer.
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("nulls", nulls, true),
        ("numbers", numbers.clone(), true),
        ("more", numbers, true),
    ])
    .unwrap();
    let lies = Lies::of_table(&batch, deterministic());
    let of = |name| lies.record(&[name]).1.unwrap();
    let numbers = of("numbers")..of("numbers") + limits::COLUMN_RECORD_BYTES;
    let text = lies.refused(|bytes| bytes.copy_within(numbers, of("nulls")));
    assert!(
        text.contains("column `nulls`: a column of type Null with pages"),
        "{text}"
    );
}

/// Decimals of 20 digits, flat and inside everything.
pub(crate) fn decimals() -> RecordBatch {
    let values = (0..50).map(|i| (i % 7 != 0).then(|| 12_345_678_901_234_567_890 + i % 9));
    let values = Decimal128Array::from_iter(values)
        .with_precision_and_scale(38, 4)
        .unwrap();
    let values: ArrayRef = Arc::new(values);
    let field = Arc::new(Field::new("item", values.data_type().clone(), true));
    let structure = StructArray::new(vec![field.clone()].into(), vec![values.clone()], None);
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([1; 50]);
    let list = arrow_array::ListArray::new(field, offsets, values.clone(), None);
    let keys = Int32Array::from_iter_values((0..50).map(|row| row % 20));
    let dictionary = DictionaryArray::<Int32Type>::new(keys, values.slice(1, 20));
    let structure: ArrayRef = Arc::new(structure);
    let columns = [
        ("flat", values, ""),
        ("struct", structure.clone(), ""),
        ("packed", structure, "packed"),
        ("list", Arc::new(list), ""),
        ("dictionary", Arc::new(dictionary), ""),
    ];
    let fields = columns.iter().map(|(name, array, layout)| {
        let field = Field::new(*name, array.data_type().clone(), true);
        match *layout {
            "" => field,
            layout => field.with_metadata([(LAYOUT_KEY.to_owned(), layout.to_owned())].into()),
        }
    });
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let arrays = columns.iter().map(|(_, array, _)| array.clone());
    RecordBatch::try_new(Arc::new(schema), arrays.collect()).unwrap()
}

#[test]
fn decimals_beyond_their_precision() {
    let lies = Lies::of_table(&decimals(), deterministic());
    let paths: [&[&str]; 5] = [
        &["flat"],
        &["struct", "item"],
        &["packed", "item"],
        &["list", "item"],
        &["dictionary"],
    ];
    for path in paths {
        let (record, _) = lies.record(path);
        let precision = lies.find(record, b"d:38,4") + 2;
        let lie = |bytes: &mut [u8]| bytes[precision] = b'1';
        let text = lies.refused(lie);
        // Whoever lied computed them again.
        open(&lies.told(lie)).unwrap().verify_digests().unwrap();
        let expected = "has more than the 18 digits of Decimal128(18, 4)";
        assert!(text.contains(&format!("column `{}", path[0])), "{text}");
        assert!(text.contains(expected), "{text}");
        if path == ["flat"] {
            assert!(
                text.contains("page 0: row 1: 1234567890123456.7891"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_writer_refuses_decimals_beyond_their_precision() {
    let batch = decimals();
    for column in 0..batch.num_columns() {
        let one = batch.project(&[column]).unwrap();
        let narrow = |array: &ArrayRef| narrowed(array);
        let array = narrow(one.column(0));
        let field = one
            .schema()
            .field(0)
            .clone()
            .with_data_type(array.data_type().clone());
        let name = field.name().clone();
        let bad = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
        let mut writer = tarsia::Writer::new(Vec::new(), bad.schema(), deterministic()).unwrap();
        let done = writer.write(&bad).and_then(|()| writer.finish().map(drop));
        let error = done.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert_eq!(error.column(), Some(name.as_str()), "{error}");
        assert!(
            error.to_string().contains("more than the 18 digits"),
            "{error}"
        );
        if name == "flat" {
            assert!(error.to_string().contains("row 1: "), "{error}");
        }
    }
}

/// The array with decimals of 18 digits at most, whatever they have.
fn narrowed(array: &ArrayRef) -> ArrayRef {
    let data = array.to_data();
    let of_children = data.child_data().iter();
    let children: Vec<_> = of_children
        .map(|child| narrowed(&arrow_array::make_array(child.clone())).to_data())
        .collect();
    let data_type = narrowed_type(data.data_type());
    let data = data
        .into_builder()
        .data_type(data_type)
        .child_data(children);
    arrow_array::make_array(data.build().unwrap())
}

fn narrowed_type(data_type: &DataType) -> DataType {
    let field = |field: &Field| {
        Arc::new(
            field
                .clone()
                .with_data_type(narrowed_type(field.data_type())),
        )
    };
    match data_type {
        DataType::Decimal128(..) => DataType::Decimal128(18, 4),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|it| field(it)).collect()),
        DataType::List(item) => DataType::List(field(item)),
        DataType::Dictionary(key, value) => {
            DataType::Dictionary(key.clone(), Box::new(narrowed_type(value)))
        }
        other => other.clone(),
    }
}

#[test]
fn words_of_dictionaries_that_no_row_has() {
    const ROWS: usize = 30_000;
    const RARE: usize = ROWS - 4;
    // Of one length, so that a row may have another word instead.
    let words: Vec<String> = (0..300).map(|i| format!("word {i:023}")).collect();
    let mut picked = Rng::new(7);
    let rows: Vec<&str> = (0..ROWS)
        .map(|row| match row {
            RARE => "zebra or okapi, as it may be",
            _ => words[picked.below(300)].as_str(),
        })
        .collect();
    let array: ArrayRef = Arc::new(StringArray::from(rows));
    // Words that lie in the file as they are.
    let mut registry = tarsia::registry().as_ref().clone();
    for row in tarsia_encodings::rows() {
        let id = row.encoding.id();
        if ![
            "tarsia.plain",
            "tarsia.bytes",
            "tarsia.bitpack",
            "tarsia.dict",
        ]
        .contains(&id)
        {
            registry.remove_writer(id);
        }
    }
    let options = deterministic()
        .with_registry(Arc::new(registry))
        .with_zones(false);
    let lies = Lies::of_table(&one_column(array.clone()), options);
    let meta = lies.pages(&["x"]);
    let ([page], [_]) = (meta.pages.as_slice(), meta.shared_pages.as_slice()) else {
        panic!("a page, and its dictionary");
    };
    let others = |batches: &[RecordBatch]| {
        let schema = batches[0].schema();
        let changed = arrow_select::concat::concat_batches(&schema, batches).unwrap();
        let changed = changed.column(0);
        let (before, after) = (0..RARE, RARE + 1..ROWS);
        let same = |rows: &Range<usize>| {
            changed.slice(rows.start, rows.len()) == array.slice(rows.start, rows.len())
        };
        same(&before) && same(&after) && changed.slice(RARE, 1) != array.slice(RARE, 1)
    };
    let bits = (page.place as usize * 8..(page.place as usize + page.length as usize) * 8).rev();
    let code = bits.into_iter().find(|bit| {
        let told = lies.told(|bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        let read = open(&told).and_then(|file| read_all(&file));
        read.is_ok_and(|batches| others(&batches))
    });
    let code = code.expect("the bit of a code");
    let word = lies.find(0..lies.bytes.len(), b"zebra");
    let told = lies.told(|bytes| {
        bytes[code / 8] ^= 1 << (code % 8);
        bytes[word] = 0xff;
    });
    assert!(others(&read_all(&open(&told).unwrap()).unwrap()));
    let views = open_with(&told, OpenOptions::new().with_views(true)).unwrap();
    assert!(read_all(&views).is_err(), "views need all words");
    let text = refused(&told);
    assert!(text.contains("column `x`, page 0, block"), "{text}");
    assert!(text.contains("dictionary.entry"), "{text}");
}

#[test]
fn dictionaries_that_no_page_has() {
    let words = |page: usize| (0..400).map(move |i| format!("page {page} has word number {i:03}"));
    let rows = (0..2).flat_map(|page| {
        let words: Vec<String> = words(page).collect();
        let mut rng = Rng::new(9);
        (0..30_000).map(move |_| words[rng.below(400)].clone())
    });
    let rows: Vec<String> = rows.collect();
    let array: ArrayRef = Arc::new(StringArray::from(rows));
    let page_bytes = (array.get_buffer_memory_size() / 2) as u64;
    let options = deterministic()
        .with_page_bytes(page_bytes)
        .with_zones(false);
    let lies = Lies::of_table(&one_column(array), options);
    let meta = lies.pages(&["x"]);
    let (first, second) = (meta.pages[0], meta.pages[1]);
    let of_first = first.description.to_le_bytes();
    let shared_of = |page| &meta.description_of(page).unwrap().shared;
    let of_nobody = shared_of(&second)[0];
    assert!(!shared_of(&first).contains(&of_nobody));
    let list_at = lies.find(0..lies.bytes.len(), &second.digest) - 4;
    let told = lies.told(|bytes| bytes[list_at..list_at + 4].copy_from_slice(&of_first));
    let verified = open(&told).unwrap().verify();
    verified.expect("other words, but words");
    let text = lies.refused(|bytes| {
        bytes[list_at..list_at + 4].copy_from_slice(&of_first);
        // The tree of its block.
        bytes[meta.shared_pages[of_nobody as usize].place as usize + 4] = 77;
    });
    let place = format!("column `x`, block 0: shared page {of_nobody}: block.tree");
    assert!(text.contains(&place), "{text}");
}

#[cfg(feature = "kernels")]
mod of_kernels {
    use std::borrow::Cow;

    use tarsia_kernels::{Kernel, KernelEncoding};
    use tarsia_metadata::KernelSection;

    use super::*;

    fn with_kernels() -> WriteOptions {
        deterministic().with_embed_kernels(tarsia::EmbedKernels::Embed)
    }

    /// A file whose kernel is this module, whatever it says of itself, and the module's digest.
    fn carrying(module: &[u8]) -> (Vec<u8>, [u8; 32]) {
        let all = tarsia_kernels::FULL.encodings.iter();
        let all = all.map(|of: &KernelEncoding| (of.id.to_string(), of.major, of.minor));
        let kernel = Kernel::of_module("mine", module, true, all).unwrap();
        let batch = one_column(Arc::new(Int32Array::from(vec![1, 2, 3])));
        let digest = kernel.digest;
        let options = with_kernels().with_kernel(Arc::new(kernel));
        (write(batch.schema(), &[batch], options), digest)
    }

    #[test]
    fn kernels_that_are_none() {
        for (module, expected) in [
            (&b"no Wasm at all"[..], "kernel: not a kernel: "),
            (
                b"\0asm\x01\0\0\0",
                "kernel: not a kernel: it does not export memory",
            ),
        ] {
            let (bytes, digest) = carrying(module);
            let text = refused(&bytes);
            assert!(
                text.contains("kernel 0 at byte ") && text.contains(expected),
                "{text}"
            );
            // One that is trusted is compiled.
            let options = OpenOptions::new().with_trusted_kernels([digest]);
            let trusting = open_with(&bytes, options).unwrap().verify();
            assert!(trusting.unwrap_err().to_string().contains("not a kernel"));
        }
    }

    #[test]
    fn kernels_of_other_bytes() {
        let lies = Lies::of_table(&one_column(vectors(false)), with_kernels());
        let section = lies.footer.sections[0].range.clone();
        let (start, end) = (section.start as usize, section.end as usize);
        for at in [start + 8, start + 16, start + 48, start + 3000, end - 1] {
            let text = lies.refused(|bytes| bytes[at] ^= 1);
            assert!(
                text.contains(&format!("kernel 0 at byte {start}: ")),
                "{text}"
            );
        }
    }

    #[test]
    fn kernels_that_do_not_decode_what_they_are_named_for() {
        let lies = Lies::of_table(&one_column(vectors(false)), with_kernels());
        let section = lies.footer.sections[0].range.clone();
        let core = &tarsia_kernels::CORE;
        let core = KernelSection {
            digest: core.digest,
            raw_bytes: core.raw_bytes,
            compressed: match &core.compressed {
                Cow::Borrowed(bytes) => bytes,
                Cow::Owned(bytes) => bytes,
            },
        }
        .to_bytes();
        assert!(
            core.len() < (section.end - section.start) as usize,
            "nested"
        );
        let length = (section.end - section.start).to_le_bytes();
        let length_at = lies.find(lies.footer_place.clone(), &length);
        let text = lies.refused(|bytes| {
            bytes[section.start as usize..section.end as usize].fill(0);
            bytes[section.start as usize..][..core.len()].copy_from_slice(&core);
            bytes[length_at..length_at + 8].copy_from_slice(&(core.len() as u64).to_le_bytes());
        });
        assert!(
            text.contains("column `x.item`: page description: names a kernel that does not"),
            "{text}"
        );
    }
}
