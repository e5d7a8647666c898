//! A block from which rows are erased: what the laws of flat rows and those of rows with levels check alike.

use tarsia_codec::{ErrorKind, Result};
use tarsia_page_writer::{BlockContext, BlockErasure, Outcome};
use tarsia_structure::block::{BLOCK_HEADER_BYTES, BlockExpectation, SALT_BYTES, checksummed};
use tarsia_structure::{Block, BlockHeader};

use crate::rng::Rng;

/// The function under test: [`tarsia_page_writer::erase_block`], or a broken one that the laws must find.
pub type Erase = dyn Fn(&BlockContext<'_>, &BlockErasure<'_>) -> Result<Outcome>;

/// Counts of what was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Erasures checked.
    pub n_erased: usize,
    /// Erasures whose survivors did not fit the block's byte range.
    pub n_moved: usize,
    /// Erasures after which the block has survivors and uses the page's first tree. If there are none, the laws were
    /// checked with the fallback alone.
    pub n_first_tree: usize,
    /// Canaries that the search found before they were erased. If there are none, the law proves nothing.
    pub n_canaries_found: usize,
}

impl Report {
    /// Adds another report's counts.
    pub fn add(&mut self, other: Self) {
        self.n_erased += other.n_erased;
        self.n_moved += other.n_moved;
        self.n_first_tree += other.n_first_tree;
        self.n_canaries_found += other.n_canaries_found;
    }
}

/// A block's page, its number of rows as it was written, and the function under test.
#[derive(Clone, Copy)]
pub(crate) struct ErasedBlock<'a> {
    pub(crate) context: BlockContext<'a>,
    pub(crate) n_rows: u32,
    pub(crate) salt: Option<[u8; SALT_BYTES]>,
    pub(crate) erase: &'a Erase,
}

