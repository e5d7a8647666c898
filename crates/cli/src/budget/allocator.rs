//! The limit on memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytesize::ByteSize;

use crate::failure::Failure;
use crate::stop::stop;

/// The system's allocator, with a count of all bytes that are in use. `main` makes it the allocator of the process.
pub struct CountingAllocator;

/// Bytes in use, without what threads have not reported yet.
static USED: AtomicI64 = AtomicI64::new(0);

/// How many they may be.
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Name of the file in the error.
static NAME: Mutex<String> = Mutex::new(String::new());

/// A thread reports its changes when they are more than this, so that threads seldom meet.
const REPORT_BYTES: i64 = 1 << 18;

thread_local! {
    /// Bytes that this thread allocated, less those it freed, since its last report.
    static UNREPORTED: Cell<i64> = const { Cell::new(0) };
}

/// At most this many bytes from now on, for reading this file.
pub(super) fn limit(name: &str, bytes: u64) {
    name.clone_into(&mut NAME.lock().unwrap_or_else(PoisonError::into_inner));
    LIMIT.store(bytes, Ordering::Relaxed);
}

pub(super) fn no_limit() {
    LIMIT.store(u64::MAX, Ordering::Relaxed);
}

/// Counts a change, and ends the process where it would lead beyond the limit.
fn count(change: i64) {
    // While a thread ends, its changes are not counted.
    let _ = UNREPORTED.try_with(|unreported| {
        let sum = unreported.get().saturating_add(change);
        if sum.abs() < REPORT_BYTES {
            unreported.set(sum);
            return;
        }
        unreported.set(0);
        let used = USED.fetch_add(sum, Ordering::Relaxed).saturating_add(sum);
        let limit = LIMIT.load(Ordering::Relaxed);
        if sum > 0 && u64::try_from(used).is_ok_and(|used| used > limit) {
            exceeded(limit);
        }
    });
}

#[cold]
fn exceeded(limit: u64) {
    // The message needs memory, too. Of several threads that get here, one reports.
    if LIMIT.swap(u64::MAX, Ordering::Relaxed) == u64::MAX {
        return;
    }
    let name = NAME.try_lock().map(|name| name.clone()).unwrap_or_default();
    let size = ByteSize::b(limit).display().iec();
    stop(&Failure::Bad(format!(
        "{name}: needs more than {size} of memory, which is much for its size; --memory-limit SIZE gives it more, or none"
    )));
}

fn bytes_of(layout: Layout) -> i64 {
    i64::try_from(layout.size()).unwrap_or(i64::MAX)
}

// SAFETY: every call goes to the system's allocator as it came, which keeps the rules of the trait; what is done beside
// it touches no memory of the caller. Counting does not unwind: it returns, or ends the process.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(bytes_of(layout));
        // SAFETY: the caller keeps the rules of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(bytes_of(layout));
        // SAFETY: the caller keeps the rules of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-bytes_of(layout));
        // SAFETY: the memory is of the system's allocator, since all is.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(
            i64::try_from(size)
                .unwrap_or(i64::MAX)
                .saturating_sub(bytes_of(layout)),
        );
        // SAFETY: the memory is of the system's allocator, and the caller keeps the rules of `realloc`.
        unsafe { System.realloc(at, layout, size) }
    }
}
