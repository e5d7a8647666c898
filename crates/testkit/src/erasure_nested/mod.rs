//! The laws of erasing rows of blocks that have levels above their items, or whose rows lie one by one.
//! [`check_page_erasure`] checks them for all blocks of a page that a writer made.
//!
//! The laws are those of [`erasure`](crate::erasure), and these:
//!
//! | law | in words |
//! |---|---|
//! | levels | readers' decoders find the survivors' levels, too, which are not the decoders of erasures |
//! | until none is left | a page from which row after row is erased has at last blocks of headers, salts and zeros |
//! | shared buffers | what the survivors do not use is wiped, and they decode to what they were |
//! | protected | a block with a salt and slack has the payload that it had, and as many zeros behind it as the spec says |
//!
//! Rows and what they look like are in the file `rows`.
//!
//! A broken law panics and names the case, the block, the rows erased and the law.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tarsia_codec::{
    AlignedBuf, OwnedValues, Registry, Scratch, Selection, SharedBuffer, SharedKind, UsedEntries,
    ValueType,
};
use tarsia_page_writer::{
    BlockContext, BlockRows, EncodeContext, EncodedPage, Outcome, Room, decode_survivors,
    mark_used, protect_page, wipe_unused,
};
use tarsia_structure::block::{BLOCK_HEADER_BYTES, SALT_BYTES};
use tarsia_structure::{
    Block, BlockHeader, Budget, FullZipForm, Level, LevelForm, PageDecoder, RawColumn, RawLevels,
};

use crate::erasure::{Erase, Report, Rows, contains, may_grow, panic_text};
use crate::erasure_block::{ErasedBlock, header_of, without_slack};
use crate::rng::Rng;
use rows::{Flat, put_value};

mod rows;

pub use rows::{NestedRows, Shape, Slot};

/// One page of rows.
#[derive(Clone, Copy)]
pub struct PageErasureCase<'a> {
    /// Names the rows in messages.
    pub name: &'a str,
    /// The writer: registry, policy, checksum.
    pub writer: &'a EncodeContext<'a>,
    /// The page's rows.
    pub rows: &'a NestedRows,
    /// The function under test.
    pub erase: &'a Erase,
    /// Seed of the rows erased and of what replaces them.
    pub seed: u64,
}

/// Counts of what was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageReport {
    /// Counts that [`check_erasure`](crate::erasure::check_erasure) makes, too.
    pub blocks: Report,
    /// Pages of mini-blocks, of full-zip rows of fixed width, of full-zip byte strings.
    pub n_pages: [usize; 3],
    /// Pages of mini-blocks whose null items have no values, and those whose have filler.
    pub n_compact: [usize; 2],
    /// Entries of shared buffers that were wiped.
    pub n_wiped: usize,
    /// Erasures that were compared with those of a table that differs in the erased rows. Not all trees of levels hold
    /// what such a table would have.
    pub n_twins: usize,
}

impl PageReport {
    /// Adds another report's counts.
    pub fn add(&mut self, other: Self) {
        self.blocks.add(other.blocks);
        for (sum, n) in self.n_pages.iter_mut().zip(other.n_pages) {
            *sum += n;
        }
        for (sum, n) in self.n_compact.iter_mut().zip(other.n_compact) {
            *sum += n;
        }
        self.n_wiped += other.n_wiped;
        self.n_twins += other.n_twins;
    }
}

