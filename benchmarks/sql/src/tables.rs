//! The tables of TPC-H as files of each format. Vortex writes its own by the engine, once the others are there.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tarsia::{WriteOptions, Writer};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

/// The names of the tables, which are those of their files.
pub(crate) const NAMES: [&str; 8] = [
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
];

/// Rows of a batch handed to a writer.
const BATCH_ROWS: usize = 65_536;

/// Where a table lies.
pub(crate) fn path(folder: &Path, name: &str, extension: &str) -> PathBuf {
    folder.join(format!("{name}.{extension}"))
}

/// Writes the tables that are not there yet as Tarsia and Parquet files.
pub(crate) fn make(folder: &Path, scale: f64) -> Result<()> {
    macro_rules! table {
        ($name:literal, $arrow:ident, $generator:ident) => {
            if !are_there(folder, $name) {
                let generator = $generator::new(scale, 1, 1);
                let batches = $arrow::new(generator).with_batch_size(BATCH_ROWS);
                write(folder, $name, batches)?;
            }
        };
    }
    table!("customer", CustomerArrow, CustomerGenerator);
    table!("lineitem", LineItemArrow, LineItemGenerator);
    table!("nation", NationArrow, NationGenerator);
    table!("orders", OrderArrow, OrderGenerator);
    table!("part", PartArrow, PartGenerator);
    table!("partsupp", PartSuppArrow, PartSuppGenerator);
    table!("region", RegionArrow, RegionGenerator);
    table!("supplier", SupplierArrow, SupplierGenerator);
    Ok(())
}

fn are_there(folder: &Path, name: &str) -> bool {
    ["tarsia", "parquet"]
        .into_iter()
        .all(|extension| path(folder, name, extension).exists())
}

fn write(folder: &Path, name: &str, batches: impl Iterator<Item = RecordBatch>) -> Result<()> {
    let (tarsia, parquet) = (path(folder, name, "tarsia"), path(folder, name, "parquet"));
    let mut batches = batches.peekable();
    let schema = batches.peek().context("a table without rows")?.schema();
    // A file that is not whole has another name.
    let partial = path(folder, name, "parquet.partial");
    let mut to_parquet = parquet_writer(&partial, schema.clone())?;
    let mut to_tarsia = Writer::create(&tarsia, schema, WriteOptions::new())?;
    for batch in batches {
        to_parquet.write(&batch)?;
        to_tarsia.write(&batch)?;
    }
    to_parquet.close()?;
    to_tarsia.finish()?;
    std::fs::rename(partial, parquet)?;
    Ok(())
}

/// Parquet as DataFusion's guide tunes it: zstd, pages with an index, row groups of a million rows.
fn parquet_writer(path: &Path, schema: SchemaRef) -> Result<ArrowWriter<File>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .build();
    let file = File::create(path).with_context(|| path.display().to_string())?;
    Ok(ArrowWriter::try_new(file, schema, Some(properties))?)
}
