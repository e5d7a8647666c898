//! Splits texts into the longest token at each place.
//!
//! A step through the trie waits for memory, and the processor cannot predict where a token ends. So four texts are
//! split in turns, and a step has no branch: it goes on to the child for the next byte, or it emits the longest token
//! on the way and goes back to the root for the byte behind that token.

use alloc::vec::Vec;
use core::ops::Range;

use crate::trie::{LongestToken, Node, Trie};

/// Texts that are split side by side. With 3 or 6 it takes a fifth longer.
const LANES: usize = 4;

/// Steps of each lane until it is looked at. Each step makes at most one token.
const STEPS: usize = 512;

/// Texts as the numbers of their tokens.
pub(crate) struct Split {
    /// The tokens of all texts.
    pub(crate) numbers: Vec<u16>,
    /// The end of each text's tokens.
    pub(crate) ends: Vec<u32>,
    /// Whether each byte is a token, or part of one.
    pub(crate) is_whole: bool,
}

impl Split {
    /// Splits the texts `data[range(0)]`, `data[range(1)]` and so on, `n` of them.
    pub(crate) fn of(
        trie: &Trie,
        data: &[u8],
        n: usize,
        range: impl Fn(usize) -> Range<usize>,
    ) -> Self {
        let source = Source { trie, data, range };
        let mut lanes = source.lanes(n);
        loop {
            let mut active = lanes.iter_mut().filter(|lane| !lane.walk.is_done());
            match core::array::from_fn(|_| active.next()) {
                [Some(a), Some(b), Some(c), Some(d)] => source.advance([a, b, c, d]),
                [Some(a), Some(b), Some(c), None] => source.advance([a, b, c]),
                [Some(a), Some(b), None, _] => source.advance([a, b]),
                [Some(a), None, ..] => source.advance([a]),
                [None, ..] => break,
            }
        }
        let [first, others @ ..] = lanes;
        let mut all = first.split;
        for Lane { split, .. } in others {
            let before = all.numbers.len() as u32;
            all.ends.extend(split.ends.iter().map(|end| before + end));
            all.numbers.extend_from_slice(&split.numbers);
            all.is_whole &= split.is_whole;
        }
        all
    }
}

/// Strings that are split.
struct Source<'a, F> {
    trie: &'a Trie,
    data: &'a [u8],
    range: F,
}

/// A run of texts that is split from its beginning to its end.
struct Lane {
    /// Strings that have not begun.
    texts: Range<usize>,
    walk: Walk,
    split: Split,
}

/// Where a lane is: the bytes before `at` led to `node`, and its text ends at `end`, which is 0 when there are no more
/// texts.
#[derive(Clone, Copy)]
struct Walk {
    at: usize,
    end: usize,
    node: Node,
}

impl Walk {
    fn is_done(&self) -> bool {
        self.end == 0
    }
}

