//! Blocks of nested pages: any levels over any items, as a writer makes them, changed, or made up.

use std::ops::Range;

use tarsia_cascade::{Chooser, Objective};
use tarsia_codec::{
    AlignedBuf, BitSlice, LogicalType, Result, Scratch, Selection, Statistics, Tree, ValueType,
    Values,
};
use tarsia_kernel_guest::Guest;
use tarsia_kernel_guest::abi::{
    BatchDescription, LAYOUT_ENDS, LAYOUT_VALIDITY, RequestWriter, tag,
};
use tarsia_kernel_guest::memory::Memory;
use tarsia_page_writer::{
    BlockRows, Choice, Choose, CollectedLevels, EncodeContext, EncodedPage, LevelsSlice, PageInput,
    encode_page,
};
use tarsia_structure::block::BLOCK_HEADER_BYTES;
use tarsia_structure::levels::LevelSections;
use tarsia_structure::{
    Block, Budget, DecodedForm, DecodedRows, DecodedSlots, Layer, LayerKind, Layout, Level,
    LevelForm, Meta, PageDecoder, RawColumn, RawLevels, RawParts,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::fuzzing::{Input, accepted};
use tarsia_testkit::memory::measure;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::{any_tree, random_tree};

/// Most rows of an input's pages, and items in front of which no longer lists are made.
const ROWS_MAX: usize = 300;
const ITEMS_MAX: usize = 1 << 14;

/// Rows of so many slots are held against each other; those of more are only decoded.
const COMPARED_SLOTS_MAX: usize = 1 << 15;

/// What one block may take at once: 2^31 slots without bytes, a bit each, and their alignment.
const ALLOCATED_AT_ONCE_MAX: u64 = (256 << 20) + 64;

const TYPES: [ValueType; 7] = [
    ValueType::Fixed(4),
    ValueType::Bytes,
    ValueType::Bits,
    ValueType::Fixed(1),
    ValueType::Fixed(0),
    ValueType::Fixed(8),
    ValueType::Fixed(12),
];

/// The levels of up to four nodes, as a schema has them.
fn forms(input: &mut Input<'_>) -> Vec<LevelForm> {
    let mut forms = Vec::new();
    for _ in 0..1 + input.below(4) {
        forms.push(LevelForm::Validity);
        match input.below(4) {
            0 | 1 => forms.push(LevelForm::Lengths),
            2 => {
                let length = match input.below(5) {
                    4 => input.number() as u32,
                    length => length as u32,
                };
                forms.push(LevelForm::ConstantLength(length));
            }
            _ => {}
        }
    }
    forms
}

/// What one level says: slots below each of its slots.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Slots {
    form: LevelForm,
    below: Vec<u32>,
}

/// Levels and items that were decoded, or are to be encoded.
struct Rows {
    n: usize,
    levels: Vec<Slots>,
    /// `None` for null.
    items: Vec<Option<Vec<u8>>>,
}

impl Rows {
    fn n_slots(&self) -> usize {
        let slots = self.levels.iter().map(|level| level.below.len());
        slots.sum::<usize>() + self.items.len()
    }

    /// Appends what some rows are, front to back.
    fn tokens(&self, rows: impl Iterator<Item = usize>) -> Vec<Option<Vec<u8>>> {
        let starts: Vec<Vec<usize>> = self
            .levels
            .iter()
            .map(|level| {
                let mut end = 0;
                let ends = level.below.iter().map(|below| {
                    end += *below as usize;
                    end
                });
                std::iter::once(0).chain(ends).collect()
            })
            .collect();
        let mut out = Vec::new();
        for row in rows {
            self.walk(&starts, 0, row, &mut out);
        }
        out
    }

    fn walk(
        &self,
        starts: &[Vec<usize>],
        level: usize,
        slot: usize,
        out: &mut Vec<Option<Vec<u8>>>,
    ) {
        let Some(slots) = self.levels.get(level) else {
            out.push(self.items[slot].clone());
            return;
        };
        match slots.form {
            LevelForm::Validity if slots.below[slot] == 0 => out.push(None),
            LevelForm::Validity => {}
            _ => out.push(Some(slots.below[slot].to_le_bytes().to_vec())),
        }
        for below in starts[level][slot]..starts[level][slot + 1] {
            self.walk(starts, level + 1, below, out);
        }
    }
}