/// Checks all laws for each block of the page that a writer makes, as it is and protected.
///
/// # Panics
/// Where a law is broken, and for rows that the writer refuses.
pub fn check_page_erasure(case: &PageErasureCase<'_>) -> PageReport {
    let mut report = PageReport::default();
    let plain = case.rows.encode(case.writer).expect("rows to encode");
    let form = FullZipForm::of(&plain.meta).expect("a page of its layout");
    let kind = form.map_or(0, |form| 1 + usize::from(form.is_indexed()));
    report.n_pages[kind] += 1;
    if kind == 0 && !plain.meta.layers.is_empty() {
        report.n_compact[usize::from(!plain.meta.compact)] += 1;
    }
    let mut protected = plain.clone();
    let salt = |block: u32| [0x70 ^ block as u8; SALT_BYTES];
    let checksum = case.writer.checksum;
    protect_page(
        &mut protected,
        case.writer.registry,
        Room::Growth,
        &salt,
        checksum,
    )
    .expect("a protected page");
    for (is_protected, page) in [(false, &plain), (true, &protected)] {
        let mut first = 0;
        for (number, n_rows) in rows_of_blocks(page).into_iter().enumerate() {
            let rows = NestedRows {
                shape: case.rows.shape.clone(),
                rows: case.rows.rows[first..first + n_rows].to_vec(),
            };
            first += n_rows;
            let text = format!("block {number}, protected: {is_protected}");
            let checked = catch_unwind(AssertUnwindSafe(|| {
                let mut laws = Laws {
                    page,
                    block: ErasedBlock {
                        context: BlockContext {
                            registry: case.writer.registry,
                            meta: &page.meta,
                            shared: &page.shared,
                            checksum,
                        },
                        n_rows: n_rows as u32,
                        salt: is_protected.then_some([0xa5; SALT_BYTES]),
                        erase: case.erase,
                    },
                    rows: &rows,
                    // Not the numbers that the rows were made of.
                    rng: Rng::new(!(case.seed ^ number as u64).rotate_left(17)),
                };
                if is_protected {
                    laws.check_protected(plain.block(number), page.block(number));
                }
                laws.check(page.block(number))
            }));
            match checked {
                Ok(checked) => report.add(checked),
                Err(panic) => panic!(
                    "[{}, levels {:?}, {:?} as {}, {text}] {}",
                    case.name,
                    case.rows.shape.forms,
                    case.rows.shape.value_type,
                    page.meta.trees[0],
                    panic_text(&*panic)
                ),
            }
        }
        assert_eq!(first, case.rows.rows.len());
    }
    report
}

/// Checks what null items hold in each block of a page that a writer makes: nothing that stands in another block alone.
/// Returns the number of blocks that begin with a null item that holds something.
///
/// # Panics
/// Where the law is broken.
pub fn check_page_filler(
    page: &EncodedPage,
    registry: &Registry,
    checksum: fn(&[u8]) -> u32,
) -> usize {
    let context = BlockContext {
        registry,
        meta: &page.meta,
        shared: &page.shared,
        checksum,
    };
    let blocks = rows_of_blocks(page).into_iter().enumerate();
    blocks
        .filter(|(number, rows)| check_filler(&context, page.block(*number), *rows as u32))
        .count()
}

/// Checks what null items of a block hold, where they hold something: in order, the last valid value before, the first
/// valid one, zero. Returns whether the first item is such an item.
fn check_filler(context: &BlockContext<'_>, place: &[u8], rows: u32) -> bool {
    let meta = context.meta;
    if meta.compact || FullZipForm::of(meta).expect("a layout").is_some() {
        return false;
    }
    let survivors = decode_survivors(context, place, rows).expect("survivors");
    let values = Rows::new(survivors.values().expect("values")).values;
    let Some(validity) = survivors.validity() else {
        return false;
    };
    let mut held = (0..values.len()).find(|i| validity.get(*i));
    for (i, value) in values.iter().enumerate() {
        if validity.get(i) {
            held = Some(i);
            continue;
        }
        let filler = match (meta.value_type, held) {
            (Some(ValueType::Bits), _) => vec![0],
            (Some(ValueType::Fixed(_)), Some(held)) => values[held].clone(),
            // If no survivor can be repeated, the filler depends on the page's dictionary.
            (Some(ValueType::Fixed(_)), None) if !meta.shared.is_empty() => continue,
            (Some(ValueType::Fixed(width)), None) => vec![0; width as usize],
            _ => vec![],
        };
        assert_eq!(*value, filler, "filler: item {i} of the block");
    }
    !values.is_empty() && !validity.get(0)
}

