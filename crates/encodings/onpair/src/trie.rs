//! A set of tokens, in which the longest at the front of a text is found byte by byte.
//!
//! It is a trie in a double array (Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure",
//! 1989): the child of a node for a byte is the slot at the node's base xor the byte, if that slot names this base as
//! its parent's. So a step is one load and one comparison. No two nodes have the same base.

use alloc::vec::Vec;
use core::ops::Range;

use crate::token::Token;

/// A node, and the longest token on the way to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node(u64);

/// Bits of a base.
const BASE_BITS: u32 = 21;
const BASE_MASK: u64 = (1 << BASE_BITS) - 1;

/// Where [`LongestToken`] lies in a node, above its base and its parent's.
const FOUND_SHIFT: u32 = 2 * BASE_BITS;

/// The most slots. Those of 65,536 tokens of 16 bytes are half as many.
const SLOTS_MAX: usize = BASE_MASK as usize / BLOCK_SLOTS * BLOCK_SLOTS;

/// Slots that one base reaches.
const BLOCK_SLOTS: usize = 256;

/// Slots that one word of the builder's maps stands for.
const WORD_SLOTS: usize = 64;

/// The base of nodes without children: no slot names it.
const NO_CHILDREN: u64 = 0;

/// The longest token on the way to a node: its number, in the 16 lower bits; how many bytes before the node it ends, in
/// the next 4; and whether there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LongestToken(pub(crate) u32);

impl LongestToken {
    /// Set where not even the first byte is a token. Then that byte counts as one.
    pub(crate) const NONE: u32 = 1 << 20;

    fn token(number: u16) -> Self {
        Self(number.into())
    }

    /// Moves the place one byte on.
    fn after_a_byte(self) -> Self {
        Self(self.0 + (1 << 16))
    }
}

impl Node {
    /// The parent's base is one that no node has.
    const FREE: Self = Self(BASE_MASK << BASE_BITS);

    fn new(parent_base: u64, found: LongestToken) -> Self {
        Self(u64::from(found.0) << FOUND_SHIFT | parent_base << BASE_BITS | NO_CHILDREN)
    }

    #[inline]
    fn base(self) -> u64 {
        self.0 & BASE_MASK
    }

    #[inline]
    fn is_child_of(self, node: Self) -> bool {
        self.0 >> BASE_BITS & BASE_MASK == node.base()
    }

    /// The longest token on the way to here.
    #[inline]
    pub(crate) fn found(self) -> LongestToken {
        LongestToken((self.0 >> FOUND_SHIFT) as u32)
    }

    /// How many bytes ago that token ended.
    #[inline]
    pub(crate) fn n_behind(self) -> usize {
        (self.0 >> (FOUND_SHIFT + 16)) as usize & 15
    }

    /// This node, or `other`, without a branch.
    #[inline]
    pub(crate) fn or(self, other: Self, is_self: bool) -> Self {
        Self(core::hint::select_unpredictable(is_self, self.0, other.0))
    }
}

/// The tokens of a dictionary.
pub(crate) struct Trie {
    slots: Vec<Node>,
    /// The nodes of single bytes.
    roots: [Node; 256],
}

impl Trie {
    /// The tokens, each with its number. Of equal tokens the least number counts. A token for whose nodes the slots do
    /// not suffice is left out; there are twice as many slots as all tokens can have bytes.
    pub(crate) fn new(tokens: impl Iterator<Item = (Token, u16)>) -> Self {
        let mut sorted: Vec<(Token, u16)> = tokens.collect();
        sorted.sort_unstable();
        sorted.dedup_by_key(|(token, _)| *token);
        Builder::new().build(&sorted)
    }

    /// The node of a single byte.
    #[inline]
    pub(crate) fn root(&self, byte: u8) -> Node {
        self.roots[usize::from(byte)]
    }

    /// The child of `node` for `byte`, and whether there is one.
    #[inline]
    pub(crate) fn child(&self, node: Node, byte: u8) -> (Node, bool) {
        let child = self.slots[(node.base() ^ u64::from(byte)) as usize];
        (child, child.is_child_of(node))
    }
}

