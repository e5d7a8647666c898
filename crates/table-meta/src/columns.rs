//! Entries as the columns of a manifest.

use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, PrimitiveArray,
    RecordBatch, StructArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};

use crate::entry::{Entry, EntryKind, EntryOp, Partition, Target};
use crate::error::{Error, Result};
use crate::ids::{FieldId, FileId, ObjectId};

const OBJECT: &str = "manifest";
const ID: DataType = DataType::FixedSizeBinary(16);
const DIGEST: DataType = DataType::FixedSizeBinary(32);

fn target_fields() -> Fields {
    Fields::from(vec![
        Field::new("file", ID, false),
        Field::new("first_row", DataType::UInt64, false),
        Field::new("rows", DataType::UInt64, false),
        Field::new("dense", DataType::Boolean, false),
        Field::new("row_set", DataType::Binary, true),
    ])
}

fn item(data_type: DataType) -> FieldRef {
    Arc::new(Field::new("item", data_type, false))
}

/// The schema of all manifests.
pub(crate) fn arrow_schema() -> SchemaRef {
    static SCHEMA: OnceLock<SchemaRef> = OnceLock::new();
    let make = || {
        let targets = DataType::Struct(target_fields());
        let field = |name: &str, data_type: DataType| Field::new(name, data_type, false);
        Arc::new(Schema::new(vec![
            field("op", DataType::UInt8),
            field("kind", DataType::UInt8),
            field("spec", DataType::UInt32),
            field("partition", DataType::Binary),
            field("file", ID),
            field("rows", DataType::UInt64),
            field("bytes", DataType::UInt64),
            Field::new("root", DIGEST, true),
            field("epoch", DataType::UInt64),
            field("seq", DataType::UInt64),
            field("low", DataType::UInt64),
            field("folded", DataType::Boolean),
            field("ordinal", DataType::UInt32),
            Field::new("schema", DIGEST, true),
            field("fields", DataType::List(item(DataType::UInt64))),
            field("targets", DataType::List(item(targets))),
            field("origins", DataType::List(item(ID))),
        ]))
    };
    SCHEMA.get_or_init(make).clone()
}

fn fixed<const N: usize>(
    values: impl Iterator<Item = Option<[u8; N]>>,
) -> Result<ArrayRef, ArrowError> {
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, N as i32)?;
    Ok(Arc::new(array))
}

fn list(lengths: impl Iterator<Item = usize>, values: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let offsets = OffsetBuffer::from_lengths(lengths);
    let items = item(values.data_type().clone());
    Ok(Arc::new(ListArray::try_new(items, offsets, values, None)?))
}

/// The columns of entries.
pub(crate) fn batch_of(entries: &[Entry]) -> Result<RecordBatch, ArrowError> {
    let targets = || entries.iter().flat_map(|entry| &entry.targets);
    let numbers = |value: fn(&Entry) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(entries.iter().map(value)))
    };
    let codes = |value: fn(&Entry) -> u8| -> ArrayRef {
        Arc::new(UInt8Array::from_iter_values(entries.iter().map(value)))
    };
    let small = |value: fn(&Entry) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(entries.iter().map(value)))
    };
    let partitions = entries
        .iter()
        .map(|entry| entry.partition.values.as_slice());
    let folded = entries.iter().map(|entry| Some(entry.folded));
    let fields = entries
        .iter()
        .flat_map(|entry| entry.fields.iter().map(|id| id.0));
    let origins = entries
        .iter()
        .flat_map(|entry| entry.origins.iter().map(|id| Some(id.0)));
    let of_targets = StructArray::try_new_with_length(
        target_fields(),
        vec![
            fixed(targets().map(|target| Some(target.file.0)))?,
            Arc::new(UInt64Array::from_iter_values(
                targets().map(|it| it.first_row),
            )),
            Arc::new(UInt64Array::from_iter_values(targets().map(|it| it.rows))),
            Arc::new(targets().map(|it| Some(it.dense)).collect::<BooleanArray>()),
            Arc::new(
                targets()
                    .map(|it| it.row_set.as_deref())
                    .collect::<BinaryArray>(),
            ),
        ],
        None,
        targets().count(),
    )?;
    let columns: Vec<ArrayRef> = vec![
        codes(|entry| entry.op.code()),
        codes(|entry| entry.kind.code()),
        small(|entry| entry.partition.spec),
        Arc::new(BinaryArray::from_iter_values(partitions)),
        fixed(entries.iter().map(|entry| Some(entry.file.0)))?,
        numbers(|entry| entry.rows),
        numbers(|entry| entry.bytes),
        fixed(entries.iter().map(|entry| entry.root.map(|id| id.0)))?,
        numbers(|entry| entry.epoch),
        numbers(|entry| entry.seq),
        numbers(|entry| entry.low),
        Arc::new(folded.collect::<BooleanArray>()),
        small(|entry| entry.ordinal),
        fixed(entries.iter().map(|entry| entry.schema.map(|id| id.0)))?,
        list(
            entries.iter().map(|entry| entry.fields.len()),
            Arc::new(UInt64Array::from_iter_values(fields)),
        )?,
        list(
            entries.iter().map(|entry| entry.targets.len()),
            Arc::new(of_targets),
        )?,
        list(
            entries.iter().map(|entry| entry.origins.len()),
            fixed(origins)?,
        )?,
    ];
    RecordBatch::try_new(arrow_schema(), columns)
}