impl<F: Fn(usize) -> Range<usize>> Source<'_, F> {
    /// Lanes for `n` texts, of about as many bytes each.
    fn lanes(&self, n: usize) -> [Lane; LANES] {
        let n_bytes: usize = (0..n).map(|i| (self.range)(i).len()).sum();
        let (mut text, mut done) = (0, 0);
        core::array::from_fn(|lane| {
            let (first, done_before) = (text, done);
            let is_last = lane + 1 == LANES;
            while text < n && (is_last || done < n_bytes / LANES * (lane + 1)) {
                done += (self.range)(text).len();
                text += 1;
            }
            let mut lane = Lane {
                texts: first..text,
                walk: Walk {
                    at: 0,
                    end: 0,
                    node: self.trie.root(0),
                },
                split: Split {
                    numbers: Vec::with_capacity((done - done_before) / 4),
                    ends: Vec::with_capacity(text - first),
                    is_whole: true,
                },
            };
            lane.walk = self.next_text(&mut lane, 0);
            lane
        })
    }

    /// Some steps of each lane.
    #[inline(never)]
    fn advance<const N: usize>(&self, lanes: [&mut Lane; N]) {
        let (data, trie) = (self.data, self.trie);
        let mut walks: [Walk; N] = core::array::from_fn(|i| lanes[i].walk);
        let mut found = [[LongestToken(0); STEPS]; N];
        let mut n_found = [0; N];
        for _ in 0..STEPS {
            for i in 0..N {
                let walk = &mut walks[i];
                // It counts only if no longer token follows.
                found[i][n_found[i] % STEPS] = walk.node.found();
                let behind = walk.at - walk.node.n_behind();
                if walk.at == walk.end {
                    if behind < walk.end {
                        n_found[i] += 1;
                        walk.node = trie.root(data[behind]);
                        walk.at = behind + 1;
                    } else if !walk.is_done() {
                        n_found[i] += 1;
                        *walk = self.end_text(lanes[i], n_found[i]);
                    }
                    continue;
                }
                let root = trie.root(data[behind]);
                let (child, is_child) = trie.child(walk.node, data[walk.at]);
                n_found[i] += usize::from(!is_child);
                walk.node = child.or(root, is_child);
                walk.at = core::hint::select_unpredictable(is_child, walk.at, behind) + 1;
            }
        }
        for i in 0..N {
            let Lane { walk, split, .. } = &mut *lanes[i];
            *walk = walks[i];
            let mut all = 0;
            split
                .numbers
                .extend(found[i][..n_found[i]].iter().map(|found| {
                    all |= found.0;
                    found.0 as u16
                }));
            split.is_whole &= all & LongestToken::NONE == 0;
        }
    }

    /// Ends a text after `n_found` more tokens.
    #[inline(never)]
    fn end_text(&self, lane: &mut Lane, n_found: usize) -> Walk {
        // There are at most as many as bytes.
        let end = (lane.split.numbers.len() + n_found) as u32;
        lane.split.ends.push(end);
        self.next_text(lane, end)
    }

    /// The beginning of the lane's next text that is not empty; there are `n_tokens` before.
    fn next_text(&self, lane: &mut Lane, n_tokens: u32) -> Walk {
        for text in lane.texts.by_ref() {
            let Range { start, end } = (self.range)(text);
            if start < end {
                return Walk {
                    at: start + 1,
                    end,
                    node: self.trie.root(self.data[start]),
                };
            }
            lane.split.ends.push(n_tokens);
        }
        Walk {
            at: 0,
            end: 0,
            node: self.trie.root(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tarsia_testkit::rng::Rng;

    use super::*;
    use crate::token::Token;

    fn trie_of(tokens: &[Vec<u8>]) -> Trie {
        Trie::new(
            tokens
                .iter()
                .zip(0..=u16::MAX)
                .map(|(token, number)| (Token::of(token), number)),
        )
    }

    /// The numbers of the tokens of each text, by looking up each length. A byte without a token has none.
    fn expected(tokens: &[Vec<u8>], texts: &[Vec<u8>]) -> Vec<Vec<Option<u16>>> {
        let mut numbers = BTreeMap::new();
        for (token, number) in tokens.iter().zip(0..) {
            numbers.entry(&token[..]).or_insert(number);
        }
        let longest = |rest: &[u8]| {
            let lengths = (1..=rest.len().min(16)).rev();
            let mut found = lengths.filter_map(|len| Some((*numbers.get(&rest[..len])?, len)));
            found.next()
        };
        let split = |text: &Vec<u8>| {
            let (mut rest, mut found) = (&text[..], vec![]);
            while !rest.is_empty() {
                let token = longest(rest);
                found.push(token.map(|(number, _)| number));
                rest = &rest[token.map_or(1, |(_, len)| len)..];
            }
            found
        };
        texts.iter().map(split).collect()
    }

    fn assert_split(tokens: &[Vec<u8>], texts: &[Vec<u8>]) {
        let data = texts.concat();
        let mut ends = vec![0];
        for text in texts {
            ends.push(ends[ends.len() - 1] + text.len());
        }
        let split = Split::of(&trie_of(tokens), &data, texts.len(), |i| {
            ends[i]..ends[i + 1]
        });
        let expected = expected(tokens, texts);
        assert_eq!(
            split.is_whole,
            expected.iter().flatten().all(Option::is_some)
        );
        assert_eq!(split.ends.len(), texts.len());
        let mut start = 0;
        for (end, expected) in split.ends.iter().zip(&expected) {
            let numbers = &split.numbers[start..*end as usize];
            assert_eq!(numbers.len(), expected.len());
            let mut known = numbers.iter().zip(expected);
            assert!(known.all(|(number, expected)| expected.is_none_or(|it| it == *number)));
            start = *end as usize;
        }
    }

    #[test]
    fn the_longest_token_is_found() {
        let tokens =
            ["a", "b", "ab", "abba", "abbaabb", "ba", "\0", "ab"].map(|token| token.into());
        let texts = ["", "abb", "abbaab", "abbaabba\0", "", "abbaab\0\0", "a", ""];
        assert_split(&tokens, &texts.map(|text| text.into()));
        assert_split(&tokens, &[b"ac".into(), b"abbc".into(), b"c".into()]);
        assert_split(&tokens, &[]);
        assert_split(&[], &[b"a".into(), vec![]]);
    }

    #[test]
    fn prefixes_without_a_token_are_left_again() {
        let text: Vec<u8> = (0..40).collect();
        for tokens in [
            vec![text[..16].to_vec(), text[..1].to_vec()],
            (1..=16).map(|len| text[..len].to_vec()).collect(),
            vec![text[..16].to_vec(), text[1..16].to_vec()],
        ] {
            let singles = text.iter().map(|byte| vec![*byte]);
            let complete: Vec<_> = tokens.iter().cloned().chain(singles).collect();
            let texts: Vec<_> = (0..=40).map(|len| text[..len].to_vec()).collect();
            assert_split(&tokens, &texts);
            assert_split(&complete, &texts);
        }
    }

    #[test]
    fn any_tokens_split_any_texts() {
        for seed in 0..60 {
            let mut rng = Rng::new(seed);
            let n_letters = [2, 4, 30, 256][rng.below(4)];
            let word = |rng: &mut Rng, len: usize| -> Vec<u8> {
                (0..len).map(|_| rng.below(n_letters) as u8).collect()
            };
            let mut tokens: Vec<_> = (0..rng.below(3000))
                .map(|_| {
                    let len = rng.between(1, 16);
                    word(&mut rng, len)
                })
                .collect();
            if seed % 4 != 0 {
                tokens.extend((0..n_letters).map(|byte| vec![byte as u8]));
            }
            let texts: Vec<_> = (0..rng.below(200))
                .map(|_| {
                    let len = rng.below([3, 40, 3000][seed as usize % 3]);
                    word(&mut rng, len)
                })
                .collect();
            assert_split(&tokens, &texts);
        }
    }
}
