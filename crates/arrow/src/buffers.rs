//! The parts of a decoded column as Arrow buffers.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use tarsia_codec::{Error, Result};
use tarsia_structure::RawParts;

use crate::kernels::counted_nulls;
use crate::pool::Pool;

/// The parts of a decoded column as Arrow buffers, whoever owns their memory.
#[derive(Debug, Clone)]
pub struct ColumnBuffers {
    /// Number of rows.
    pub rows: usize,
    /// Which rows are null; `None` where none is.
    pub nulls: Option<NullBuffer>,
    /// For byte strings `rows + 1` offsets as u32, else empty.
    pub offsets: Buffer,
    /// Packed bits, fixed-width values or the bytes of strings.
    pub values: Buffer,
}

impl ColumnBuffers {
    /// Wraps decoded memory, which the pool gets back when the buffers are dropped.
    pub(crate) fn of_raw(raw: RawParts, pool: &Pool) -> Self {
        let rows = raw.rows;
        Self {
            rows,
            nulls: raw.validity.map(|validity| {
                let bits = pool.into_buffer(validity, rows.div_ceil(8));
                counted_nulls(BooleanBuffer::new(bits, 0, rows))
            }),
            offsets: match raw.offsets.len() {
                0 => Buffer::default(),
                _ => pool.into_buffer(raw.offsets, (rows + 1) * 4),
            },
            values: pool.into_buffer(raw.values, raw.values_len),
        }
    }

    /// Wraps memory that is not copied: the buffers keep its owners alive. Without validity (no bytes) all rows are
    /// valid.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for fewer bits of validity than rows.
    pub fn from_owners<T: AsRef<[u8]> + Send + 'static>(
        rows: usize,
        validity: T,
        offsets: T,
        values: T,
    ) -> Result<Self> {
        let bits = borrowed_buffer(validity);
        let nulls = match bits.len() {
            0 => None,
            _ => {
                let bits = cut(&bits, Some(rows.div_ceil(8)))?;
                Some(counted_nulls(BooleanBuffer::new(bits, 0, rows)))
            }
        };
        Ok(Self {
            rows,
            nulls: nulls.filter(|nulls| nulls.null_count() > 0),
            offsets: borrowed_buffer(offsets),
            values: borrowed_buffer(values),
        })
    }
}

/// A buffer that borrows an owner's memory without a copy and keeps the owner alive. The memory must not move.
pub fn borrowed_buffer<T: AsRef<[u8]> + Send + 'static>(owner: T) -> Buffer {
    match owner.as_ref() {
        // What is empty may lie anywhere.
        [] => Buffer::default(),
        _ => Buffer::from(bytes::Bytes::from_owner(owner)),
    }
}

/// Arrow's values are of at most this alignment.
const VALUE_ALIGN: usize = 16;

/// The first `bytes` bytes of a buffer. Arrow would panic where there are fewer, or where they are not aligned.
pub(crate) fn cut(buffer: &Buffer, bytes: Option<usize>) -> Result<Buffer> {
    let is_aligned = (buffer.as_ptr() as usize).is_multiple_of(VALUE_ALIGN);
    match bytes {
        Some(bytes) if bytes <= buffer.len() && is_aligned => {
            Ok(buffer.slice_with_length(0, bytes))
        }
        _ => Err(Error::invalid("a column's buffers do not fit its rows")),
    }
}