impl ErasedBlock<'_> {
    /// Takes the rows `erase` out of a place from which `absent` are gone.
    pub(crate) fn erase(&self, place: &[u8], absent: &[u32], erase: &[u32]) -> Outcome {
        self.try_erase(place, absent, erase)
            .unwrap_or_else(|error| panic!("the erasure was refused: {error}"))
    }

    fn try_erase(&self, place: &[u8], absent: &[u32], erase: &[u32]) -> Result<Outcome> {
        let erasure = BlockErasure {
            place,
            rows: self.n_rows,
            absent,
            erase,
            salt: self.salt,
        };
        (self.erase)(&self.context, &erasure)
    }

    /// The law *fit*. `may_grow` says of a tree of values whether its survivors may take more bytes.
    pub(crate) fn check_fit(&self, old: &[u8], new: &Outcome, may_grow: impl FnOnce(u8) -> bool) {
        if let Outcome::InPlace { bytes } = new {
            assert_eq!(bytes.len(), old.len(), "fit: the place changed its length");
            return;
        }
        let header = header_of(old);
        let has_filler = !self.context.meta.compact && header.null_count > 0;
        // A block without a salt that gets one may need room for it.
        let gets_salt = !header.salted && self.salt.is_some();
        assert!(
            has_filler || gets_salt || may_grow(header.tree),
            "fit: survivors need {} bytes, the place has {}, and the trees say they fit",
            new.bytes().len(),
            old.len()
        );
    }

    /// The header, the checksums and the zeros behind a block with `n_present` rows.
    pub(crate) fn check_place(&self, place: &[u8], n_present: usize) {
        let header = header_of(place);
        let counts = (header.logical_rows, header.present_rows as usize);
        let expected = (self.n_rows, n_present);
        assert_eq!(counts, expected, "survivors: logical and present rows");
        assert_eq!(header.salted, self.salt.is_some(), "survivors: salt");
        assert!(!header.chunked || self.n_rows == 1, "survivors: chunks");
        self.check_checksums(place);
        let behind = &place[header.block_bytes() as usize..];
        assert!(
            behind.iter().all(|byte| *byte == 0),
            "nothing behind: bytes other than zero follow the block"
        );
    }

    pub(crate) fn check_checksums(&self, place: &[u8]) {
        for (covered, crc) in checksummed(place).expect("a whole block") {
            assert_eq!((self.context.checksum)(covered), crc, "survivors: checksum");
        }
    }

    /// The law *order*: erasing in several rounds, in any order, or again leaves the bytes of erasing at once.
    pub(crate) fn check_order(&self, old: &[u8], new: &Outcome, erased: &[u32], rng: &mut Rng) {
        let at_once = match new {
            Outcome::InPlace { bytes } => bytes,
            // In several rounds the block may move in an earlier round, to another byte range.
            Outcome::MustMove { .. } => return,
        };
        assert!(
            *new == self.erase(at_once, erased, erased),
            "order: erasing twice differs"
        );
        assert!(
            *new == self.erase(at_once, erased, &[]),
            "order: erasing nothing more differs"
        );
        for n_parts in [2, 3] {
            let mut parts = vec![vec![]; n_parts];
            for row in erased {
                parts[rng.below(n_parts)].push(*row);
            }
            let mut place = old.to_vec();
            let mut absent: Vec<u32> = vec![];
            for part in parts {
                match self.erase(&place, &absent, &part) {
                    Outcome::InPlace { bytes } => place = bytes,
                    Outcome::MustMove { .. } => return,
                }
                absent.extend(part);
                absent.sort_unstable();
            }
            assert!(
                place == *at_once,
                "order: erasing in {n_parts} rounds differs"
            );
        }
    }

    /// The law *refusal*, of `old` and of what erasing `erased` made of it.
    pub(crate) fn check_refusals(&self, old: &[u8], new: &Outcome, erased: &[u32]) {
        let n = self.n_rows;
        if !erased.is_empty() {
            let expect = BlockExpectation::of(self.context.meta, n).expect("a page of its layout");
            let got = Block::parse(new.bytes(), &expect);
            assert!(
                matches!(
                    got.as_ref().map_err(|error| error.kind()),
                    Err(ErrorKind::Corrupt { .. })
                ),
                "refusal: a reader that expects all rows took a block with erased rows"
            );
            let got = self.try_erase(old, erased, &[]);
            assert!(
                got.is_err(),
                "refusal: rows were taken as absent that are present"
            );
        }
        for bad in [&[n][..], &[0, 0], &[1, 0]] {
            let got = self.try_erase(old, &[], bad);
            assert!(got.is_err(), "refusal: {bad:?} of {n} rows");
        }
        let mut damaged = old.to_vec();
        let end = header_of(old).block_bytes() as usize;
        // A count of the header, and the last byte: a value, or of the levels where nothing else is left.
        for at in [4, BLOCK_HEADER_BYTES.min(end - 1), end - 1] {
            damaged[at] ^= 1;
            for erase in [erased, &(0..n).collect::<Vec<_>>()] {
                let got = self.try_erase(&damaged, &[], erase);
                assert!(got.is_err(), "refusal: a damaged block got a good checksum");
            }
            damaged[at] ^= 1;
        }
    }

    /// Erases the same rows from two blocks that differ in these alone, in places of one length.
    ///
    /// The law *non-interference*.
    pub(crate) fn check_interference(
        &self,
        mut one: Vec<u8>,
        mut other: Vec<u8>,
        place_bytes: usize,
        erased: &[u32],
    ) {
        one.resize(place_bytes, 0);
        other.resize(place_bytes, 0);
        assert!(
            self.erase(&one, &[], erased) == self.erase(&other, &[], erased),
            "non-interference: tables that differ in erased rows alone left different bytes"
        );
    }

    /// The counts of one erasure.
    pub(crate) fn report(&self, new: &Outcome, canary_was_found: bool) -> Report {
        let header = header_of(new.bytes());
        Report {
            n_erased: 1,
            n_moved: usize::from(new.must_move()),
            n_first_tree: usize::from(header.tree == 0 && header.n_values > 0),
            n_canaries_found: usize::from(canary_was_found),
        }
    }
}

/// The block at the front of a place, without what lies behind it.
pub(crate) fn without_slack(place: &[u8]) -> Vec<u8> {
    place[..header_of(place).block_bytes() as usize].to_vec()
}

pub(crate) fn header_of(place: &[u8]) -> BlockHeader {
    BlockHeader::parse(place).expect("a header")
}
