//! Limits that several files name.

/// Addresses that are reserved for the memory of each instance.
pub(crate) const MEMORY_ADDRESSES: u64 = 4 << 30;
