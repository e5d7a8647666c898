//! Views of byte strings, as Arrow's view arrays hold them.

use arrow_buffer::ScalarBuffer;
use arrow_data::{ByteView, MAX_INLINE_VIEW_LEN};

/// Bytes of a view.
pub(crate) const VIEW_BYTES: usize = 16;

/// The view of a value: a short value lies in its view, a longer one at `offset` of a buffer.
pub(crate) fn view_of(value: &[u8], buffer_index: u32, offset: u32) -> u128 {
    let length = value.len() as u32;
    if length <= MAX_INLINE_VIEW_LEN {
        let mut view = [0; VIEW_BYTES];
        let (to_length, to_bytes) = view.split_at_mut(4);
        to_length.copy_from_slice(&length.to_le_bytes());
        if let Some(to) = to_bytes.get_mut(..value.len()) {
            to.copy_from_slice(value);
        }
        return u128::from_le_bytes(view);
    }
    let view = ByteView {
        length,
        prefix: value.first_chunk().copied().map_or(0, u32::from_le_bytes),
        buffer_index,
        offset,
    };
    view.as_u128()
}

/// One view per value: short values inside the view, longer ones in the one data buffer.
pub(crate) fn views(ends: &[u32], data: &[u8]) -> ScalarBuffer<u128> {
    ends.windows(2)
        .map(|pair| {
            let value = data.get(pair[0] as usize..pair[1] as usize);
            view_of(value.unwrap_or_default(), 0, pair[0])
        })
        .collect::<Vec<_>>()
        .into()
}
