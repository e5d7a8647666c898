//! The allocator of kernels: free lists of size classes, in a kilobyte of code.
//!
//! Blocks of 64 bytes and more start at multiples of 64. Sizes are rounded up to 16, 32, 48 and 64 bytes, then to
//! multiples of 64, beyond 256 bytes to four sizes per doubling, so that at most a fifth of a large block is wasted. A
//! freed block keeps its size and waits in the list of its class, linked through its first four bytes. Only where the
//! memory can grow no more is a larger block cut: kernels ask for the same few sizes again and again, and neighbours
//! need not be joined.
//!
//! # What this module does not do
//! Threads, giving memory back to the host.

/// Least bytes by which the memory grows at a time.
const GROW_BYTES: u32 = 256 << 10;

const PAGE_BYTES: u32 = 64 << 10;
const SMALL_STEP: u32 = 16;
const ALIGN: u32 = crate::abi::ALIGN;

/// Classes up to [`SIZE_MAX`].
const N_CLASSES: usize = class_of(SIZE_MAX) + 1;

/// The largest block: half of all addresses. Beyond, sums would wrap.
const SIZE_MAX: u32 = 1 << 31;

/// The class of blocks for `size` bytes, at most [`SIZE_MAX`].
const fn class_of(size: u32) -> usize {
    let below = match size {
        0 => 0,
        size => size - 1,
    };
    if below < ALIGN {
        return (below / SMALL_STEP) as usize;
    }
    let below = below / ALIGN;
    let class = if below < 4 {
        below + 3
    } else {
        let doublings = below.ilog2() - 2;
        7 + doublings * 4 + (below >> doublings) % 4
    };
    class as usize
}

/// Bytes of the blocks of a class.
const fn size_of_class(class: usize) -> u32 {
    let class = class as u32;
    match class {
        0..4 => (class + 1) * SMALL_STEP,
        4..7 => (class - 2) * ALIGN,
        _ => ((class - 7) % 4 + 5) << ((class - 7) / 4) << ALIGN.ilog2(),
    }
}

/// Memory that nobody uses.
struct Fresh {
    start: u32,
    bytes: u32,
}

/// The memory that a [`Heap`] manages: addresses with four bytes each that it may use while they are free.
///
/// # Safety
/// What [`Space::grow`] returns is memory that nobody else uses or will use, and was not returned before.
unsafe trait Space {
    /// Fresh memory of at least `bytes` bytes, at a multiple of [`PAGE_BYTES`].
    fn grow(&mut self, bytes: u32) -> Option<Fresh>;

    /// The four bytes at the start of a free block.
    ///
    /// # Safety
    /// `block` is a multiple of 16 and the address of at least 16 bytes that nobody else uses; [`Space::set_link`] was
    /// called for it.
    unsafe fn link(&self, block: u32) -> u32;

    /// Replaces them.
    ///
    /// # Safety
    /// `block` is a multiple of 16 and the address of at least 16 bytes that nobody else uses.
    unsafe fn set_link(&mut self, block: u32, next: u32);
}

/// The free memory of a space, as addresses; 0 is none.
///
/// Every address in the lists, and all of `fresh .. fresh_end`, belongs to the heap alone: nobody else uses that
/// memory. That is what makes [`Heap::allocate`] safe, so whoever adds to them ([`Heap::new`], [`Heap::free`],
/// [`Heap::release`]) has to promise it.
///
/// Freeing is `unsafe` and not checked: a table of the blocks that are in use would cost code and time in every kernel,
/// and protect nobody. A host that lies in `t1_free` owns the memory anyway and can overwrite the lists themselves;
/// what it damages is its own instance.
struct Heap<S> {
    space: S,
    free: [u32; N_CLASSES],
    /// Memory that was never a block: `fresh .. fresh_end`.
    fresh: u32,
    fresh_end: u32,
}

impl<S: Space> Heap<S> {
    /// # Safety
    /// Nobody else uses `fresh .. fresh_end`, which is memory of the space.
    const unsafe fn new(space: S, fresh: u32, fresh_end: u32) -> Self {
        Self {
            space,
            free: [0; N_CLASSES],
            fresh,
            fresh_end,
        }
    }