/// Levels of `rows` rows, and the number of items.
fn levels(input: &mut Input<'_>, forms: &[LevelForm], rows: usize) -> (Vec<Slots>, usize) {
    let mut n = rows;
    let mut levels = Vec::new();
    for form in forms {
        // Where there are many slots, all further lists are empty.
        let many = n > ITEMS_MAX;
        let style = input.below(6);
        let step = 1 + input.below(70);
        let length = input.below(5) as u32;
        let mut slot = |i: usize| match (form, style) {
            (LevelForm::ConstantLength(length), _) => *length,
            (LevelForm::Validity, 0) => 1,
            (LevelForm::Validity, 1) => 0,
            (LevelForm::Validity, 2) => u32::from(!i.is_multiple_of(step)),
            (LevelForm::Validity, 3) => u32::from((i / step).is_multiple_of(2)),
            (LevelForm::Validity, _) => u32::from(input.u8() % 4 != 3),
            (LevelForm::Lengths, _) if many => 0,
            (LevelForm::Lengths, 0) => length,
            (LevelForm::Lengths, 1) => 0,
            (LevelForm::Lengths, 2) if i == step => 2000,
            (LevelForm::Lengths, 2) => 1,
            (LevelForm::Lengths, 3) => (i % step) as u32 % 7,
            (LevelForm::Lengths, _) => u32::from(input.u8() % 5),
        };
        let below: Vec<u32> = (0..n).map(&mut slot).collect();
        n = below.iter().map(|below| *below as usize).sum();
        levels.push(Slots { form: *form, below });
        // Lengths of constant levels are the schema's: the caller looks at what they came to.
        if n > 16 * ITEMS_MAX {
            break;
        }
    }
    (levels, n)
}

fn pack(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut bytes = vec![0; bits.len().div_ceil(8)];
    for (i, bit) in bits.enumerate() {
        bytes[i / 8] |= u8::from(bit) << (i % 8);
    }
    bytes
}

/// The usual trees, with blocks as short as the input says, and either layout.
#[derive(Debug)]
struct Cut {
    chooser: Chooser,
    bits_per_value: Option<u32>,
}

impl Choose for Cut {
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice> {
        let mut choice = self.chooser.choose(values)?;
        if let Some(bits_per_value) = self.bits_per_value
            && values.facts().logical_type == LogicalType::Unknown
        {
            choice.bytes = values.len() as u64 * u64::from(bits_per_value) / 8;
            choice.uniform = false;
        }
        Ok(choice)
    }

    fn full_zip_bytes_min(&self) -> u32 {
        self.chooser.full_zip_bytes_min()
    }
}

fn encode(
    levels: &[Slots],
    rows: usize,
    items: &Case,
    validity: &[bool],
    input: &mut Input<'_>,
) -> Option<EncodedPage> {
    let mut collected = CollectedLevels::new(levels.iter().map(|level| level.form));
    for (number, level) in levels.iter().enumerate() {
        let n = level.below.len();
        match level.form {
            LevelForm::Validity => {
                let bytes = pack(level.below.iter().map(|below| *below > 0));
                let bits = BitSlice::new(&bytes, 0, n).expect("as many bits");
                collected
                    .push_validity(number, n, Some(bits))
                    .expect("a level");
            }
            LevelForm::Lengths => {
                let lengths = level.below.iter().copied();
                collected.push_lengths(number, lengths).expect("a level");
            }
            LevelForm::ConstantLength(_) => collected.push_constant(number, n),
        }
    }
    collected.end_rows(rows);
    let bytes = pack(validity.iter().copied());
    let bits = BitSlice::new(&bytes, 0, validity.len()).expect("as many bits");
    let page = PageInput {
        levels: Some(LevelsSlice::new(&collected, 0..rows).expect("all rows")),
        validity: Some(bits),
        ..PageInput::of_values(items.values())
    };
    let full_zip_bytes_min = if input.one_in(2) { 0 } else { u32::MAX };
    let chooser = Cut {
        chooser: Chooser::new(tarsia::registry().clone(), Objective::Balanced)
            .with_full_zip_bytes_min(full_zip_bytes_min),
        bits_per_value: input.one_in(2).then(|| 1 << input.below(16)),
    };
    let context = EncodeContext {
        registry: tarsia::registry(),
        memory: None,
        chooser: &chooser,
        checksum: |bytes| tarsia_metadata::crc32c(&[bytes]),
    };
    // A row may be too large for a block; nothing else is refused.
    encode_page(page, &context).ok()
}

