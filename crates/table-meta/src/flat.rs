//! Entries, manifests and partition specs in FlatBuffers.

use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, Vector, WIPOffset};

use crate::entry::{
    Entry, EntryKind, EntryOp, ManifestRow, Partition, PartitionField, PartitionSpec, Target,
    Transform,
};
use crate::error::{Error, Result};
use crate::generated::table as fb;
use crate::ids::{FieldId, FileId, ObjectId};

/// A list of tables.
pub(crate) type Tables<'a, T> = Vector<'a, ForwardsUOffset<T>>;

/// Writes tables and a list of them; `None` for an empty one.
pub(crate) fn tables<'a, T, F>(
    builder: &mut FlatBufferBuilder<'a>,
    items: &[T],
    write: impl Fn(&mut FlatBufferBuilder<'a>, &T) -> WIPOffset<F>,
) -> Option<WIPOffset<Tables<'a, F>>> {
    let mut written = Vec::with_capacity(items.len());
    for item in items {
        written.push(write(builder, item));
    }
    (!written.is_empty()).then(|| builder.create_vector(&written))
}

fn bytes<'a>(
    builder: &mut FlatBufferBuilder<'a>,
    bytes: &[u8],
) -> Option<WIPOffset<Vector<'a, u8>>> {
    (!bytes.is_empty()).then(|| builder.create_vector(bytes))
}

fn bytes_of(bytes: Option<Vector<'_, u8>>) -> Vec<u8> {
    bytes.map_or_else(Vec::new, |bytes| bytes.bytes().to_vec())
}

pub(crate) fn digest_of(digest: &fb::Digest) -> ObjectId {
    ObjectId(digest.bytes().into())
}

pub(crate) fn write_entry<'a>(
    builder: &mut FlatBufferBuilder<'a>,
    entry: &Entry,
) -> WIPOffset<fb::Entry<'a>> {
    let targets = tables(builder, &entry.targets, |builder, target| {
        let row_set = target.row_set.as_ref();
        let row_set = row_set.map(|set| builder.create_vector(set.as_slice()));
        let args = fb::TargetArgs {
            file: Some(&fb::Id::new(&target.file.0)),
            first_row: target.first_row,
            rows: target.rows,
            dense: target.dense,
            row_set,
        };
        fb::Target::create(builder, &args)
    });
    let partition = bytes(builder, &entry.partition.values);
    let ids: Vec<u64> = entry.fields.iter().map(|id| id.0).collect();
    let fields = (!ids.is_empty()).then(|| builder.create_vector(&ids));
    let origins: Vec<_> = entry.origins.iter().map(|id| fb::Id::new(&id.0)).collect();
    let origins = (!origins.is_empty()).then(|| builder.create_vector(&origins));
    let digest = |id: &Option<ObjectId>| id.as_ref().map(|id| fb::Digest::new(&id.0));
    let (root, schema) = (digest(&entry.root), digest(&entry.schema));
    let args = fb::EntryArgs {
        op: entry.op.code(),
        kind: entry.kind.code(),
        spec: entry.partition.spec,
        partition,
        file: Some(&fb::Id::new(&entry.file.0)),
        rows: entry.rows,
        bytes: entry.bytes,
        root: root.as_ref(),
        epoch: entry.epoch,
        seq: entry.seq,
        low: entry.low,
        folded: entry.folded,
        ordinal: entry.ordinal,
        schema: schema.as_ref(),
        fields,
        targets,
        origins,
    };
    fb::Entry::create(builder, &args)
}

