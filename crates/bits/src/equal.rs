//! Comparing bytes.

/// The number of bytes at the start of both slices that are equal.
///
/// ```
/// assert_eq!(tarsia_bits::equal_bytes(b"sliding window", b"sliding list"), 8);
/// ```
pub fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    // Eight bytes at a time. What differs is in the first pair of words that do.
    let (words_a, words_b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let words = words_a.iter().zip(words_b);
    let n_words = words.take_while(|(a, b)| a == b).count();
    let later = a.iter().zip(b).skip(n_words * 8);
    n_words * 8 + later.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_counted_in_words_and_behind_them() {
        let a: Vec<u8> = (0..40).collect();
        for n_shared in 0..40 {
            for n_b in n_shared..40 {
                let mut b = a[..n_b].to_vec();
                if let Some(byte) = b.get_mut(n_shared) {
                    *byte ^= 0x80;
                }
                let expected = n_shared.min(n_b);
                assert_eq!(equal_bytes(&a, &b), expected, "{n_shared} of {n_b}");
                assert_eq!(equal_bytes(&b, &a), expected, "{n_shared} of {n_b}");
            }
        }
    }
}
