//! Structs whose rows are stored whole: what comes back, what a row costs, and what is refused.

use std::sync::Arc;

use crate::common::{deterministic, open_with, same, write};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use tarsia::{ErrorKind, File, LAYOUT_KEY, OpenOptions, Threads, WriteOptions, Writer};
use tarsia_arrow::{Packing, Pool, value_type};
use tarsia_io::{CountingReader, MemoryFile, MemorySink};
use tarsia_testkit::arrays::flat_types;
use tarsia_testkit::nested::{logical_difference, nested_array, nested_profiles, sliced_nested};
use tarsia_testkit::rng::Rng;

fn field(name: &str, data_type: DataType, nullable: bool) -> FieldRef {
    Arc::new(Field::new(name, data_type, nullable))
}

fn packed(name: &str, array: &ArrayRef) -> FieldRef {
    let field = Field::new(name, array.data_type().clone(), true);
    let layout = (LAYOUT_KEY.to_owned(), "packed".to_owned());
    Arc::new(field.with_metadata([layout].into()))
}

/// A batch of a packed column `s` and one beside it.
fn batch_of(array: ArrayRef) -> RecordBatch {
    let rows = Int64Array::from_iter_values(0..array.len() as i64);
    let fields = vec![field("row", DataType::Int64, false), packed("s", &array)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![Arc::new(rows), array]).unwrap()
}

fn is_packable(data_type: &DataType) -> bool {
    let is_plain = !matches!(
        data_type,
        DataType::Dictionary(..) | DataType::RunEndEncoded(..)
    );
    is_plain && value_type(data_type).is_ok()
}

/// All flat types twice, once among strings; structs; fixed-size lists.
fn types() -> Vec<DataType> {
    let flat = flat_types().into_iter().filter(is_packable);
    let mut types: Vec<DataType> = flat
        .flat_map(|flat| {
            let one = [field("f", flat.clone(), true)];
            let among = [
                field("a", DataType::Utf8, true),
                field("f", flat.clone(), true),
                field("b", DataType::Boolean, true),
                field("f", flat, true),
                field("c", DataType::BinaryView, true),
            ];
            [
                DataType::Struct(one.into_iter().collect()),
                DataType::Struct(among.into_iter().collect()),
            ]
        })
        .collect();
    let inner: Fields = vec![
        field("x", DataType::Float32, false),
        field("empty", DataType::Struct(Fields::empty()), true),
        field("text", DataType::LargeUtf8, true),
        field("none", DataType::Null, true),
    ]
    .into();
    let list = |of, nullable, n| DataType::FixedSizeList(field("item", of, nullable), n);
    types.push(DataType::Struct(
        vec![
            field("in", DataType::Struct(inner), true),
            field("v", list(DataType::Float32, true, 3), true),
            field("w", list(DataType::Int8, false, 5), true),
            field("nothing", list(DataType::Int16, true, 0), true),
            field("id", DataType::Int64, true),
        ]
        .into(),
    ));
    types.push(DataType::Struct(
        vec![field("only", DataType::Struct(Fields::empty()), false)].into(),
    ));
    types
}
fn check(batch: &RecordBatch, options: WriteOptions, what: &str) {
    let bytes = write(batch.schema(), std::slice::from_ref(batch), options);
    let options = OpenOptions::new().with_threads(Threads::One);
    let file: File = open_with(&bytes, options).unwrap();
    assert_eq!(file.schema().unwrap(), batch.schema(), "{what}");
    let columns = file.inspect_columns("s").unwrap();
    assert_eq!(columns.len(), 1, "{what}");
    assert!(columns[0].data_type.starts_with("packed "), "{what}");
    file.verify().unwrap();
    file.inspect().unwrap();
    let mut at = 0;
    for part in file
        .scan()
        .batch_rows(1 + batch.num_rows() / 3)
        .build()
        .unwrap()
    {
        let part = part.unwrap();
        same(&part, &batch.slice(at, part.num_rows()), what);
        at += part.num_rows();
    }
    assert_eq!(at, batch.num_rows(), "{what}");
    if at == 0 {
        return;
    }
    let mut rng = Rng::new(at as u64);
    let rows: Vec<u64> = (0..20).map(|_| rng.below(at) as u64).collect();
    let back = file.take(&rows).read().unwrap();
    for (i, row) in rows.iter().enumerate() {
        same(&back.slice(i, 1), &batch.slice(*row as usize, 1), what);
    }
}

