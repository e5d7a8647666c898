//! Parquet over `object_store`, by the library's asynchronous reader: as it is by default, and tuned for stores.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, RowSelection, RowSelectionPolicy,
};
use parquet::arrow::async_reader::ParquetObjectReader;
use parquet::arrow::{
    ArrowSchemaConverter, ArrowWriter, ParquetRecordBatchStreamBuilder, ProjectionMask,
};
use parquet::basic::{Compression, Type, ZstdLevel};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::WriterProperties;
use tokio::runtime::Runtime;

use super::{BUCKET, Batches, Consumer, Format, KEY_ID, SECRET};
use crate::operation::Read;

const ZSTD_LEVEL: i32 = 3;

/// Rows of a row group, at most.
const ROW_GROUP_ROWS: usize = 122_880;

/// Bytes of a row group of the tuned form, at most, so that long rows are several groups, too.
const TUNED_ROW_GROUP_BYTES: usize = 32 << 20;

/// The page size that "Lance: Efficient Random Access in Columnar Storage" found best for random rows (section 6.1.1).
const TUNED_PAGE_BYTES: usize = 8 << 10;
/// The writer ends pages only between batches of so many values; the default is more than a small page holds.
const TUNED_WRITE_BATCH: usize = 1024;

/// Bytes of the end of the file that the tuned form reads first, as Tarsia does.
const TUNED_FOOTER_BYTES: usize = 64 << 10;

/// Row groups that the tuned form reads at the same time.
const TUNED_GROUPS_AT_ONCE: usize = 8;

/// Rows of a batch: as many as the other formats give.
const BATCH_ROWS: usize = 65_536;

/// The format, in one of two forms.
pub(crate) struct Parquet {
    tuned: bool,
    runtime: Runtime,
    store: Option<(Arc<dyn ObjectStore>, Path)>,
    file_bytes: u64,
    metadata: Option<ArrowReaderMetadata>,
}

impl Parquet {
    pub(crate) fn new(tuned: bool) -> Result<Self> {
        Ok(Self {
            tuned,
            runtime: tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()?,
            store: None,
            file_bytes: 0,
            metadata: None,
        })
    }

    fn properties(&self, schema: &SchemaRef) -> Result<WriterProperties> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS));
        if !self.tuned {
            return Ok(properties.build());
        }
        let mut properties = properties
            .set_max_row_group_bytes(Some(TUNED_ROW_GROUP_BYTES))
            .set_data_page_size_limit(TUNED_PAGE_BYTES)
            .set_write_batch_size(TUNED_WRITE_BATCH);
        for leaf in ArrowSchemaConverter::new().convert(schema)?.columns() {
            // Dictionaries of floats are read with each page, and save nothing.
            if matches!(leaf.physical_type(), Type::FLOAT | Type::DOUBLE) {
                properties = properties.set_column_dictionary_enabled(leaf.path().clone(), false);
            }
        }
        Ok(properties.build())
    }

    fn reader(&self) -> Result<ParquetObjectReader> {
        let (store, path) = self.store.as_ref().context("no store")?;
        let reader = ParquetObjectReader::new(store.clone(), path.clone());
        Ok(match self.tuned {
            // Without the size, parquet 59.3.2 refuses a file whose page index begins before these bytes.
            true => reader
                .with_footer_size_hint(TUNED_FOOTER_BYTES)
                .with_file_size(self.file_bytes),
            false => reader,
        })
    }

    fn builder(
        &self,
        metadata: &ArrowReaderMetadata,
        columns: Option<&[String]>,
    ) -> Result<ParquetRecordBatchStreamBuilder<ParquetObjectReader>> {
        let reader = self.reader()?;
        let builder = ParquetRecordBatchStreamBuilder::new_with_metadata(reader, metadata.clone())
            .with_batch_size(BATCH_ROWS);
        let builder = match self.tuned {
            true => builder.with_row_selection_policy(RowSelectionPolicy::Selectors),
            false => builder,
        };
        let Some(names) = columns else {
            return Ok(builder);
        };
        let roots = names.iter().map(|name| metadata.schema().index_of(name));
        let roots = roots.collect::<Result<Vec<_>, _>>()?;
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
        Ok(builder.with_projection(mask))
    }

    /// The library's stream, one row group after the other.
    fn read_in_turn(&self, read: &Read, consumer: Consumer<'_>) -> Result<()> {
        let metadata = self.metadata.as_ref().context("no file is open")?;
        let n_rows = metadata.metadata().file_metadata().num_rows() as usize;
        let mut builder = self.builder(metadata, read.columns.as_deref())?;
        if let Some(rows) = &read.rows {
            builder = builder.with_row_selection(selection(rows, 0, n_rows));
        }
        let mut stream = builder.build()?;
        self.runtime.block_on(async {
            while let Some(batch) = stream.try_next().await? {
                consumer(batch)?;
            }
            Ok(())
        })
    }

    /// A stream for each row group that has rows, some at the same time, each on a thread of the runtime.
    fn read_at_once(&self, read: &Read, consumer: Consumer<'_>) -> Result<()> {
        let metadata = self.metadata.as_ref().context("no file is open")?;
        let mut streams = Vec::new();
        let mut first = 0;
        for (group, row_group) in metadata.metadata().row_groups().iter().enumerate() {
            let n_rows = row_group.num_rows() as usize;
            let start = first;
            first += n_rows;
            let mut builder = self.builder(metadata, read.columns.as_deref())?;
            builder = builder.with_row_groups(vec![group]);
            if let Some(rows) = &read.rows {
                let selected = selection(rows, start, n_rows);
                if !selected.selects_any() {
                    continue;
                }
                builder = builder.with_row_selection(selected);
            }
            streams.push(builder.build()?);
        }
        self.runtime.block_on(async {
            let all = futures::stream::iter(streams).map(|stream| async {
                let task = tokio::spawn(stream.try_collect::<Vec<RecordBatch>>());
                Ok::<_, anyhow::Error>(task.await??)
            });
            let mut all = all.buffered(TUNED_GROUPS_AT_ONCE);
            while let Some(batches) = all.try_next().await? {
                batches.into_iter().try_for_each(&mut *consumer)?;
            }
            Ok(())
        })
    }
}

