//! The formats, asked for the rows that pass a condition. All on one thread, all to Arrow arrays.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, Scalar};
use arrow_ord::cmp::{gt_eq, lt_eq};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::filter::{filter_record_batch, prep_null_mask_filter};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowPredicate, ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions,
    ParquetRecordBatchReaderBuilder, RowFilter, RowSelection, RowSelector,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::WriterProperties;
use tarsia::filter::{Expr, Literal, col};
use vortex::VortexSessionDefault;
use vortex::array::{ArrayRef as VortexArray, VortexSessionExecute};
use vortex::arrow::ArrowSessionExt;
use vortex::buffer::ByteBuffer;
use vortex::expr::{Expression, and_collect, get_item, lit, root, select};
use vortex::file::{OpenOptionsSessionExt, VortexFile};
use vortex::io::runtime::BlockingRuntime;
use vortex::io::runtime::current::CurrentThreadRuntime;
use vortex::io::session::RuntimeSessionExt;
use vortex::session::VortexSession;

use super::cases::{Case, Table, Test};
use crate::peers;
use crate::peers::speed::Format;
use crate::speed::Threads;

/// Rows of a Parquet batch.
const BATCH_ROWS: usize = 65_536;

/// Rows of a page of the Parquet file: few, so that its index prunes.
const PAGE_ROWS: usize = 20_000;

/// An open file.
pub(super) trait Reader {
    /// Its name in the report.
    fn name(&self) -> &'static str;

    /// Rows that pass, read by the format's own filter.
    fn filtered(&self, case: &Case) -> Result<usize>;

    /// Rows that pass, by reading all rows and filtering them with Arrow.
    fn scanned(&self, case: &Case) -> Result<usize>;
}

/// Writes the table in each format, and opens what was written.
pub(super) fn readers(folder: &Path, table: &Table) -> Result<Vec<Box<dyn Reader>>> {
    let path = |format: &str| folder.join(format!("{}.{format}", table.name));
    let tarsia = path("tarsia");
    let preset = tarsia::Preset::Balanced;
    peers::tarsia::speed::Tarsia::with_preset(preset).write(
        &tarsia,
        &table.batches,
        Threads::All,
    )?;
    let vortex = path("vortex");
    peers::vortex::speed::Vortex::new().write(&vortex, &table.batches, Threads::All)?;
    let parquet = path("parquet");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .build();
    let mut writer = ArrowWriter::try_new(
        File::create(&parquet)?,
        table.schema.clone(),
        Some(properties),
    )?;
    for batch in &table.batches {
        writer.write(batch)?;
    }
    writer.close()?;
    let options = tarsia::OpenOptions::new().with_threads(tarsia::Threads::One);
    Ok(vec![
        Box::new(Tarsia(tarsia::File::open_with(&tarsia, options)?)),
        Box::new(Vortex::open(&vortex, &table.schema)?),
        Box::new(Parquet::open(&parquet)?),
    ])
}

/// Whether each row passes; the columns of the tests are among those of the batch.
fn passes(batch: &RecordBatch, tests: &[Test]) -> Result<BooleanArray> {
    let mut all: Option<BooleanArray> = None;
    for test in tests {
        let column = batch.column_by_name(test.column).context(test.column)?;
        let bits = passes_test(column, test)?;
        all = Some(match all {
            Some(all) => BooleanArray::new(all.values() & bits.values(), None),
            None => bits,
        });
    }
    all.context("no test")
}

/// Whether each value passes a test; null does not.
fn passes_test(column: &ArrayRef, test: &Test) -> Result<BooleanArray, ArrowError> {
    let mut bits: Option<BooleanArray> = None;
    let mut add = |new: BooleanArray| {
        let new = match new.nulls() {
            Some(_) => prep_null_mask_filter(&new),
            None => new,
        };
        bits = Some(match &bits {
            Some(bits) => BooleanArray::new(bits.values() & new.values(), None),
            None => new,
        });
    };
    if let Some(low) = &test.low {
        add(gt_eq(column, &Scalar::new(low.clone()))?);
    }
    if let Some(high) = &test.high {
        add(lt_eq(column, &Scalar::new(high.clone()))?);
    }
    bits.ok_or_else(|| ArrowError::InvalidArgumentError(String::from("no bound")))
}