#[test]
fn every_packable_type_comes_back() {
    for data_type in types() {
        for (seed, profile) in nested_profiles(7).into_iter().enumerate() {
            for rows in [0, 1, 5, 700] {
                let array = sliced_nested(&data_type, rows, &profile);
                let what = format!("{data_type}, profile {seed}, {rows} rows");
                check(&batch_of(array), deterministic(), &what);
            }
        }
    }
}

#[cfg(feature = "kernels")]
#[test]
fn kernels_decode_packed_rows() {
    let data_type = types().swap_remove(types().len() - 2);
    let profile = nested_profiles(3).swap_remove(1);
    let batch = batch_of(nested_array(&data_type, 3000, &profile));
    let options = deterministic().with_embed_kernels(tarsia::EmbedKernels::Embed);
    let bytes = write(batch.schema(), std::slice::from_ref(&batch), options);
    let forced = OpenOptions::new().with_kernels(tarsia::Kernels::Forced);
    let file: File = open_with(&bytes, forced).unwrap();
    same(
        &file.take(&(0..3000).collect::<Vec<_>>()).read().unwrap(),
        &batch,
        "forced",
    );
    assert_eq!(file.decoder_counts().native, 0);
    assert!(file.decoder_counts().kernel > 0);
}

#[test]
fn pages_and_batches_leave_no_trace() {
    let data_type = types().swap_remove(types().len() - 2);
    let profile = nested_profiles(3).swap_remove(1);
    let batch = batch_of(nested_array(&data_type, 9000, &profile));
    let options = || deterministic().with_page_bytes(10_000);
    check(&batch, options(), "small pages");
    let whole = write(batch.schema(), std::slice::from_ref(&batch), options());
    let parts: Vec<_> = (0..batch.num_rows())
        .step_by(613)
        .map(|at| batch.slice(at, 613.min(batch.num_rows() - at)))
        .collect();
    assert!(whole == write(batch.schema(), &parts, options()));
}

/// A struct of an id, a text and a flag; what stands under null structs is `garbage`.
fn people(garbage: &str) -> StructArray {
    let nulls = NullBuffer::from_iter((0..3000).map(|row| row % 7 != 3));
    let text = |row: usize| match (row % 7, row % 5) {
        (3, _) => Some(garbage.to_owned()),
        (_, 0) => None,
        _ => Some(format!("name {row}")),
    };
    let names = StringArray::from_iter((0..3000).map(text));
    let ids = Int64Array::from_iter_values((0..3000).map(|row| match row % 7 {
        3 => garbage.len() as i64,
        _ => row * 7919,
    }));
    let fields: Fields = vec![
        field("id", DataType::Int64, false),
        field("name", DataType::Utf8, true),
    ]
    .into();
    StructArray::new(fields, vec![Arc::new(ids), Arc::new(names)], Some(nulls))
}

#[test]
fn what_stands_under_nulls_is_not_stored() {
    let bytes = |garbage: &str| {
        let batch = batch_of(Arc::new(people(garbage)));
        write(
            batch.schema(),
            std::slice::from_ref(&batch),
            deterministic(),
        )
    };
    let secret = bytes("a secret that nobody may find");
    assert!(secret == bytes("x"));
}

