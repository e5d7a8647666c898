//! Byte strings of an array that are selected.

use arrow_array::types::ByteArrayType;
use arrow_array::{Array, GenericByteArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use tarsia_bits::{STRING_SLACK_BYTES, compact_strings, selected_bytes};
use tarsia_codec::{Error, Result};

use crate::pool::Pool;

/// The strings whose bit is set, of which there are `n_set`; `nulls` are theirs.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for bits or nulls of another number of strings.
pub(crate) fn selected_strings<T: ByteArrayType<Offset = i32>>(
    array: &GenericByteArray<T>,
    bits: &BooleanBuffer,
    n_set: usize,
    nulls: Option<NullBuffer>,
    pool: &Pool,
) -> Result<GenericByteArray<T>> {
    let misfit = || Error::invalid("bits of another number of strings");
    if bits.len() != array.len() || nulls.as_ref().is_some_and(|nulls| nulls.len() != n_set) {
        return Err(misfit());
    }
    let offsets: &[u32] = bytemuck::cast_slice(array.value_offsets());
    let data_bytes = selected_bytes(bits.values(), bits.offset(), offsets) as usize;
    let mut data = pool.take(data_bytes + STRING_SLACK_BYTES);
    let offsets_bytes = (n_set + 1) * size_of::<u32>();
    let mut ends = pool.take(offsets_bytes);
    let all_ends: &mut [u32] = ends.as_values_mut()?;
    let (first, later) = all_ends.split_first_mut().ok_or_else(misfit)?;
    *first = 0;
    let (bytes, at) = (bits.values(), bits.offset());
    let written = compact_strings(bytes, at, offsets, array.value_data(), later, &mut data);
    if written != Ok(data_bytes) {
        return Err(misfit());
    }
    let offsets = ScalarBuffer::new(pool.into_buffer(ends, offsets_bytes), 0, n_set + 1);
    let data = pool.into_buffer(data, data_bytes);
    // SAFETY: the first offset is 0. Each of the others is the one before plus the length of a string of `array`, so
    // none falls; the last is `data_bytes`, as was checked, which is at most the bytes of `array`, below 2 GiB.
    let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
    // SAFETY: the offsets end where the data ends. Between two of them lie the bytes of a string of `array`, so they
    // are text if its strings are. `nulls` were checked to have one bit for each string.
    Ok(unsafe { GenericByteArray::new_unchecked(offsets, data, nulls) })
}