/// The columns that are read and those of the condition, each once.
fn all_columns(case: &Case) -> Vec<&'static str> {
    let mut columns = case.columns.clone();
    for test in &case.tests {
        if !columns.contains(&test.column) {
            columns.push(test.column);
        }
    }
    columns
}

/// Rows of batches that pass.
fn filtered<E: Into<anyhow::Error>>(
    case: &Case,
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
) -> Result<usize> {
    let mut n_rows = 0;
    for batch in batches {
        let batch = batch.map_err(Into::into)?;
        let passed = passes(&batch, &case.tests)?;
        let names = case
            .columns
            .iter()
            .map(|name| batch.schema().index_of(name));
        let narrow = batch.project(&names.collect::<Result<Vec<_>, _>>()?)?;
        n_rows += filter_record_batch(&narrow, &passed)?.num_rows();
    }
    Ok(n_rows)
}

fn counted<E: Into<anyhow::Error>>(
    batches: impl Iterator<Item = Result<RecordBatch, E>>,
) -> Result<usize> {
    let mut n_rows = 0;
    for batch in batches {
        n_rows += std::hint::black_box(batch.map_err(Into::into)?).num_rows();
    }
    Ok(n_rows)
}

struct Tarsia(tarsia::File);

impl Reader for Tarsia {
    fn name(&self) -> &'static str {
        "Tarsia"
    }

    fn filtered(&self, case: &Case) -> Result<usize> {
        let tests = case.tests.iter().flat_map(|test| {
            let low = test
                .low
                .iter()
                .map(|low| col(test.column).gt_eq(Literal::array(low.clone())));
            let high = test.high.iter();
            let high = high.map(|high| col(test.column).lt_eq(Literal::array(high.clone())));
            low.chain(high).collect::<Vec<_>>()
        });
        let filter = Expr::And(tests.collect());
        counted(
            self.0
                .scan()
                .columns(&case.columns)
                .filter(filter)
                .build()?,
        )
    }

    fn scanned(&self, case: &Case) -> Result<usize> {
        filtered(case, self.0.scan().columns(&all_columns(case)).build()?)
    }
}

struct Vortex {
    file: VortexFile,
    runtime: CurrentThreadRuntime,
    session: VortexSession,
    schema: SchemaRef,
}

impl Vortex {
    fn open(path: &Path, schema: &SchemaRef) -> Result<Self> {
        let runtime = CurrentThreadRuntime::new();
        let session = VortexSession::default().with_handle(runtime.handle());
        let options = session.open_options().with_layout_reader_cache();
        Ok(Self {
            file: options.open_buffer(ByteBuffer::from(peers::mapped(path)?))?,
            runtime,
            session,
            schema: schema.clone(),
        })
    }

    fn literal(&self, value: &ArrayRef) -> Result<Expression> {
        let field = arrow_schema::Field::new("value", value.data_type().clone(), false);
        let array: VortexArray = self
            .session
            .arrow()
            .from_arrow_array(value.clone(), &field)?;
        Ok(lit(array.execute_scalar(
            0,
            &mut self.session.create_execution_ctx(),
        )?))
    }

    fn read(
        &self,
        columns: &[&str],
        filter: Option<Expression>,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, ArrowError>>> {
        let projection = select(columns.to_vec(), root()).bind(self.file.dtype())?;
        let mut scan = self.file.scan()?.with_projection(projection);
        if let Some(filter) = filter {
            scan = scan.with_filter(filter.bind(self.file.dtype())?);
        }
        let fields = columns
            .iter()
            .map(|name| Ok(self.schema.field_with_name(name)?.clone()));
        let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
        Ok(scan.into_record_batch_reader(schema, &self.runtime)?)
    }
}

impl Reader for Vortex {
    fn name(&self) -> &'static str {
        "Vortex"
    }

    fn filtered(&self, case: &Case) -> Result<usize> {
        let mut tests = Vec::new();
        for test in &case.tests {
            let column = || get_item(test.column, root());
            if let Some(low) = &test.low {
                tests.push(vortex::expr::gt_eq(column(), self.literal(low)?));
            }
            if let Some(high) = &test.high {
                tests.push(vortex::expr::lt_eq(column(), self.literal(high)?));
            }
        }
        counted(self.read(&case.columns, and_collect(tests))?)
    }