fn block_rows(page: &EncodedPage) -> Vec<u32> {
    match &page.block_rows {
        BlockRows::Table(rows) => rows.clone(),
        BlockRows::Uniform(log2) => (0..page.starts.len() as u64)
            .map(|i| (page.rows - (i << log2)).min(1 << log2) as u32)
            .collect(),
    }
}

/// What was decoded. Where it is much, only how much: then levels and items are empty.
struct Decoded {
    rows: Rows,
    n_slots: usize,
}

fn decode(
    decoder: &PageDecoder,
    forms: &[LevelForm],
    block: &Block<'_>,
    selection: Selection<'_>,
) -> Result<Decoded> {
    // The blocks' own limits have to do.
    let budget = Budget::new(u64::MAX);
    let (decoded, allocated) = measure(|| -> Result<(RawLevels<'_>, RawParts)> {
        let mut take = |len: usize| {
            let mut buf = AlignedBuf::zeroed(len);
            // What was in memory before must not matter; all of 256 MiB would only take long.
            let poisoned = len.min(1 << 16);
            buf[..poisoned].fill(0xa5);
            buf
        };
        let mut scratch = Scratch::new();
        let mut levels = RawLevels::new(forms.iter().copied(), &budget);
        let mut ranges = Vec::new();
        levels.push(
            decoder,
            block,
            selection,
            &mut scratch,
            &mut take,
            &mut ranges,
        )?;
        let n_items: usize = ranges.iter().map(Range::len).sum();
        assert_eq!(levels.n_items(), n_items, "items of all ranges");
        for range in &ranges {
            assert!(
                range.start <= range.end && range.end <= block.n_items,
                "{range:?} of {} items",
                block.n_items
            );
        }
        let data_bytes = match decoder.value_type() {
            ValueType::Bytes => block.header.decoded_bytes as usize * selection.repeats() as usize,
            _ => 0,
        };
        let mut raw = RawColumn::new(decoder.value_type(), n_items, data_bytes, &mut take)?;
        raw.push_ranges(decoder, block, &ranges, &mut scratch, &mut take)?;
        assert_eq!(raw.rows(), n_items, "items decoded");
        Ok((levels, raw.finish()))
    });
    assert!(
        allocated.largest_bytes <= ALLOCATED_AT_ONCE_MAX * selection.repeats(),
        "{} bytes allocated at once for a block of {}",
        allocated.largest_bytes,
        block.header.block_bytes()
    );
    let (levels, items) = decoded?;
    let n_rows = selection.check(block.header.logical_rows)?;
    Ok(rows_of(n_rows, levels, &items, decoder.value_type()))
}

