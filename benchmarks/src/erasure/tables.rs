//! The tables, and which rows are erased from them.

use std::fs::File;
use std::path::PathBuf;

use anyhow::Result;
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::Serialize;
use tarsia::RowSet;

use super::Arguments;
use crate::machine;
use crate::speed::measuring::{Batches, Make};
use crate::speed::random::Random;
use crate::types::lineitem;

/// Rows of a batch handed to a writer.
const BATCH_ROWS: usize = 65_536;

/// Most rows of the click sequences.
const CLK_SEQ_ROWS: usize = 100_000;
const CLK_SEQ_ROWS_LARGE: usize = 500_000;

/// Scale factors of `lineitem`; a file of factor 1 has about 125 MB.
const SCALE_FACTOR: f64 = 0.3;
const SCALE_FACTOR_LARGE: f64 = 8.5;

/// A table that is made anew wherever it is needed.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) make: Make,
}

/// Returns the tables that the command line asks for.
pub(super) fn tables(arguments: &Arguments) -> Result<Vec<Table>> {
    let folder = machine::data_folder(arguments.folder.as_ref())?;
    let clk_seq = match &arguments.clk_seq {
        Some(path) => path.clone(),
        None => folder.join("ml_clk_seq.parquet"),
    };
    let (clk_seq_rows, scale_factor) = match arguments.large {
        false => (CLK_SEQ_ROWS, SCALE_FACTOR),
        true => (CLK_SEQ_ROWS_LARGE, SCALE_FACTOR_LARGE),
    };
    let clk_seq_rows = arguments.clk_seq_rows.unwrap_or(clk_seq_rows);
    let mut all = vec![
        of_parquet("clk_seq", clk_seq, clk_seq_rows.max(1)),
        Table {
            name: format!("lineitem_sf{scale_factor}"),
            make: Box::new(move || {
                let (schema, batches) = lineitem::table(scale_factor, &DataType::Utf8);
                Ok((schema, Box::new(batches) as Batches))
            }),
        },
    ];
    let wide = folder.join("ml_ads_wide_1000.parquet");
    if wide.is_file() {
        all.push(of_parquet("ads_wide_1000", wide, usize::MAX));
    }
    if let Some(text) = &arguments.table {
        all.retain(|table| table.name.contains(text));
    }
    Ok(all)
}

/// The first rows of a file.
fn of_parquet(name: &str, path: PathBuf, rows_max: usize) -> Table {
    let make = move || {
        let file =
            File::open(&path).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
        let schema = builder.schema().clone();
        let reader = builder
            .with_batch_size(BATCH_ROWS)
            .with_limit(rows_max)
            .build()?;
        Ok((schema, Box::new(reader.map(|batch| Ok(batch?))) as Batches))
    };
    Table {
        name: name.to_owned(),
        make: Box::new(make),
    }
}

/// How the rows lie that are erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Spread {
    /// One behind the other, from a third of the table on.
    Run,
    /// Each by itself.
    Random,
}

impl Spread {
    pub(super) const ALL: [Self; 2] = [Self::Run, Self::Random];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Random => "random",
        }
    }

    /// `count` of `n` rows, the same in every run.
    pub(super) fn rows(self, count: u64, n: u64) -> RowSet {
        let count = count.min(n);
        match self {
            Self::Run => {
                let start = (n / 3).min(n - count);
                let mut rows = RowSet::new();
                rows.insert_range(start..start + count);
                rows
            }
            Self::Random => {
                let mut random = Random::new(0x6572_6173_7572_6521);
                let mut left = count;
                // Each row is taken with the part that is still to be taken of those that are left.
                let rows = (0..n).filter(|row| {
                    let is_taken = random.unit() * ((n - row) as f64) < left as f64;
                    left -= u64::from(is_taken);
                    is_taken
                });
                rows.collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_as_asked_for() {
        for spread in Spread::ALL {
            for (count, n) in [
                (0, 10),
                (1, 1),
                (1, 10),
                (7, 10),
                (10, 10),
                (20, 10),
                (200, 100_000),
            ] {
                let rows = spread.rows(count, n);
                assert_eq!(rows.len(), count.min(n), "{spread:?}");
                assert!(rows.last().is_none_or(|row| row < n));
            }
        }
        assert_eq!(Spread::Run.rows(2, 9).iter().collect::<Vec<_>>(), [3, 4]);
        let random = Spread::Random.rows(200, 100_000);
        assert!(random.ranges(0..100_000).count() > 150);
    }
}
