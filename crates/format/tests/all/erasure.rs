//! Rows erased from files: hidden or removed, and the file still a file.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeListArray, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, RecordBatchOptions, StringArray, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat_batches;
use tarsia::choose::{Chooser, Objective, Weights};
use tarsia::compliance::{DigestTree, root_digest, section_digest};
use tarsia::io::OnBusy;
use tarsia::{
    Access, ColumnOptions, DeletedRows, EmbedKernels, ErasedBlock, Eraser, ErasureLevel,
    ErasurePlan, ErrorKind, File, OpenOptions, PageChooser, Recovery, RowSet, WriteOptions, Writer,
};
use tarsia_arrow::{leaf_paths, reorder};
use tarsia_metadata as metadata;
use tarsia_metadata::{Footer, Header, Postscript, Section, SectionFlags};
use tarsia_testkit::arrays::{array, flat_types, profiles};
use tarsia_testkit::nested::{is_uninhabited, nested_array, nested_profiles, nested_types};
use tarsia_testkit::rng::Rng;

use crate::common::{one_column, read_all, same_rows};

/// A table of flat columns, whose values at some rows are given by `f`.
fn table(rows: usize) -> RecordBatch {
    let ids = Int64Array::from_iter_values((0..rows).map(|i| (i * 7919 % 100_003) as i64));
    let sorted = Int32Array::from_iter_values((0..rows).map(|i| i as i32 * 3));
    let nullable = Int32Array::from_iter((0..rows).map(|i| (i % 5 != 0).then_some(i as i32 % 977)));
    let names = StringArray::from_iter_values((0..rows).map(|i| format!("name {}", i * i % 1009)));
    let text = StringArray::from_iter(
        (0..rows)
            .map(|i| (i % 11 != 3).then(|| format!("some text of row {i} and {}", i * 31 % 5003))),
    );
    let flags = BooleanArray::from_iter((0..rows).map(|i| Some(i % 3 == 1)));
    let floats = Float64Array::from_iter_values((0..rows).map(|i| (i % 1000) as f64 / 100.0));
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("id", Arc::new(ids), false),
        ("sorted", Arc::new(sorted), false),
        ("nullable", Arc::new(nullable), true),
        ("name", Arc::new(names), false),
        ("text", Arc::new(text), true),
        ("flag", Arc::new(flags), false),
        ("float", Arc::new(floats), false),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

pub(crate) fn write(batch: &RecordBatch, options: WriteOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish_into().unwrap().0
}

pub(crate) fn open(bytes: Vec<u8>) -> File {
    File::from_bytes(bytes, OpenOptions::new()).unwrap()
}

pub(crate) fn scan(file: &File) -> RecordBatch {
    let scan = file.scan().build().unwrap();
    let schema = scan.schema();
    concat_batches(&schema, &scan.read_all().unwrap()).unwrap()
}

/// The rows of a table that are not in a set.
pub(crate) fn live(batch: &RecordBatch, deleted: &RowSet) -> RecordBatch {
    let rows = (0..batch.num_rows() as u64).filter(|row| !deleted.contains(*row));
    let places: UInt64Array = rows.collect();
    let columns = batch.columns().iter();
    let columns = columns.map(|column| reorder(column, &places).unwrap());
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options).unwrap()
}

/// The file as an erasure leaves it.
pub(crate) fn erased(file: &File, rows: &RowSet, level: ErasureLevel) -> Vec<u8> {
    written(file, file.plan_erasure(rows, level).unwrap())
}

/// The file as a plan leaves it.
pub(crate) fn written(file: &File, plan: ErasurePlan) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("erased.tarsia");
    file.write_erased(plan, &path).unwrap();
    std::fs::read(&path).unwrap()
}

pub(crate) fn options() -> WriteOptions {
    WriteOptions::new()
        .with_erasure(ErasureLevel::Erase)
        .with_embed_kernels(EmbedKernels::Omit)
        .with_page_bytes(64 << 10)
}

