//! Seeded random numbers. A seed gives the same values on every target and in every later version, which published
//! generators do not guarantee.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014), the variant with the
/// fixed odd increment.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator for `seed`; equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits.
    pub fn u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 32 random bits.
    pub fn u32(&mut self) -> u32 {
        (self.u64() >> 32) as u32
    }

    /// A random byte.
    pub fn u8(&mut self) -> u8 {
        (self.u64() >> 56) as u8
    }

    /// A number in `0 .. bound`; 0 for a bound of 0. The bias of one in 2^64 / `bound` does not matter to tests.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.u64()) * bound as u128) >> 64) as usize
    }

    /// A number in `low ..= high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True in about `percent` of 100 calls.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// A random bit.
    pub fn flip(&mut self) -> bool {
        self.u64() >> 63 == 1
    }

    /// Fills `bytes` with random bits.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let word = self.u64().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// `len` random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes);
        bytes
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_seed_never_change() {
        // First outputs of SplitMix64 for seed 1234567, as its authors' C version prints them.
        let mut rng = Rng::new(1_234_567);
        assert_eq!(rng.u64(), 6_457_827_717_110_365_317);
        assert_eq!(rng.u64(), 3_203_168_211_198_807_973);
        assert_eq!(rng.u64(), 9_817_491_932_198_370_423);
    }

    #[test]
    fn bounds_hold() {
        let mut rng = Rng::new(1);
        assert_eq!(rng.below(0), 0);
        for bound in 1..200 {
            assert!(rng.below(bound) < bound);
            assert!((3..=3 + bound).contains(&rng.between(3, 3 + bound)));
        }
    }
}