    /// The address of a block for `size` bytes at a multiple of `align`, a power of two; `None` where there is none.
    fn allocate(&mut self, size: u32, align: u32) -> Option<u32> {
        if size > SIZE_MAX || align > SIZE_MAX {
            return None;
        }
        let class = class_of(size);
        if let Some(block) = self.unlink(class, align) {
            return Some(block);
        }
        let size = size_of_class(class);
        let align = align.max(match size {
            ALIGN.. => ALIGN,
            _ => SMALL_STEP,
        });
        if let Some(block) = self.cut(size, align) {
            return Some(block);
        }
        let wanted = size.checked_add(align)?.max(GROW_BYTES);
        match self.space.grow(wanted) {
            Some(Fresh { start, bytes }) => {
                if start != self.fresh_end {
                    // SAFETY: the memory is the heap's; it is fresh no more in the next line.
                    unsafe { self.release(self.fresh, self.fresh_end) };
                    self.fresh = start;
                }
                self.fresh_end = start.checked_add(bytes)?;
                self.cut(size, align)
            }
            None => {
                let larger = class + 1..N_CLASSES;
                let (block, class) = larger
                    .into_iter()
                    .find_map(|class| Some((self.unlink(class, align)?, class)))?;
                // SAFETY: the rest of a block that was just taken from its list.
                unsafe { self.release(block + size, block + size_of_class(class)) };
                Some(block)
            }
        }
    }

    /// Takes a block back that [`Heap::allocate`] gave for this size.
    ///
    /// # Safety
    /// This heap gave `block` for a size of the same class, it was not freed since, and nobody uses it any more.
    unsafe fn free(&mut self, block: u32, size: u32) {
        debug_assert!(block != 0 && block.is_multiple_of(SMALL_STEP));
        if let Some(first) = self.free.get_mut(class_of(size)) {
            // SAFETY: blocks have 16 bytes and more and start at multiples of 16; by the caller's promise this one is
            // free.
            unsafe { self.space.set_link(block, *first) };
            *first = block;
        }
    }

    /// Takes the first block of a class that starts at a multiple of `align`; nearly always that is the first.
    fn unlink(&mut self, class: usize, align: u32) -> Option<u32> {
        let first = self.free.get_mut(class)?;
        let (mut before, mut block) = (0, *first);
        while block != 0 {
            // SAFETY: `block` is in a list of free blocks, where `free` linked it.
            let next = unsafe { self.space.link(block) };
            if block & (align - 1) == 0 {
                match before {
                    0 => *first = next,
                    // SAFETY: `before` is in the same list.
                    before => unsafe { self.space.set_link(before, next) },
                }
                return Some(block);
            }
            (before, block) = (block, next);
        }
        None
    }

    /// Takes a block from the fresh memory.
    fn cut(&mut self, size: u32, align: u32) -> Option<u32> {
        let block = self.fresh.checked_next_multiple_of(align)?;
        let end = block
            .checked_add(size)
            .filter(|end| *end <= self.fresh_end)?;
        // SAFETY: the gap before the block is fresh memory, and is fresh no more in the next line.
        unsafe { self.release(self.fresh, block) };
        self.fresh = end;
        Some(block)
    }

    /// Makes free blocks of `start .. end`.
    ///
    /// # Safety
    /// The memory is the heap's, and neither fresh nor in a list afterwards otherwise.
    unsafe fn release(&mut self, start: u32, end: u32) {
        let mut at = start.next_multiple_of(SMALL_STEP);
        while at < end && end - at >= SMALL_STEP {
            // The largest class that fits and may start here.
            let fits = match at % ALIGN {
                0 => end - at,
                odd => (ALIGN - odd).min(end - at).min(ALIGN - SMALL_STEP),
            };
            let class = class_of(fits);
            let class = match size_of_class(class) {
                size if size > fits => class - 1,
                _ => class,
            };
            let size = size_of_class(class);
            // SAFETY: `at .. at + size` is inside of memory that is the heap's by the caller's promise, and aligned.
            unsafe { self.free(at, size) };
            at += size;
        }
    }
}

#[cfg(target_arch = "wasm32")]
pub use wasm::{KernelAllocator, allocate, free};

#[cfg(target_arch = "wasm32")]
mod wasm {
    use core::alloc::{GlobalAlloc, Layout};
    use core::arch::wasm32::{memory_grow, memory_size, unreachable};
    use core::cell::UnsafeCell;
    use core::ptr::NonNull;

    use super::{Fresh, Heap, PAGE_BYTES, Space, class_of};

    struct LinearSpace;

    // SAFETY: the instruction gives pages that the module did not have, and nothing else in the module uses it.
    unsafe impl Space for LinearSpace {
        fn grow(&mut self, bytes: u32) -> Option<Fresh> {
            let pages = bytes.div_ceil(PAGE_BYTES);
            match memory_grow::<0>(pages as usize) {
                usize::MAX => None,
                // The last page of all is left alone, so that ends fit in 32 bits.
                page if page as u32 + pages > u32::MAX / PAGE_BYTES => None,
                page => Some(Fresh {
                    start: page as u32 * PAGE_BYTES,
                    bytes: pages * PAGE_BYTES,
                }),
            }
        }