#[test]
fn rows_are_erased_in_rounds_until_none_is_left() {
    let batch = table(20_000);
    for level in [ErasureLevel::Hide, ErasureLevel::Erase] {
        let mut file = open(write(&batch, options()));
        let mut deleted = RowSet::new();
        let sets: [Vec<u64>; 5] = [
            (3..4).collect(),
            (5000..9000).collect(),
            (0..20_000).step_by(37).collect(),
            (100..19_000).collect(),
            (0..20_000).collect(),
        ];
        for rows in sets {
            let rows: RowSet = rows.into_iter().collect();
            deleted = deleted.union(&rows);
            let bytes = erased(&file, &rows, level);
            file = open(bytes);
            assert_eq!(file.num_rows(), 20_000);
            assert_eq!(file.live_rows(), 20_000 - deleted.len());
            assert_eq!(scan(&file), live(&batch, &deleted), "{level}");
            file.verify().unwrap();
        }
    }
}

#[test]
fn deleted_rows_cannot_be_taken_but_as_nulls() {
    let batch = table(3000);
    let file = open(write(&batch, options()));
    let rows: RowSet = (10..20).collect();
    for level in [ErasureLevel::Hide, ErasureLevel::Erase] {
        let file = open(erased(&file, &rows, level));
        let error = file.take(&[9, 10]).read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RowDeleted);
        let taken = file.take(&[20, 9, 20]).read().unwrap();
        let expected = [batch.slice(20, 1), batch.slice(9, 1), batch.slice(20, 1)];
        assert_eq!(taken, concat_batches(&batch.schema(), &expected).unwrap());
        let taken = file
            .take(&[25, 12, 5])
            .deleted(DeletedRows::Null)
            .read()
            .unwrap();
        assert!(
            taken.columns().iter().all(|column| {
                column.null_count() >= 1 && column.is_null(1) && column.len() == 3
            })
        );
        assert_eq!(&taken.column(0).slice(0, 1), &batch.column(0).slice(25, 1));
        assert_eq!(&taken.column(0).slice(2, 1), &batch.column(0).slice(5, 1));
    }
}

#[test]
fn files_are_only_erased_as_they_were_written_for() {
    let batch = table(2000);
    let rows: RowSet = (10..20).collect();
    let kind = |options: WriteOptions, level| {
        let file = open(write(&batch, options));
        file.plan_erasure(&rows, level)
            .map(drop)
            .map_err(|error| error.kind())
    };
    let refused = Err(ErrorKind::InvalidInput);
    let plain = || WriteOptions::new();
    let immutable = || plain().with_erasure(ErasureLevel::Immutable);
    assert_eq!(kind(plain(), ErasureLevel::Hide), Ok(()));
    assert_eq!(kind(plain(), ErasureLevel::Erase), refused);
    assert_eq!(kind(immutable(), ErasureLevel::Hide), refused);
    let one = ColumnOptions::new().with_erasure(ErasureLevel::Erase);
    assert_eq!(
        kind(immutable().with_column("name", one), ErasureLevel::Erase),
        Ok(())
    );
    let file = open(write(&batch, options()));
    let beyond: RowSet = (1999..2001).collect();
    let error = file.plan_erasure(&beyond, ErasureLevel::Erase).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
}

/// Erases random rows in rounds from a table whose trees chance picks, and compares what is left.
fn any_column_is_erased(array: ArrayRef, seed: u64, what: &str) {
    let batch = one_column(array);
    let rows = batch.num_rows();
    let mut rng = Rng::new(seed);
    let registry = Arc::new(tarsia_encodings::registry());
    let chooser = Chooser::new(registry, Objective::Balanced).with_chance(seed);
    let options = options()
        .with_embed_kernels(EmbedKernels::Embed)
        .with_page_bytes([2000, 30_000, 8 << 20][seed as usize % 3]);
    let options = match seed % 2 {
        0 => options.with_chooser(PageChooser::new(Arc::new(chooser))),
        _ => options,
    };
    let mut file = open(write(&batch, options));
    let mut deleted = RowSet::new();
    for percent in [1, 40, 90] {
        let what = format!("{what}, seed {seed}, {percent} % of the rows");
        let rows: RowSet = (0..rows as u64).filter(|_| rng.percent(percent)).collect();
        deleted = deleted.union(&rows);
        let plan = file.plan_erasure(&rows, ErasureLevel::Erase);
        let plan = plan.unwrap_or_else(|error| panic!("{what}: {error}"));
        let bytes = written(&file, plan);
        file = open(bytes.clone());
        let expected = live(&batch, &deleted);
        let read = read_all(&file).unwrap_or_else(|error| panic!("{what}: {error}"));
        same_rows(&read, &expected, &what);
        file.verify()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        #[cfg(feature = "kernels")]
        if percent == 40 && seed.is_multiple_of(3) {
            let forced = OpenOptions::new().with_kernels(tarsia::Kernels::Forced);
            let by_kernel = File::from_bytes(bytes, forced).unwrap();
            let read = read_all(&by_kernel).unwrap_or_else(|error| panic!("{what}: {error}"));
            same_rows(&read, &expected, &format!("{what}, by kernel"));
        }
    }
}

