//! How many rows a batch has, and how many are decoded at once.

use crate::table::Projection;

/// A batch that would decode to more bytes is cut, unless it has many columns.
const BATCH_BYTES_MAX: u64 = 64 << 20;

/// A batch of many columns may have so many bytes per column. With half of that, 20,000 columns of 37 KB each came in
/// two batches, which took 41 µs per column instead of 25: to begin a column's part of a batch takes 10.
const BATCH_COLUMN_BYTES_MAX: u64 = 64 << 10;

/// A batch of very many columns has no more: a file of a million columns says nothing that is worth so much memory at
/// once.
const BATCH_BYTES_LIMIT: u64 = 1 << 30;

/// Batches are multiples of this many rows, so that they align with blocks.
const BATCH_ROWS_MULTIPLE: usize = 8192;
const BATCH_ROWS_MAX: usize = 65_536;

/// Batches have about this many decoded bytes, so that they stay in the processor's cache while the caller looks at
/// them. With 16 MiB, and up to 64 MiB for long rows, scans of tables of 5 MB and more took 1.5 to 5 times as long.
const BATCH_BYTES_TARGET: usize = 3 << 20;

/// The columns of a batch have at least about this many bytes in the mean: to plan and fetch a column's part of a batch
/// takes as long as to decode this many bytes.
const BATCH_COLUMN_BYTES_TARGET: usize = 64 << 10;

/// A filter is evaluated in windows of so many decoded bytes where each read waits. With those of a near source, a
/// condition on `lineitem` of six million rows took 500 requests and 4 s from a store that answers after 20 ms, and
/// read its gaps so often that it took 2.6 times the file.
const FAR_WINDOW_BYTES: usize = 32 << 20;
const FAR_WINDOW_ROWS_MAX: usize = 1 << 20;

/// Whether batches of many columns, of so many decoded bytes each, are decoded one at a time, because `n_ahead` of them
/// at once take too much memory. Threads then share the columns of a batch.
pub(crate) fn one_at_a_time(batch_bytes: u64, n_columns: usize, n_ahead: usize) -> bool {
    let bytes = batch_bytes.saturating_mul(n_ahead as u64);
    bytes_max(n_columns) > BATCH_BYTES_MAX && bytes > BATCH_BYTES_LIMIT
}

/// Rows of a batch of these columns, by default.
pub(crate) fn batch_rows(projection: &Projection) -> usize {
    batch_rows_of(projection.row_bytes(), projection.columns.len())
}

/// Rows of a batch of some columns, of which a row has `row_bytes`.
pub(crate) fn batch_rows_of(row_bytes: usize, n_columns: usize) -> usize {
    let row_bytes = row_bytes.max(1);
    let rows = BATCH_BYTES_TARGET / row_bytes;
    if rows >= BATCH_ROWS_MULTIPLE {
        return (rows / BATCH_ROWS_MULTIPLE * BATCH_ROWS_MULTIPLE).min(BATCH_ROWS_MAX);
    }
    let of_columns = BATCH_COLUMN_BYTES_TARGET.saturating_mul(n_columns) / row_bytes;
    // A batch that turns out too large is planned and fetched again in halves, which takes long in tables of many
    // columns.
    let rows_max = BATCH_ROWS_MULTIPLE.min(bytes_max(n_columns) as usize / row_bytes);
    let rows = rows.max(of_columns).clamp(1, rows_max.max(1));
    1 << rows.ilog2()
}

/// Most bytes that a batch of so many columns decodes to, as far as its rows can be cut.
pub(crate) fn bytes_max(n_columns: usize) -> u64 {
    let of_columns = BATCH_COLUMN_BYTES_MAX.saturating_mul(n_columns as u64);
    of_columns.clamp(BATCH_BYTES_MAX, BATCH_BYTES_LIMIT)
}

/// The rows that are decoded at once, for batches of `batch_rows`: as many batches as the default has rows for, so that
/// small batches do not decode a block again and again.
pub(crate) fn task_rows(batch_rows: usize, by_default: usize) -> usize {
    (by_default / batch_rows).max(1).saturating_mul(batch_rows)
}

/// The rows in which a filter is evaluated at once: as many as a batch of its columns has, unless the rows that pass
/// might take too much memory.
pub(crate) fn window_rows(filter: &Projection, output: &Projection) -> usize {
    let bytes_max = bytes_max(output.columns.len()) as usize;
    let rows_max = (bytes_max / output.row_bytes().max(1)).max(1);
    let of_output = batch_rows(output).max(1 << rows_max.ilog2());
    batch_rows(filter).min(of_output)
}

/// As [`window_rows`], of a source where each read waits: rows whose columns decode to about [`FAR_WINDOW_BYTES`].
pub(crate) fn far_window_rows(filter: &Projection, output: &Projection) -> usize {
    let row_bytes = filter.row_bytes().saturating_add(output.row_bytes());
    let rows = (FAR_WINDOW_BYTES / row_bytes.max(1)).clamp(1, FAR_WINDOW_ROWS_MAX);
    (1 << rows.ilog2()).max(window_rows(filter, output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_batches_of_many_columns_are_decoded_one_at_a_time() {
        assert!(one_at_a_time(700 << 20, 20_000, 2));
        assert!(!one_at_a_time(700 << 20, 20_000, 1));
        assert!(!one_at_a_time(3 << 20, 20_000, 65));
        // Threads could not share the work of few columns.
        assert!(!one_at_a_time(64 << 20, 2, 65));
    }
}