        unsafe fn link(&self, block: u32) -> u32 {
            // SAFETY: by the caller's promise the bytes are aligned, initialised and nobody else's.
            unsafe { *(block as usize as *const u32) }
        }

        unsafe fn set_link(&mut self, block: u32, next: u32) {
            // SAFETY: by the caller's promise the bytes are aligned and nobody else's.
            unsafe { *(block as usize as *mut u32) = next }
        }
    }

    struct Shared(UnsafeCell<Option<Heap<LinearSpace>>>);

    // SAFETY: a kernel has no threads (`docs/spec/kernel.md`, Module profile).
    unsafe impl Sync for Shared {}

    static HEAP: Shared = Shared(UnsafeCell::new(None));

    unsafe extern "C" {
        /// The linker's: where the module's own data end.
        static __heap_base: u8;
    }

    /// The heap of the module.
    ///
    /// # Safety
    /// The caller drops the reference before anybody asks for another one.
    unsafe fn heap() -> &'static mut Heap<LinearSpace> {
        // SAFETY: there is one thread, and by the caller's promise no other reference.
        let heap = unsafe { &mut *HEAP.0.get() };
        heap.get_or_insert_with(|| {
            let start = (&raw const __heap_base) as usize as u32;
            // SAFETY: the linker puts nothing behind the module's own data.
            unsafe { Heap::new(LinearSpace, start, memory_size::<0>() as u32 * PAGE_BYTES) }
        })
    }

    /// A block, or 0 where the memory cannot grow.
    pub fn allocate(layout: Layout) -> u32 {
        // SAFETY: the reference ends with this statement.
        let block = unsafe { heap() }.allocate(layout.size() as u32, layout.align() as u32);
        block.unwrap_or(0)
    }

    /// Takes a block of [`allocate`] back.
    ///
    /// # Safety
    /// It came from there for a layout of this size, and nobody uses it any more.
    pub unsafe fn free(block: u32, size: usize) {
        // SAFETY: the caller's promise is the same, and the reference ends with this statement.
        unsafe { heap().free(block, size as u32) };
    }

    /// A block. Not inlined, so that callers see that it is never null and drop the code for that case.
    #[inline(never)]
    fn block(layout: Layout) -> NonNull<u8> {
        match NonNull::new(allocate(layout) as usize as *mut u8) {
            Some(block) => block,
            None => unreachable(),
        }
    }

    /// The module's allocator. It traps where there is no memory, which is what Rust's handler would do after writing a
    /// message that nobody reads.
    #[derive(Debug, Clone, Copy)]
    pub struct KernelAllocator;

    // SAFETY: blocks are disjoint, at least as large and as aligned as asked for (the tests of `Heap`), and stay until
    // they are freed. Without memory nothing is returned at all.
    unsafe impl GlobalAlloc for KernelAllocator {
        #[inline(always)]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            block(layout).as_ptr()
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            let block = block(layout).as_ptr();
            // SAFETY: the block has at least that many bytes.
            unsafe { block.write_bytes(0, layout.size()) };
            block
        }

        unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
            // SAFETY: the caller's promise is the same.
            unsafe { free(block as usize as u32, layout.size()) }
        }

        unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            if class_of(layout.size() as u32) == class_of(size as u32) {
                return block;
            }
            // SAFETY: the caller promises a size that makes a layout with this alignment.
            let new =
                unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
            // SAFETY: both blocks are at least that long, and disjoint as the old one is still in use.
            unsafe {
                core::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    /// Memory of at most `pages` pages that starts at page 1.
    struct Fake {
        links: BTreeMap<u32, u32>,
        n_pages: u32,
        pages_max: u32,
    }

    impl Fake {
        fn new(pages_max: u32) -> Self {
            Self {
                links: BTreeMap::new(),
                n_pages: 0,
                pages_max,
            }
        }

        /// A heap over this space, with this memory to begin with.
        fn heap(self, start: u32, end: u32) -> Heap<Self> {
            // SAFETY: nothing is behind the addresses but a map from blocks to links.
            unsafe { Heap::new(self, start, end) }
        }
    }

    // SAFETY: nothing is behind the addresses but a map from blocks to links.
    unsafe impl Space for Fake {
        fn grow(&mut self, bytes: u32) -> Option<Fresh> {
            let pages = bytes.div_ceil(PAGE_BYTES);
            if self.n_pages + pages > self.pages_max {
                return None;
            }
            self.n_pages += pages;
            let end = (1 + self.n_pages) * PAGE_BYTES;
            Some(Fresh {
                start: end - pages * PAGE_BYTES,
                bytes: pages * PAGE_BYTES,
            })
        }

        unsafe fn link(&self, block: u32) -> u32 {
            self.links[&block]
        }

        unsafe fn set_link(&mut self, block: u32, next: u32) {
            self.links.insert(block, next);
        }
    }

    #[test]
    fn classes_hold_their_sizes_and_waste_little() {
        let mut sizes: Vec<u32> = (0..5000).collect();
        for log2 in 12..31 {
            let size = 1u32 << log2;
            sizes.extend([size - 1, size, size + 1, size + size / 4, size + size / 3]);
        }
        sizes.push(SIZE_MAX);
        for size in sizes {
            let class = class_of(size);
            let held = size_of_class(class);
            assert!(held >= size, "{size} {held}");
            if class > 0 {
                assert!(size_of_class(class - 1) < size, "{size} {held}");
            }
            if size > 256 {
                assert!(held - size <= held / 5, "{size} {held}");
            }
            assert_eq!(held % if held >= ALIGN { ALIGN } else { SMALL_STEP }, 0);
        }
        assert_eq!(size_of_class(N_CLASSES - 1), SIZE_MAX);
    }

    /// Blocks of a pseudo-random run of allocations never overlap, are aligned, and the memory stays bounded.
    #[test]
    fn blocks_are_disjoint_and_used_again() {
        let mut heap = Fake::new(512).heap(PAGE_BYTES - 1000, PAGE_BYTES);
        let mut live: BTreeMap<u32, u32> = BTreeMap::new();
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below) as u32
        };
        let mut n_refused = 0;
        for round in 0..60_000 {
            if live.len() > 300 || (round % 3 == 0 && !live.is_empty()) {
                let key = random(u64::from(u32::MAX));
                let place = live
                    .range(key % (heap.space.n_pages * PAGE_BYTES + 1)..)
                    .next();
                let (block, size) = place.or(live.iter().next()).map(|x| (*x.0, *x.1)).unwrap();
                live.remove(&block);
                // SAFETY: of this heap, and forgotten here.
                unsafe { heap.free(block, size) };
                continue;
            }
            let log2 = random(20);
            let size = random(1 << log2) + 1;
            let align = match random(20) {
                0 => 4096,
                1 => 128,
                n => 1 << (n % 7),
            };
            let Some(block) = heap.allocate(size, align) else {
                n_refused += 1;
                continue;
            };
            assert_eq!(block % align, 0);
            assert!(size < ALIGN || block % ALIGN == 0);
            assert!(block >= PAGE_BYTES - 1000);
            assert!(block + size <= (1 + heap.space.n_pages) * PAGE_BYTES);
            let before = live.range(..=block).next_back();
            assert!(before.is_none_or(|(start, size)| start + size <= block));
            let after = live.range(block..).next();
            assert!(after.is_none_or(|(start, _)| block + size <= *start));
            live.insert(block, size);
        }
        assert_eq!(n_refused, 0);
    }

    /// Where the memory cannot grow, larger blocks are cut, and their rest is used too.
    #[test]
    fn larger_blocks_are_cut_when_the_memory_is_full() {
        let mut heap = Fake::new(16).heap(0, 0);
        let large = heap.allocate(1 << 19, 64).unwrap();
        while heap.allocate(4096, 64).is_some() {}
        // SAFETY: of this heap, and used no more.
        unsafe { heap.free(large, 1 << 19) };
        let n_small = core::iter::from_fn(|| heap.allocate(4096, 64)).count();
        assert_eq!(n_small, (1 << 19) / 4096);
        assert_eq!(heap.allocate(u32::MAX, 1), None);
        assert_eq!(heap.allocate(1, 1 << 31), None);
    }

    /// The block that was freed last is the next of its class; blocks of other classes and alignments pass it over.
    #[test]
    fn freed_blocks_are_given_again_to_requests_that_they_fit() {
        let mut heap = Fake::new(16).heap(0, 0);
        let [first, second] = [0; 2].map(|_| heap.allocate(100, 64).unwrap());
        assert_ne!(first, second);
        for block in [first, second] {
            // SAFETY: of this heap, and used no more.
            unsafe { heap.free(block, 100) };
        }
        assert!(![first, second].contains(&heap.allocate(200, 64).unwrap()));
        // 65 to 128 bytes are one class.
        assert_eq!(heap.allocate(128, 64), Some(second));
        assert_eq!(heap.allocate(65, 1), Some(first));
        assert!(![first, second].contains(&heap.allocate(100, 64).unwrap()));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic]
    fn what_cannot_be_a_block_is_refused_by_tests() {
        let mut heap = Fake::new(16).heap(0, 0);
        // SAFETY: the space has no memory that could be damaged.
        unsafe { heap.free(24, 16) };
    }
}