#[test]
fn every_type_is_erased() {
    each_type([4, 7], any_column_is_erased);
}

/// Arrays of all flat and nested types, with a number and what they are. Each type has some of the profiles, and each
/// profile some types: one of `steps[0]` for flat types, one of `steps[1]` for nested ones.
pub(crate) fn each_type(steps: [usize; 2], check: impl Fn(ArrayRef, u64, &str)) {
    for (number, data_type) in flat_types().into_iter().enumerate() {
        let profiles = profiles(5).into_iter().enumerate();
        for (i, profile) in profiles.skip(number % steps[0]).step_by(steps[0]) {
            let rows = [70, 2100, 5003][i % 3];
            let what = format!("{data_type} {profile:?}");
            check(array(&data_type, rows, profile), i as u64, &what);
        }
    }
    let is_stored = |it: &DataType| !is_uninhabited(it) && leaf_paths(it, true).is_ok();
    for (number, data_type) in nested_types().into_iter().filter(is_stored).enumerate() {
        let profiles = nested_profiles(3).into_iter().enumerate();
        for (i, profile) in profiles.skip(number % steps[1]).step_by(steps[1]) {
            let what = format!("{data_type} {profile:?}");
            check(nested_array(&data_type, 300, &profile), i as u64, &what);
        }
    }
}

/// Whether one of the patterns, of 8 bytes or more, is somewhere in the bytes, at any bit.
pub(crate) fn contains_at_any_bit(bytes: &[u8], patterns: &[Vec<u8>]) -> bool {
    let mut starts = [false; 256];
    for pattern in patterns {
        starts[usize::from(pattern[0])] = true;
    }
    (0..8).any(|shift| {
        let shifted: Vec<u8> = bytes
            .windows(2)
            .map(|pair| (u16::from_le_bytes([pair[0], pair[1]]) >> shift) as u8)
            .collect();
        let mut places = (0..shifted.len()).filter(|at| starts[usize::from(shifted[*at])]);
        places.any(|at| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| shifted[at..].starts_with(pattern))
        })
    })
}

/// Vectors of 32 times the same number, which are stored row by row.
fn vectors(numbers: impl Iterator<Item = u64>) -> ArrayRef {
    let items = numbers.flat_map(|number| [number; 32]);
    let items: ArrayRef = Arc::new(UInt64Array::from_iter_values(items));
    let field = Arc::new(Field::new_list_field(DataType::UInt64, false));
    Arc::new(FixedSizeListArray::new(field, 32, items, None))
}