/// Checks that levels and items add up, and lists them where they are few.
fn rows_of(n_rows: usize, levels: RawLevels, items: &RawParts, value_type: ValueType) -> Decoded {
    let mut rows = Rows {
        n: n_rows,
        levels: Vec::new(),
        items: Vec::new(),
    };
    let (mut n, mut n_slots) = (n_rows, 0);
    let levels = levels.into_levels();
    let total: usize = levels.iter().map(|level| level.n_slots).sum();
    let few = total + items.rows <= COMPARED_SLOTS_MAX;
    for level in levels {
        assert_eq!(level.n_slots, n, "slots of a level of {:?}", level.form);
        n_slots += n;
        let bits = level.validity();
        let nulls = bits.map_or(0, |bits| n - bits.count_ones());
        assert_eq!(nulls, level.null_count, "null slots");
        let ends = level.ends();
        let below = match level.form {
            LevelForm::Validity => n - nulls,
            LevelForm::Lengths if n == 0 => 0,
            LevelForm::Lengths => {
                assert_eq!((ends.len(), ends[0]), (n + 1, 0));
                assert!(ends.is_sorted(), "ends fall");
                ends[n] as usize
            }
            LevelForm::ConstantLength(length) => n * length as usize,
        };
        if few {
            let below = match level.form {
                LevelForm::Validity => (0..n)
                    .map(|i| u32::from(bits.is_none_or(|bits| bits.get(i))))
                    .collect(),
                LevelForm::Lengths if n == 0 => vec![],
                LevelForm::Lengths => ends.windows(2).map(|pair| pair[1] - pair[0]).collect(),
                LevelForm::ConstantLength(length) => vec![length; n],
            };
            rows.levels.push(Slots {
                form: level.form,
                below,
            });
        }
        n = below;
    }
    assert_eq!(items.rows, n, "items");
    n_slots += n;
    let validity = items
        .validity
        .as_deref()
        .map(|bytes| BitSlice::new(bytes, 0, n).expect("validity of all items"));
    let valid = validity.map_or(n, |bits| bits.count_ones());
    assert_eq!(n - valid, items.null_count, "null items");
    if few {
        let offsets: Vec<usize> = items
            .offsets
            .chunks_exact(4)
            .map(|end| u32::from_le_bytes(end.try_into().expect("4 bytes")) as usize)
            .collect();
        let values = &items.values[..items.values_len];
        let value = |i: usize| match value_type {
            ValueType::Bits => vec![values[i / 8] >> (i % 8) & 1],
            ValueType::Fixed(width) => {
                let width = width as usize;
                values[i * width..(i + 1) * width].to_vec()
            }
            ValueType::Bytes => values[offsets[i]..offsets[i + 1]].to_vec(),
        };
        rows.items = (0..n)
            .map(|i| validity.is_none_or(|bits| bits.get(i)).then(|| value(i)))
            .collect();
    }
    Decoded { rows, n_slots }
}

/// A block that may be anything: where it parses and decodes, all selections agree with the whole. Returns the whole.
fn exercise(
    decoder: &PageDecoder,
    forms: &[LevelForm],
    place: &[u8],
    rows: u32,
    input: &mut Input<'_>,
) -> Option<Rows> {
    let block = Block::parse(place, &decoder.expect(rows)).ok()?;
    let mut n_slots = rows;
    match decoder.full_zip() {
        // Rows say it one by one, and there is a slot for each item of each of them.
        Some(form) => n_slots *= form.items_per_row(),
        None => {
            let sections = LevelSections::of(&block, decoder.levels());
            for section in sections.expect("levels that were parsed") {
                let section = section.expect("a section that was parsed");
                assert_eq!(section.n_slots, n_slots, "sections follow each other");
                n_slots = section.n_below;
            }
        }
    }
    assert_eq!(n_slots, block.n_items);
    let whole = decode(decoder, forms, &block, Selection::All);
    if whole.is_ok() {
        accepted();
    }
    let start = input.below(rows as usize + 1) as u32;
    let len = input.below((rows - start) as usize + 1) as u32;
    let indices = match &whole {
        // Every index may be a giant.
        Ok(whole) if whole.n_slots > COMPARED_SLOTS_MAX => vec![rows - 1],
        Ok(_) => input.indices(rows),
        Err(_) => vec![0, rows - 1],
    };
    for selection in [
        Selection::Range { start, len },
        Selection::Indices(&indices),
    ] {
        let part = decode(decoder, forms, &block, selection);
        let Ok(whole) = &whole else { continue };
        let part = part.unwrap_or_else(|error| {
            panic!("the whole decodes, {selection:?} does not: {error}");
        });
        if whole.n_slots > COMPARED_SLOTS_MAX || part.n_slots > COMPARED_SLOTS_MAX {
            continue;
        }
        let wanted: Vec<usize> = match selection {
            Selection::Range { start, len } => (start as usize..(start + len) as usize).collect(),
            Selection::Indices(indices) => indices.iter().map(|row| *row as usize).collect(),
            Selection::All => Vec::new(),
        };
        assert_eq!(wanted.len(), part.rows.n);
        let want = whole.rows.tokens(wanted.into_iter());
        assert!(
            part.rows.tokens(0..part.rows.n) == want,
            "other rows under {selection:?}"
        );
    }
    whole.ok().map(|whole| whole.rows)
}

/// Levels and items that the input describes, encoded and decoded.
pub fn round_trip(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    if let Some((page, forms, rows)) = written(&mut input) {
        let decoder = decoder(&page.meta);
        let mut at = 0;
        for (i, n) in block_rows(&page).into_iter().enumerate() {
            let decoded = exercise(&decoder, &forms, page.block(i), n, &mut input);
            let decoded = decoded.expect("what was written decodes");
            if rows.n_slots() <= COMPARED_SLOTS_MAX {
                let want = rows.tokens(at..at + n as usize);
                assert!(decoded.tokens(0..decoded.n) == want, "other rows");
            }
            at += n as usize;
        }
        assert_eq!(at, rows.n);
    }
}

