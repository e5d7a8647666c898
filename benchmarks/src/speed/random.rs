//! Random numbers that are the same in every process: SplitMix64.

/// A generator with 64 bits of state.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In `0..n`; `n` is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// `count` different numbers below `n`, rising; all of them if there are no more.
    pub(crate) fn rows(&mut self, count: usize, n: usize) -> Vec<u64> {
        let mut rows = std::collections::BTreeSet::new();
        while rows.len() < count.min(n) {
            rows.insert(self.below(n) as u64);
        }
        rows.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn rows_are_distinct_and_in_range() {
        let mut random = Random::new(1);
        let rows = random.rows(16, 20);
        assert_eq!(rows.len(), 16);
        assert!(rows.windows(2).all(|w| w[0] < w[1]));
        assert!(rows.iter().all(|row| *row < 20));
        assert_eq!(random.rows(16, 3), [0, 1, 2]);
    }
}