/// Values that nothing else holds, of each type that can hold some: of 12 bytes or of 8.
pub(crate) fn canaries(
    rng: &mut Rng,
    rows: &[u64],
    n_rows: u64,
) -> (Vec<(String, ArrayRef)>, Vec<Vec<u8>>) {
    let canary: Vec<[u8; 8]> = rows
        .iter()
        .map(|_| (rng.u64() | 1 << 63).to_le_bytes())
        .collect();
    let at = |row: u64| rows.binary_search(&row).ok();
    let text = |row: u64| match at(row) {
        Some(i) => canary[i].iter().map(|byte| format!("{byte:02X}")).collect(),
        None => format!("row {}", row % 50),
    };
    let number = |row: u64| match at(row) {
        Some(i) => u64::from_le_bytes(canary[i]),
        None => row * row % 4001,
    };
    let lists = |offsets: OffsetBuffer<i32>, values: ArrayRef| -> ArrayRef {
        let field = Field::new_list_field(values.data_type().clone(), true);
        Arc::new(ListArray::new(Arc::new(field), offsets, values, None))
    };
    let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values((0..n_rows).map(number)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..n_rows).map(text)));
    let pairs = OffsetBuffer::from_lengths((0..n_rows as usize).map(|_| 1));
    let wide = vectors((0..n_rows).map(number));
    let long = (0..n_rows).map(|row| text(row).repeat(400));
    let long: ArrayRef = Arc::new(StringArray::from_iter_values(long));
    let columns = vec![
        ("numbers".to_owned(), numbers.clone()),
        ("texts".to_owned(), texts.clone()),
        ("lists of numbers".to_owned(), lists(pairs.clone(), numbers)),
        ("lists of texts".to_owned(), lists(pairs, texts)),
        ("full-zip".to_owned(), wide),
        ("full-zip texts".to_owned(), long),
    ];
    let raw = canary.iter().map(|canary| canary.to_vec());
    let hex = canary.iter().map(|canary| {
        let text: String = canary.iter().map(|byte| format!("{byte:02X}")).collect();
        text.into_bytes()
    });
    (columns, raw.chain(hex).collect())
}

#[test]
fn no_byte_of_an_erased_value_is_left() {
    let n_rows = 600;
    let mut n_found = 0;
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let rows: Vec<u64> = vec![7, 8, 250, 251, 599];
        let (columns, patterns) = canaries(&mut rng, &rows, n_rows);
        for (name, array) in columns {
            let batch = one_column(array);
            let registry = Arc::new(tarsia_encodings::registry());
            // Choosers of one's own may name encodings whose parameters keep values.
            let weights = Weights {
                erasable: true,
                ..Objective::Balanced.weights()
            };
            let chooser = Chooser::new(registry, Objective::Balanced).with_weights(weights);
            let chooser = PageChooser::new(Arc::new(chooser.with_chance(seed)));
            let options = match seed % 3 {
                0 => options(),
                _ => options().with_chooser(chooser),
            };
            let bytes = write(&batch, options.with_page_bytes(9000));
            let is_found = |bytes: &[u8]| contains_at_any_bit(bytes, &patterns);
            n_found += usize::from(is_found(&bytes));
            let file = open(bytes);
            let trees = file.inspect().unwrap().columns[0].trees.clone();
            let set: RowSet = rows.iter().copied().collect();
            let plan = file.plan_erasure(&set, ErasureLevel::Erase).unwrap();
            let bytes = written(&file, plan);
            assert!(!is_found(&bytes), "{name}, seed {seed}: {trees:?}");
            open(bytes).verify().unwrap();
        }
    }
    // Else the search proves nothing.
    assert!(
        n_found > 70,
        "{n_found} of 144 files held their values in the clear"
    );
}

/// Whoever kept the digests of a file that was erased could test guesses of erased values, were the new salts known.
#[test]
fn each_erasure_draws_other_salts() {
    let other_salts = |batch: &RecordBatch| other_salts_are_drawn(&open(write(batch, options())));
    assert!(other_salts(&table(3000)) > 5);
    // These are found without the headers of their blocks.
    assert!(other_salts(&one_column(vectors(0..3000))) > 0);
}

/// Erases rows of a file twice. No block may have the same digest both times. Returns how many blocks were changed.
fn other_salts_are_drawn(file: &File) -> usize {
    let rows: RowSet = (100..200).collect();
    let digests = |_| {
        let plan = file.plan_erasure(&rows, ErasureLevel::Erase).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let report = file
            .write_erased(plan, folder.path().join("t.tarsia"))
            .unwrap();
        let columns = report.columns.into_iter();
        let digests = columns.flat_map(|column| column.blocks.into_iter().map(|block| block.after));
        digests.collect::<BTreeSet<_>>()
    };
    let [one, other] = [0, 1].map(digests);
    assert_eq!(one.len(), other.len());
    assert!(one.is_disjoint(&other), "blocks without new salts");
    one.len()
}