fn decoder(meta: &Meta) -> PageDecoder {
    let mut bytes = Vec::new();
    meta.write_to(&mut bytes).expect("a description");
    assert_eq!(Meta::parse(&bytes).as_ref(), Ok(meta));
    PageDecoder::new(tarsia::registry(), meta, &[]).expect("decoders of a page")
}

/// A page that the input describes, of trees without shared buffers, and what is in it.
fn written(input: &mut Input<'_>) -> Option<(EncodedPage, Vec<LevelForm>, Rows)> {
    let mut forms = forms(input);
    let value_type = *input.pick(&TYPES);
    let rows = 1 + input.below(ROWS_MAX);
    let (levels, n_items) = levels(input, &forms, rows);
    if n_items > 16 * ITEMS_MAX {
        return None;
    }
    forms.truncate(levels.len());
    let case = items(input, value_type, n_items);
    let validity: Vec<bool> = match input.below(4) {
        0 => vec![true; n_items],
        1 => vec![false; n_items],
        2 => {
            let step = 1 + input.below(50);
            (0..n_items).map(|i| !i.is_multiple_of(step)).collect()
        }
        _ => (0..n_items).map(|i| (i / 9).is_multiple_of(2)).collect(),
    };
    let page = encode(&levels, rows, &case, &validity, input)?;
    if !page.shared.is_empty() {
        return None;
    }
    let value = |i: usize| match case.values() {
        Values::Bits(bits) => vec![u8::from(bits.get(i))],
        Values::Fixed(fixed) => fixed.get(i).to_vec(),
        Values::Bytes(strings) => strings.get(i).to_vec(),
    };
    let items = (0..n_items)
        .map(|i| validity[i].then(|| value(i)))
        .collect();
    let rows = Rows {
        n: rows,
        levels,
        items,
    };
    Some((page, forms, rows))
}

/// Exactly `n` values: those of the input again and again.
fn items(input: &mut Input<'_>, value_type: ValueType, n: usize) -> Case {
    let case = input.values(value_type, n.min(2000));
    let len = case.len().max(1);
    match (case.values(), value_type) {
        (Values::Bits(bits), _) => {
            let bit = |i: usize| !bits.is_empty() && bits.get(i % len);
            Case::bits("items", &(0..n).map(bit).collect::<Vec<_>>())
        }
        (Values::Fixed(fixed), ValueType::Fixed(width)) => {
            let zeros = vec![0; width as usize];
            let value = |i: usize| match fixed.is_empty() {
                true => &zeros[..],
                false => fixed.get(i % len),
            };
            let bytes = (0..n).flat_map(|i| value(i).iter().copied()).collect();
            Case::fixed("items", width as usize, n, bytes)
        }
        (Values::Bytes(strings), _) => {
            // Long strings again and again would only take long.
            let value = |i: usize| match strings.is_empty() || i >= 4 * len {
                true => &b"x"[..],
                false => strings.get(i % len),
            };
            Case::strings("items", &(0..n).map(value).collect::<Vec<_>>())
        }
        (Values::Fixed(_), _) => Case::fixed("items", 0, n, vec![]),
    }
}

/// A page, and what says how it changes: chosen first, so that short inputs, too, change something else each.
fn to_change(bytes: &[u8]) -> Option<(EncodedPage, Vec<LevelForm>, Input<'_>)> {
    let mut input = Input::new(bytes);
    let changes = input.take(24);
    let (page, forms, _) = written(&mut input)?;
    Some((page, forms, Input::new(changes)))
}

/// Changed blocks: bytes anywhere, and the fields of the header made to fit now and then.
pub fn block(bytes: &[u8]) {
    let Some((page, forms, mut input)) = to_change(bytes) else {
        return;
    };
    let decoder = decoder(&page.meta);
    let (place, n_rows) = changed_block(&page, &mut input);
    exercise(&decoder, &forms, &place, n_rows, &mut input);
}

