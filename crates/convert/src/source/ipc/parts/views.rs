//! Views of a range of items, and the data that they point to.
//!
//! Writers append data in the order of rows, so that the views of a range point to a few spans of them. Arrays whose
//! rows were put into another order do not: each range points to data everywhere, and all data would be read for it.

use std::io::{Read, Seek};
use std::ops::Range;

use super::buffers::Place;
use super::message::Message;
use crate::source::ipc::input::{read_at, read_into};

/// Bytes of a view.
pub(super) const VIEW_BYTES: usize = 16;

/// Longest value that lies in the view itself.
const INLINE_BYTES_MAX: u64 = 12;

/// Views, and bytes of their values, whose spans of data are looked at together.
const RUN_ROWS: usize = 1 << 16;
const RUN_BYTES: u64 = 8 << 20;

/// Views of a part of more bytes are not looked at, since it is halved for them alone.
pub(super) const LOADED_BYTES_MAX: usize = 64 << 20;

/// Buffers of an array of views.
pub(super) struct Views {
    place: Place,
    data: Vec<Place>,
    /// Views of the next range of items, once they are needed.
    loaded: Vec<u8>,
    spans: Spans,
}

impl Views {
    pub(super) fn new(place: Place, data: Vec<Place>) -> Views {
        let spans = Spans::new(data.len());
        Views {
            place,
            data,
            loaded: Vec::new(),
            spans,
        }
    }

    /// Sums the bytes of all buffers.
    pub(super) fn bytes(&self) -> u64 {
        let data = self.data.iter().map(|place| place.bytes);
        data.fold(self.place.bytes, u64::saturating_add)
    }

    /// Returns false if views point outside of the data, or in such an order that the spans of ranges have more than
    /// twice the bytes of all data and the bytes of the views.
    ///
    /// # Errors
    /// The input cannot be read.
    pub(super) fn are_in_order(
        &mut self,
        input: &mut (impl Read + Seek),
        len: usize,
    ) -> Result<bool, String> {
        let data_bytes = self.bytes() - self.place.bytes;
        let mut left = data_bytes
            .saturating_mul(2)
            .saturating_add(self.place.bytes);
        for start in (0..len).step_by(RUN_ROWS) {
            let n = RUN_ROWS.min(len - start);
            let at = self.place.start + (start * VIEW_BYTES) as u64;
            let views = read_at(input, at, (n * VIEW_BYTES) as u64)?;
            let mut of_values = 0;
            for view in views.as_chunks().0.iter().filter_map(View::parse) {
                if self.spans.add(&view, &self.data).is_err() {
                    return Ok(false);
                }
                of_values += view.bytes;
                if of_values > RUN_BYTES {
                    left = left.saturating_sub(self.spans.clear());
                    of_values = 0;
                }
            }
            left = left.saturating_sub(self.spans.clear());
            if left == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the bytes that a range of items has. Each range begins where the one that was taken ended.
    ///
    /// # Errors
    /// A view points outside of the data.
    pub(super) fn bytes_of(
        &mut self,
        input: &mut (impl Read + Seek),
        next: usize,
        n: usize,
    ) -> Result<u64, String> {
        let bytes = n * VIEW_BYTES;
        if bytes > LOADED_BYTES_MAX {
            return Ok(bytes as u64);
        }
        Ok(bytes as u64 + self.load(input, next, n)?)
    }

    /// Reads the views of a range, and returns the bytes of the spans that they point to.
    fn load(
        &mut self,
        input: &mut (impl Read + Seek),
        next: usize,
        n: usize,
    ) -> Result<u64, String> {
        let bytes = n * VIEW_BYTES;
        if self.loaded.len() < bytes {
            self.loaded = vec![0; bytes];
            let start = self.place.start + (next * VIEW_BYTES) as u64;
            read_into(input, start, &mut self.loaded)?;
        }
        self.loaded.truncate(bytes);
        // A part that was halved does not hold what it no longer has.
        self.loaded.shrink_to(2 * bytes);
        self.spans.clear();
        for view in self.loaded.as_chunks().0.iter().filter_map(View::parse) {
            self.spans.add(&view, &self.data)?;
        }
        Ok(self.spans.bytes())
    }

    /// Appends a range of items to a message: the views, and for each buffer of data the span that they point to.
    ///
    /// # Errors
    /// A view points outside of the data.
    pub(super) fn take(
        &mut self,
        input: &mut (impl Read + Seek),
        message: &mut Message,
        next: usize,
        n: usize,
    ) -> Result<(), String> {
        if self.loaded.len() != n * VIEW_BYTES {
            self.load(input, next, n)?;
        }
        let views = message.push_buffer(self.loaded.len());
        views.copy_from_slice(&self.loaded);
        for bytes in views.as_chunks_mut().0 {
            if let Some(view) = View::parse(bytes) {
                let span = self.spans.of_data.get(view.data_idx);
                let moved = view.start - span.map_or(0, |span| span.start);
                // At most the offset that was there.
                bytes[12..].copy_from_slice(&(moved as u32).to_le_bytes());
            }
        }
        for (place, span) in self.data.iter().zip(&self.spans.of_data) {
            message.read_buffer(input, place.start + span.start, span.end - span.start)?;
        }
        message.push_variadic_count(self.data.len() as i64);
        self.spans.clear();
        self.loaded = Vec::new();
        Ok(())
    }
}

/// A view of a value that lies in a buffer of data.
struct View {
    data_idx: usize,
    start: u64,
    bytes: u64,
}

impl View {
    /// `None` for a value that lies in the view.
    fn parse(view: &[u8; VIEW_BYTES]) -> Option<View> {
        let view = u128::from_le_bytes(*view);
        let word = |i: u32| u64::from((view >> (32 * i)) as u32);
        (word(0) > INLINE_BYTES_MAX).then_some(View {
            data_idx: word(2) as usize,
            start: word(3),
            bytes: word(0),
        })
    }
}

/// The bytes of each buffer of data from the first that views point to to the last.
struct Spans {
    of_data: Vec<Range<u64>>,
    /// Buffers whose spans have bytes.
    touched: Vec<usize>,
}

impl Spans {
    fn new(n: usize) -> Spans {
        Spans {
            of_data: vec![0..0; n],
            touched: Vec::new(),
        }
    }

    fn add(&mut self, view: &View, data: &[Place]) -> Result<(), String> {
        let end = view.start + view.bytes;
        let within = data.get(view.data_idx).filter(|place| end <= place.bytes);
        let span = within.and_then(|_| self.of_data.get_mut(view.data_idx));
        let span = span.ok_or_else(|| {
            let (start, idx) = (view.start, view.data_idx);
            format!("a view of bytes {start} to {end} of buffer {idx} is outside of the data")
        })?;
        if span.is_empty() {
            self.touched.push(view.data_idx);
            *span = view.start..end;
        } else {
            *span = span.start.min(view.start)..span.end.max(end);
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let spans = self.touched.iter().filter_map(|i| self.of_data.get(*i));
        spans.map(|span| span.end - span.start).sum()
    }

    /// Empties all spans, and returns the bytes that they had.
    fn clear(&mut self) -> u64 {
        let bytes = self.bytes();
        for i in self.touched.drain(..) {
            if let Some(span) = self.of_data.get_mut(i) {
                *span = 0..0;
            }
        }
        bytes
    }
}
