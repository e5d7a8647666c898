//! An array of a batch that is read a range of items after the other.
//!
//! Each item is in exactly one range, also items of lists that no list has: the decoder validates them, as it does
//! those of whole batches.

use std::io::{Read, Seek};

use super::buffers::{Offsets, Place, read_bits};
use super::message::Message;
use super::views::Views;
use crate::source::ipc::input::read_at;

/// Buffers beside the validity, and how items belong to those of children.
pub(super) enum Values {
    /// Nulls alone.
    Nulls,
    /// Each item has so many items of each child.
    Items(usize),
    Bits(Place),
    /// Items of this many bytes. Children, which sparse unions have, have as many items.
    Fixed {
        place: Place,
        width: usize,
    },
    Bytes {
        offsets: Offsets,
        data: Place,
        /// Whether the bytes are UTF-8.
        is_text: bool,
        /// Bytes of the data that the next range of items has.
        next: u64,
        end: u64,
    },
    Views(Views),
    /// Offsets into the items of the only child.
    List(Offsets),
}

/// An array, all of whose buffers are as long as its length demands.
pub(super) struct Array {
    len: usize,
    /// Nulls, as the message says.
    null_count: usize,
    /// `None` for types that have no such buffer.
    validity: Option<Place>,
    values: Values,
    children: Vec<Array>,
    /// The next range of items.
    next: usize,
    end: usize,
    /// Nulls of the ranges before.
    nulls: usize,
}

