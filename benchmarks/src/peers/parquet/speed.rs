//! Parquet, timed: zstd 3, with or without dictionaries, whichever reads faster; for random rows also small pages
//! without compression. With page indexes; the file is mapped.

use std::collections::BTreeSet;
use std::fs::File;
use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
    RowSelectionPolicy,
};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{
    ArrowSchemaConverter, ArrowWriter, ProjectionMask, add_encoded_arrow_schema_to_metadata,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;

use crate::peers::speed::{Consumer, Format, Opened};
use crate::speed::{Goal, Threads};

/// Rows of a batch: as many as the other formats give.
const BATCH_ROWS: usize = 65_536;

/// Dictionaries are tried on so many rows of a table.
const TUNING_ROWS: usize = 1 << 20;

/// Tables of more columns keep dictionaries: they are there for opening, which dictionaries do not change.
const TUNING_COLUMNS_MAX: usize = 500;

/// Tables of even more columns do without, since the writer of a column takes memory for one before it has a value.
const DICTIONARY_COLUMNS_MAX: usize = 10_000;

/// Settings that are chosen per table.
struct Settings {
    name: &'static str,
    dictionary: bool,
    pages: Pages,
    compressed: bool,
}

#[derive(PartialEq, Eq)]
enum Pages {
    /// As the library makes them: up to 1 MiB and 20,000 rows.
    Default,
    /// `SMALL_PAGE_BYTES`.
    Small,
}

/// The page size that "Lance: Efficient Random Access in Columnar Storage" found best for random rows (section 6.1.1),
/// without compression and dictionaries. The paper also left out the statistics of pages, which nothing here reads.
const SMALL_PAGE_BYTES: usize = 8 << 10;

/// Number of values that a column writer takes at once. It ends pages only between such batches, and the default is
/// more than a small page holds.
const WRITE_BATCH_VALUES: usize = 1024;

/// The first of them that is no slower than another is taken; the first two where not only random rows count.
const SETTINGS: [Settings; 4] = [
    Settings {
        name: "dictionary",
        dictionary: true,
        pages: Pages::Default,
        compressed: true,
    },
    Settings {
        name: "no dictionary",
        dictionary: false,
        pages: Pages::Default,
        compressed: true,
    },
    Settings {
        name: "no dictionary, pages of 8 KiB",
        dictionary: false,
        pages: Pages::Small,
        compressed: true,
    },
    Settings {
        name: "no dictionary, pages of 8 KiB, not compressed",
        dictionary: false,
        pages: Pages::Small,
        compressed: false,
    },
];

const WITH_DICTIONARY: &Settings = &SETTINGS[0];
const WITHOUT_DICTIONARY: &Settings = &SETTINGS[1];

/// Level of compression, unless another one is asked for.
const ZSTD_LEVEL: i32 = 3;

pub(crate) struct Parquet {
    settings: &'static Settings,
    zstd_level: i32,
}

impl Parquet {
    pub(crate) fn new() -> Self {
        Self {
            settings: WITH_DICTIONARY,
            zstd_level: ZSTD_LEVEL,
        }
    }

    /// Makes the format with another level of zstd.
    pub(crate) fn with_level(zstd_level: i32) -> Self {
        Self {
            zstd_level,
            ..Self::new()
        }
    }

    fn properties(&self, batches: &[RecordBatch]) -> Result<WriterProperties> {
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(self.settings.dictionary)
            .set_compression(match self.settings.compressed {
                true => Compression::ZSTD(ZstdLevel::try_new(self.zstd_level)?),
                false => Compression::UNCOMPRESSED,
            });
        Ok(match self.settings.pages {
            Pages::Default => properties,
            Pages::Small => properties
                .set_data_page_size_limit(SMALL_PAGE_BYTES)
                .set_write_batch_size(values_of_small_page(batches)?)
                .set_statistics_enabled(EnabledStatistics::Chunk),
        }
        .build())
    }
}

/// Files that stand beside those that Tarsia erases rows from.
#[cfg_attr(
    not(feature = "tarsia"),
    expect(dead_code, reason = "nothing is erased")
)]
impl Parquet {
    /// Writes batches as they come, on one thread, and waits until the file is on its device.
    pub(crate) fn write_each(
        &self,
        path: &Path,
        schema: &SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<()> {
        let file = File::create(path)?;
        let properties = self.properties(&[])?;
        let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.into_inner()?.sync_all()?;
        Ok(())
    }

    /// Writes a file anew without some of its rows, on one thread: all rows are decoded, filtered, and encoded again.
    /// `kept` says which of a range of rows stay, or nothing if all do.
    pub(crate) fn rewrite(
        &self,
        from: &Path,
        to: &Path,
        kept: &dyn Fn(Range<u64>) -> Option<BooleanArray>,
    ) -> Result<()> {
        let bytes = super::super::mapped(from)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes)?.with_batch_size(BATCH_ROWS);
        let schema = builder.schema().clone();
        let mut row = 0;
        let batches = builder.build()?.map(|batch| {
            let batch = batch?;
            let rows = row..row + batch.num_rows() as u64;
            row = rows.end;
            Ok(match kept(rows) {
                Some(kept) => filter_record_batch(&batch, &kept)?,
                None => batch,
            })
        });
        self.write_each(to, &schema, batches)
    }

