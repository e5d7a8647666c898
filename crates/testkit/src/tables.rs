//! The real tables that tests and benchmarks read from a folder outside of the repository.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Once;

#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
#[cfg(feature = "parquet")]
use arrow_schema::SchemaRef;

/// The environment variable that names the folder.
pub const DATA_VAR: &str = "TARSIA_DATA";

/// The text that is printed, once per test binary, if the folder is not named.
pub const SKIPPED: &str = "skipped: TARSIA_DATA is not set, so tests over real tables did not run";

/// Tables whose columns are all flat: numbers, booleans, dates and times, strings, bytes.
pub const FLAT_TABLES: [&str; 23] = [
    "alp37_kv_cache",
    "alp37_kv_diff",
    "code_python",
    "fsst_l_comment",
    "fsst_wikipedia",
    "images_png_jpeg",
    "longtext_python_doc",
    "ml_ctr",
    "nextia_examiner_text",
    "nextia_fhv_trips",
    "nextia_hail_2015",
    "nextia_smmnet_plays",
    "nycflights_flights",
    "nycflights_planes",
    "nycflights_weather",
    "prompts_lm_eval",
    "publicbi_bimbo",
    "reviews_vader",
    "sklearn_breast_cancer",
    "tpch_lineitem_sf0_1",
    "ts_linear_road",
    "ts_weather_forecast",
    "websites_postgresql",
];

/// Tables with a column of lists, structs or vectors of fixed length.
pub const NESTED_TABLES: [&str; 8] = [
    "embeddings_minilm384",
    "geonames_cities15000",
    "ml_ads_wide_100",
    "ml_ads_wide_1000",
    "ml_clk_seq",
    "ml_embed768",
    "ml_embed768_bf16",
    "sklearn_digits",
];

/// The folder of the tables. `None`, and one line on standard error per process ([`SKIPPED`]), where it is not named.
///
/// # Panics
/// If the named folder does not exist: a typing error must not look like a success.
pub fn data_dir() -> Option<PathBuf> {
    static SAY_ONCE: Once = Once::new();
    match std::env::var_os(DATA_VAR) {
        Some(named) => {
            let folder = PathBuf::from(named);
            assert!(
                folder.is_dir(),
                "{DATA_VAR} = {} is not a folder",
                folder.display()
            );
            Some(folder)
        }
        None => {
            // Not `eprintln`, which the test harness swallows for tests that pass.
            SAY_ONCE.call_once(|| {
                let _ = writeln!(std::io::stderr(), "{SKIPPED}");
            });
            None
        }
    }
}

/// The file of one table, where the folder is named.
///
/// # Panics
/// Where the folder has no such table.
pub fn table(name: &str) -> Option<PathBuf> {
    data_dir().map(|folder| table_in(&folder, name))
}

/// The files of [`FLAT_TABLES`] with their names; empty where the folder is not named.
///
/// # Panics
/// Where one is missing.
pub fn flat_tables() -> Vec<(&'static str, PathBuf)> {
    all_of(&FLAT_TABLES)
}

/// The files of [`NESTED_TABLES`] with their names; empty where the folder is not named.
///
/// # Panics
/// Where one is missing.
pub fn nested_tables() -> Vec<(&'static str, PathBuf)> {
    all_of(&NESTED_TABLES)
}

fn all_of(names: &[&'static str]) -> Vec<(&'static str, PathBuf)> {
    let folder = data_dir();
    names
        .iter()
        .filter_map(|name| Some((*name, table_in(folder.as_deref()?, name))))
        .collect()
}

fn table_in(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(format!("{name}.parquet"));
    assert!(path.is_file(), "the table {} is missing", path.display());
    path
}

/// Reads a whole Parquet file in batches of at most 65,536 rows.
///
/// # Panics
/// Where the file cannot be read.
#[cfg(feature = "parquet")]
pub fn read_parquet(path: &Path) -> (SchemaRef, Vec<RecordBatch>) {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let broken = |error: &dyn std::fmt::Display| -> ! { panic!("{}: {error}", path.display()) };
    let file = std::fs::File::open(path).unwrap_or_else(|error| broken(&error));
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap_or_else(|error| broken(&error));
    let schema = builder.schema().clone();
    let reader = builder
        .with_batch_size(1 << 16)
        .build()
        .unwrap_or_else(|error| broken(&error));
    let batches = reader
        .map(|batch| batch.unwrap_or_else(|error| broken(&error)))
        .collect();
    (schema, batches)
}