/// Where a node lies.
#[derive(Clone, Copy)]
enum Place {
    Root(u8),
    Slot(usize),
}

/// A node whose children are still to be placed.
#[derive(Clone, Copy)]
struct Parent {
    place: Place,
    found: LongestToken,
    depth: usize,
    /// The first and the end of the tokens that begin with its bytes and are longer.
    first: usize,
    end: usize,
}

/// Places the nodes, those nearest to the roots first: they are used most, and lie together.
struct Builder {
    roots: [Node; 256],
    slots: Vec<Node>,
    /// A bit for each slot: whether it is free, and whether it is a base.
    free: Vec<u64>,
    bases: Vec<u64>,
    /// The words where nodes with one child, and with several, look for free slots first.
    first_for_one: usize,
    first_for_several: usize,
}

impl Builder {
    fn new() -> Self {
        Self {
            roots: [Node::new(NO_CHILDREN, LongestToken(LongestToken::NONE)); 256],
            slots: Vec::new(),
            free: Vec::new(),
            bases: Vec::new(),
            first_for_one: 0,
            first_for_several: 0,
        }
    }

    fn build(mut self, sorted: &[(Token, u16)]) -> Trie {
        self.grow();
        self.bases[0] = 1 << NO_CHILDREN;
        let mut parents = Vec::with_capacity(sorted.len());
        for group in groups(sorted, 0..sorted.len(), 0) {
            let place = Place::Root(sorted[group.start].0.byte(0));
            let found = LongestToken(LongestToken::NONE);
            parents.extend(self.put(sorted, place, NO_CHILDREN as usize, group, 1, found));
        }
        let mut bytes = Vec::new();
        let mut next = 0;
        while let Some(parent) = parents.get(next).copied() {
            next += 1;
            let Parent { found, depth, .. } = parent;
            let tokens = parent.first..parent.end;
            if let [(token, number)] = sorted[tokens.clone()] {
                self.put_chain(parent, token, number);
                continue;
            }
            bytes.clear();
            for group in groups(sorted, tokens.clone(), depth) {
                bytes.push(sorted[group.start].0.byte(depth));
            }
            let Some(base) = self.take_base(&bytes) else {
                continue;
            };
            self.node(parent.place).0 |= base as u64;
            for group in groups(sorted, tokens, depth) {
                let place = Place::Slot(base ^ usize::from(sorted[group.start].0.byte(depth)));
                let found = found.after_a_byte();
                parents.extend(self.put(sorted, place, base, group, depth + 1, found));
            }
        }
        Trie {
            slots: self.slots,
            roots: self.roots,
        }
    }

    /// Puts the node there whose `depth` bytes the tokens of `group` begin with, of which `found` was found before the
    /// last. Returns the node if it has children.
    fn put(
        &mut self,
        sorted: &[(Token, u16)],
        place: Place,
        parent_base: usize,
        group: Range<usize>,
        depth: usize,
        found: LongestToken,
    ) -> Option<Parent> {
        let (token, number) = sorted[group.start];
        let ends_here = usize::from(token.len) == depth;
        let found = match ends_here {
            true => LongestToken::token(number),
            false => found,
        };
        *self.node(place) = Node::new(parent_base as u64, found);
        let first = group.start + usize::from(ends_here);
        (first < group.end).then_some(Parent {
            place,
            found,
            depth,
            first,
            end: group.end,
        })
    }

    /// Puts the nodes of a token with which no other one begins.
    fn put_chain(&mut self, parent: Parent, token: Token, number: u16) {
        let Parent {
            mut place,
            mut found,
            ..
        } = parent;
        let len = usize::from(token.len);
        for depth in parent.depth..len {
            let byte = token.byte(depth);
            let Some(base) = self.take_base(&[byte]) else {
                return;
            };
            self.node(place).0 |= base as u64;
            found = match depth + 1 == len {
                true => LongestToken::token(number),
                false => found.after_a_byte(),
            };
            place = Place::Slot(base ^ usize::from(byte));
            *self.node(place) = Node::new(base as u64, found);
        }
    }

