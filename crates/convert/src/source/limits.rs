//! Rows from which types are inferred, and rows and bytes of a batch.

/// The types of CSV and JSON lines are inferred from this many rows, unless options say otherwise.
pub const INFERENCE_ROWS: u64 = 10_000;

/// Most values of a batch of JSON lines, nulls among them: a table may have a column for each of its rows.
pub(super) const BATCH_VALUES: usize = 1 << 24;

/// Most rows of a batch; wide rows make smaller batches.
pub(super) const BATCH_ROWS: usize = 8_192;

/// Most bytes that a batch should have, as far as they are known before decoding.
pub(super) const BATCH_BYTES: u64 = 16 << 20;
