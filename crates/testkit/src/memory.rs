//! Counts allocations per thread, so that a test can check that a call allocates nothing, or how much it holds.
//!
//! Linking this crate installs a counting global allocator over the system's. It adds a few additions to thread-local
//! numbers per allocation; test binaries must not install another allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    // Constant initialisers without destructors: reading them inside the allocator cannot allocate.
    static N_ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static ALLOCATED_BYTES: Cell<u64> = const { Cell::new(0) };
    static LARGEST_BYTES: Cell<u64> = const { Cell::new(0) };
    // Memory that another thread allocated counts as freed by the one that frees it.
    static HELD_BYTES: Cell<i64> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<i64> = const { Cell::new(0) };
}

/// So many bytes are held more.
fn hold(change: i64) {
    let _ = HELD_BYTES.try_with(|held| {
        let now = held.get().saturating_add(change);
        held.set(now);
        let _ = PEAK_BYTES.try_with(|peak| peak.set(peak.get().max(now)));
    });
}

fn count(bytes: usize, freed_bytes: usize) {
    hold(bytes as i64 - freed_bytes as i64);
    let bytes = bytes as u64;
    // A thread that ends has no counters any more, and they are not needed.
    let _ = N_ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
    let _ = ALLOCATED_BYTES.try_with(|all| all.set(all.get().saturating_add(bytes)));
    let _ = LARGEST_BYTES.try_with(|largest| largest.set(largest.get().max(bytes)));
}

// SAFETY: every call goes to `System` with the arguments it came with, and counting neither allocates nor unwinds, so
// the guarantees are those of `System`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is that of `System.alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size, layout.size());
        // SAFETY: `at` came from `System`, since every allocation here does; the rest is the caller's contract.
        unsafe { System.realloc(at, layout, new_size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        hold(-(layout.size() as i64));
        // SAFETY: `at` came from `System`, since every allocation here does.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Memory that a thread allocated during a call of [`measure`]. Memory that was freed meanwhile counts too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocated {
    /// Allocations and reallocations.
    pub n_allocations: u64,
    /// Their bytes, all added up (a reallocation counts its new size).
    pub bytes: u64,
    /// Bytes of the largest one.
    pub largest_bytes: u64,
    /// The most bytes that were held at a time, beyond those held before the call. What other threads allocate does not
    /// count.
    pub peak_bytes: u64,
}

/// Runs `call` and returns what this thread allocated meanwhile. Calls may nest. Then the largest allocation and the
/// peak are those since the innermost call began.
pub fn measure<T>(call: impl FnOnce() -> T) -> (T, Allocated) {
    let n_before = N_ALLOCATIONS.get();
    let bytes_before = ALLOCATED_BYTES.get();
    LARGEST_BYTES.set(0);
    let held_before = HELD_BYTES.get();
    PEAK_BYTES.set(held_before);
    let value = call();
    let allocated = Allocated {
        n_allocations: N_ALLOCATIONS.get() - n_before,
        bytes: ALLOCATED_BYTES.get() - bytes_before,
        largest_bytes: LARGEST_BYTES.get(),
        peak_bytes: u64::try_from(PEAK_BYTES.get() - held_before).unwrap_or(0),
    };
    (value, allocated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_counted_and_quiet_calls_are_not() {
        let mut memory = Vec::<u8>::with_capacity(100);
        let (_, quiet) = measure(|| memory.extend_from_slice(&[1; 100]));
        assert_eq!(quiet.n_allocations, 0);
        let (kept, loud) = measure(|| vec![0u8; 5000]);
        assert_eq!(kept.len(), 5000);
        assert_eq!(
            (loud.n_allocations, loud.bytes, loud.largest_bytes),
            (1, 5000, 5000)
        );
        let (_, grown) = measure(|| memory.reserve_exact(1000));
        assert_eq!(grown.n_allocations, 1);
        assert_eq!(grown.largest_bytes, 1100);
    }

    #[test]
    fn the_peak_is_what_is_held_at_a_time() {
        let before = vec![0u8; 700];
        let (kept, peak) = measure(|| {
            drop(before);
            for _ in 0..10 {
                drop(vec![0u8; 1000]);
            }
            (vec![0u8; 400], vec![0u8; 900])
        });
        assert_eq!(peak.peak_bytes, 600);
        drop(kept);
    }
}