fn rows_of_blocks(page: &EncodedPage) -> Vec<usize> {
    let n_blocks = page.starts.len();
    match &page.block_rows {
        BlockRows::Table(rows) => rows.iter().map(|rows| *rows as usize).collect(),
        BlockRows::Uniform(log2) => (0..n_blocks)
            .map(|i| (page.rows as usize - (i << log2)).min(1 << log2))
            .collect(),
    }
}

struct Laws<'a> {
    page: &'a EncodedPage,
    block: ErasedBlock<'a>,
    rows: &'a NestedRows,
    rng: Rng,
}

impl Laws<'_> {
    fn check(&mut self, old: &[u8]) -> PageReport {
        let mut report = PageReport::default();
        self.check_rows(old, self.rows);
        check_filler(&self.block.context, old, self.block.n_rows);
        for erased in self.erased_sets() {
            let text = format!(
                "{} rows erased, the first {:?}",
                erased.len(),
                erased.first()
            );
            let checked = catch_unwind(AssertUnwindSafe(|| self.check_erased(old, &erased)));
            match checked {
                Ok(checked) => report.add(checked),
                Err(panic) => panic!("{text}: {}", panic_text(&*panic)),
            }
        }
        self.check_until_none_is_left(old);
        report
    }

    /// Rows to erase, rising: edges, everything, random shares, those that are null or have no item, all but those.
    fn erased_sets(&mut self) -> Vec<Vec<u32>> {
        let n = self.block.n_rows;
        let mut sets = vec![vec![], (0..n).collect(), vec![0], (1..n).collect()];
        for percent in [5, 60] {
            sets.push((0..n).filter(|_| self.rng.percent(percent)).collect());
        }
        for wanted in [true, false] {
            let is_wanted = |i: &u32| {
                let row = &self.rows.rows[*i as usize];
                let flat = NestedRows {
                    shape: self.rows.shape.clone(),
                    rows: vec![row.clone()],
                };
                flat.flat().items.iter().any(|(valid, _)| *valid) == wanted
            };
            sets.push((0..n).filter(is_wanted).collect());
        }
        sets
    }

    fn check_erased(&mut self, old: &[u8], erased: &[u32]) -> PageReport {
        let new = self.block.erase(old, &[], erased);
        let survivors = self.rows.without(erased);
        self.block.check_fit(old, &new, |tree| {
            self.layers_may_grow() || self.tree_may_grow(tree)
        });
        self.check_place(&new, &survivors);
        self.check_rows(new.bytes(), &survivors);
        check_filler(&self.block.context, new.bytes(), self.block.n_rows);
        self.check_canonical(&new, &survivors, old.len());
        let mut rng = Rng::new(self.rng.u64());
        self.block.check_order(old, &new, erased, &mut rng);
        self.block.check_refusals(old, &new, erased);
        let n_twins = usize::from(self.check_interference(old.len(), erased));
        let n_wiped = self.check_wiping(&new, &survivors);
        let was_found = self.check_canary(erased);
        PageReport {
            blocks: self.block.report(&new, was_found),
            n_wiped,
            n_twins,
            ..PageReport::default()
        }
    }

    fn check_protected(&self, plain: &[u8], place: &[u8]) {
        let (before, header) = (header_of(plain), header_of(place));
        assert!(header.salted, "protected: salt");
        assert!(place.len().is_multiple_of(8), "protected: alignment");
        let payload = |header: &BlockHeader, place: &[u8]| {
            place[header.payload_start()..header.block_bytes() as usize].to_vec()
        };
        assert!(
            payload(&before, plain) == payload(&header, place),
            "protected: payload"
        );
        let block_bytes = header.block_bytes() as usize;
        let slack = place.len() - block_bytes;
        let may_grow = self.layers_may_grow() || self.tree_may_grow(header.tree);
        let expected = match may_grow {
            true => block_bytes / 96,
            false => 0,
        };
        let end = (block_bytes + expected).next_multiple_of(8);
        assert_eq!(slack, end - block_bytes, "protected: slack");
        assert!(place[block_bytes..].iter().all(|byte| *byte == 0));
    }

    fn tree_may_grow(&self, tree: u8) -> bool {
        let tree = &self.block.context.meta.trees[usize::from(tree)];
        may_grow(
            self.block.context.registry,
            tree,
            self.rows.shape.value_type,
        )
    }

    fn layers_may_grow(&self) -> bool {
        let meta = self.block.context.meta;
        let levels = meta.levels.iter().flat_map(|level| {
            let value_type = match level {
                Level::Lengths(_) => ValueType::Fixed(4),
                _ => ValueType::Bits,
            };
            level.trees().iter().map(move |tree| (tree, value_type))
        });
        let layers = meta.layers.iter().flat_map(|layer| &layer.trees);
        let mut trees = levels.chain(layers.map(|tree| (tree, ValueType::Bits)));
        trees.any(|(tree, value_type)| may_grow(self.block.context.registry, tree, value_type))
    }

    fn check_place(&self, new: &Outcome, survivors: &NestedRows) {
        let place = new.bytes();
        self.block.check_place(place, survivors.rows.len());
        if survivors.rows.is_empty() {
            let salt = self.block.salt.iter().flatten().copied();
            let rest: Vec<u8> = place[BLOCK_HEADER_BYTES..].to_vec();
            let zeros = core::iter::repeat(0);
            let expected: Vec<u8> = salt.chain(zeros).take(rest.len()).collect();
            assert!(
                rest == expected,
                "until none is left: bytes of a block without rows"
            );
        }
    }

    /// Compares what readers' decoders find in a block with its rows.
    fn check_rows(&self, place: &[u8], expected: &NestedRows) {
        self.block.check_checksums(place);
        let flat = expected.flat();
        let found = self.decode(place, &self.page.shared);
        for (number, (found, expected)) in found.levels.iter().zip(&flat.levels).enumerate() {
            assert!(found == expected, "levels: level {number}");
        }
        assert_items(&found.items, &flat.items);
    }

    fn decode(&self, place: &[u8], shared: &[Arc<OwnedValues>]) -> Flat {
        let context = &self.block.context;
        let decoder = PageDecoder::new(context.registry, context.meta, shared).expect("decoders");
        let block = Block::parse_erased(place, &decoder.expect(self.block.n_rows))
            .expect("a block to parse");
        let forms = &self.rows.shape.forms;
        let mut flat = Flat {
            levels: vec![vec![]; forms.len()],
            items: vec![],
        };
        let mut n = block.header.present_rows as usize;
        if n == 0 {
            return flat;
        }
        let mut take = |len: usize| {
            let mut bytes = AlignedBuf::zeroed(len);
            bytes.fill(0xee);
            bytes
        };
        let (budget, mut scratch, mut ranges) = (Budget::new(u64::MAX), Scratch::new(), vec![]);
        let mut levels = RawLevels::new(forms.iter().copied(), &budget);
        let all = Selection::All;
        levels
            .push(&decoder, &block, all, &mut scratch, &mut take, &mut ranges)
            .expect("levels to decode");
        let (n_items, value_type) = (levels.n_items(), decoder.value_type());
        let data_bytes = block.header.decoded_bytes as usize;
        let mut items = RawColumn::new(value_type, n_items, data_bytes, &mut take).expect("room");
        items
            .push_ranges(&decoder, &block, &ranges, &mut scratch, &mut take)
            .expect("items to decode");
        for (slots, level) in flat.levels.iter_mut().zip(levels.into_levels()) {
            assert_eq!(level.n_slots, n, "levels: slots of {:?}", level.form);
            let slot = |i: usize| match level.form {
                LevelForm::Validity => u32::from(level.validity().is_none_or(|bits| bits.get(i))),
                LevelForm::Lengths => level.ends()[i + 1] - level.ends()[i],
                LevelForm::ConstantLength(length) => length,
            };
            slots.extend((0..n).map(slot));
            n = slots.iter().map(|slot| *slot as usize).sum();
        }
        let items = items.finish();
        assert_eq!(items.rows, n, "levels: items");
        let bit = |bytes: &[u8], i: usize| bytes[i / 8] >> (i % 8) & 1;
        let (ends, _) = items.offsets.as_chunks();
        let place = |i: usize| u32::from_le_bytes(ends[i]) as usize;
        flat.items = (0..n)
            .map(|i| {
                let valid = items.validity.as_ref().is_none_or(|bits| bit(bits, i) == 1);
                let value = match value_type {
                    ValueType::Bits => vec![bit(&items.values, i)],
                    ValueType::Fixed(width) => {
                        let width = width as usize;
                        items.values[i * width..(i + 1) * width].to_vec()
                    }
                    ValueType::Bytes => items.values[place(i)..place(i + 1)].to_vec(),
                };
                (valid, value)
            })
            .collect();
        flat
    }

    fn check_canonical(&self, new: &Outcome, survivors: &NestedRows, place_bytes: usize) {
        let fresh = survivors
            .encode_block(
                &self.block.context,
                self.block.n_rows,
                self.block.salt,
                place_bytes,
            )
            .expect("survivors to encode");
        assert!(*new == fresh, "canonical: survivors encode to other bytes");
    }

    fn check_until_none_is_left(&mut self, old: &[u8]) {
        let mut left: Vec<u32> = (0..self.block.n_rows).collect();
        let (mut place, mut absent) = (old.to_vec(), vec![]);
        while !left.is_empty() {
            let n = self.rng.between(1, left.len().div_ceil(2));
            let mut now: Vec<u32> = (0..n)
                .map(|_| left.swap_remove(self.rng.below(left.len())))
                .collect();
            now.sort_unstable();
            let new = self.block.erase(&place, &absent, &now);
            absent.extend(now);
            absent.sort_unstable();
            let survivors = self.rows.without(&absent);
            self.check_place(&new, &survivors);
            self.check_rows(new.bytes(), &survivors);
            place = new.bytes().to_vec();
        }
    }

    /// The rows with others in the places of those erased, which the page can hold.
    fn twin(&mut self, erased: &[u32]) -> NestedRows {
        let mut twin = self.rows.clone();
        let meta = self.block.context.meta;
        let mut shape = twin.shape.clone();
        shape.null_percent = 50;
        shape.item_null_percent = 30;
        let null_items = !meta.layers.is_empty();
        for row in erased {
            let slot = shape.slot(0, Some(&meta.levels), null_items, &mut self.rng);
            twin.rows[*row as usize] = slot;
        }
        twin
    }

    /// A block of the page with these rows, long enough for any of them.
    fn fresh(&self, rows: &NestedRows) -> Option<Vec<u8>> {
        let data: usize = rows.flat().items.iter().map(|(_, value)| value.len()).sum();
        let slots: usize = rows.flat().levels.iter().map(Vec::len).sum();
        let ample = 4096 + 2 * data + 32 * slots + 32 * rows.rows.len();
        let outcome = rows.encode_block(
            &self.block.context,
            self.block.n_rows,
            self.block.salt,
            ample,
        );
        // A page's dictionary may lack what a level would need.
        let outcome = outcome.ok()?;
        Some(without_slack(outcome.bytes()))
    }

    /// Whether the page can hold the other rows.
    fn check_interference(&mut self, place_bytes: usize, erased: &[u32]) -> bool {
        let (one, other) = (self.twin(erased), self.twin(erased));
        let (Some(one), Some(other)) = (self.fresh(&one), self.fresh(&other)) else {
            return false;
        };
        let place_bytes = place_bytes.max(one.len()).max(other.len());
        let place_bytes = place_bytes.next_multiple_of(8);
        self.block
            .check_interference(one, other, place_bytes, erased);
        true
    }

    /// Whether the search found the canary before the erasure.
    fn check_canary(&mut self, erased: &[u32]) -> bool {
        let canary = match self.rows.shape.value_type {
            ValueType::Bytes => self.rng.bytes(16),
            ValueType::Fixed(width @ 8..) => self.rng.bytes(width as usize),
            // Too short to tell from chance.
            _ => return false,
        };
        let mut rows = self.rows.clone();
        for row in erased {
            put_value(&mut rows.rows[*row as usize], &canary);
        }
        let Some(mut old) = self.fresh(&rows) else {
            return false;
        };
        old.resize(old.len().next_multiple_of(8), 0);
        let new = self.block.erase(&old, &[], erased);
        assert!(
            !contains(new.bytes(), &canary[..8]),
            "canary: an erased value was found in the place"
        );
        contains(&old, &canary[..8])
    }

    /// How many entries of shared buffers were wiped that only erased rows used.
    fn check_wiping(&self, new: &Outcome, survivors: &NestedRows) -> usize {
        let context = &self.block.context;
        let buffers = context.meta.shared_buffers(context.shared);
        let buffers = buffers.expect("shared buffers");
        if buffers.is_empty() {
            return 0;
        }
        let none_of = |buffer: &SharedBuffer| Arc::new(UsedEntries::none_of(buffer.values().len()));
        let used: Vec<_> = buffers.iter().map(none_of).collect();
        mark_used(context, new.bytes(), self.block.n_rows, &used).expect("survivors to decode");
        let flat = survivors.flat();
        let valid = flat.items.iter().filter(|(valid, _)| *valid);
        let valid: Vec<&Vec<u8>> = valid.map(|(_, value)| value).collect();
        // Blocks that fall back refer to no entry, whatever these are.
        let header = header_of(new.bytes());
        let has_codes = header.tree == 0 || header.n_values == 0;
        let (mut n_wiped, mut wiped) = (0, vec![]);
        for (buffer, used) in buffers.iter().zip(&used) {
            let left = wipe_unused(buffer, used).expect("a flag for each entry");
            let entries = Rows::new(left.as_values().expect("entries")).values;
            let old_entries = buffer.values().as_values().expect("entries");
            let old_entries = Rows::new(old_entries).values;
            let are_values = has_codes
                && buffer.kind() == SharedKind::Dictionary
                && buffer.values().as_values().expect("entries").value_type()
                    == self.rows.shape.value_type
                // Those of lengths are not told from values of four bytes.
                && self.rows.shape.value_type == ValueType::Bytes;
            let before = [None].into_iter().chain(entries.iter().map(Some));
            for ((entry, old), before) in entries.iter().zip(&old_entries).zip(before) {
                if entry != old {
                    n_wiped += 1;
                    let is_wiped = entry.iter().all(|byte| *byte == 0) || before == Some(entry);
                    assert!(is_wiped, "shared buffers: an entry is another one");
                    assert!(
                        !are_values || !valid.contains(&old),
                        "shared buffers: an entry in use was wiped"
                    );
                } else if are_values && !old.is_empty() {
                    assert!(valid.contains(&old), "shared buffers: an entry is left");
                }
            }
            wiped.push(Arc::new(left));
        }
        let found = self.decode(new.bytes(), &wiped);
        assert!(found.levels == flat.levels, "shared buffers: levels");
        assert_items(&found.items, &flat.items);
        n_wiped
    }
}

fn assert_items(found: &[(bool, Vec<u8>)], expected: &[(bool, Vec<u8>)]) {
    assert_eq!(found.len(), expected.len(), "survivors: items");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.0, expected.0, "survivors: validity of item {i}");
        if expected.0 {
            assert_eq!(found.1, expected.1, "survivors: item {i} of the rest");
        }
    }
}