/// The file without the root digests of its earlier states, which had other salts, and without the checksums and
/// digests over them.
fn but_for_earlier_states(bytes: &[u8]) -> Vec<u8> {
    let (start, end) = (bytes.len() - 64, bytes.len() as u64);
    let place = Postscript::footer_range(&bytes[start..], end).unwrap();
    let place = place.start as usize..place.end as usize;
    let postscript = Postscript::parse(&bytes[start..], end, &bytes[place.clone()]).unwrap();
    let footer = &bytes[place.clone()];
    let parsed = Footer::parse(footer, &postscript, &metadata::SECTIONS_KNOWN).unwrap();
    let history = parsed
        .sections_of(metadata::SECTION_HISTORY)
        .next()
        .unwrap();
    let digest = footer.windows(32).position(|it| it == history.digest);
    let digest = place.start + digest.unwrap();
    let mut bytes = bytes.to_vec();
    for root in (history.range.start as usize + 40..history.range.end as usize).step_by(40) {
        bytes[root..root + 32].fill(0);
    }
    bytes[digest..digest + 32].fill(0);
    bytes[start + 24..start + 60].fill(0);
    bytes
}

/// Two tables that differ in the erased rows alone leave the same file, down to the last bit. The values of these rows
/// are those of others of them, so that what is said of a whole page (widths, trees) is the same.
#[test]
fn tables_that_differ_in_erased_rows_leave_the_same_file() {
    let (mut n_same, mut n_other) = (0, 0);
    for data_type in flat_types() {
        for seed in 0..4 {
            let profile = profiles(5)[seed as usize * 2];
            let rows = 2512;
            let a = array(&data_type, rows, profile);
            let set: RowSet = (0..rows as u64)
                .filter(|row| matches!(row % 16, 3 | 10))
                .collect();
            let erased: Vec<u64> = set.iter().collect();
            let mut places: Vec<u64> = (0..rows as u64).collect();
            for (i, row) in erased.iter().enumerate() {
                // Pairs of rows change places; none of them is in two blocks.
                places[*row as usize] = erased.get(i ^ 1).copied().unwrap_or(*row);
            }
            let b = reorder(&a, &UInt64Array::from(places)).unwrap();
            let files = [a, b].map(|array| {
                let options = options()
                    .with_deterministic(true)
                    .with_salt_key([1; 32])
                    .with_page_bytes(20_000);
                let file = open(write(&one_column(array), options));
                let tree = file.inspect().unwrap().columns[0].trees.clone();
                let plan = file.plan_erasure_with_salt_key(&set, ErasureLevel::Erase, [2; 32]);
                (written(&file, plan.unwrap()), tree)
            });
            let [(a, trees), (b, _)] = files;
            let has_shared = ["dict", "fsst", "onpair"];
            let is_numbered = trees
                .iter()
                .any(|(tree, _)| has_shared.iter().any(|name| tree.contains(name)));
            match but_for_earlier_states(&a) == but_for_earlier_states(&b) {
                true => n_same += 1,
                // Entries of dictionaries are in the order in which they came.
                false if is_numbered || a.len() != b.len() => n_other += 1,
                false => panic!("{data_type} {profile:?}: {trees:?}"),
            }
        }
    }
    assert!(n_same > n_other, "{n_same} the same, {n_other} not");
}

/// The file with another end: a section behind the digest tree, and what `change` does to header and footer.
fn resealed(
    bytes: &[u8],
    section: &[u8],
    change: impl FnOnce(&mut Header, &mut Footer),
) -> Vec<u8> {
    let end = bytes.len() as u64;
    let tail = &bytes[bytes.len() - 64..];
    let place = Postscript::footer_range(tail, end).unwrap();
    let (start, end_of_footer) = (place.start as usize, place.end as usize);
    let old = Postscript::parse(tail, end, &bytes[start..end_of_footer]).unwrap();
    let known = metadata::SECTIONS_KNOWN;
    let mut footer = Footer::parse(&bytes[start..end_of_footer], &old, &known).unwrap();
    let mut header = Header::parse(bytes).unwrap();
    if !section.is_empty() {
        footer.sections.push(Section {
            id: 99,
            version: tarsia::codec::Version::new(1, 0),
            range: place.start..place.start + section.len() as u64,
            digest: section_digest(99, section),
            flags: SectionFlags {
                required: false,
                holds_values: true,
            },
            columns: vec![],
        });
    }
    change(&mut header, &mut footer);
    let region = &bytes[footer.meta_place as usize..footer.tree_place as usize];
    let footer = footer.to_bytes().unwrap();
    let committed = place.start + section.len() as u64 + footer.len() as u64 + 64;
    let header = header.with_first_slot(committed).to_bytes().unwrap();
    let mut postscript = Postscript {
        committed_bytes: committed,
        footer_bytes: footer.len() as u32,
        root_digest: [0; 32],
        ..old
    };
    postscript.root_digest = root_digest(
        &header,
        &DigestTree::build(region).top,
        &footer,
        &postscript.bytes_for_root_digest(&footer).unwrap(),
    );
    let postscript = postscript.to_bytes(&footer).unwrap();
    let body = &bytes[header.len()..start];
    [&header[..], body, section, &footer, &postscript].concat()
}

