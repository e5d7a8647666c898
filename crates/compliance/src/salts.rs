//! The salts of blocks and of the root digest.

use std::fmt;

/// Bytes of a block's salt.
pub const SALT_BYTES: usize = 16;

/// Makes the salts of blocks and of the root digest from a key that is never stored. Without the key nobody can tell
/// them from random bytes.
///
/// A salt makes the digest of a block useless for tests of guesses: a digest that was kept elsewhere says nothing about
/// rows that were erased since.
#[derive(Clone)]
pub struct Salts {
    key: [u8; 32],
}

impl Salts {
    /// From a key, which should be random and used for one file and one change of it.
    pub fn new(key: [u8; 32]) -> Self {
        Self { key }
    }

    /// The salt of the file's root digest.
    pub fn of_root(&self) -> [u8; 32] {
        // The input for a block has another length.
        *blake3::keyed_hash(&self.key, b"root").as_bytes()
    }

    /// The salt of a block.
    pub fn of(&self, column: u32, page: u32, block: u32) -> [u8; SALT_BYTES] {
        let mut input = [0; 12];
        let numbers = [column, page, block];
        for (to, number) in input.as_chunks_mut::<4>().0.iter_mut().zip(numbers) {
            *to = number.to_le_bytes();
        }
        let digest = blake3::keyed_hash(&self.key, &input);
        let mut salt = [0; SALT_BYTES];
        salt.copy_from_slice(&digest.as_bytes()[..SALT_BYTES]);
        salt
    }
}

impl fmt::Debug for Salts {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn salts_differ_by_key_and_place() {
        let salts = Salts::new([1; 32]);
        assert_eq!(salts.of(1, 2, 3), salts.of(1, 2, 3));
        for other in [
            Salts::new([2; 32]).of(1, 2, 3),
            salts.of(0, 2, 3),
            salts.of(1, 0, 3),
            salts.of(1, 2, 0),
        ] {
            assert_ne!(salts.of(1, 2, 3), other);
        }
        assert_ne!(salts.of_root(), Salts::new([2; 32]).of_root());
        assert_ne!(salts.of_root()[..SALT_BYTES], salts.of(0, 0, 0));
        assert_eq!(format!("{salts:?}"), "Salts");
    }
}
