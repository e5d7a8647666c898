//! Byte strings of an array, or views of some, that are selected, by bits or by their numbers.

use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, GenericByteArray, GenericByteViewArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use tarsia_bits::{
    STRING_SLACK_BYTES, compact, compact_strings, selected_bytes, take_strings, taken_bytes,
};
use tarsia_codec::{Error, Result, limits};

use crate::pool::Pool;

fn misfit() -> Error {
    Error::invalid("bits or nulls of another number of strings")
}

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
    if bits.len() != array.len() {
        return Err(misfit());
    }
    let offsets: &[u32] = bytemuck::cast_slice(array.value_offsets());
    let (bytes, at) = (bits.values(), bits.offset());
    let data_bytes = selected_bytes(bytes, at, offsets);
    strings_of(n_set, data_bytes, nulls, pool, |ends, data| {
        compact_strings(bytes, at, offsets, array.value_data(), ends, data)
    })
}

/// The strings that `codes` number; a code that numbers none has an empty one. `nulls` are those of the result.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for nulls of another number of strings,
/// [`ErrorKind::LimitExceeded`](tarsia_codec::ErrorKind::LimitExceeded) for more than `bytes_max` bytes of
/// strings, or 2 GiB.
pub(crate) fn taken_strings<T: ByteArrayType<Offset = i32>>(
    array: &GenericByteArray<T>,
    codes: &[u32],
    nulls: Option<NullBuffer>,
    bytes_max: u64,
    pool: &Pool,
) -> Result<GenericByteArray<T>> {
    let offsets: &[u32] = bytemuck::cast_slice(array.value_offsets());
    let data_bytes = taken_bytes(codes, offsets);
    if data_bytes > bytes_max {
        return Err(Error::limit("bytes of a batch", data_bytes, bytes_max));
    }
    strings_of(codes.len(), data_bytes, nulls, pool, |ends, data| {
        take_strings(codes, offsets, array.value_data(), ends, data)
    })
}

/// The views whose bit is set, of which there are `n_set`, with the bytes of all; `nulls` are theirs.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for bits or nulls of another number of strings.
pub(crate) fn selected_views<T: ByteViewType>(
    array: &GenericByteViewArray<T>,
    bits: &BooleanBuffer,
    n_set: usize,
    nulls: Option<NullBuffer>,
    pool: &Pool,
) -> Result<GenericByteViewArray<T>> {
    let all = bytemuck::cast_slice(array.views());
    let bytes = n_set * size_of::<u128>();
    let mut views = pool.take(bytes);
    let (set, at) = (bits.values(), bits.offset());
    compact(set, at, bits.len(), size_of::<u128>(), all, &mut views).map_err(|_| misfit())?;
    let views = ScalarBuffer::new(pool.into_buffer(views, bytes), 0, n_set);
    views_of(array, views, nulls)
}

/// The views that `codes` number, with the bytes of all; a code that numbers none has an empty string. `nulls` are
/// those of the result.
///
/// # Errors
/// [`ErrorKind::InvalidInput`](tarsia_codec::ErrorKind::InvalidInput) for nulls of another number of strings.
pub(crate) fn taken_views<T: ByteViewType>(
    array: &GenericByteViewArray<T>,
    codes: &[u32],
    nulls: Option<NullBuffer>,
    pool: &Pool,
) -> Result<GenericByteViewArray<T>> {
    let all: &[u128] = array.views();
    let bytes = codes.len() * size_of::<u128>();
    let mut views = pool.take(bytes);
    for (view, code) in views.as_values_mut()?.iter_mut().zip(codes) {
        *view = all.get(*code as usize).copied().unwrap_or_default();
    }
    let views = ScalarBuffer::new(pool.into_buffer(views, bytes), 0, codes.len());
    views_of(array, views, nulls)
}

/// An array of views of this one, or empty ones.
fn views_of<T: ByteViewType>(
    array: &GenericByteViewArray<T>,
    views: ScalarBuffer<u128>,
    nulls: Option<NullBuffer>,
) -> Result<GenericByteViewArray<T>> {
    let is_fit = |nulls: &NullBuffer| nulls.len() == views.len();
    if !nulls.as_ref().is_none_or(is_fit) {
        return Err(misfit());
    }
    let buffers = array.data_buffers().to_vec();
    // SAFETY: each view is one of the array, whose buffers these are, so that it lies inside of them and is text if the
    // array is; or it is 0, an empty string, which has no place in them. `nulls` have one bit for each, as checked.
    Ok(unsafe { GenericByteViewArray::new_unchecked(views, buffers, nulls) })
}

/// Strings of an array, whose ends and bytes `write` writes: whole strings of that array, or empty ones. It returns how
/// many bytes these are.
fn strings_of<T: ByteArrayType<Offset = i32>>(
    rows: usize,
    data_bytes: u64,
    nulls: Option<NullBuffer>,
    pool: &Pool,
    write: impl FnOnce(&mut [u32], &mut [u8]) -> Result<usize, tarsia_bits::Error>,
) -> Result<GenericByteArray<T>> {
    if nulls.as_ref().is_some_and(|nulls| nulls.len() != rows) {
        return Err(misfit());
    }
    let bytes_max = u64::from(limits::ARROW_OFFSET_MAX);
    if data_bytes > bytes_max {
        return Err(Error::limit("ARROW_OFFSET_MAX", data_bytes, bytes_max));
    }
    let data_bytes = data_bytes as usize;
    let mut data = pool.take(data_bytes + STRING_SLACK_BYTES);
    let offsets_bytes = (rows + 1) * size_of::<u32>();
    let mut ends = pool.take(offsets_bytes);
    let all_ends: &mut [u32] = ends.as_values_mut()?;
    let (first, later) = all_ends.split_first_mut().ok_or_else(misfit)?;
    *first = 0;
    if write(later, &mut data) != Ok(data_bytes) {
        return Err(misfit());
    }
    let offsets = ScalarBuffer::new(pool.into_buffer(ends, offsets_bytes), 0, rows + 1);
    let data = pool.into_buffer(data, data_bytes);
    // SAFETY: the first offset is 0. Each of the others is the one before plus the length of a string of the array, or
    // of an empty one, so none falls; the last is `data_bytes`, as was checked, below 2 GiB.
    let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
    // SAFETY: the offsets end where the data ends. Between two of them lie the bytes of a string of the array, so they
    // are text if its strings are. `nulls` were checked to have one bit for each string.
    Ok(unsafe { GenericByteArray::new_unchecked(offsets, data, nulls) })
}
