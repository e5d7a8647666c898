//! Output memory that is used again.
//!
//! Writing to fresh pages was measured at a tenth of the store speed of memory used before (design notes, `ENCODINGS.md`): batches
//! take their buffers here, and a buffer comes back when the last array that refers to it is dropped.

use std::sync::{Arc, Mutex};

use arrow_buffer::Buffer;
use tarsia_codec::AlignedBuf;

/// Smaller buffers are left to the allocator, which keeps them warm itself.
const POOLED_BYTES_MIN: usize = 4096;

/// A shared pool of 64-byte aligned buffers in classes of powers of two.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    retained_bytes_max: usize,
    free: Mutex<Free>,
}

#[derive(Debug)]
struct Free {
    classes: Vec<Vec<AlignedBuf>>,
    retained_bytes: usize,
}

impl Pool {
    /// A pool that keeps at most `retained_bytes_max` bytes for later.
    pub fn new(retained_bytes_max: usize) -> Self {
        let free = Free {
            classes: (0..usize::BITS).map(|_| Vec::new()).collect(),
            retained_bytes: 0,
        };
        Self {
            shared: Arc::new(Shared {
                retained_bytes_max,
                free: Mutex::new(free),
            }),
        }
    }

    /// `len` bytes with undefined (but initialised) content.
    pub fn take(&self, len: usize) -> AlignedBuf {
        if len < POOLED_BYTES_MIN {
            return AlignedBuf::zeroed(len);
        }
        let class = len.next_power_of_two().trailing_zeros() as usize;
        let found = self.shared.free.lock().ok().and_then(|mut free| {
            let buf = free.classes.get_mut(class)?.pop()?;
            free.retained_bytes -= 1 << class;
            Some(buf)
        });
        let mut buf = found.unwrap_or_else(|| AlignedBuf::zeroed(1 << class));
        buf.reset_len(len);
        buf
    }

    /// Hands a buffer back at once.
    pub fn give(&self, buf: AlignedBuf) {
        self.shared.give(buf);
    }

    /// The first `len` bytes as an Arrow buffer; the memory comes back to the pool when the last reference is dropped.
    pub fn into_buffer(&self, buf: AlignedBuf, len: usize) -> Buffer {
        let pooled = Pooled {
            buf,
            shared: self.shared.clone(),
        };
        let len = len.min(pooled.buf.len());
        Buffer::from(bytes::Bytes::from_owner(pooled)).slice_with_length(0, len)
    }

    /// Bytes kept for later.
    pub fn retained_bytes(&self) -> usize {
        self.shared
            .free
            .lock()
            .map_or(0, |free| free.retained_bytes)
    }
}

impl Shared {
    fn give(&self, buf: AlignedBuf) {
        // A buffer of this pool has a power of two of usable bytes; others are filed under what they surely hold.
        let capacity = buf.capacity();
        if capacity < POOLED_BYTES_MIN {
            return;
        }
        let class = capacity.ilog2() as usize;
        if let Ok(mut free) = self.free.lock()
            && free.retained_bytes + (1 << class) <= self.retained_bytes_max
            && let Some(bufs) = free.classes.get_mut(class)
        {
            bufs.push(buf);
            free.retained_bytes += 1 << class;
        }
    }
}

struct Pooled {
    buf: AlignedBuf,
    shared: Arc<Shared>,
}

impl AsRef<[u8]> for Pooled {
    fn as_ref(&self) -> &[u8] {
        &self.buf
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.shared.give(std::mem::take(&mut self.buf));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_when_the_last_reference_is_dropped() {
        let pool = Pool::new(1 << 20);
        let buf = pool.take(10_000);
        let at = buf.as_ptr();
        let buffer = pool.into_buffer(buf, 9_000);
        assert_eq!(buffer.len(), 9_000);
        assert_eq!(buffer.as_ptr(), at);
        let slice = buffer.slice(100);
        drop(buffer);
        assert_eq!(pool.retained_bytes(), 0);
        drop(slice);
        assert_eq!(pool.retained_bytes(), 16_384);
        let again = pool.take(16_384);
        assert_eq!(again.as_ptr(), at);
        assert_eq!(pool.retained_bytes(), 0);
    }

    #[test]
    fn no_more_is_kept_than_allowed() {
        let pool = Pool::new(20_000);
        let (a, b) = (pool.take(16_384), pool.take(16_384));
        pool.give(a);
        pool.give(b);
        assert_eq!(pool.retained_bytes(), 16_384);
        pool.give(AlignedBuf::zeroed(100));
        assert_eq!(pool.retained_bytes(), 16_384);
    }
}