#[test]
fn a_row_of_many_fields_costs_one_request() {
    let mut rng = Rng::new(5);
    let n = 20_000;
    let names: Vec<String> = (0..12).map(|i| format!("f{i}")).collect();
    let fields: Fields = names
        .iter()
        .map(|name| field(name, DataType::Int64, true))
        .collect();
    let columns: Vec<ArrayRef> = names
        .iter()
        .map(|_| {
            Arc::new(Int64Array::from_iter_values(
                (0..n).map(|_| rng.u64() as i64),
            )) as _
        })
        .collect();
    let array: ArrayRef = Arc::new(StructArray::new(fields, columns, None));
    let split = RecordBatch::try_from_iter([("s", array.clone())]).unwrap();
    let schema = Arc::new(Schema::new(vec![packed("s", &array)]));
    let whole = RecordBatch::try_new(schema, vec![array]).unwrap();
    let cost = |batch: &RecordBatch| {
        let bytes = write(batch.schema(), std::slice::from_ref(batch), deterministic());
        let reader = Arc::new(CountingReader::new(MemoryFile::new(bytes)));
        let file = File::open_reader(reader.clone(), OpenOptions::default()).unwrap();
        file.take(&[n as u64 / 2]).read().unwrap();
        reader.reset();
        let tarsia::Taken {
            batch: row, reads, ..
        } = file.take(&[n as u64 / 2]).read_counted().unwrap();
        same(&row, &batch.slice(n as usize / 2, 1), "a row");
        // And once whether the file was changed.
        assert_eq!(reader.stats().requests, reads.requests + 1);
        reads
    };
    let (split, whole) = (cost(&split), cost(&whole));
    assert_eq!(whole.requests, 1);
    assert_eq!(split.requests, 12);
    // A block is at most 32 KiB where the width is no power of two.
    assert!(whole.bytes <= 33 << 10, "{whole:?}");
    assert!(whole.bytes < split.bytes, "{whole:?} {split:?}");
}

#[test]
fn elements_are_taken_out_of_the_row() {
    let array: ArrayRef = Arc::new(people(""));
    let list = DataType::FixedSizeList(field("item", DataType::Int16, true), 4);
    let data_type = DataType::Struct(
        vec![
            field("in", array.data_type().clone(), true),
            field("v", list, true),
        ]
        .into(),
    );
    let profile = nested_profiles(9).swap_remove(1);
    let array = nested_array(&data_type, 500, &profile);
    let batch = batch_of(array.clone());
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let file: File = open_with(&bytes, OpenOptions::default()).unwrap();
    let rows = [400, 3, 3, 77, 499, 0];
    let element = |path: &str| {
        let tarsia::Taken {
            batch: taken,
            reads,
            ..
        } = file
            .take(&rows)
            .element(&path.parse().unwrap())
            .read_counted()
            .unwrap();
        assert!(reads.requests >= 1);
        assert_eq!(taken.schema().field(0).name(), path);
        taken.column(0).clone()
    };
    let parent = array.as_struct();
    for (i, row) in rows.iter().enumerate() {
        let row = *row as usize;
        let is_null = parent.is_null(row);
        let names = parent.column(0).as_struct();
        let id = element("s.in.id");
        assert_eq!(id.is_null(i), is_null || names.is_null(row));
        if !id.is_null(i) {
            let want = names.column(0).slice(row, 1);
            logical_difference(id.slice(i, 1).as_ref(), want.as_ref()).unwrap();
        }
        let list = parent.column(1).as_fixed_size_list();
        let third = element("s.v[2]");
        let there = !is_null && list.is_valid(row) && list.value(row).is_valid(2);
        assert_eq!(third.is_valid(i), there);
        if there {
            let want = list.value(row).slice(2, 1);
            logical_difference(third.slice(i, 1).as_ref(), want.as_ref()).unwrap();
        }
        let two = element("s.v[1..3]");
        let two = two.as_fixed_size_list();
        assert_eq!(two.is_valid(i), !is_null && list.is_valid(row));
        if two.is_valid(i) {
            let want = list.value(row).slice(1, 2);
            logical_difference(two.value(i).as_ref(), want.as_ref()).unwrap();
        }
        assert!(element("s.v[9]").is_null(i));
    }
    for bad in ["s.none", "s.v[0][0]", "s.in[0]", "s.v.x"] {
        let error = file
            .take(&rows)
            .element(&bad.parse().unwrap())
            .read()
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSuchColumn, "{bad}");
    }
}

