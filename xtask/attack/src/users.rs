//! Tables of users: a key by which rows are found, and columns of secrets that no two rows share.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tarsia::{EmbedKernels, ErasureLevel, WriteOptions};
use tarsia_testkit::rng::Rng;

use crate::scene;

/// Properties of a table of users.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Users {
    pub(crate) rows: usize,
    /// Columns `s0`, `s1` and so on.
    pub(crate) secrets: usize,
    /// Nulls among 100 values of the secrets.
    pub(crate) nulls: u32,
    pub(crate) page_bytes: u64,
}

impl Users {
    /// Some table.
    pub(crate) fn any(rng: &mut Rng) -> Self {
        Self {
            rows: rng.between(20, 3000),
            secrets: rng.between(1, 4),
            nulls: *rng.pick(&[0, 5, 30]),
            page_bytes: *rng.pick(&[4000, 30_000, 8 << 20]),
        }
    }

    /// The table: column `k` has the number of the row.
    pub(crate) fn table(&self, rng: &mut Rng) -> Result<RecordBatch, String> {
        let keys = Int64Array::from_iter_values(0..self.rows as i64);
        let mut columns: Vec<(String, ArrayRef, bool)> =
            vec![("k".to_owned(), Arc::new(keys), false)];
        for number in 0..self.secrets {
            let is_null: Vec<bool> = (0..self.rows).map(|_| rng.percent(self.nulls)).collect();
            let numbers: Vec<u64> = (0..self.rows).map(|_| rng.u64()).collect();
            let cells = is_null.iter().zip(&numbers);
            let array: ArrayRef = match number % 3 {
                0 => {
                    let values = cells.map(|(null, number)| (!null).then_some(*number as i64));
                    Arc::new(values.collect::<Int64Array>())
                }
                1 => {
                    let values =
                        cells.map(|(null, number)| (!null).then(|| format!("{number:016x}")));
                    Arc::new(values.collect::<StringArray>())
                }
                _ => {
                    let mut values = FixedSizeBinaryBuilder::new(16);
                    for (null, number) in cells {
                        match null {
                            true => values.append_null(),
                            false => {
                                let value =
                                    [number.to_le_bytes(), rng.u64().to_le_bytes()].concat();
                                values
                                    .append_value(value)
                                    .map_err(|error| error.to_string())?;
                            }
                        }
                    }
                    Arc::new(values.finish())
                }
            };
            columns.push((format!("s{number}"), array, true));
        }
        RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| error.to_string())
    }

    /// How it is written. The file has an id of its own.
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions::new()
            .with_erasure(ErasureLevel::Erase)
            .with_embed_kernels(EmbedKernels::Omit)
            .with_page_bytes(self.page_bytes)
    }

    /// Writes the table to a file.
    pub(crate) fn write(&self, table: &RecordBatch, path: &Path) -> Result<(), String> {
        let bytes = scene::write(table, &self.options()).map_err(|error| error.to_string())?;
        std::fs::write(path, bytes).map_err(|error| error.to_string())
    }
}

/// Which keys a file shows.
pub(crate) fn keys(bytes: Vec<u8>) -> Result<Vec<i64>, String> {
    use arrow_array::cast::AsArray;
    let batch = scene::scan(&scene::open(bytes)?)?;
    let keys = batch.column_by_name("k").ok_or("no column of keys")?;
    let keys = keys.as_primitive::<arrow_array::types::Int64Type>();
    Ok(keys.values().to_vec())
}