    /// Rows of a file, by its footer.
    pub(crate) fn rows(&self, path: &Path) -> Result<u64> {
        let bytes = super::super::mapped(path)?;
        let metadata = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new())?;
        Ok(u64::try_from(
            metadata.metadata().file_metadata().num_rows(),
        )?)
    }
}

impl Parquet {
    /// The time by which settings are compared; less is better. For the goal of everything it is the product of the
    /// seconds of a scan and of a take of 16 rows, so that neither counts more. For random rows it is the seconds of a
    /// take of 256, for scans those of a scan.
    fn reading_time(&self, path: &Path, batches: &[RecordBatch], goal: Goal) -> Result<f64> {
        let schema = batches.first().context("no batch")?.schema();
        let n_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        self.write(path, batches, Threads::All)?;
        let opened = self.open(path, &schema, Threads::One)?;
        let rows = |n: usize| -> Vec<u64> {
            let rows: BTreeSet<u64> = (0..n).map(|i| (n_rows * i / n) as u64).collect();
            rows.into_iter().collect()
        };
        let best_of_three = |work: &dyn Fn() -> Result<()>| -> Result<f64> {
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let begin = Instant::now();
                work()?;
                best = best.min(begin.elapsed().as_secs_f64());
            }
            Ok(best)
        };
        let consumer: Consumer<'_> = &|batch| drop(black_box(batch));
        let take = |n| {
            let rows = rows(n);
            best_of_three(&|| opened.take(&rows, None, consumer))
        };
        let time = match goal {
            Goal::Everything => best_of_three(&|| opened.scan(None, consumer))? * take(16)?,
            Goal::RandomRows => take(256)?,
            Goal::Scans => best_of_three(&|| opened.scan(None, consumer))?,
        };
        drop(opened);
        std::fs::remove_file(path)?;
        Ok(time)
    }
}

/// Number of values that fit into a small page. A row with several values counts as one value, so that lists do not
/// make pages longer.
fn values_of_small_page(batches: &[RecordBatch]) -> Result<usize> {
    let first = batches.first().context("no batch")?;
    let bytes = |column: &ArrayRef| column.to_data().get_slice_memory_size();
    let sizes = first.columns().iter().map(bytes);
    let largest = sizes.collect::<Result<Vec<_>, _>>()?.into_iter().max();
    let row_bytes = largest.unwrap_or(0) / first.num_rows().max(1);
    Ok((SMALL_PAGE_BYTES / row_bytes.max(1)).clamp(1, WRITE_BATCH_VALUES))
}

