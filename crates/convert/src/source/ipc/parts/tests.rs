use std::io::Cursor;

use arrow_array::{Array, RecordBatch};
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use tarsia_testkit::effort::{is_tried, some_or_all};

use super::Sizes;
use super::tables::{cut_columns, of_dictionary, table, views_in_no_order, whole_columns};
use crate::guarded::{guarded, quiet_foreign_panics};
use crate::source::ipc::IpcReader;
use crate::{Error, Note};

/// Parts of so many rows.
fn of_rows(rows_max: usize) -> Sizes {
    Sizes {
        bytes_min: 0,
        part_bytes: u64::MAX,
        rows_max,
    }
}

fn read(bytes: &[u8], sizes: Sizes) -> Result<(Vec<RecordBatch>, Vec<Note>), Error> {
    let n_bytes = bytes.len() as u64;
    let mut reader = guarded(|| IpcReader::with_sizes(Cursor::new(bytes), n_bytes, sizes))?;
    let mut batches = Vec::new();
    while let Some(batch) = guarded(|| reader.next_batch())? {
        batches.push(batch);
    }
    Ok((batches, reader.notes()))
}

fn file_of(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

fn stream_of(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

/// Compares parts with the batches that they are of.
#[track_caller]
fn assert_are_parts(parts: &[RecordBatch], batches: &[RecordBatch]) {
    let mut parts = parts.iter().filter(|part| part.num_rows() > 0);
    for batch in batches {
        let mut start = 0;
        while start < batch.num_rows() {
            let part = parts.next().unwrap();
            assert_eq!(part.schema(), batch.schema());
            let expected = batch.slice(start, part.num_rows());
            for (field, (got, expected)) in batch
                .schema_ref()
                .fields()
                .iter()
                .zip(part.columns().iter().zip(expected.columns()))
            {
                assert_eq!(got, expected, "column `{}` from row {start}", field.name());
                assert_eq!(got.null_count(), expected.null_count(), "{}", field.name());
                assert_eq!(got.data_type(), expected.data_type());
            }
            start += part.num_rows();
        }
    }
    assert!(parts.next().is_none());
}

/// Reads a file in parts of several sizes, and compares with what is read without.
#[track_caller]
fn check(bytes: &[u8]) {
    let (whole, notes) = read(bytes, Sizes::WHOLE).unwrap();
    for rows in [1, 7, 64, 65, 1_000] {
        let (parts, notes_of_parts) = read(bytes, of_rows(rows)).unwrap();
        let n_parts = whole.iter().map(|batch| batch.num_rows().div_ceil(rows));
        assert_eq!(parts.len(), n_parts.sum::<usize>());
        assert_are_parts(&parts, &whole);
        assert_eq!(notes_of_parts, notes);
    }
}

#[test]
fn parts_of_every_type_are_those_of_the_whole() {
    for rows in [1, 64, 200] {
        let all = cut_columns(rows).into_iter().chain(whole_columns(rows));
        let all = table(all.collect());
        let options = IpcWriteOptions::default;
        check(&file_of(std::slice::from_ref(&all), options()));
        check(&stream_of(std::slice::from_ref(&all), options()));
        let (batches, _) =
            read(&file_of(std::slice::from_ref(&all), options()), of_rows(9)).unwrap();
        assert_are_parts(&batches, &[all]);
    }
}

#[test]
fn arrays_with_offsets_are_read_in_parts() {
    let all = cut_columns(200).into_iter().chain(whole_columns(200));
    let all = table(all.collect());
    let slices = [all.slice(3, 150), all.slice(77, 1), all.slice(64, 136)];
    check(&file_of(&slices, IpcWriteOptions::default()));
    check(&stream_of(&slices, IpcWriteOptions::default()));
}

#[test]
fn dictionaries_may_grow_and_change_between_batches() {
    let batches = [
        of_dictionary(&["a", "b", "a", "c", "b"]),
        of_dictionary(&["a", "b", "c", "d", "d", "e"]),
    ];
    let others = [of_dictionary(&["a", "b"]), of_dictionary(&["x", "b", "y"])];
    let delta = || IpcWriteOptions::default().with_dictionary_handling(DictionaryHandling::Delta);
    check(&file_of(&batches, delta()));
    check(&stream_of(&batches, delta()));
    check(&stream_of(&others, IpcWriteOptions::default()));
}

#[test]
fn old_versions_and_alignments_are_read_in_parts() {
    let mut columns = cut_columns(70);
    // Unions of old versions have a validity.
    columns.retain(|(name, _)| name != "sparse union");
    let of_unions = table(cut_columns(70));
    let columns = table(columns);
    for alignment in [8, 64] {
        for legacy in [false, true] {
            let options = IpcWriteOptions::try_new(alignment, legacy, MetadataVersion::V4).unwrap();
            for table in [&columns, &of_unions] {
                check(&file_of(std::slice::from_ref(table), options.clone()));
                check(&stream_of(std::slice::from_ref(table), options.clone()));
            }
        }
    }
}

#[test]
fn compressed_and_small_batches_are_read_as_a_whole() {
    let batch = [table(cut_columns(100))];
    let n_batches = |bytes: &[u8], sizes| read(bytes, sizes).unwrap().0.len();
    let plain = file_of(&batch, IpcWriteOptions::default());
    assert_eq!(n_batches(&plain, Sizes::default()), 1);
    for codec in [CompressionType::ZSTD, CompressionType::LZ4_FRAME] {
        let options = IpcWriteOptions::default();
        let options = options.try_with_compression(Some(codec)).unwrap();
        assert_eq!(n_batches(&file_of(&batch, options), of_rows(7)), 1);
    }
    // Nothing can be cut.
    for columns in [whole_columns(100), vec![views_in_no_order(300_000)]] {
        let bytes = file_of(&[table(columns)], IpcWriteOptions::default());
        assert_eq!(n_batches(&bytes, of_rows(7)), 1);
    }
    let few = file_of(
        &[table(vec![views_in_no_order(100)])],
        IpcWriteOptions::default(),
    );
    assert_eq!(n_batches(&few, of_rows(7)), 15);
}

#[test]
fn parts_of_uneven_rows_have_fewer_of_them() {
    let texts = (0..4_096).map(|i| "x".repeat(if i == 700 { 50_000 } else { i % 7 }));
    let texts = arrow_array::StringArray::from_iter_values(texts);
    let batch = table(vec![("t".to_owned(), std::sync::Arc::new(texts))]);
    let sizes = Sizes {
        bytes_min: 0,
        part_bytes: 10_000,
        rows_max: usize::MAX,
    };
    let bytes = file_of(std::slice::from_ref(&batch), IpcWriteOptions::default());
    let (parts, _) = read(&bytes, sizes).unwrap();
    assert_are_parts(&parts, &[batch]);
    let rows: Vec<usize> = parts.iter().map(RecordBatch::num_rows).collect();
    assert!(rows.contains(&1) && rows.len() < 60, "{rows:?}");
    assert!(
        rows.iter()
            .all(|n| *n < 64 || n % 64 == 0 || n == rows.last().unwrap())
    );
}

/// Reads changed bytes as a whole and in parts, which are to be refused both or neither.
fn assert_same_outcome(bytes: &[u8], what: &str) -> bool {
    let whole = read(bytes, Sizes::WHOLE);
    let parts = read(bytes, of_rows(3));
    match (whole, parts) {
        (Ok((whole, _)), Ok((parts, _))) => {
            let rows =
                |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
            assert_eq!(rows(&whole), rows(&parts), "{what}");
            assert_are_parts(&parts, &whole);
            true
        }
        (Err(_), Err(_)) => false,
        (whole, parts) => panic!(
            "{what}: whole {:?}, in parts {:?}",
            whole.err(),
            parts.err()
        ),
    }
}

#[test]
fn changed_bytes_are_refused_as_they_are_in_whole_batches() {
    quiet_foreign_panics();
    let (mut read, mut refused) = (0, 0);
    for (name, array) in cut_columns(10).into_iter().chain(whole_columns(10)) {
        let numbers = arrow_array::Int8Array::from_iter_values(0..10);
        // A column that can be cut stands beside one that cannot.
        let columns = vec![
            (name.clone(), array),
            ("n".to_owned(), std::sync::Arc::new(numbers) as _),
        ];
        let bytes = stream_of(&[table(columns)], IpcWriteOptions::default());
        let schema_bytes = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize + 8;
        let mut changed = bytes.clone();
        let one_in = some_or_all(4, 1);
        for at in (schema_bytes..bytes.len()).filter(|at| is_tried(*at, one_in)) {
            for value in [
                bytes[at] ^ 1,
                bytes[at] ^ 0x80,
                bytes[at].wrapping_add(2),
                0x7f,
            ] {
                changed[at] = value;
                match assert_same_outcome(&changed, &format!("{name}: byte {at} is {value}")) {
                    true => read += 1,
                    false => refused += 1,
                }
            }
            changed[at] = bytes[at];
        }
    }
    assert!(
        read > 5_000 && refused > 5_000,
        "{read} read, {refused} refused"
    );
}

#[test]
fn changed_numbers_are_refused_as_they_are_in_whole_batches() {
    quiet_foreign_panics();
    // Marsaglia's xorshift.
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let (mut read, mut refused) = (0, 0);
    for (name, array) in cut_columns(10).into_iter().chain(whole_columns(10)) {
        let batch = table(vec![(name.clone(), array)]);
        let bytes = stream_of(&[batch], IpcWriteOptions::default());
        let schema_bytes = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize + 8;
        for _ in 0..some_or_all(200, 10_000) {
            let mut changed = bytes.clone();
            let mut places = Vec::new();
            for _ in 0..1 + next(3) {
                let at = schema_bytes + 4 * next((bytes.len() - schema_bytes) / 4);
                let old = i32::from_le_bytes(changed[at..at + 4].try_into().unwrap());
                let near = [-1, 0, 1, next(200) as i32, old ^ 1, old ^ 8, old ^ 16];
                let new = near[next(near.len())];
                changed[at..at + 4].copy_from_slice(&new.to_le_bytes());
                places.push((at, new));
            }
            match assert_same_outcome(&changed, &format!("{name}: {places:?}")) {
                true => read += 1,
                false => refused += 1,
            }
        }
    }
    assert!(
        read > 2_000 && refused > 2_000,
        "{read} read, {refused} refused"
    );
}