/// Root digests of the state before an erasure, for each guess of how many nulls the one page of the one column had:
/// made of the erased file and of the digest of its block before. `history` are guesses of the bytes of the old
/// history.
fn guessed_roots(new: &[u8], block: &ErasedBlock, history: Option<&[u8]>) -> Vec<[u8; 32]> {
    let end = new.len() as u64;
    let tail = &new[new.len() - 64..];
    let place = Postscript::footer_range(tail, end).unwrap();
    let footer = &new[place.start as usize..place.end as usize];
    let postscript = Postscript::parse(tail, end, footer).unwrap();
    let mut footer = Footer::parse(footer, &postscript, &metadata::SECTIONS_KNOWN).unwrap();
    let late_place = footer.late_place();
    let meta_place = footer.meta_place;
    footer.sections.clear();
    let mut region = new[meta_place as usize..footer.tree_place as usize].to_vec();
    if let Some(bytes) = history {
        region[..bytes.len()].copy_from_slice(bytes);
        footer.sections.push(Section {
            id: metadata::SECTION_HISTORY,
            version: tarsia::codec::Version::new(1, 0),
            range: meta_place..meta_place + bytes.len() as u64,
            digest: section_digest(metadata::SECTION_HISTORY, bytes),
            flags: SectionFlags::default(),
            columns: vec![],
        });
    }
    let footer_bytes = footer.to_bytes().unwrap();
    let old = Postscript {
        committed_bytes: late_place + footer_bytes.len() as u64 + 64,
        footer_bytes: footer_bytes.len() as u32,
        root_digest: [0; 32],
        ..postscript
    };
    let records = footer.records_range(&postscript).start - meta_place;
    let old_region = region.clone();
    let mut records = metadata::Records::new(&old_region[records as usize..], footer.n_nodes);
    let (at, column) = loop {
        let at = records.position();
        if let Some(column) = records.next().unwrap().unwrap().column {
            break (at, column);
        }
    };
    let at = (footer.records_range(&postscript).start - meta_place) as usize + at;
    assert_eq!(column.digest, block.after);
    let mut root = |nulls: u32| {
        let mut column = column;
        column.digest = block.before;
        let metadata::ColumnSource::Page { null_count, .. } = &mut column.source else {
            panic!("{column:?}");
        };
        *null_count = nulls;
        let record = metadata::NodeRecord::with_column(&region[at..], &column).unwrap();
        region[at..at + record.len()].copy_from_slice(&record);
        let top = DigestTree::build(&region).top;
        let postscript = old.bytes_for_root_digest(&footer_bytes).unwrap();
        root_digest(&new[..192], &top, &footer_bytes, &postscript)
    };
    (0..=500).map(&mut root).collect()
}