#[test]
fn what_cannot_be_packed_is_refused_by_name() {
    let int = field("i", DataType::Int8, true);
    let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    let list = |of| DataType::FixedSizeList(field("item", of, true), 2);
    for (inside, what) in [
        (DataType::List(int.clone()), "`x`"),
        (dictionary, "`x`"),
        (list(DataType::Utf8), "`x`"),
        (list(DataType::Boolean), "`x`"),
        (
            DataType::Struct(vec![field("y", DataType::ListView(int), true)].into()),
            "`y`",
        ),
        (
            DataType::FixedSizeList(field("item", DataType::Int64, true), i32::MAX),
            "limit",
        ),
    ] {
        let data_type = DataType::Struct(vec![field("x", inside, true)].into());
        let array = arrow_array::new_empty_array(&data_type);
        let schema = batch_of(array).schema();
        let error = Writer::new(MemorySink::new(), schema, deterministic())
            .err()
            .unwrap();
        let text = error.to_string();
        assert!(text.contains("column `s`") && text.contains(what), "{text}");
    }
    let ints: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    for (array, layout) in [(ints.clone(), "packed"), (ints, "zipped")] {
        let field = Field::new("s", array.data_type().clone(), true);
        let field = field.with_metadata([(LAYOUT_KEY.to_owned(), layout.to_owned())].into());
        let schema = Arc::new(Schema::new(vec![field]));
        let error = Writer::new(MemorySink::new(), schema, deterministic())
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains("packed"), "{error}");
    }
}

#[test]
fn rows_that_do_not_fit_their_fields_are_corrupt() {
    let array = people("");
    let pool = Pool::new(1 << 20);
    let packing = Packing::of(array.data_type()).unwrap();
    let rows = packing.pack(&array).unwrap();
    assert_eq!(rows.data_type(), &packing.stored_type());
    logical_difference(
        packing.unpack(rows.as_ref(), &pool).unwrap().as_ref(),
        &array,
    )
    .unwrap();
    let good: Vec<u8> = rows.as_binary::<i64>().value(1).to_vec();
    let unpack = |row: &[u8]| {
        let rows = arrow_array::LargeBinaryArray::from_iter_values([row]);
        packing.unpack(&rows, &pool)
    };
    assert!(unpack(&good).is_ok());
    for len in 0..good.len() {
        assert!(unpack(&good[..len]).is_err(), "{len}");
    }
    assert!(unpack(&[good.as_slice(), b"x"].concat()).is_err());
    for at in 0..good.len() {
        for change in [1, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= change;
            // Another value, or refused; no panic.
            let _ = unpack(&bad);
        }
    }
    let mut not_text = good.clone();
    *not_text.last_mut().unwrap() = 0xff;
    assert!(unpack(&not_text).unwrap_err().is_corruption());
    // Rows of other types and widths.
    let other = Packing::of(&DataType::Struct(
        vec![field("x", DataType::Int8, false)].into(),
    ));
    assert!(other.unwrap().unpack(rows.as_ref(), &pool).is_err());
    assert!(packing.unpack(&Int64Array::from(vec![1]), &pool).is_err());
}

/// Rows that are few distinct ones are stored as entries of a dictionary, of which filters make structs first.
#[test]
fn fields_of_few_packed_rows_are_filtered() {
    let mut rng = Rng::new(7);
    let words = ["JFK", "LGA", "", "Ab", "LaGuardia", "zz"];
    let mut text = || -> ArrayRef {
        let words = (0..4_000).map(|_| Some(*rng.pick(&words)));
        Arc::new(words.collect::<StringArray>())
    };
    let columns: Vec<ArrayRef> = vec![text(), text(), text()];
    let fields: Vec<FieldRef> = ["a", "b", "c"]
        .map(|name| field(name, DataType::Utf8, true))
        .into();
    let expected = columns[1].as_string::<i32>().iter();
    let expected = expected.filter(|it| *it == Some("LGA")).count() as u64;
    let batch = batch_of(Arc::new(StructArray::new(fields.into(), columns, None)));
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        WriteOptions::new(),
    );
    let file = open_with(&bytes, OpenOptions::new()).unwrap();
    let filter = tarsia::filter::col("s.b").eq("LGA");
    assert_eq!(file.scan().filter(filter).count().unwrap(), expected);
}
