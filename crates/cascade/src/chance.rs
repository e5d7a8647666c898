//! Numbers by chance that are a function of a seed: trees for tests that no search would find.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Debug, Clone)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// Numbers that depend on all of these.
    pub(crate) fn new(seeds: &[u64]) -> Self {
        let mut chance = Self { state: 0 };
        for seed in seeds {
            chance.state ^= seed;
            chance.state = chance.next();
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`, 0 for 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.next().checked_rem(n as u64).unwrap_or(0) as usize
    }
}
