//! Buffers in the input: bits and offsets of a range of items.

use std::io::{Read, Seek};

use arrow_buffer::BooleanBuffer;

use super::message::Message;
use crate::source::ipc::input::{read_at, read_into};

/// A buffer in the input.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) start: u64,
    pub(super) bytes: u64,
}

/// One offset more than there are items, or none if there are no items.
#[derive(Clone, Copy)]
pub(super) struct Offsets {
    pub(super) place: Place,
    /// Bytes of an offset, 4 or 8.
    pub(super) width: usize,
}

impl Offsets {
    /// An offset; 0 if there are none.
    pub(super) fn at(&self, input: &mut (impl Read + Seek), item: usize) -> Result<i64, String> {
        if self.place.bytes == 0 {
            return Ok(0);
        }
        let start = self.place.start + (item * self.width) as u64;
        let mut bytes = [0; 8];
        if self.width == 8 {
            read_into(input, start, &mut bytes)?;
            return Ok(i64::from_le_bytes(bytes));
        }
        let (bytes, _) = bytes.split_at_mut(4);
        read_into(input, start, bytes)?;
        Ok(i32::from_le_bytes(bytes.try_into().unwrap_or_default()).into())
    }

    /// An offset that is neither less than the one before, nor more than what it leads to.
    pub(super) fn at_within(
        &self,
        input: &mut (impl Read + Seek),
        item: usize,
        min: u64,
        max: u64,
    ) -> Result<u64, String> {
        let offset = self.at(input, item)?;
        u64::try_from(offset)
            .ok()
            .filter(|offset| (min..=max).contains(offset))
            .ok_or_else(|| format!("offset {offset} at position {item} is outside {min} to {max}"))
    }

    /// Appends the offsets of a range of items to a message, counted from `base`.
    pub(super) fn take(
        &self,
        input: &mut (impl Read + Seek),
        message: &mut Message,
        next: usize,
        n: usize,
        base: u64,
    ) -> Result<(), String> {
        if self.place.bytes == 0 {
            message.push_buffer(self.width);
            return Ok(());
        }
        let width = self.width as u64;
        let start = self.place.start + next as u64 * width;
        let offsets = message.read_buffer(input, start, (n as u64 + 1) * width)?;
        let is_moved = match self.width {
            4 => i32::try_from(base).is_ok_and(|base| {
                let mut offsets = offsets.as_chunks_mut().0.iter_mut();
                offsets.all(|offset| {
                    let moved = i32::from_le_bytes(*offset).checked_sub(base);
                    *offset = moved.unwrap_or(-1).to_le_bytes();
                    moved.is_some_and(|moved| moved >= 0)
                })
            }),
            _ => i64::try_from(base).is_ok_and(|base| {
                let mut offsets = offsets.as_chunks_mut().0.iter_mut();
                offsets.all(|offset| {
                    let moved = i64::from_le_bytes(*offset).checked_sub(base);
                    *offset = moved.unwrap_or(-1).to_le_bytes();
                    moved.is_some_and(|moved| moved >= 0)
                })
            }),
        };
        match is_moved {
            true => Ok(()),
            false => Err(format!(
                "an offset at position {next} or behind it falls below {base}"
            )),
        }
    }
}

/// Bits of a buffer that has so many.
pub(super) fn read_bits(
    input: &mut (impl Read + Seek),
    place: Place,
    next: usize,
    n: usize,
) -> Result<BooleanBuffer, String> {
    let (first, last) = (next / 8, (next + n).div_ceil(8));
    let n_bytes = last.saturating_sub(first) as u64;
    let bytes = read_at(input, place.start + first as u64, n_bytes)?;
    Ok(BooleanBuffer::new(bytes, next % 8, n))
}