fn n_threads(threads: Threads) -> usize {
    match threads {
        Threads::One => 1,
        Threads::All => std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Runs `work` for all of `0..n`, each on whatever thread is free.
fn spread<T: Send>(
    n: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<(usize, T)>> {
    let next = AtomicUsize::new(0);
    let run = || -> Result<Vec<(usize, T)>> {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return Ok(done);
            }
            done.push((i, work(i)?));
        }
    };
    let mut all = std::thread::scope(|scope| -> Result<_> {
        let others: Vec<_> = (1..threads.min(n)).map(|_| scope.spawn(run)).collect();
        let mut all = run()?;
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })?;
    all.sort_unstable_by_key(|(i, _)| *i);
    Ok(all)
}

impl Format for Parquet {
    fn tune(&mut self, path: &Path, batches: &[RecordBatch], goal: Goal) -> Result<Option<String>> {
        let n_columns = batches.first().context("no batch")?.num_columns();
        if n_columns <= TUNING_COLUMNS_MAX {
            let mut some = Vec::new();
            let mut rows = 0;
            for batch in batches {
                if rows >= TUNING_ROWS {
                    break;
                }
                rows += batch.num_rows();
                some.push(batch.clone());
            }
            let path = path.with_extension("tuning");
            let tried = match goal {
                Goal::Everything | Goal::Scans => &SETTINGS[..2],
                Goal::RandomRows => &SETTINGS[..],
            };
            let mut best: Option<(f64, &Settings)> = None;
            for settings in tried {
                self.settings = settings;
                let time = self.reading_time(&path, &some, goal)?;
                if best.is_none_or(|(least, _)| time < least) {
                    best = Some((time, settings));
                }
            }
            self.settings = best.context("no settings")?.1;
        } else {
            self.settings = match n_columns <= DICTIONARY_COLUMNS_MAX {
                true => WITH_DICTIONARY,
                false => WITHOUT_DICTIONARY,
            };
        }
        Ok(Some(self.settings.name.to_owned()))
    }

    fn set(&mut self, settings: &str) -> Result<()> {
        let named = SETTINGS.iter().find(|s| s.name == settings);
        self.settings = named.with_context(|| format!("unknown settings {settings}"))?;
        Ok(())
    }

    fn write(&self, path: &Path, batches: &[RecordBatch], threads: Threads) -> Result<()> {
        let schema = batches.first().context("no batch")?.schema();
        let file = File::create(path)?;
        let file = match threads {
            Threads::One => {
                let mut writer =
                    ArrowWriter::try_new(file, schema, Some(self.properties(batches)?))?;
                for batch in batches {
                    writer.write(batch)?;
                }
                writer.into_inner()?
            }
            Threads::All => write_columns(
                file,
                &schema,
                batches,
                self.properties(batches)?,
                n_threads(threads),
            )?,
        };
        file.sync_all()?;
        Ok(())
    }

    fn open(&self, path: &Path, _: &SchemaRef, threads: Threads) -> Result<Box<dyn Opened>> {
        self.open_with(path, ArrowReaderOptions::new(), threads)
    }

    fn open_views(
        &self,
        path: &Path,
        schema: &SchemaRef,
        threads: Threads,
    ) -> Result<Box<dyn Opened>> {
        let options = ArrowReaderOptions::new().with_schema(schema.clone());
        self.open_with(path, options, threads)
    }
}

impl Parquet {
    fn open_with(
        &self,
        path: &Path,
        options: ArrowReaderOptions,
        threads: Threads,
    ) -> Result<Box<dyn Opened>> {
        let bytes = super::super::mapped(path)?;
        let metadata = ArrowReaderMetadata::load(&bytes, options)?;
        Ok(Box::new(OpenParquet {
            bytes,
            metadata,
            with_page_index: std::sync::OnceLock::new(),
            policy: match self.settings.pages {
                Pages::Default => RowSelectionPolicy::default(),
                Pages::Small => RowSelectionPolicy::Selectors,
            },
            threads: n_threads(threads),
        }))
    }
}

/// Columns of a row group on several threads, as the documentation of `ArrowColumnWriter` shows it.
fn write_columns(
    file: File,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    mut properties: WriterProperties,
    threads: usize,
) -> Result<File> {
    let parquet_schema = ArrowSchemaConverter::new().convert(schema)?;
    add_encoded_arrow_schema_to_metadata(schema, &mut properties);
    let rows_max = properties.max_row_group_row_count().unwrap_or(usize::MAX);
    let mut writer =
        SerializedFileWriter::new(file, parquet_schema.root_schema_ptr(), Arc::new(properties))?;
    let factory = ArrowRowGroupWriterFactory::new(&writer, schema.clone());
    for (index, group) in row_groups(batches, rows_max).iter().enumerate() {
        // A column has a writer for each of its leaves.
        let mut writers = factory.create_column_writers(index)?.into_iter();
        let columns: Vec<_> = schema
            .fields()
            .iter()
            .map(|field| writers.by_ref().take(n_leaves(field.data_type())).collect())
            .map(|leaves: Vec<ArrowColumnWriter>| std::sync::Mutex::new(leaves))
            .collect();
        let chunks = spread(columns.len(), threads, |i| -> Result<Vec<_>> {
            let mut writers = columns[i]
                .lock()
                .map(|mut leaves| std::mem::take(&mut *leaves))
                .ok()
                .context("a column is written once")?;
            for batch in group {
                let leaves = compute_leaves(schema.field(i), batch.column(i))?;
                ensure!(leaves.len() == writers.len(), "a leaf has no writer");
                for (writer, leaf) in writers.iter_mut().zip(leaves) {
                    writer.write(&leaf)?;
                }
            }
            let chunks = writers.into_iter().map(ArrowColumnWriter::close);
            Ok(chunks.collect::<Result<Vec<_>, _>>()?)
        })?;
        let mut row_group = writer.next_row_group()?;
        for chunk in chunks.into_iter().flat_map(|(_, leaves)| leaves) {
            chunk.append_to_row_group(&mut row_group)?;
        }
        row_group.close()?;
    }
    Ok(writer.into_inner()?)
}

/// Leaf columns that Parquet makes of a column.
fn n_leaves(data_type: &DataType) -> usize {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|f| n_leaves(f.data_type())).sum(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => n_leaves(item.data_type()),
        _ => 1,
    }
}

