//! Output memory that is used again.
//!
//! Writing to fresh pages takes several times as long as writing to memory used before
//! (`docs/design/output-memory.md`): batches take their buffers here, and a buffer comes back when the last array that
//! refers to it is dropped. What a pool holds when it is dropped itself, up to `RESERVE_BYTES_MAX`, is kept for the
//! pools that come after it: who reads many files, one after the other, would begin each with fresh memory.

use std::sync::{Arc, Mutex};

use arrow_buffer::Buffer;
use tarsia_codec::AlignedBuf;

/// Smaller buffers are left to the allocator, which keeps them warm itself.
const POOLED_BYTES_MIN: usize = 4096;

/// Bytes that the process keeps of pools that are gone.
const RESERVE_BYTES_MAX: usize = 64 << 20;

/// Whoever finds it taken goes without: in a forked process the thread that has taken it may not exist.
static RESERVE: Mutex<Free> = Mutex::new(Free {
    classes: Vec::new(),
    retained_bytes: 0,
});

/// A number of bytes that buffers have: four of them from each power of two to the next. With powers of two alone, a
/// scan of 20,000 columns of 37 KB each held half as much again as they need.
#[derive(Clone, Copy)]
struct Class(usize);

impl Class {
    /// The smallest that has `bytes`, which are 4 or more.
    fn that_holds(bytes: usize) -> Self {
        let log = bytes.ilog2() as usize;
        let quarters = (bytes - (1 << log)).div_ceil(1 << (log - 2));
        Self(4 * log + quarters)
    }

    /// The largest that `bytes`, which are 4 or more, suffice for.
    fn held_by(bytes: usize) -> Self {
        let log = bytes.ilog2() as usize;
        let quarters = (bytes - (1 << log)) >> (log - 2);
        Self(4 * log + quarters)
    }

    fn bytes(self) -> usize {
        (4 + self.0 % 4) << (self.0 / 4 - 2)
    }
}

/// A shared pool of 64-byte aligned buffers in classes.
#[derive(Clone, Debug)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    retained_bytes_max: usize,
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    /// Buffers by the number of their class.
    classes: Vec<Vec<AlignedBuf>>,
    retained_bytes: usize,
}

impl Free {
    /// A buffer of a class or, where there is none, of one that has less than twice the bytes: what strings take
    /// differs from batch to batch.
    fn pop(&mut self, class: Class) -> Option<AlignedBuf> {
        (class.0..class.0 + 4).find_map(|class| {
            let buf = self.classes.get_mut(class)?.pop()?;
            self.retained_bytes -= Class(class).bytes();
            Some(buf)
        })
    }

    /// Keeps a buffer, unless it would be more than `bytes_max` then.
    fn push(&mut self, class: Class, buf: AlignedBuf, bytes_max: usize) {
        if self.retained_bytes + class.bytes() > bytes_max {
            return;
        }
        if self.classes.len() <= class.0 {
            self.classes.resize_with(class.0 + 1, Vec::new);
        }
        self.classes[class.0].push(buf);
        self.retained_bytes += class.bytes();
    }
}

impl Pool {
    /// A pool that keeps at most `retained_bytes_max` bytes for later. One that keeps none leaves none to others.
    pub fn new(retained_bytes_max: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                retained_bytes_max,
                free: Mutex::default(),
            }),
        }
    }

    /// `len` bytes with undefined (but initialised) content.
    pub fn take(&self, len: usize) -> AlignedBuf {
        if len < POOLED_BYTES_MIN {
            return AlignedBuf::zeroed(len);
        }
        let class = Class::that_holds(len);
        let own = || self.shared.free.lock().ok()?.pop(class);
        let of_reserve = || RESERVE.try_lock().ok()?.pop(class);
        let found = own().or_else(of_reserve);
        let mut buf = found.unwrap_or_else(|| AlignedBuf::zeroed(class.bytes()));
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
        // A buffer of this pool has the bytes of its class; others are filed under what they surely hold.
        let capacity = buf.capacity();
        if capacity < POOLED_BYTES_MIN {
            return;
        }
        let class = Class::held_by(capacity);
        if let Ok(mut free) = self.free.lock() {
            free.push(class, buf, self.retained_bytes_max);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let free = self.free.get_mut().map(std::mem::take).unwrap_or_default();
        if free.retained_bytes == 0 {
            return;
        }
        if let Ok(mut reserve) = RESERVE.try_lock() {
            for (class, bufs) in free.classes.into_iter().enumerate() {
                for buf in bufs {
                    reserve.push(Class(class), buf, RESERVE_BYTES_MAX);
                }
            }
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
        let buf = pool.take(40_000);
        let at = buf.as_ptr();
        let buffer = pool.into_buffer(buf, 36_000);
        assert_eq!(buffer.len(), 36_000);
        assert_eq!(buffer.as_ptr(), at);
        let slice = buffer.slice(100);
        drop(buffer);
        assert_eq!(pool.retained_bytes(), 0);
        drop(slice);
        assert_eq!(pool.retained_bytes(), 40_960);
        let again = pool.take(40_960);
        assert_eq!(again.as_ptr(), at);
        assert_eq!(pool.retained_bytes(), 0);
        // One that has less than twice the bytes will do.
        pool.give(again);
        assert_ne!(pool.take(20_480).as_ptr(), at);
        assert_eq!(pool.take(24_000).as_ptr(), at);
    }

    #[test]
    fn classes_hold_what_is_asked_for_and_a_quarter_more_at_most() {
        for bytes in (4096..70_000).chain([1 << 40, (1 << 40) + 1]) {
            let class = Class::that_holds(bytes);
            assert!(
                (bytes..bytes + bytes / 4 + 1).contains(&class.bytes()),
                "{bytes}"
            );
            assert_eq!(Class::held_by(class.bytes()).0, class.0);
            let held = Class::held_by(bytes);
            assert!(
                held.bytes() <= bytes && Class(held.0 + 1).bytes() > bytes,
                "{bytes}"
            );
        }
    }

    #[test]
    fn what_a_pool_holds_at_its_end_is_there_for_the_next() {
        // A class that no other test uses.
        let len = 3 << 20;
        let pool = Pool::new(8 << 20);
        let buf = pool.take(len);
        let at = buf.as_ptr();
        let buffer = pool.into_buffer(buf, 5);
        drop(pool);
        let other = Pool::new(8 << 20);
        assert_ne!(other.take(len).as_ptr(), at, "it is still in use");
        drop(buffer);
        let again = other.take(len);
        assert_eq!(again.as_ptr(), at);
        other.give(again);
        assert_eq!(other.retained_bytes(), len);
        // Who keeps nothing leaves nothing.
        let none = Pool::new(0);
        drop(none.into_buffer(none.take(len), 5));
        assert_eq!(none.retained_bytes(), 0);
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