    fn scanned(&self, case: &Case) -> Result<usize> {
        filtered(case, self.read(&all_columns(case), None)?)
    }
}

struct Parquet {
    bytes: bytes::Bytes,
    metadata: ArrowReaderMetadata,
}

impl Parquet {
    fn open(path: &Path) -> Result<Self> {
        let bytes = peers::mapped(path)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        Ok(Self {
            metadata: ArrowReaderMetadata::load(&bytes, options)?,
            bytes,
        })
    }

    fn builder(&self, columns: &[&str]) -> ParquetRecordBatchReaderBuilder<bytes::Bytes> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.metadata.clone(),
        );
        let mask = ProjectionMask::columns(self.metadata.parquet_schema(), columns.iter().copied());
        builder.with_projection(mask).with_batch_size(BATCH_ROWS)
    }

    /// The rows of pages whose bounds do not exclude them, as engines prune.
    fn pages(&self, tests: &[Test]) -> Result<Option<RowSelection>> {
        let metadata = self.metadata.metadata();
        let groups: Vec<usize> = (0..metadata.num_row_groups()).collect();
        let (Some(index), Some(offsets)) = (metadata.column_index(), metadata.offset_index())
        else {
            return Ok(None);
        };
        let mut selection: Option<RowSelection> = None;
        for test in tests {
            let converter = StatisticsConverter::try_new(
                test.column,
                self.metadata.schema(),
                self.metadata.parquet_schema(),
            )?;
            let counts = converter.data_page_row_counts(offsets, metadata.row_groups(), &groups)?;
            let counts = counts.context("no rows of pages")?;
            let n_pages = counts.len();
            let mut may_pass = vec![true; n_pages];
            // A page without a bound is read.
            let mut bound = |bits: BooleanArray| {
                for (page, bit) in may_pass.iter_mut().zip(&bits) {
                    *page &= bit.unwrap_or(true);
                }
            };
            if let Some(low) = &test.low {
                let maxes = converter.data_page_maxes(index, offsets, &groups)?;
                bound(gt_eq(&maxes, &Scalar::new(low.clone()))?);
            }
            if let Some(high) = &test.high {
                let mins = converter.data_page_mins(index, offsets, &groups)?;
                bound(lt_eq(&mins, &Scalar::new(high.clone()))?);
            }
            let selectors = may_pass
                .iter()
                .zip(counts.values())
                .map(|(may_pass, rows)| match may_pass {
                    true => RowSelector::select(*rows as usize),
                    false => RowSelector::skip(*rows as usize),
                });
            let of_test: RowSelection = selectors.collect::<Vec<_>>().into();
            selection = Some(match selection {
                Some(selection) => selection.intersection(&of_test),
                None => of_test,
            });
        }
        Ok(selection)
    }
}

impl Reader for Parquet {
    fn name(&self) -> &'static str {
        "Parquet"
    }

    fn filtered(&self, case: &Case) -> Result<usize> {
        let predicates = case.tests.iter().map(|test| {
            let mask = ProjectionMask::columns(self.metadata.parquet_schema(), [test.column]);
            let test = Test {
                column: test.column,
                low: test.low.clone(),
                high: test.high.clone(),
            };
            let predicate = ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
                passes_test(batch.column(0), &test)
            });
            Box::new(predicate) as Box<dyn ArrowPredicate>
        });
        let mut builder = self.builder(&case.columns);
        if let Some(pages) = self.pages(&case.tests)? {
            builder = builder.with_row_selection(pages);
        }
        counted(
            builder
                .with_row_filter(RowFilter::new(predicates.collect()))
                .build()?,
        )
    }

    /// As engines do that do not push filters down: pages are pruned, the rest is read and filtered.
    fn scanned(&self, case: &Case) -> Result<usize> {
        let mut builder = self.builder(&all_columns(case));
        if let Some(pages) = self.pages(&case.tests)? {
            builder = builder.with_row_selection(pages);
        }
        filtered(case, builder.build()?)
    }
}
