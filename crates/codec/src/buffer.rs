//! Aligned, reusable memory.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::Any;
use core::ops::{Deref, DerefMut};

use crate::{Error, Result};

/// Alignment in bytes of every decode output: a cache line, and the widest vector register
/// (`docs/design/output-memory.md`).
pub const OUTPUT_ALIGN: usize = 64;

const WORDS_OF_ALIGN: usize = OUTPUT_ALIGN / size_of::<u64>();

/// Bytes aligned to [`OUTPUT_ALIGN`], always initialised.
#[derive(Debug, Default)]
pub struct AlignedBuf {
    // One cache line longer than needed, so that an aligned start exists without `unsafe`.
    words: Vec<u64>,
    start: usize,
    len: usize,
}

impl AlignedBuf {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        let words = alloc::vec![0u64; len.div_ceil(8) + WORDS_OF_ALIGN];
        Self::from_words(words, len)
    }

    /// The bytes as values of `T`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a length that is no multiple of a value's.
    pub fn as_values<T: bytemuck::Pod>(&self) -> Result<&[T]> {
        bytemuck::try_cast_slice(self).map_err(|_| unaligned())
    }

    /// The bytes as values of `T`, to be written.
    ///
    /// # Errors
    /// As [`AlignedBuf::as_values`].
    pub fn as_values_mut<T: bytemuck::Pod>(&mut self) -> Result<&mut [T]> {
        bytemuck::try_cast_slice_mut(self).map_err(|_| unaligned())
    }

    fn from_words(words: Vec<u64>, len: usize) -> Self {
        let bytes: &[u8] = bytemuck::cast_slice(&words);
        let start = bytes.as_ptr().align_offset(OUTPUT_ALIGN);
        // `align_offset` may give up (usize::MAX) under Miri's symbolic alignment; then the start is unaligned.
        let start = if start.saturating_add(len) <= bytes.len() {
            start
        } else {
            0
        };
        Self { words, start, len }
    }

    /// A copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut copy = Self::zeroed(bytes.len());
        // The lengths are equal; `get_mut` keeps the code of a panic out of kernels.
        if let Some(to) = copy.get_mut(..bytes.len()) {
            to.copy_from_slice(bytes);
        }
        copy
    }

    /// The most bytes that fit without a new allocation.
    pub fn capacity(&self) -> usize {
        (self.words.len() * 8).saturating_sub(self.start)
    }

    /// Changes the length. If `len` is at most [`AlignedBuf::capacity`], all bytes keep their old content; otherwise
    /// all bytes are zero.
    pub fn reset_len(&mut self, len: usize) {
        if len <= self.capacity() {
            self.len = len;
        } else {
            *self = Self::zeroed(len.next_power_of_two());
            self.len = len;
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let bytes: &[u8] = bytemuck::cast_slice(&self.words);
        bytes
            .get(self.start..self.start + self.len)
            .unwrap_or_default()
    }
}

impl DerefMut for AlignedBuf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words);
        bytes
            .get_mut(self.start..self.start + self.len)
            .unwrap_or_default()
    }
}

/// Temporary memory of one decoding thread. A decoder takes a buffer for the duration of a call and gives it back, so
/// that after the first few blocks nothing is allocated.
#[derive(Debug, Default)]
pub struct Scratch {
    free: Vec<AlignedBuf>,
    contexts: Vec<Box<dyn Any + Send>>,
}

#[cold]
#[inline(never)]
fn too_many() -> Error {
    Error::invalid("the selection needs more scratch memory than there can be")
}

#[cold]
#[inline(never)]
fn unaligned() -> Error {
    Error::invalid("scratch memory is not aligned, or not a whole number of values")
}

impl Scratch {
    /// Scratch memory without buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// A buffer of `len` bytes with undefined (but initialised) content.
    pub fn take(&mut self, len: usize) -> AlignedBuf {
        // The buffer returned last is the most likely to be in the cache.
        let mut buf = self.free.pop().unwrap_or_default();
        buf.reset_len(len);
        buf
    }

    /// Calls `with` with `n` values, whose content is undefined (but initialised), and takes them back.
    ///
    /// # Errors
    /// Those of `with`; [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for more values than memory holds.
    pub fn with_values<T: bytemuck::Pod, R, E: From<Error>>(
        &mut self,
        n: usize,
        with: impl FnOnce(&mut [T], &mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let bytes = n.checked_mul(size_of::<T>());
        let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
        let Some(bytes) = bytes else {
            return Err(too_many().into());
        };
        let mut buf = self.take(bytes);
        let done = match buf.as_values_mut() {
            Ok(values) => with(values, self),
            Err(error) => Err(error.into()),
        };
        self.give(buf);
        done
    }

    /// Returns a buffer for later calls.
    pub fn give(&mut self, buf: AlignedBuf) {
        self.free.push(buf);
    }

    /// The thread's only `T`, created on first use: the context of a library such as zstd, which is too expensive to
    /// create per block.
    pub fn context<T: Any + Send + Default>(&mut self) -> &mut T {
        let found = self.contexts.iter().position(|known| known.is::<T>());
        let at = found.unwrap_or_else(|| {
            self.contexts.push(Box::new(T::default()));
            self.contexts.len() - 1
        });
        match self
            .contexts
            .get_mut(at)
            .and_then(|known| known.downcast_mut())
        {
            Some(context) => context,
            None => unreachable!("the place was found by its type"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_reused() {
        let mut scratch = Scratch::new();
        let mut first = scratch.take(100);
        assert_eq!(first.len(), 100);
        if !cfg!(miri) {
            assert_eq!(first.as_ptr() as usize % OUTPUT_ALIGN, 0);
        }
        first.fill(7);
        let at = first.as_ptr();
        scratch.give(first);
        let second = scratch.take(64);
        assert_eq!(second.as_ptr(), at);
        assert_eq!(second.len(), 64);
        scratch.give(second);
        let third = scratch.take(1 << 20);
        assert_eq!(third.len(), 1 << 20);
    }

    #[test]
    fn values_are_typed_and_given_back() {
        let mut scratch = Scratch::new();
        let at = scratch.with_values(10, |values: &mut [u32], scratch| {
            values.fill(7);
            assert_eq!((values.len(), scratch.free.len()), (10, 0));
            Ok::<_, Error>(values.as_ptr() as usize)
        });
        let buf = scratch.take(10);
        assert_eq!(at, Ok(buf.as_ptr() as usize));
        assert_eq!(buf.as_values::<u16>().map(<[u16]>::len), Ok(5));
        assert_eq!(buf.as_values::<u32>(), Err(unaligned()));
        let failed = scratch.with_values(1, |_: &mut [u32], _| Err::<(), _>(Error::invalid("no")));
        assert_eq!((failed, scratch.free.len()), (Err(Error::invalid("no")), 1));
        let huge = scratch.with_values(usize::MAX / 2, |_: &mut [u32], _| Ok::<_, Error>(()));
        assert_eq!(huge, Err(too_many()));
    }

    #[test]
    fn a_thread_has_one_context_of_a_type() {
        #[derive(Default)]
        struct Calls(u32);
        #[derive(Default)]
        struct Other(u64);
        let mut scratch = Scratch::new();
        scratch.context::<Calls>().0 += 2;
        scratch.context::<Other>().0 += 5;
        scratch.context::<Calls>().0 += 1;
        let found = (scratch.context::<Calls>().0, scratch.context::<Other>().0);
        assert_eq!(found, (3, 5));
    }
}