/// Appends the entries of a batch, which has the columns of [`arrow_schema`].
pub(crate) fn entries_of(batch: &RecordBatch, out: &mut Vec<Entry>) -> Result<()> {
    let columns = Columns { batch };
    let (op, kind) = (
        columns.numbers::<UInt8Type>(0)?,
        columns.numbers::<UInt8Type>(1)?,
    );
    let (spec, ordinal) = (
        columns.numbers::<UInt32Type>(2)?,
        columns.numbers::<UInt32Type>(12)?,
    );
    let partition = columns
        .column(3)?
        .as_binary_opt::<i32>()
        .ok_or_else(|| wrong(3))?;
    let (file, root, schema) = (columns.fixed(4)?, columns.fixed(7)?, columns.fixed(13)?);
    let large = [5, 6, 8, 9, 10].map(|i| columns.numbers::<UInt64Type>(i));
    let [rows, bytes, epoch, seq, low] = large;
    let (rows, bytes, epoch, seq, low) = (rows?, bytes?, epoch?, seq?, low?);
    let folded = columns
        .column(11)?
        .as_boolean_opt()
        .ok_or_else(|| wrong(11))?;
    let (fields, targets, origins) = (columns.list(14)?, columns.list(15)?, columns.list(16)?);
    let digest = |array: &FixedSizeBinaryArray, i: usize| match array.is_null(i) {
        true => None,
        false => ObjectId::of_slice(array.value(i)),
    };
    for i in 0..batch.num_rows() {
        let bad = |what| Error::corrupt(OBJECT, format!("`{what}` of an entry"));
        let entry = Entry {
            op: EntryOp::of_code(op.value(i)).ok_or_else(|| bad("op"))?,
            kind: EntryKind::of_code(kind.value(i)).ok_or_else(|| bad("kind"))?,
            partition: Partition {
                spec: spec.value(i),
                values: partition.value(i).to_vec(),
            },
            file: FileId::of_slice(file.value(i)).ok_or_else(|| bad("file"))?,
            rows: rows.value(i),
            bytes: bytes.value(i),
            root: digest(root, i),
            epoch: epoch.value(i),
            seq: seq.value(i),
            low: low.value(i),
            folded: folded.value(i),
            ordinal: ordinal.value(i),
            schema: digest(schema, i),
            fields: items(fields, i, fields_of)?,
            targets: items(targets, i, targets_of)?,
            origins: items(origins, i, origins_of)?,
        };
        entry.check()?;
        out.push(entry);
    }
    Ok(())
}

/// Numbers of the entries of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ManifestCounts {
    /// Data files that are added.
    pub added_files: u64,
    /// Rows of these.
    pub added_rows: u64,
    /// Data files that are removed.
    pub removed_files: u64,
    /// Rows of these.
    pub removed_rows: u64,
    /// Removals of files of all kinds.
    pub removals: u64,
}

/// The columns that [`partitions_of`] takes.
pub(crate) const PARTITION_COLUMNS: [&str; 2] = ["spec", "partition"];

/// The spec and the values of each row of a batch, which has the columns [`PARTITION_COLUMNS`].
pub(crate) fn partitions_of(batch: &RecordBatch) -> Result<impl Iterator<Item = (u32, &[u8])>> {
    let columns = Columns { batch };
    let specs = columns.numbers::<UInt32Type>(0)?.values();
    let values = columns.column(1)?.as_binary_opt::<i32>();
    let values = values.ok_or_else(|| wrong(1))?;
    let values = (0..values.len()).map(move |i| values.value(i));
    Ok(specs.iter().copied().zip(values))
}

