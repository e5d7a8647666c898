//! Where a file is damaged.

use std::ops::Range;

use tarsia_testkit::rng::Rng;

/// The parts of a file. Each is damaged as often as the others, so that a small one, such as a footer, is not missed.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    parts: Vec<Range<usize>>,
}

impl Places {
    /// These parts; empty ones are left out.
    pub(crate) fn new(parts: impl IntoIterator<Item = Range<usize>>) -> Places {
        Places {
            parts: parts.into_iter().filter(|part| !part.is_empty()).collect(),
        }
    }

    /// The front, the back and all of a file of this length: formats have their metadata at either end.
    pub(crate) fn of_len(len: usize) -> Places {
        const END_BYTES: usize = 512;
        Places::new([
            0..len.min(END_BYTES),
            len.saturating_sub(END_BYTES)..len,
            0..len,
        ])
    }

    /// A place in one of the parts, also of a file that became shorter.
    pub(crate) fn pick(&self, rng: &mut Rng, len: usize) -> usize {
        if self.parts.is_empty() {
            return rng.below(len);
        }
        let part = rng.pick(&self.parts);
        let at = rng.between(part.start, part.end - 1);
        at.min(len.saturating_sub(1))
    }
}

/// A piece of a file, short more often than long; empty only of an empty file.
pub(super) fn piece(rng: &mut Rng, len: usize) -> Range<usize> {
    let start = rng.below(len);
    let longest = match rng.below(4) {
        0 => 1,
        1 => 8,
        2 => 64,
        _ => len,
    };
    start..(start + 1 + rng.below(longest)).min(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_are_hit_as_often_as_large_ones() {
        let places = Places::new([0..1_000_000, 1_000_000..1_000_004, 5..5]);
        let mut rng = Rng::new(1);
        let hits = (0..1000).filter(|_| places.pick(&mut rng, 1_000_004) >= 1_000_000);
        assert!((400..600).contains(&hits.count()));
        assert!((0..1000).all(|_| places.pick(&mut rng, 10) < 10));
        assert_eq!(Places::of_len(0).pick(&mut rng, 0), 0);
    }
}
