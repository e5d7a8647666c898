//! Damage: one or several changes of a file.

mod bytes;
mod place;
mod text;

use tarsia_testkit::rng::Rng;

pub(crate) use place::Places;

/// A change is followed by another one in so many of 100 cases.
const AGAIN_PERCENT: u32 = 45;

/// No file is damaged in more places.
const CHANGES_MAX: usize = 8;

/// Kinds of damage to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Bytes become other bytes; the length stays, as resealing needs it.
    Overwrite,
    /// The length may change too.
    Bytes,
    /// As [`Damage::Bytes`], and tokens of text.
    Text,
}

/// Damages a file. Pieces of `other`, a file of the same kind, may end up in it.
pub(crate) fn damage(
    rng: &mut Rng,
    damage: Damage,
    places: &Places,
    file: &mut Vec<u8>,
    other: &[u8],
) {
    for _ in 0..CHANGES_MAX {
        match damage {
            Damage::Overwrite => bytes::overwrite(rng, places, file),
            Damage::Text if rng.percent(60) => text::change(rng, file),
            Damage::Bytes | Damage::Text if rng.percent(30) => {
                bytes::rearrange(rng, places, file, other)
            }
            Damage::Bytes | Damage::Text => bytes::overwrite(rng, places, file),
        }
        if !rng.percent(AGAIN_PERCENT) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damaged(seed: u64, of: Damage) -> Vec<u8> {
        let mut file = b"one,two\n1,\"x\"\n2,y\n".repeat(20);
        let other = b"{\"a\": 1}\n".repeat(9);
        let places = Places::of_len(file.len());
        damage(&mut Rng::new(seed), of, &places, &mut file, &other);
        file
    }

    #[test]
    fn a_seed_is_the_damage_and_others_differ() {
        for of in [Damage::Overwrite, Damage::Bytes, Damage::Text] {
            let all: std::collections::BTreeSet<Vec<u8>> =
                (0..500).map(|seed| damaged(seed, of)).collect();
            assert!(all.len() > 450, "{of:?}: {}", all.len());
            assert_eq!(damaged(7, of), damaged(7, of));
        }
    }

    #[test]
    fn only_overwriting_keeps_the_length() {
        let len = b"one,two\n1,\"x\"\n2,y\n".len() * 20;
        let lengths = |of| (0..500).map(move |seed| damaged(seed, of).len());
        assert!(lengths(Damage::Overwrite).all(|it| it == len));
        for of in [Damage::Bytes, Damage::Text] {
            assert!(
                lengths(of).any(|it| it < len) && lengths(of).any(|it| it > len),
                "{of:?}"
            );
        }
    }

    #[test]
    fn an_empty_file_is_damaged_without_panic() {
        for seed in 0..500 {
            for of in [Damage::Overwrite, Damage::Bytes, Damage::Text] {
                let mut file = Vec::new();
                damage(&mut Rng::new(seed), of, &Places::of_len(0), &mut file, b"");
            }
        }
    }
}