    fn node(&mut self, place: Place) -> &mut Node {
        match place {
            Place::Root(byte) => &mut self.roots[usize::from(byte)],
            Place::Slot(slot) => &mut self.slots[slot],
        }
    }

    /// A base of whose slots those for `bytes` are free, which are used from now on. `None` if there is no room. Where
    /// none fits, nodes with one child, or with several, are not tried again.
    fn take_base(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut word = match bytes {
            [_] => self.first_for_one,
            _ => self.first_for_several,
        };
        let base = loop {
            if word == self.free.len() && !self.grow() {
                return None;
            }
            // A bit for each base of this word.
            let mut fit = !self.bases[word];
            for byte in bytes {
                let (byte_word, bit) = word_and_bit(usize::from(*byte));
                fit &= with_places_xored(self.free[word ^ byte_word], bit);
            }
            if fit != 0 {
                break word * WORD_SLOTS + fit.trailing_zeros() as usize;
            }
            word += 1;
        };
        match bytes {
            [_] => self.first_for_one = word,
            _ => self.first_for_several = word,
        }
        self.bases[word] |= 1 << (base % WORD_SLOTS);
        for byte in bytes {
            let (word, bit) = word_and_bit(base ^ usize::from(*byte));
            self.free[word] &= !(1 << bit);
        }
        Some(base)
    }

    /// Adds a block, unless there are the most.
    fn grow(&mut self) -> bool {
        let n = self.slots.len() + BLOCK_SLOTS;
        if n > SLOTS_MAX {
            return false;
        }
        self.slots.resize(n, Node::FREE);
        self.free.resize(n / WORD_SLOTS, u64::MAX);
        self.bases.resize(n / WORD_SLOTS, 0);
        true
    }
}

fn word_and_bit(slot: usize) -> (usize, usize) {
    (slot / WORD_SLOTS, slot % WORD_SLOTS)
}

/// The bits of `word`, each moved to its place xor `with`, below 64.
fn with_places_xored(word: u64, with: usize) -> u64 {
    const LOWER: [u64; 6] = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0f0f_0f0f_0f0f_0f0f,
        0x00ff_00ff_00ff_00ff,
        0x0000_ffff_0000_ffff,
        0x0000_0000_ffff_ffff,
    ];
    let mut word = word;
    for (i, lower) in LOWER.iter().enumerate() {
        let swapped = (word & lower) << (1 << i) | word >> (1 << i) & lower;
        word = core::hint::select_unpredictable(with >> i & 1 != 0, swapped, word);
    }
    word
}

/// The runs of `tokens` that have the same byte at `depth`.
fn groups(
    sorted: &[(Token, u16)],
    tokens: Range<usize>,
    depth: usize,
) -> impl Iterator<Item = Range<usize>> {
    let mut start = tokens.start;
    let all = sorted[tokens].chunk_by(move |(a, _), (b, _)| a.byte(depth) == b.byte(depth));
    all.map(move |group| {
        let group = start..start + group.len();
        start = group.end;
        group
    })
}

#[cfg(test)]
mod tests {
    use tarsia_testkit::rng::Rng;

    use super::*;

    /// As many tokens as there may be, as long as they may be, that share little.
    #[test]
    fn there_is_room_for_all_tokens() {
        let mut rng = Rng::new(5);
        let tokens: Vec<Token> = (0..1 << 16).map(|_| Token::of(&rng.bytes(16))).collect();
        let trie = Trie::new(tokens.iter().copied().zip(0..=u16::MAX));
        assert!(trie.slots.len() < SLOTS_MAX * 3 / 4, "{}", trie.slots.len());
        for (token, number) in tokens.iter().zip(0..) {
            let [first, others @ ..] = token.bytes();
            let mut node = trie.root(first);
            for byte in others {
                let (child, is_child) = trie.child(node, byte);
                assert!(is_child);
                node = child;
            }
            assert_eq!(node.found().0, number);
            assert_eq!(node.n_behind(), 0);
        }
    }
}
