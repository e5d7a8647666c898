//! Batches become data files, spread over partitions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use tarsia::{File, OpenOptions, WriteOptions, Writer, WriterMemory};
use tarsia_io::{Store, block_on};
use tarsia_table_meta::{
    Entry, EntryKind, EntryOp, FileId, ObjectId, Partition, Partitioning, TableSchema, names,
};

use crate::error::{Error, ErrorKind, Result};

/// Partitions whose files are written at the same time. The file of another one is finished first.
const PARTITIONS_OPEN_MAX: usize = 16;
/// Memory of the writer of a partition.
const PARTITION_MEMORY_BYTES: u64 = 16 << 20;

/// Options of data files.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// Options of each file.
    pub write: WriteOptions,
    /// A file that has so many bytes is finished, and another one begun. It is in memory until then.
    pub file_bytes: u64,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            write: WriteOptions::new(),
            file_bytes: 128 << 20,
        }
    }
}

/// Bytes that are shared with the store that writes them.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Writes rows of a table as data files.
pub(crate) struct RowWriter {
    store: Arc<dyn Store>,
    schema: Arc<TableSchema>,
    schema_id: ObjectId,
    arrow: SchemaRef,
    partitioning: Partitioning,
    options: FileOptions,
    /// By partition. The second is when it was last written to.
    open: BTreeMap<Vec<u8>, (Writer<Vec<u8>>, u64)>,
    n_batches: u64,
    entries: Vec<Entry>,
    rows: u64,
}