/// The same blocks by the inside of a kernel: the rows, or the refusal, of the decoders that it is made of.
pub fn kernel(bytes: &[u8]) {
    let Some((page, forms, mut input)) = to_change(bytes) else {
        return;
    };
    let decoder = decoder(&page.meta);
    let (place, n_rows) = match input.below(3) {
        0 => (page.block(0).to_vec(), block_rows(&page)[0]),
        _ => changed_block(&page, &mut input),
    };
    let by_kernel = decode_by_kernel(&page.meta, &forms, &place, decoder.value_type());
    // The kernel asks no block table how many rows there are to be.
    let Ok(block) = Block::parse(&place, &decoder.expect(n_rows)) else {
        return;
    };
    let native = decode(&decoder, &forms, &block, Selection::All);
    match (native, by_kernel) {
        (Ok(native), Some(decoded)) => {
            accepted();
            assert_eq!(native.n_slots, decoded.n_slots, "slots by the kernel");
            let (native, decoded) = (native.rows, decoded.rows);
            if native.n_slots() > 0 {
                let same = native.tokens(0..native.n) == decoded.tokens(0..decoded.n);
                assert!(same, "other rows by the kernel");
            }
        }
        (Err(_), None) => {}
        (Ok(_), None) => panic!("only the kernel refuses the block"),
        (Err(error), Some(_)) => panic!("only the kernel takes the block: {error}"),
    }
}

/// A kernel's memory, from this address on.
struct KernelMemory<'a>(&'a [u8]);

const KERNEL_BASE: u32 = 4096;

impl Memory for KernelMemory<'_> {
    fn bytes(&self, address: u32, len: u32) -> Option<&[u8]> {
        let start = address.checked_sub(KERNEL_BASE)? as usize;
        self.0.get(start..start.checked_add(len as usize)?)
    }
}

/// All rows of a block as a kernel's host has them in the end; `None` where the kernel refuses.
fn decode_by_kernel(
    meta: &Meta,
    forms: &[LevelForm],
    place: &[u8],
    value_type: ValueType,
) -> Option<Decoded> {
    let mut meta_bytes = Vec::new();
    meta.write_to(&mut meta_bytes).expect("a description");
    let mut guest = Guest::new(tarsia_kernel_core::registry());
    let mut request = RequestWriter::default();
    assert!(request.entry(tag::META, &[&meta_bytes]));
    request.input(KERNEL_BASE, place.len() as u32, 0);
    request.wide(tag::LIMITS, u64::MAX);
    request.word(tag::BATCH_ROWS, u32::MAX);
    let memory = KernelMemory(place);
    let reader = guest.init(&memory, request.bytes()).ok()?;
    // No rows are no batch.
    let token = guest.decode(&memory, reader).ok()??;
    let batch = guest.batch(token).expect("a batch");
    let description = BatchDescription::parse(batch.description()).expect("a description");
    let (leaf, above) = description.nodes.split_last().expect("items");
    let mut buffers = batch.buffers().into_iter();
    let mut levels = Vec::new();
    for node in above {
        let form = match node.layout {
            LAYOUT_VALIDITY => DecodedForm::Validity(buffers.next().expect("bits")),
            LAYOUT_ENDS => DecodedForm::Ends(buffers.next().expect("ends").as_chunks().0),
            _ => DecodedForm::ConstantLength,
        };
        let n_slots = node.length as usize;
        levels.push(DecodedSlots { n_slots, form });
    }
    let n_items = leaf.length as usize;
    let validity = buffers.next().expect("validity");
    let offsets = match value_type {
        ValueType::Bytes => buffers.next().expect("offsets"),
        _ => &[],
    };
    let items = DecodedRows {
        rows: n_items,
        validity,
        offsets,
        values: buffers.next().expect("values"),
    };
    let budget = Budget::new(u64::MAX);
    let mut take = AlignedBuf::zeroed;
    let mut raw_levels = RawLevels::new(forms.iter().copied(), &budget);
    let n_rows = description.rows as usize;
    raw_levels
        .push_decoded(n_rows, &levels, value_type, n_items, &mut take)
        .expect("levels that fit");
    let mut raw = RawColumn::new(value_type, 0, 0, &mut take).expect("no room");
    raw.reserve(n_items, items.values.len(), &mut take)
        .expect("room");
    raw.push_decoded(&items, &mut take).expect("items that fit");
    Some(rows_of(n_rows, raw_levels, &raw.finish(), value_type))
}

