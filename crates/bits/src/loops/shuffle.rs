//! Dictionary lookups in tables that fit vector registers: one instruction looks up as many codes as a register holds.
//! The twin that needs no such instruction is the loop over single codes in `gather.rs`.

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
#[path = "shuffle/neon.rs"]
mod registers;
#[cfg(all(target_arch = "x86_64", feature = "std"))]
#[path = "shuffle/x86.rs"]
mod registers;

/// `out[i] = entries[codes[i]]` for the first codes, for entries of `width` bytes; returns how many codes those are: 0
/// where the processor, the width or the number of entries does not allow it. Every code has an entry.
#[cfg(any(
    all(target_arch = "x86_64", feature = "std"),
    all(target_arch = "aarch64", target_feature = "neon")
))]
#[inline]
pub(crate) fn lookup(entries: &[u8], width: usize, codes: &[u8], out: &mut [u8]) -> usize {
    /// A dictionary of more entries is looked up faster one code at a time.
    const ENTRIES_MAX: usize = 64;
    let n_entries = entries.len() / width.max(1);
    if !matches!(width, 1 | 2)
        || n_entries > ENTRIES_MAX
        || codes.len() < registers::CODES
        || !registers::is_there()
    {
        return 0;
    }
    // SAFETY: the processor has all that these functions are compiled for, as was just asked.
    unsafe {
        match (width, n_entries.div_ceil(registers::TABLE)) {
            (1, 0..=1) => registers::bytes::<1>(entries, codes, out),
            (1, 2) => registers::bytes::<2>(entries, codes, out),
            (1, _) => registers::bytes::<4>(entries, codes, out),
            (_, 0..=1) => registers::pairs::<1>(entries, codes, out),
            (_, 2) => registers::pairs::<2>(entries, codes, out),
            (..) => registers::pairs::<4>(entries, codes, out),
        }
    }
    codes.len() - codes.len() % registers::CODES
}

/// Other targets have no such loop.
#[cfg(not(any(
    all(target_arch = "x86_64", feature = "std"),
    all(target_arch = "aarch64", target_feature = "neon")
)))]
#[inline]
pub(crate) fn lookup(_entries: &[u8], _width: usize, _codes: &[u8], _out: &mut [u8]) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_number_of_entries_agrees_with_single_codes() {
        for width in [1, 2] {
            for n_entries in [1, 2, 15, 16, 17, 32, 33, 48, 49, 63, 64, 65, 256] {
                let entries: Vec<u8> = (0..n_entries * width).map(|i| (i * 7 + 3) as u8).collect();
                for n_codes in [0, 15, 16, 17, 31, 32, 33, 300] {
                    let codes: Vec<u8> = (0..n_codes).map(|i| (i * i % n_entries) as u8).collect();
                    let mut out = std::vec![0xee; n_codes * width];
                    let n_done = lookup(&entries, width, &codes, &mut out);
                    assert!(n_done <= n_codes && n_codes - n_done < 32 || n_done == 0);
                    if cfg!(all(target_arch = "aarch64", target_feature = "neon")) {
                        let is_table = n_entries <= 64;
                        assert_eq!(n_done, if is_table { n_codes / 16 * 16 } else { 0 });
                    }
                    for (i, to) in out.chunks_exact(width).enumerate() {
                        let expected = match i < n_done {
                            true => &entries[usize::from(codes[i]) * width..][..width],
                            false => &[0xee; 2][..width],
                        };
                        assert_eq!(to, expected, "{width} {n_entries} {i}");
                    }
                }
            }
        }
        assert_eq!(lookup(&[0; 4], 4, &[0; 32], &mut [0; 128]), 0);
        assert_eq!(lookup(&[], 0, &[], &mut []), 0);
    }
}
