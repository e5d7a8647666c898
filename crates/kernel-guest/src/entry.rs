//! Functions that a kernel's exports call: on the module's memory, with addresses of the host.
//!
//! A function that takes an address of the host cannot check whose memory is behind it, so all of them are `unsafe`:
//! the caller is an export, and passes on what the host promises by the interface (`docs/spec/kernel.md`, Ownership). A
//! host that breaks the promise damages its own instance only, whose memory it may overwrite anyway.
//!
//! They are not inlined: generic functions are compiled at the level of the crate that uses them, and these are to be
//! small.

#[cfg(target_arch = "wasm32")]
use core::alloc::Layout;
use core::cell::UnsafeCell;

use crate::guest::Guest;
use crate::memory::LinearMemory;

#[cfg(target_arch = "wasm32")]
fn layout(size: u32, align: u32) -> Option<Layout> {
    let layout = Layout::from_size_align(size as usize, align as usize).ok()?;
    (size > 0).then_some(layout)
}

/// `t1_alloc`: a block for the host, or 0.
#[cfg(target_arch = "wasm32")]
pub fn alloc(size: u32, align: u32) -> u32 {
    layout(size, align).map_or(0, crate::allocator::allocate)
}

/// `t1_free`: takes a block of `t1_alloc` back. Nothing is done for an address or a size that no block has.
///
/// # Safety
/// If `address` is not 0: `t1_alloc` returned it for this size and alignment, it was not freed since, and nobody uses
/// the block any more.
#[cfg(target_arch = "wasm32")]
pub unsafe fn free(address: u32, size: u32, align: u32) {
    if let (Some(layout), true) = (layout(size, align), address != 0) {
        // SAFETY: the caller's promise is the same.
        unsafe { alloc::alloc::dealloc(address as usize as *mut u8, layout) }
    }
}

/// [`Guest::export_check`].
///
/// # Safety
/// `meta .. meta + len` is in blocks that the host got from `t1_alloc`, has written to and does not write to now; `out`
/// is in another block of the host.
#[inline(never)]
pub unsafe fn check(guest: &mut Guest, meta: u32, len: u32, out: u32) -> i32 {
    // SAFETY: only those ranges are asked for.
    let memory = unsafe { LinearMemory::new() };
    guest.export_check(&memory, meta, len, out)
}

/// [`Guest::export_init`].
///
/// # Safety
/// `request .. request + len` is in blocks that the host got from `t1_alloc`, has written to and does not write to now;
/// so are the inputs and shared buffers that the request names.
#[inline(never)]
pub unsafe fn init(guest: &mut Guest, request: u32, len: u32) -> i32 {
    // SAFETY: only those ranges are asked for.
    let memory = unsafe { LinearMemory::new() };
    guest.export_init(&memory, request, len)
}

/// [`Guest::export_decode`].
///
/// # Safety
/// The inputs that the handle's request named are still as [`init`] needs them; `out` is in another block of the host.
#[inline(never)]
pub unsafe fn decode(guest: &mut Guest, handle: i32, out: u32) -> i32 {
    // SAFETY: only those ranges are asked for.
    let memory = unsafe { LinearMemory::new() };
    guest.export_decode(&memory, handle, out)
}

/// [`Guest::export_error`].
///
/// # Safety
/// `out` is in a block of the host.
#[inline(never)]
pub unsafe fn error(guest: &mut Guest, out: u32) -> i32 {
    // SAFETY: nothing is read, and written to `out` only.
    let memory = unsafe { LinearMemory::new() };
    guest.export_error(&memory, out)
}

/// A value of which a module has one.
#[derive(Debug)]
pub struct Global<T>(UnsafeCell<Option<T>>);

// SAFETY: a kernel has no threads (`docs/spec/kernel.md`, Module profile), and on other targets nobody makes one.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    /// Nothing yet.
    #[expect(clippy::new_without_default, reason = "it is made in a static")]
    pub const fn new() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// Runs `body` on the value, made by `init` the first time.
    ///
    /// # Safety
    /// Only one thread ever calls this, and `body` does not call it again.
    pub unsafe fn with<R>(&self, init: impl Fn() -> T, body: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: by the caller's promise nobody else has a reference to the value.
        let value = unsafe { &mut *self.0.get() };
        loop {
            match value {
                Some(value) => return body(value),
                // Forgetting nothing spares kernels the code that would drop a value.
                None => core::mem::forget(value.replace(init())),
            }
        }
    }
}