/// A block of a page with some bytes changed, and the rows that a block table gives it.
fn changed_block(page: &EncodedPage, input: &mut Input<'_>) -> (Vec<u8>, u32) {
    let rows = block_rows(page);
    let number = input.below(rows.len());
    let mut place = page.block(number).to_vec();
    let mut n_rows = rows[number];
    for _ in 0..1 + input.below(3) {
        match input.below(7) {
            // The levels' own headers are at the front of the payload; and a window of it, wherever it is.
            0 | 1 => {
                let at = BLOCK_HEADER_BYTES.min(place.len());
                input.overwrite(&mut place[at..]);
            }
            5 | 6 => {
                let at = BLOCK_HEADER_BYTES.min(place.len());
                let at = at + input.below(place.len() - at);
                let end = place.len().min(at + 40);
                input.overwrite(&mut place[at..end]);
            }
            2 => input.overwrite(&mut place),
            3 => {
                let kept = BLOCK_HEADER_BYTES + input.below(place.len() - BLOCK_HEADER_BYTES + 1);
                place.truncate(kept);
            }
            _ => {
                n_rows = 1 + input.below(ROWS_MAX) as u32;
                place[8..12].copy_from_slice(&n_rows.to_le_bytes());
                place[12..16].copy_from_slice(&n_rows.to_le_bytes());
            }
        }
    }
    if input.one_in(4) && place.len() >= BLOCK_HEADER_BYTES {
        let payload = (place.len() - BLOCK_HEADER_BYTES) as u32;
        place[24..28].copy_from_slice(&payload.to_le_bytes());
    }
    (place, n_rows)
}

/// A few trees of the table's encodings that need no shared buffers.
fn some_trees(value_type: ValueType, input: &mut Input<'_>) -> Vec<Tree> {
    let mut rng = Rng::new(input.u64());
    let registry = tarsia::registry();
    let made = (0..3).filter_map(|_| random_tree(registry, value_type, 2, &mut rng));
    let mut trees: Vec<Tree> = made
        .map(|(tree, _)| tree)
        .filter(|tree| {
            let mut shared = 0;
            tree.visit(&mut |node| shared += node.shared.len());
            shared == 0
        })
        .collect();
    trees.extend(any_tree(registry, value_type));
    trees
}

/// Descriptions and payloads made up level by level: each section says what it likes of its slots, mostly so that
/// counts add up.
pub fn levels_made_up(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let forms = forms(&mut input);
    let value_type = *input.pick(&TYPES);
    let of_bits = some_trees(ValueType::Bits, &mut input);
    let of_lengths = some_trees(ValueType::Fixed(4), &mut input);
    let (bits, numbers) = (|| of_bits.clone(), || of_lengths.clone());
    let level = |form: &LevelForm| match form {
        LevelForm::Validity if input.one_in(4) => Level::AllValid,
        LevelForm::Validity => Level::Validity(bits()),
        LevelForm::Lengths if input.one_in(4) => Level::ConstantLength(input.number() as u32),
        LevelForm::Lengths => Level::Lengths(numbers()),
        LevelForm::ConstantLength(length) => Level::ConstantLength(*length),
    };
    let levels: Vec<Level> = forms.iter().map(level).collect();
    let has_validity = input.one_in(2);
    let layers = has_validity.then(|| Layer {
        kind: LayerKind::ItemValidity,
        trees: bits(),
    });
    let meta = Meta {
        layout: Layout::MiniBlock,
        value_type: Some(value_type),
        compact: input.one_in(2),
        levels,
        layers: layers.into_iter().collect(),
        trees: some_trees(value_type, &mut input),
        shared: vec![],
    };
    let decoder = decoder(&meta);
    let rows = match input.below(3) {
        0 => 1,
        _ => 1 + input.below(ROWS_MAX) as u32,
    };
    let mut payload = vec![0; 8];
    if input.one_in(4) {
        // A row may decode to a multiple of its payload.
        let padding = 8 * input.below(2000);
        payload[..4].copy_from_slice(&(padding as u32).to_le_bytes());
        payload.resize(8 + padding, 0);
    }
    let mut n: u64 = rows.into();
    for level in &meta.levels {
        n = section(level, n, &mut payload, &mut input);
    }
    let mut null_count = 0;
    if has_validity {
        let (tree, body) = match input.below(4) {
            0 => (255, vec![]),
            1 | 2 => {
                null_count = n;
                (254, vec![])
            }
            _ => {
                null_count = input.number() % n.saturating_add(1);
                (input.u8() % 4, encoded(n.div_ceil(8), &mut input))
            }
        };
        payload.extend_from_slice(&[tree, 0, 0, 0]);
        payload.extend_from_slice(&(body.len() as u32).to_le_bytes());
        payload.extend_from_slice(&body);
        payload.resize(payload.len().next_multiple_of(8), 0);
    }
    let n_values = if meta.compact {
        n - null_count.min(n)
    } else {
        n
    };
    let decoded_bytes = match value_type {
        ValueType::Bits => n_values.div_ceil(8),
        ValueType::Fixed(width) => n_values.saturating_mul(width.into()),
        ValueType::Bytes => input.number() % 1000,
    };
    let value_tree = (input.u8() as usize % meta.trees.len()) as u8;
    payload.extend(encoded(decoded_bytes, &mut input));
    let mut place = vec![0; BLOCK_HEADER_BYTES];
    place[4] = value_tree;
    for (at, field) in [
        (8, rows),
        (12, rows),
        (16, n_values as u32),
        (20, decoded_bytes as u32),
        (24, payload.len() as u32),
        (28, null_count as u32),
    ] {
        place[at..at + 4].copy_from_slice(&field.to_le_bytes());
    }
    place.extend(payload);
    if input.one_in(4) {
        input.overwrite(&mut place);
    }
    exercise(&decoder, &forms, &place, rows, &mut input);
}