impl Array {
    pub(super) fn new(
        len: usize,
        null_count: usize,
        validity: Option<Place>,
        values: Values,
        children: Vec<Array>,
    ) -> Array {
        Array {
            len,
            null_count,
            validity,
            values,
            children,
            next: 0,
            end: 0,
            nulls: 0,
        }
    }

    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    /// Finds where the data of the first items begin. False if the array cannot be cut: offsets lie outside of the
    /// data, or into a character, which the decoder must see all data for, or views are in no order.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn enter(&mut self, input: &mut (impl Read + Seek)) -> Result<bool, String> {
        if let Values::Bytes {
            offsets,
            data,
            is_text,
            next,
            ..
        } = &mut self.values
        {
            let (first, last) = (offsets.at(input, 0)?, offsets.at(input, self.len)?);
            let is_within = |offset: i64| u64::try_from(offset).ok().filter(|o| *o <= data.bytes);
            let (Some(first), Some(last)) = (is_within(first), is_within(last)) else {
                return Ok(false);
            };
            *next = first;
            // If no item has bytes, no item shows that their place is none between characters.
            if *is_text && first == last && first < data.bytes {
                let byte = read_at(input, data.start + first, 1)?;
                if byte.first().is_some_and(|byte| byte & 0xc0 == 0x80) {
                    return Ok(false);
                }
            }
        }
        if let Values::Views(views) = &mut self.values
            && !views.are_in_order(input, self.len)?
        {
            return Ok(false);
        }
        for child in &mut self.children {
            if !child.enter(input)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sums the bytes of all buffers, also those of children.
    pub(super) fn bytes(&self) -> u64 {
        let own = match &self.values {
            Values::Nulls | Values::Items(_) => 0,
            Values::Bits(place) | Values::Fixed { place, .. } => place.bytes,
            Values::Bytes { offsets, data, .. } => offsets.place.bytes.saturating_add(data.bytes),
            Values::Views(views) => views.bytes(),
            Values::List(offsets) => offsets.place.bytes,
        };
        let validity = self.validity.map_or(0, |place| place.bytes);
        let children = self.children.iter().map(Array::bytes);
        children.fold(own.saturating_add(validity), u64::saturating_add)
    }

    /// Sets where the next range ends, and returns how many bytes it has. The last range has all items
    /// that are left.
    ///
    /// # Errors
    /// An offset is outside of what it leads to, or less than one before; a view points outside of its data.
    pub(super) fn set_end(
        &mut self,
        input: &mut (impl Read + Seek),
        end: usize,
        is_last: bool,
    ) -> Result<u64, String> {
        self.end = end;
        let n = (end - self.next) as u64;
        let bits_bytes = n / 8 + 2;
        let offsets_bytes = |offsets: &Offsets| (n + 1) * offsets.width as u64;
        let mut bytes = if self.null_count > 0 { bits_bytes } else { 0 };
        let mut child_end = end;
        match &mut self.values {
            Values::Nulls => {}
            Values::Bits(_) => bytes += bits_bytes,
            Values::Fixed { width, .. } => bytes += n * *width as u64,
            Values::Bytes {
                offsets,
                data,
                next,
                end: data_end,
                ..
            } => {
                *data_end = offsets.at_within(input, end, *next, data.bytes)?;
                bytes += offsets_bytes(offsets) + (*data_end - *next);
            }
            Values::Views(views) => bytes += views.bytes_of(input, self.next, end - self.next)?,
            // Their children are as long as all their items.
            Values::Items(per_item) => child_end = end * *per_item,
            Values::List(offsets) => {
                bytes += offsets_bytes(offsets);
                if let Some(child) = self.children.first() {
                    let (next, len) = (child.next as u64, child.len as u64);
                    child_end = offsets.at_within(input, end, next, len)? as usize;
                    if is_last {
                        child_end = child.len;
                    }
                }
            }
        }
        for child in &mut self.children {
            bytes = bytes.saturating_add(child.set_end(input, child_end, is_last)?);
        }
        Ok(bytes)
    }

    /// Appends the range that [`Array::set_end`] has set to a message, and goes behind it.
    ///
    /// # Errors
    /// An offset is less than one before.
    pub(super) fn take(
        &mut self,
        input: &mut (impl Read + Seek),
        message: &mut Message,
    ) -> Result<(), String> {
        let (next, n) = (self.next, self.end - self.next);
        let mut nulls = if let Values::Nulls = self.values {
            n
        } else {
            0
        };
        if let Some(validity) = self.validity {
            let mut bits = None;
            if self.null_count > 0 {
                let read = read_bits(input, validity, next, n)?;
                nulls = n - read.count_set_bits();
                bits = Some(read).filter(|_| nulls > 0);
            }
            message.push_bits(bits.as_ref());
        }
        message.push_node(n, nulls);
        match &mut self.values {
            Values::Nulls | Values::Items(_) => {}
            Values::Bits(place) => message.push_bits(Some(&read_bits(input, *place, next, n)?)),
            Values::Fixed { place, width } => {
                let width = *width as u64;
                message.read_buffer(input, place.start + next as u64 * width, n as u64 * width)?;
            }
            Values::Bytes {
                offsets,
                data,
                next: data_next,
                end: data_end,
                ..
            } => {
                offsets.take(input, message, next, n, *data_next)?;
                let bytes = *data_end - *data_next;
                message.read_buffer(input, data.start + *data_next, bytes)?;
                *data_next = *data_end;
            }
            Values::Views(views) => views.take(input, message, next, n)?,
            Values::List(offsets) => {
                let base = self.children.first().map_or(0, |child| child.next);
                offsets.take(input, message, next, n, base as u64)?;
            }
        }
        self.next = self.end;
        self.nulls += nulls;
        self.children
            .iter_mut()
            .try_for_each(|child| child.take(input, message))
    }

    /// Compares the nulls of all ranges with those that the message states.
    ///
    /// # Errors
    /// They are others.
    pub(super) fn check_nulls(&self) -> Result<(), String> {
        if self.null_count > 0 && self.nulls != self.null_count {
            return Err(format!(
                "null_count value ({}) doesn't match actual number of nulls in array ({})",
                self.null_count, self.nulls
            ));
        }
        self.children.iter().try_for_each(Array::check_nulls)
    }
}