impl RowWriter {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        schema: Arc<TableSchema>,
        schema_id: ObjectId,
        partitioning: Partitioning,
        mut options: FileOptions,
    ) -> Self {
        // Files of one call are alike, and those of many partitions small.
        if options.write.memory().is_none() {
            options.write = options.write.with_memory(&WriterMemory::new());
        }
        Self {
            arrow: schema.arrow(),
            store,
            schema,
            schema_id,
            partitioning,
            options,
            open: BTreeMap::new(),
            n_batches: 0,
            entries: Vec::new(),
            rows: 0,
        }
    }

    /// Writes a batch, whose fields are found by name.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = self.in_order(batch)?;
        self.n_batches += 1;
        self.rows += batch.num_rows() as u64;
        let fields = &self.partitioning.spec().fields;
        if fields.is_empty() {
            return self.write_part(Vec::new(), &batch);
        }
        let columns = fields.iter().filter_map(|field| {
            let place = self.schema.place(field.source)?;
            batch.columns().get(place).cloned()
        });
        let columns: Vec<ArrayRef> = columns.collect();
        for (partition, rows) in self.partitioning.spread(&columns, batch.num_rows())? {
            let part = match rows.len() == batch.num_rows() {
                true => batch.clone(),
                false => rows_of(&batch, &rows)?,
            };
            self.write_part(partition, &part)?;
        }
        Ok(())
    }

    /// The batch with the fields in the order of the table.
    fn in_order(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let given = batch.schema();
        let mut places = HashMap::with_capacity(given.fields().len());
        for (place, field) in given.fields().iter().enumerate() {
            let name = field.name().as_str();
            if self.schema.by_name(name).is_none() {
                let name = name.escape_debug();
                return Err(Error::invalid(format!("the table has no field `{name}`")));
            }
            if places.insert(name, place).is_some() {
                let name = name.escape_debug();
                return Err(Error::invalid(format!("two fields have the name `{name}`")));
            }
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for field in self.schema.fields() {
            let field = &field.field;
            let name = field.name().escape_debug();
            let place = places
                .get(field.name().as_str())
                .ok_or_else(|| Error::invalid(format!("the rows have no field `{name}`")))?;
            let column = batch.column(*place);
            if column.data_type() != field.data_type() {
                let (found, expected) = (column.data_type(), field.data_type());
                let what = format!("field `{name}` has type {found}, in the table {expected}");
                return Err(Error::invalid(what));
            }
            if !field.is_nullable()
                && let Some(nulls) = column.logical_nulls()
                && let Some(row) = (0..nulls.len()).find(|row| nulls.is_null(*row))
            {
                let row = self.rows + row as u64;
                let what = format!("field `{name}` allows no nulls, row {row} has one");
                return Err(Error::invalid(what));
            }
            columns.push(column.clone());
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(
            self.arrow.clone(),
            columns,
            &options,
        )?)
    }

    fn write_part(&mut self, partition: Vec<u8>, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if !self.open.contains_key(&partition) && self.open.len() >= PARTITIONS_OPEN_MAX {
            let oldest = self.open.iter().min_by_key(|(_, (_, at))| *at);
            if let Some(oldest) = oldest.map(|(partition, _)| partition.clone()) {
                self.finish_part(oldest)?;
            }
        }
        let writer = match self.open.remove(&partition) {
            Some((writer, _)) => Ok(writer),
            None => Writer::new(Vec::new(), self.arrow.clone(), self.file_options()),
        };
        let mut writer = writer?;
        writer.write(batch)?;
        let is_full = writer.bytes_written() >= self.options.file_bytes;
        self.open
            .insert(partition.clone(), (writer, self.n_batches));
        match is_full {
            true => self.finish_part(partition),
            false => Ok(()),
        }
    }

    fn file_options(&self) -> WriteOptions {
        // A file is found by its id, so that is never a fixed one.
        let options = self.options.write.clone().with_deterministic(false);
        match self.partitioning.spec().fields.is_empty() {
            true => options,
            false => {
                let budget = options.memory_budget_bytes().min(PARTITION_MEMORY_BYTES);
                options.with_memory_budget_bytes(budget)
            }
        }
    }

    fn finish_part(&mut self, partition: Vec<u8>) -> Result<()> {
        let Some((writer, _)) = self.open.remove(&partition) else {
            return Ok(());
        };
        let (bytes, _) = writer.finish_into()?;
        let partition = Partition {
            spec: self.partitioning.spec().id,
            values: partition,
        };
        let entry = put_file(&self.store, bytes, partition, Some(self.schema_id))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes what is left. Returns the entries of all files.
    pub(crate) fn finish(mut self) -> Result<(Vec<Entry>, u64)> {
        let open: Vec<_> = self.open.keys().cloned().collect();
        for partition in open {
            self.finish_part(partition)?;
        }
        Ok((self.entries, self.rows))
    }
}

fn rows_of(batch: &RecordBatch, rows: &UInt64Array) -> Result<RecordBatch> {
    Ok(arrow_select::take::take_record_batch(batch, rows)?)
}

/// Writes a finished Tarsia file to a table. Returns the entry of a data file.
pub(crate) fn put_file(
    store: &Arc<dyn Store>,
    bytes: Vec<u8>,
    partition: Partition,
    schema: Option<ObjectId>,
) -> Result<Entry> {
    let bytes = Arc::new(bytes);
    let file = File::from_bytes(Shared(bytes.clone()), OpenOptions::new())?;
    let metadata = file.metadata()?;
    let id = FileId(metadata.file_id);
    let key = names::data_key(&id);
    let n_bytes = bytes.len() as u64;
    let put = block_on(store.put(&key, bytes));
    put.map_err(|error| Error::new(ErrorKind::Store, error.to_string()))?;
    Ok(Entry {
        op: EntryOp::Add,
        kind: EntryKind::Data,
        partition,
        file: id,
        rows: metadata.rows,
        bytes: n_bytes,
        root: Some(ObjectId(metadata.root_digest)),
        epoch: metadata.epoch,
        seq: 0,
        low: 0,
        folded: false,
        ordinal: 0,
        schema,
        fields: Vec::new(),
        targets: Vec::new(),
        origins: Vec::new(),
    })
}