/// Bytes for something encoded: as many as plain values take where they are few, else a few of the input's.
fn encoded(plain_bytes: u64, input: &mut Input<'_>) -> Vec<u8> {
    match input.below(4) {
        0 | 1 if plain_bytes <= 4096 => vec![0; plain_bytes as usize],
        2 if plain_bytes <= 4096 => {
            let mut bytes = input.take(plain_bytes as usize).to_vec();
            bytes.resize(plain_bytes as usize, 0);
            bytes
        }
        _ => {
            let len = input.below(40);
            input.take(len).to_vec()
        }
    }
}

/// Appends the section of a level of `n` slots; returns how many it says are below.
fn section(level: &Level, n: u64, payload: &mut Vec<u8>, input: &mut Input<'_>) -> u64 {
    let (tree, body, below) = match level {
        Level::AllValid => return n,
        Level::ConstantLength(length) => return n.saturating_mul((*length).into()),
        Level::Validity(_) => match input.below(4) {
            0 => (255, vec![], n),
            1 => (254, vec![], 0),
            2 => {
                // Bits of which the first are set, as plain ones.
                let below = input.below(n.min(4096) as usize + 1) as u64;
                let bits = (0..n.min(1 << 16) as usize).map(|i| (i as u64) < below);
                (2, pack(bits), below)
            }
            _ => {
                let below = input.number() % n.saturating_add(1);
                (input.u8() % 4, encoded(n.div_ceil(8), input), below)
            }
        },
        Level::Lengths(_) => match input.below(4) {
            0 | 1 => {
                let length = match input.below(4) {
                    3 => input.number() as u32,
                    length => length as u32,
                };
                let body = length.to_le_bytes().to_vec();
                (253, body, n.saturating_mul(length.into()))
            }
            2 => {
                let lengths: Vec<u32> = (0..n.min(4096))
                    .map(|_| u32::from(input.u8() % 4))
                    .collect();
                let below = lengths.iter().map(|length| u64::from(*length)).sum();
                let body = lengths.iter().flat_map(|length| length.to_le_bytes());
                (0, body.collect(), below)
            }
            _ => (
                input.u8() % 4,
                encoded(n.saturating_mul(4), input),
                input.number(),
            ),
        },
    };
    payload.extend_from_slice(&[tree, 0, 0, 0]);
    payload.extend_from_slice(&(body.len() as u32).to_le_bytes());
    payload.extend_from_slice(&(below as u32).to_le_bytes());
    payload.extend_from_slice(&[0; 4]);
    payload.extend_from_slice(&body);
    payload.resize(payload.len().next_multiple_of(8), 0);
    below
}
