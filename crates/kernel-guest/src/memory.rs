//! Addresses of the module's own memory.
//!
//! A host names what it wrote by address and length. On wasm32 every address is inside the one linear memory, so the
//! bytes are always there; that they are not also the guest's own, and do not change while they are read, is what the
//! host promises (`docs/spec/kernel.md`, Ownership). Code can only rely on that promise where somebody gave it: making
//! a [`LinearMemory`] is `unsafe`.

/// Where requests and inputs are, and where records go.
pub trait Memory {
    /// `len` bytes at `address`; `None` if they are not all inside.
    fn bytes(&self, address: u32, len: u32) -> Option<&[u8]>;

    /// Writes a record at an address that the host chose; `false`, and nothing written, if it is not all inside. Memory
    /// that is only read refuses.
    fn write(&self, address: u32, bytes: &[u8]) -> bool {
        let _ = (address, bytes);
        false
    }
}

/// The memory of this module.
#[derive(Debug)]
pub struct LinearMemory(());

impl LinearMemory {
    /// The memory, for one call of the host.
    ///
    /// # Safety
    /// As long as the value and slices of it live, every range that is asked for is in blocks that the host got from
    /// `t1_alloc`, has written to and does not write to now; and what is written is in a block to which no such slice
    /// leads.
    pub(crate) const unsafe fn new() -> Self {
        Self(())
    }
}

impl Memory for LinearMemory {
    fn bytes(&self, address: u32, len: u32) -> Option<&[u8]> {
        if len == 0 {
            return Some(&[]);
        }
        let end = u64::from(address) + u64::from(len);
        if address == 0 || end > memory_bytes() || len > i32::MAX as u32 {
            return None;
        }
        // SAFETY: on wasm32 all of `address..end` is inside the linear memory (just checked), which is initialised and
        // never unmapped; elsewhere `memory_bytes` is zero and this is not reached. That nobody writes to it meanwhile
        // was promised to `new`.
        Some(unsafe { core::slice::from_raw_parts(address as usize as *const u8, len as usize) })
    }

    fn write(&self, address: u32, bytes: &[u8]) -> bool {
        let end = u64::from(address) + bytes.len() as u64;
        if address == 0 || end > memory_bytes() {
            return false;
        }
        // SAFETY: the bytes written are inside the linear memory (just checked), in a block of the host to which no
        // reference leads, as was promised to `new`. Elsewhere `memory_bytes` is zero and this is not reached.
        unsafe {
            core::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                address as usize as *mut u8,
                bytes.len(),
            );
        }
        true
    }
}

#[cfg(target_arch = "wasm32")]
fn memory_bytes() -> u64 {
    core::arch::wasm32::memory_size::<0>() as u64 * 65_536
}

/// Only wasm32 has a linear memory.
#[cfg(not(target_arch = "wasm32"))]
fn memory_bytes() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_inside_where_there_is_no_linear_memory() {
        // SAFETY: no range is inside.
        let memory = unsafe { LinearMemory::new() };
        assert_eq!(memory.bytes(0, 0), Some(&[][..]));
        for (address, len) in [(0, 1), (8, 1), (u32::MAX, u32::MAX)] {
            assert_eq!(memory.bytes(address, len), None);
            assert!(!memory.write(address, &[1]));
        }
    }
}