pub(crate) fn read_entry(entry: &fb::Entry<'_>) -> Result<Entry> {
    let bad = |what: String| Error::corrupt("entry", what);
    let (op, kind) = (entry.op(), entry.kind());
    let targets = entry.targets().into_iter().flatten();
    let targets = targets.map(|target| Target {
        file: FileId(target.file().bytes().into()),
        first_row: target.first_row(),
        rows: target.rows(),
        dense: target.dense(),
        row_set: target.row_set().map(|set| set.bytes().to_vec()),
    });
    let origins = entry.origins().into_iter().flatten();
    let read = Entry {
        op: EntryOp::of_code(op).ok_or_else(|| bad(format!("`op` {op}")))?,
        kind: EntryKind::of_code(kind).ok_or_else(|| bad(format!("`kind` {kind}")))?,
        partition: Partition {
            spec: entry.spec(),
            values: bytes_of(entry.partition()),
        },
        file: FileId(entry.file().bytes().into()),
        rows: entry.rows(),
        bytes: entry.bytes(),
        root: entry.root().map(digest_of),
        epoch: entry.epoch(),
        seq: entry.seq(),
        low: entry.low(),
        folded: entry.folded(),
        ordinal: entry.ordinal(),
        schema: entry.schema().map(digest_of),
        fields: entry.fields().into_iter().flatten().map(FieldId).collect(),
        targets: targets.collect(),
        origins: origins.map(|id| FileId(id.bytes().into())).collect(),
    };
    read.check()?;
    Ok(read)
}

pub(crate) fn write_manifest<'a>(
    builder: &mut FlatBufferBuilder<'a>,
    row: &ManifestRow,
) -> WIPOffset<fb::Manifest<'a>> {
    let first = bytes(builder, &row.first.values);
    let last = bytes(builder, &row.last.values);
    let args = fb::ManifestArgs {
        id: Some(&fb::Digest::new(&row.id.0)),
        tier: row.tier,
        entries: row.entries,
        bytes: row.bytes,
        first_spec: row.first.spec,
        first,
        last_spec: row.last.spec,
        last,
        seq_base: row.seq_base,
        seq_low: row.seq_low,
        seq_high: row.seq_high,
        kinds: row.kinds,
    };
    fb::Manifest::create(builder, &args)
}

pub(crate) fn read_manifest(row: &fb::Manifest<'_>) -> Result<ManifestRow> {
    let read = ManifestRow {
        id: digest_of(row.id()),
        tier: row.tier(),
        entries: row.entries(),
        bytes: row.bytes(),
        first: Partition {
            spec: row.first_spec(),
            values: bytes_of(row.first()),
        },
        last: Partition {
            spec: row.last_spec(),
            values: bytes_of(row.last()),
        },
        seq_base: row.seq_base(),
        seq_low: row.seq_low(),
        seq_high: row.seq_high(),
        kinds: row.kinds(),
    };
    read.check()?;
    Ok(read)
}

pub(crate) fn write_spec<'a>(
    builder: &mut FlatBufferBuilder<'a>,
    spec: &PartitionSpec,
) -> WIPOffset<fb::PartitionSpec<'a>> {
    let fields = tables(builder, &spec.fields, |builder, field| {
        let (transform, width) = match field.transform {
            Transform::Identity => (0, 0),
            Transform::Year => (1, 0),
            Transform::Month => (2, 0),
            Transform::Day => (3, 0),
            Transform::Hour => (4, 0),
            Transform::Truncate(width) => (5, width),
        };
        let args = fb::PartitionFieldArgs {
            source: field.source.0,
            transform,
            width,
        };
        fb::PartitionField::create(builder, &args)
    });
    let args = fb::PartitionSpecArgs {
        id: spec.id,
        fields,
    };
    fb::PartitionSpec::create(builder, &args)
}

pub(crate) fn read_spec(spec: &fb::PartitionSpec<'_>) -> Result<PartitionSpec> {
    let field = |field: fb::PartitionField<'_>| {
        let transform = match (field.transform(), field.width()) {
            (0, 0) => Transform::Identity,
            (1, 0) => Transform::Year,
            (2, 0) => Transform::Month,
            (3, 0) => Transform::Day,
            (4, 0) => Transform::Hour,
            (5, 1..) => Transform::Truncate(field.width()),
            (other, width) => {
                let what = format!("transform {other} of width {width}");
                return Err(Error::corrupt("partition spec", what));
            }
        };
        Ok(PartitionField {
            source: FieldId(field.source()),
            transform,
        })
    };
    let fields = spec.fields().into_iter().flatten();
    let read = PartitionSpec {
        id: spec.id(),
        fields: fields.map(field).collect::<Result<_>>()?,
    };
    let too_many = |error: Error| Error::corrupt("partition spec", error.to_string());
    read.check().map_err(too_many)?;
    Ok(read)
}