/// Selects the rows of `rows` that are among `n_rows` rows from `first` on.
fn selection(rows: &[u64], first: usize, n_rows: usize) -> RowSelection {
    let inside = rows.iter().filter_map(|row| {
        let row = (*row as usize).checked_sub(first)?;
        (row < n_rows).then_some(row..row + 1)
    });
    RowSelection::from_consecutive_ranges(inside, n_rows)
}

impl Format for Parquet {
    fn store(&self, schema: SchemaRef, batches: Batches, file: &str) -> Result<String> {
        let properties = self.properties(&schema)?;
        let mut writer =
            ArrowWriter::try_new(std::fs::File::create(file)?, schema, Some(properties))?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        let metadata = writer.close()?;
        let written = format!(
            "zstd {ZSTD_LEVEL}, row groups of at most {ROW_GROUP_ROWS} rows ({} here), page index",
            metadata.num_row_groups()
        );
        Ok(match self.tuned {
            true => format!(
                "{written}; pages of 8 KiB, floats without dictionaries, row groups of at most 32 MiB; read with the \
                 size known, a first read of 64 KiB, and up to {TUNED_GROUPS_AT_ONCE} row groups at the same time"
            ),
            false => written,
        })
    }

    fn connect(&mut self, endpoint: &str, key: &str, file_bytes: u64) -> Result<()> {
        let store = AmazonS3Builder::new()
            .with_endpoint(endpoint)
            .with_allow_http(true)
            .with_bucket_name(BUCKET)
            .with_region("us-east-1")
            .with_access_key_id(KEY_ID)
            .with_secret_access_key(SECRET)
            .build()?;
        self.store = Some((Arc::new(store), Path::from(key)));
        self.file_bytes = file_bytes;
        Ok(())
    }

    fn open(&mut self) -> Result<()> {
        self.metadata = None;
        let mut reader = self.reader()?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let load = ArrowReaderMetadata::load_async(&mut reader, options);
        self.metadata = Some(self.runtime.block_on(load)?);
        Ok(())
    }

    fn read(&mut self, read: &Read, consumer: Consumer<'_>) -> Result<()> {
        match self.tuned {
            true => self.read_at_once(read, consumer),
            false => self.read_in_turn(read, consumer),
        }
    }

    fn waves(&self) -> Option<u64> {
        None
    }
}
