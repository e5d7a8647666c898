//! Strict columns: what an erasure leaves of them depends on no erased value.

use std::sync::Arc;

use arrow_array::types::Float32Type;
use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, Float64Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Fields};
use tarsia::{ColumnOptions, ErasureLevel, ErrorKind, RowSet, WriteOptions, Writer};
use tarsia_metadata as metadata;
use tarsia_metadata::{Footer, Postscript};

use crate::erasure::{live, open, options, scan, write, written};

const ROWS: usize = 9000;

fn erased_rows() -> RowSet {
    let mut rows = RowSet::new();
    for row in (0..ROWS as u64).step_by(61) {
        rows.insert_range(row..row + 1);
    }
    rows.insert_range(3000..5100);
    rows
}

/// A table of all types that can be strict. Erased rows have other values, and nulls where `is_twin`; the others have
/// few values, in order, and no nulls.
fn table(is_twin: bool) -> RecordBatch {
    let erased = erased_rows();
    let other = |row: usize| is_twin && erased.contains(row as u64);
    let is_null = |row: usize| other(row) && row.is_multiple_of(2);
    let number = |row: usize| match other(row) {
        true => (row as i64).wrapping_mul(0x5851_f42d_4c95_7f2d),
        false => row as i64 / 100,
    };
    let numbers = (0..ROWS).map(|row| (!is_null(row)).then(|| number(row)));
    let floats = (0..ROWS).map(|row| number(row) as f64 / 8.0);
    let bits = (0..ROWS).map(|row| (!is_null(row)).then(|| number(row) % 3 == 1));
    let hash = |row: usize| [number(row).to_le_bytes().as_slice(), &[7; 12]].concat();
    let hashes = FixedSizeBinaryArray::try_from_iter((0..ROWS).map(hash)).unwrap();
    let vector = |row: usize| {
        (!is_null(row)).then(|| vec![Some(number(row) as f32), (!other(row)).then_some(1.0)])
    };
    let vectors =
        FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>((0..ROWS).map(vector), 2);
    let ids: ArrayRef = Arc::new(Int64Array::from_iter(
        (0..ROWS).map(|row| (!is_null(row)).then(|| number(row))),
    ));
    let fields: Fields = vec![Field::new("id", DataType::Int64, true)].into();
    let nulls = (0..ROWS).map(|row| !other(row) || row % 3 > 0);
    let pairs = StructArray::new(fields, vec![ids], Some(nulls.collect::<Vec<_>>().into()));
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("number", Arc::new(Int64Array::from_iter(numbers)), true),
        (
            "float",
            Arc::new(Float64Array::from_iter_values(floats)),
            false,
        ),
        ("bit", Arc::new(BooleanArray::from_iter(bits)), true),
        ("hash", Arc::new(hashes), false),
        ("vector", Arc::new(vectors), true),
        ("pair", Arc::new(pairs), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The parts of a file that say where the others are.
fn parsed(bytes: &[u8]) -> (Postscript, Footer) {
    let committed = bytes.len() as u64;
    let tail = &bytes[bytes.len() - metadata::limits::POSTSCRIPT_BYTES..];
    let footer = Postscript::footer_range(tail, committed).unwrap();
    let footer = &bytes[footer.start as usize..footer.end as usize];
    let postscript = Postscript::parse(tail, committed, footer).unwrap();
    let footer = Footer::parse(footer, &postscript, &metadata::SECTIONS_KNOWN).unwrap();
    (postscript, footer)
}

/// All bytes of the pages of a file.
fn pages(bytes: &[u8]) -> &[u8] {
    let (_, footer) = parsed(bytes);
    &bytes[metadata::limits::HEADER_BYTES..footer.meta_place as usize]
}

/// The names of the columns that have zone maps, and the bytes of these.
fn zone_maps(bytes: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (postscript, footer) = parsed(bytes);
    let place = footer.records_range(&postscript);
    let records = metadata::Records::new(
        &bytes[place.start as usize..place.end as usize],
        footer.n_nodes,
    );
    let mut maps = Vec::new();
    for record in records {
        let record = record.unwrap();
        if let Some(zones) = record.column.and_then(|column| column.zones) {
            let start = zones.place as usize;
            let map = &bytes[start..start + zones.length as usize];
            maps.push((record.path.to_vec(), map.to_vec()));
        }
    }
    maps
}

fn erased(batch: &RecordBatch, options: &WriteOptions) -> Vec<u8> {
    let file = open(write(batch, options.clone()));
    file.verify().unwrap();
    assert_eq!(scan(&file).columns(), batch.columns());
    let rows = erased_rows();
    let plan = file.plan_erasure_with_salt_key(&rows, ErasureLevel::Erase, [3; 32]);
    let bytes = written(&file, plan.unwrap());
    let file = open(bytes.clone());
    assert_eq!(scan(&file).columns(), live(batch, &rows).columns());
    bytes
}

#[test]
fn twins_are_equal_after_the_erasure() {
    let options = options().with_salt_key([9; 32]);
    let strict = options.clone().with_strict_erasure();
    let (one, other) = (table(false), table(true));
    let (a, b) = (erased(&one, &strict), erased(&other, &strict));
    assert!(pages(&a) == pages(&b), "strict twins differ");
    let of_pairs = metadata::encode_path(["pair", "id"]).unwrap();
    assert!(zone_maps(&a).iter().any(|(path, _)| *path == of_pairs));
    assert!(
        zone_maps(&a) == zone_maps(&b),
        "zones of strict twins differ"
    );
    let audit = open(a).audit().unwrap();
    assert!(audit.is_clean());
    assert!(
        audit
            .columns
            .iter()
            .all(|it| it.strict && it.residue.is_empty())
    );
    assert_eq!(audit.broken_strict_columns().count(), 0);
    // What the same is without.
    let (a, b) = (erased(&one, &options), erased(&other, &options));
    assert!(pages(&a) != pages(&b));
    let audit = open(a).audit().unwrap();
    assert!(audit.is_clean());
    assert!(
        audit
            .columns
            .iter()
            .all(|it| !it.strict && !it.residue.is_empty())
    );
}

#[test]
fn what_cannot_be_strict_is_refused_by_name() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>([Some(
        [Some(1.0)],
    )]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let strict = || ColumnOptions::new().with_strict_erasure();
    for (column, options, what) in [
        (&texts, strict(), "the lengths of texts"),
        (&lists, strict(), "the lengths of lists"),
        (
            &floats,
            strict().with_rounding("int8"),
            "the scale of a page",
        ),
        (
            &floats,
            strict().with_outline("dict".parse().unwrap()),
            "its trees are those of its type",
        ),
    ] {
        let batch = RecordBatch::try_from_iter([("c", column.clone())]).unwrap();
        let options = WriteOptions::new().with_column("c", options);
        let error = Writer::new(Vec::new(), batch.schema(), options)
            .err()
            .unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let text = error.to_string();
        assert!(text.contains(what) && text.contains("`c"), "{text}");
    }
    let batch = RecordBatch::try_from_iter([("c", floats)]).unwrap();
    let rounded = strict().with_rounding("bf16");
    write(&batch, WriteOptions::new().with_column("c", rounded));
}

/// The file says so, and a file of its rows that is not strict does not.
#[test]
fn files_say_which_columns_are_strict() {
    let batch = RecordBatch::try_from_iter([
        ("a", Arc::new(Int64Array::from(vec![5, 6])) as ArrayRef),
        ("b", Arc::new(Int64Array::from(vec![5, 6]))),
    ])
    .unwrap();
    let strict = ColumnOptions::new().with_strict_erasure();
    let file = open(write(&batch, options().with_column("a", strict)));
    let says = |file: &tarsia::File| -> Vec<bool> {
        let columns = file.inspect().unwrap().columns;
        columns.iter().map(|column| column.strict).collect()
    };
    assert_eq!(says(&file), [true, false]);
    let rows = scan(&file);
    assert_eq!(says(&open(write(&rows, options()))), [false, false]);
}

/// The name of what the residue of columns is in.
#[test]
fn an_audit_names_residue() {
    let texts = (0..4000).map(|i| format!("{:x}", i * 77_777_777u64 % 1009));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("c", texts)]).unwrap();
    let own = ColumnOptions::new().with_outline("dict".parse().unwrap());
    let file = open(write(&batch, options().with_column("c", own)));
    let residue = file.audit().unwrap().columns[0].residue.clone();
    let holders: Vec<&str> = residue.iter().map(|it| it.holder.as_str()).collect();
    for holder in ["blocks", "pages", "tarsia.dict"] {
        assert!(holders.contains(&holder), "{holders:?}");
    }
    let hidden = options().with_erasure(ErasureLevel::Hide);
    let file = open(write(&batch, hidden));
    assert_eq!(file.audit().unwrap().columns[0].residue, []);
}