/// Batches cut where a row group is full.
fn row_groups(batches: &[RecordBatch], rows_max: usize) -> Vec<Vec<RecordBatch>> {
    let mut groups = vec![Vec::new()];
    let mut rows = 0;
    for batch in batches {
        let mut start = 0;
        while start < batch.num_rows() {
            if rows == rows_max {
                groups.push(Vec::new());
                rows = 0;
            }
            let len = (batch.num_rows() - start).min(rows_max - rows);
            if let Some(group) = groups.last_mut() {
                group.push(batch.slice(start, len));
            }
            (start, rows) = (start + len, rows + len);
        }
    }
    groups
}

struct OpenParquet {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    /// Read at the first random access: a scan does without.
    with_page_index: std::sync::OnceLock<ArrowReaderMetadata>,
    /// Skips small pages without a selected row. The default decodes all rows if more than about one in 64 is selected,
    /// which took 150 times as long for 256 of 8,192 images.
    policy: RowSelectionPolicy,
    threads: usize,
}

impl OpenParquet {
    fn indices(&self, names: &[String]) -> Result<Vec<usize>> {
        let schema = self.metadata.schema();
        let indices = names.iter().map(|name| schema.index_of(name));
        Ok(indices.collect::<Result<Vec<_>, _>>()?)
    }

    fn page_index(&self) -> Result<ArrowReaderMetadata> {
        if let Some(metadata) = self.with_page_index.get() {
            return Ok(metadata.clone());
        }
        // Where the pages are; what they hold at least and at most is nobody's question here.
        let options = ArrowReaderOptions::new().with_offset_index_policy(PageIndexPolicy::Required);
        let metadata = ArrowReaderMetadata::load(&self.bytes, options)?;
        Ok(self.with_page_index.get_or_init(|| metadata).clone())
    }
}

impl Opened for OpenParquet {
    fn data_type(&self, column: &str) -> Result<DataType> {
        Ok(self
            .metadata
            .schema()
            .field_with_name(column)?
            .data_type()
            .clone())
    }

    fn scan(&self, columns: Option<&[String]>, consumer: Consumer<'_>) -> Result<()> {
        let columns = match columns {
            Some(names) => self.indices(names)?,
            None => (0..self.metadata.schema().fields().len()).collect(),
        };
        let read = |columns: &[usize], row_groups: Option<usize>| -> Result<()> {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
                self.bytes.clone(),
                self.metadata.clone(),
            );
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            let mut builder = builder.with_projection(mask).with_batch_size(BATCH_ROWS);
            if let Some(row_group) = row_groups {
                builder = builder.with_row_groups(vec![row_group]);
            }
            for batch in builder.build()? {
                consumer(batch?);
            }
            Ok(())
        };
        let n_row_groups = self.metadata.metadata().num_row_groups();
        if self.threads == 1 {
            read(&columns, None)
        } else if n_row_groups >= self.threads && n_row_groups >= columns.len() {
            spread(n_row_groups, self.threads, |i| read(&columns, Some(i))).map(drop)
        } else {
            spread(columns.len(), self.threads, |i| read(&columns[i..=i], None)).map(drop)
        }
    }

    fn take(&self, rows: &[u64], columns: Option<&[String]>, consumer: Consumer<'_>) -> Result<()> {
        let metadata = self.page_index()?;
        let total = usize::try_from(metadata.metadata().file_metadata().num_rows())?;
        let ranges = rows.iter().map(|row| *row as usize..*row as usize + 1);
        let selection = RowSelection::from_consecutive_ranges(ranges, total);
        let mut builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), metadata)
                .with_row_selection(selection)
                .with_row_selection_policy(self.policy)
                .with_batch_size(rows.len());
        if let Some(names) = columns {
            let columns = self.indices(names)?;
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
            builder = builder.with_projection(mask);
        }
        for batch in builder.build()? {
            consumer(batch?);
        }
        Ok(())
    }
}