/// A digest of the old state tells how many nulls it had, and so what erased rows were; unless it has a salt that is
/// gone.
#[test]
fn a_root_digest_from_before_tells_nothing_once_its_salt_is_gone() {
    let values = Int64Array::from_iter((0..500).map(|row| (row % 5 != 3).then_some(row)));
    let n_nulls = values.null_count();
    let salted = write(&one_column(Arc::new(values)), options());
    let rows: RowSet = (100..120).collect();
    let erased = |bytes: &[u8]| {
        let file = open(bytes.to_vec());
        file.verify_digests().unwrap();
        let old_root = file.metadata().unwrap().root_digest;
        let plan = file.plan_erasure(&rows, ErasureLevel::Erase).unwrap();
        let report = plan.report().clone();
        let new = written(&file, plan);
        open(new.clone()).verify().unwrap();
        (new, old_root, report)
    };
    let found = |roots: Vec<[u8; 32]>, root| roots.iter().position(|it| *it == root);

    // A file as they were written before histories: found, so that the report leaves the digest out.
    let plain = resealed(&salted, &[], |_, footer| footer.sections.clear());
    let (new, old_root, report) = erased(&plain);
    let block = &report.columns[0].blocks[0];
    assert_eq!(
        found(guessed_roots(&new, block, None), old_root),
        Some(n_nulls)
    );
    assert_eq!(report.old_root, None);

    // Whoever kept the salt finds it, nobody else.
    let (new, old_root, report) = erased(&salted);
    assert_eq!(report.old_root, Some(old_root));
    let block = &report.columns[0].blocks[0];
    let salt = history_of(&salted).salt;
    let start = salted.windows(32).position(|it| *it == salt).unwrap();
    let with_salt = guessed_roots(&new, block, Some(&salt));
    assert_eq!(found(with_salt, old_root), Some(n_nulls));
    assert!(
        !new.windows(8).any(|it| *it == salt[..8]),
        "the salt is still there"
    );
    for guess in [None, Some(&new[start..start + 32]), Some(&[0; 32][..])] {
        assert_eq!(found(guessed_roots(&new, block, guess), old_root), None);
    }

    // The history has the old root, and only from the first salt on.
    for (bytes, states) in [(&salted, 2), (&plain, 1)] {
        let (first, ..) = erased(bytes);
        let file = open(first);
        let more: RowSet = (200..210).collect();
        let again = written(&file, file.plan_erasure(&more, ErasureLevel::Hide).unwrap());
        let last = open(again.clone());
        last.verify().unwrap();
        let found = again
            .windows(32)
            .filter(|it| *it == file.metadata().unwrap().root_digest);
        assert_eq!(found.count(), 1);
        let none = last.plan_erasure(&more, ErasureLevel::Hide).unwrap();
        assert!(none.is_empty());
        let history = history_of(&again);
        assert_eq!(
            (history.states.len(), history.states[states - 1].epoch),
            (states, 3)
        );
    }
}

fn footer_of(bytes: &[u8]) -> std::ops::Range<usize> {
    let tail = &bytes[bytes.len() - 64..];
    let place = Postscript::footer_range(tail, bytes.len() as u64).unwrap();
    place.start as usize..place.end as usize
}

fn history_of(bytes: &[u8]) -> metadata::History {
    let footer = &bytes[footer_of(bytes)];
    let tail = &bytes[bytes.len() - 64..];
    let postscript = Postscript::parse(tail, bytes.len() as u64, footer).unwrap();
    let footer = Footer::parse(footer, &postscript, &metadata::SECTIONS_KNOWN).unwrap();
    let section = footer
        .sections_of(metadata::SECTION_HISTORY)
        .next()
        .unwrap();
    let range = section.range.start as usize..section.range.end as usize;
    metadata::History::parse(&bytes[range]).unwrap()
}

