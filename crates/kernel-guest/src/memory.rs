//! Addresses of the module's own memory.
//!
//! A host names what it wrote by address and length. On wasm32 every address is inside the one linear memory, so a slice of it
//! is always readable; what the host promises in addition (`docs/spec/kernel.md`, Ownership) is that it writes only into
//! blocks it got from `t1_alloc`, and not while a call runs.

#[cfg(target_arch = "wasm32")]
use core::alloc::Layout;
use core::cell::UnsafeCell;

use crate::Guest;

/// Where requests and inputs lie.
pub trait Memory {
    /// `len` bytes at `address`; `None` where they are not all inside.
    fn bytes(&self, address: u32, len: u32) -> Option<&[u8]>;
}

/// The memory of this module.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinearMemory;

impl Memory for LinearMemory {
    fn bytes(&self, address: u32, len: u32) -> Option<&[u8]> {
        if len == 0 {
            return Some(&[]);
        }
        let end = u64::from(address) + u64::from(len);
        if address == 0 || end > memory_bytes() || len > i32::MAX as u32 {
            return None;
        }
        // SAFETY: on wasm32 all of `address..end` is inside the linear memory (just checked), which is initialised and never
        // unmapped; elsewhere `memory_bytes` is zero and this is not reached. The host writes only between calls.
        Some(unsafe { core::slice::from_raw_parts(address as usize as *const u8, len as usize) })
    }
}

/// Writes into the module's memory at an address that the host chose; whether it was inside.
pub(crate) fn write(address: u32, bytes: &[u8]) -> bool {
    let end = u64::from(address) + bytes.len() as u64;
    if address == 0 || end > memory_bytes() {
        return false;
    }
    // SAFETY: the bytes written are inside the linear memory (just checked), and by the interface they are in a block that the host
    // owns, to which the guest has no reference now. Elsewhere `memory_bytes` is zero and this is not reached.
    unsafe {
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), address as usize as *mut u8, bytes.len());
    }
    true
}

#[cfg(target_arch = "wasm32")]
fn memory_bytes() -> u64 {
    core::arch::wasm32::memory_size::<0>() as u64 * 65_536
}

/// Nothing but wasm32 has a linear memory.
#[cfg(not(target_arch = "wasm32"))]
fn memory_bytes() -> u64 {
    0
}

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

/// `t1_free`: gives a block of [`alloc()`] back. The host names it as it asked for it.
#[cfg(target_arch = "wasm32")]
pub fn free(address: u32, size: u32, align: u32) {
    if let (Some(layout), true) = (layout(size, align), address != 0) {
        // SAFETY: the host hands back what `alloc` gave it, with the same size and alignment: its duty by the interface. One that
        // lies damages only its own instance.
        unsafe { alloc::alloc::dealloc(address as usize as *mut u8, layout) }
    }
}

/// [`Guest::export_check`] on the module's memory. Functions that are generic are compiled at the level of the crate that uses
/// them, and these are to be small.
#[inline(never)]
pub fn check(guest: &mut Guest, meta: u32, len: u32, out: u32) -> i32 {
    guest.export_check(&LinearMemory, meta, len, out)
}

/// [`Guest::export_init`] likewise.
#[inline(never)]
pub fn init(guest: &mut Guest, request: u32, len: u32) -> i32 {
    guest.export_init(&LinearMemory, request, len)
}

/// [`Guest::export_decode`] likewise.
#[inline(never)]
pub fn decode(guest: &mut Guest, handle: i32, out: u32) -> i32 {
    guest.export_decode(&LinearMemory, handle, out)
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
