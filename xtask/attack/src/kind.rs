//! Kinds of attacks. A seed says of which kind its case is.

use clap::ValueEnum;

/// Kinds of attacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum)]
pub(crate) enum Kind {
    /// Erased values searched in all that blocks decode to, and in raw bytes at each bit
    Search,
    /// Files of tables that differ in erased rows alone, held against the declared residue
    Twins,
    /// Survivors bit by bit, natively and by kernels
    Neighbours,
    /// Patterns of nulls of an erased row, guessed from the file and the certificate
    Nulls,
    /// Rows hidden at level 1 and then erased by the same condition; erasures of nothing
    Hidden,
    /// Certificates altered, forged, of forks and of older copies, over inputs
    Certificates,
    /// Journals of other files
    Journals,
    /// The command's process dying or failing at each of its writes and syncs
    Crashes,
    /// Two erasers and readers, mapped and by position, at the same time
    Readers,
}

/// All kinds; the place of a kind is the remainder of its seeds.
pub(crate) const KINDS: [Kind; 9] = [
    Kind::Search,
    Kind::Twins,
    Kind::Neighbours,
    Kind::Nulls,
    Kind::Hidden,
    Kind::Certificates,
    Kind::Journals,
    Kind::Crashes,
    Kind::Readers,
];

/// Seeds of a kind are so far apart.
pub(crate) const STRIDE: u64 = 16;

/// Seeds are short enough to be copied by hand.
const SEED_BITS: u32 = 40;

impl Kind {
    /// The kind of a seed's case. Seeds that are of no kind count as those of the first.
    pub(crate) fn of_seed(seed: u64) -> Self {
        let at = (seed % STRIDE) as usize;
        KINDS.get(at).copied().unwrap_or(Self::Search)
    }

    /// The seed of a case of this kind that is made of some random bits.
    pub(crate) fn seed(self, random: u64) -> u64 {
        let at = KINDS.iter().position(|kind| *kind == self).unwrap_or(0);
        (random >> (64 - SEED_BITS)) / STRIDE * STRIDE + at as u64
    }

    pub(crate) fn name(self) -> String {
        match self.to_possible_value() {
            Some(value) => value.get_name().to_owned(),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_say_their_kind() {
        for kind in KINDS {
            for random in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
                assert_eq!(Kind::of_seed(kind.seed(random)), kind);
                assert!(kind.seed(random) < 1 << SEED_BITS);
            }
        }
    }

    #[test]
    fn all_kinds_are_listed() {
        assert_eq!(Kind::value_variants(), KINDS);
        assert!(KINDS.len() <= STRIDE as usize);
    }
}