/// The columns that [`count_entries`] takes.
pub(crate) const COUNTED_COLUMNS: [&str; 3] = ["op", "kind", "rows"];

/// Counts the rows of a batch, which has the columns [`COUNTED_COLUMNS`].
pub(crate) fn count_entries(batch: &RecordBatch, counts: &mut ManifestCounts) -> Result<()> {
    let columns = Columns { batch };
    let ops = columns.numbers::<UInt8Type>(0)?.values().iter();
    let kinds = columns.numbers::<UInt8Type>(1)?.values().iter();
    let rows = columns.numbers::<UInt64Type>(2)?.values().iter();
    for ((op, kind), rows) in ops.zip(kinds).zip(rows) {
        let bad = |what| Error::corrupt(OBJECT, format!("`{what}` of an entry"));
        let op = EntryOp::of_code(*op).ok_or_else(|| bad("op"))?;
        let kind = EntryKind::of_code(*kind).ok_or_else(|| bad("kind"))?;
        counts.removals += u64::from(op == EntryOp::Remove);
        let (files, of_files) = match op {
            EntryOp::Add => (&mut counts.added_files, &mut counts.added_rows),
            EntryOp::Remove => (&mut counts.removed_files, &mut counts.removed_rows),
        };
        if kind == EntryKind::Data {
            *files += 1;
            *of_files = of_files.saturating_add(*rows);
        }
    }
    Ok(())
}

fn wrong(i: usize) -> Error {
    Error::corrupt(OBJECT, format!("column {i} has another type"))
}

/// The items of a list, of which most are empty: of these no array is made.
fn items<T>(
    list: &ListArray,
    i: usize,
    read: impl Fn(&ArrayRef) -> Result<Vec<T>>,
) -> Result<Vec<T>> {
    match list.value_length(i) {
        0 => Ok(Vec::new()),
        _ => read(&list.value(i)),
    }
}

fn fields_of(array: &ArrayRef) -> Result<Vec<FieldId>> {
    let ids = array.as_primitive_opt::<UInt64Type>();
    let ids = ids.ok_or_else(|| wrong(14))?.values();
    Ok(ids.iter().map(|id| FieldId(*id)).collect())
}

fn origins_of(array: &ArrayRef) -> Result<Vec<FileId>> {
    let ids = array.as_fixed_size_binary_opt();
    let ids = ids.ok_or_else(|| wrong(16))?.iter().flatten();
    Ok(ids.filter_map(FileId::of_slice).collect())
}

fn targets_of(array: &ArrayRef) -> Result<Vec<Target>> {
    let wrong = || wrong(15);
    let targets = array.as_struct_opt().ok_or_else(wrong)?;
    let column = |i: usize| targets.columns().get(i).ok_or_else(wrong);
    let file = column(0)?.as_fixed_size_binary_opt().ok_or_else(wrong)?;
    let first_row = column(1)?
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(wrong)?;
    let rows = column(2)?
        .as_primitive_opt::<UInt64Type>()
        .ok_or_else(wrong)?;
    let dense = column(3)?.as_boolean_opt().ok_or_else(wrong)?;
    let row_set = column(4)?.as_binary_opt::<i32>().ok_or_else(wrong)?;
    let target = |i: usize| {
        Ok(Target {
            file: FileId::of_slice(file.value(i)).ok_or_else(wrong)?,
            first_row: first_row.value(i),
            rows: rows.value(i),
            dense: dense.value(i),
            row_set: row_set.is_valid(i).then(|| row_set.value(i).to_vec()),
        })
    };
    (0..targets.len()).map(target).collect()
}

struct Columns<'a> {
    batch: &'a RecordBatch,
}

impl<'a> Columns<'a> {
    fn column(&self, i: usize) -> Result<&'a ArrayRef> {
        self.batch.columns().get(i).ok_or_else(|| wrong(i))
    }

    fn numbers<T: arrow_array::ArrowPrimitiveType>(
        &self,
        i: usize,
    ) -> Result<&'a PrimitiveArray<T>> {
        self.column(i)?
            .as_primitive_opt::<T>()
            .ok_or_else(|| wrong(i))
    }

    fn fixed(&self, i: usize) -> Result<&'a FixedSizeBinaryArray> {
        self.column(i)?
            .as_fixed_size_binary_opt()
            .ok_or_else(|| wrong(i))
    }

    fn list(&self, i: usize) -> Result<&'a ListArray> {
        self.column(i)?.as_list_opt::<i32>().ok_or_else(|| wrong(i))
    }
}