#[test]
fn what_a_program_does_not_know_is_respected_or_removed() {
    let bytes = write(&table(2000), options());
    let rows: RowSet = (10..20).collect();
    let plan = |file: &File| file.plan_erasure(&rows, ErasureLevel::Erase);
    // A feature that whoever changes the file must know.
    let file = open(resealed(&bytes, &[], |header, footer| {
        header.features.modify = 4;
        footer.features.modify = 4;
    }));
    file.verify().unwrap();
    assert_eq!(plan(&file).unwrap_err().kind(), ErrorKind::Unsupported);
    // A section that may hold values, and that readers need not know.
    let secret = b"a copy of the name of row 15 ..!";
    let file = open(resealed(&bytes, secret, |_, _| {}));
    assert_eq!(file.audit().unwrap().unknown_sections, [(99, 32)]);
    let erasure = plan(&file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("erased.tarsia");
    let report = file.write_erased(erasure, &path).unwrap();
    assert_eq!(report.dropped_sections, [(99, 32)]);
    let erased = std::fs::read(&path).unwrap();
    assert!(!erased.windows(32).any(|window| window == secret));
    let file = open(erased);
    file.verify().unwrap();
    assert!(file.audit().unwrap().is_clean());
    // The same in front of the metadata of columns, which stay where they are: its place becomes zero.
    // All columns have the same descriptions, which lie in the footer, so that no record names the kernel.
    let ids = table(2000).column(0).clone();
    let alike = (0..10).map(|i| (format!("column {i}"), ids.clone()));
    let with_kernel = write(
        &RecordBatch::try_from_iter(alike).unwrap(),
        options().with_embed_kernels(EmbedKernels::Embed),
    );
    let mut place = 0..0;
    let bytes_of_kernel = with_kernel.clone();
    let early = resealed(&with_kernel, &[], |_, footer| {
        let kernel = footer.sections.first_mut().unwrap();
        let range = kernel.range.start as usize..kernel.range.end as usize;
        (kernel.id, kernel.flags.holds_values, kernel.flags.required) = (99, true, false);
        kernel.digest = section_digest(99, &bytes_of_kernel[range.clone()]);
        footer.metas.iter_mut().for_each(|meta| meta.kernel = None);
        place = range;
    });
    let file = open(early);
    file.verify_digests().unwrap();
    let erased = written(&file, plan(&file).unwrap());
    assert!(place.len() > 1000 && erased[place].iter().all(|byte| *byte == 0));
    open(erased).verify().unwrap();
    // One that readers must know.
    let refused = resealed(&bytes, secret, |_, footer| {
        footer.sections.last_mut().unwrap().flags.required = true;
    });
    let error = File::from_bytes(refused, OpenOptions::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn every_damaged_bit_of_what_an_erasure_appends_is_found() {
    let file = open(write(&table(3000), options()));
    // Rows here and there, so that blocks move.
    let rows: RowSet = (0..3000).filter(|row| row % 7 == 2).collect();
    let bytes = erased(&file, &rows, ErasureLevel::Erase);
    let layout = open(bytes.clone()).inspect().unwrap().layout;
    let late = layout
        .iter()
        .find(|region| region.name == "erasures")
        .unwrap();
    for at in late.place..late.place + late.bytes {
        let mut bad = bytes.clone();
        bad[at as usize] ^= 1 << (at % 8);
        let opened = || File::from_bytes(bad.clone(), OpenOptions::new());
        let read = opened().and_then(|file| file.verify());
        assert!(read.is_err(), "byte {at} of {late:?}");
        let digests = opened().and_then(|file| file.verify_digests());
        assert!(digests.is_err(), "byte {at} of {late:?}, by digests");
    }
}

#[test]
fn readers_see_a_file_before_or_after_an_erasure_or_that_it_changed() {
    let batch = table(6000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    std::fs::write(&path, write(&batch, options())).unwrap();
    let by_position = || OpenOptions::new().with_access(Access::Read);
    let rows: RowSet = (1000..3000).collect();
    let states = [batch.clone(), live(&batch, &rows)];

    // Whoever maps the file keeps it from being changed.
    let mapped = File::open(&path).unwrap();
    let error = Eraser::open(&path, OnBusy::Refuse, by_position()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    drop(mapped);

    let before = File::open_with(&path, by_position()).unwrap();
    let eraser = Eraser::open(&path, OnBusy::Refuse, by_position()).unwrap();
    let plan = eraser.plan(&rows, ErasureLevel::Erase).unwrap();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut n_read = [0, 0];
                    while n_read[1] < 3 {
                        let read = File::open_with(&path, by_position())
                            .and_then(|file| scan_batches(&file));
                        match read {
                            Ok(read) if read == states[0] => n_read[0] += 1,
                            Ok(read) if read == states[1] => n_read[1] += 1,
                            Ok(_) => panic!("neither before nor after"),
                            Err(error) => assert_eq!(error.kind(), ErrorKind::FileChanged),
                        }
                    }
                })
            })
            .collect();
        eraser.commit(plan).unwrap();
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
    });
    let error = scan_batches(&before).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileChanged);
    assert_eq!(
        tarsia::recover(&path, OnBusy::Refuse).unwrap(),
        Recovery::Clean
    );
}

fn scan_batches(file: &File) -> tarsia::Result<RecordBatch> {
    let scan = file.scan().build()?;
    let schema = scan.schema();
    Ok(concat_batches(&schema, &scan.read_all()?).unwrap())
}
