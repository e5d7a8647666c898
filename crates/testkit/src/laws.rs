//! The laws of encodings. [`check_encoding`] checks them for one tree and one page of values; [`check_cases`] for many.
//!
//! | law | in words |
//! |---|---|
//! | round trip | every selection of every unit equals the same selection of the values |
//! | outputs | bits at any offset leave their neighbours alone; string ends start at any base |
//! | reach | a range decodes from the bytes that [`Decoder::reach`] names alone |
//! | size | a unit has at most `encoded_bytes_max` bytes, and encoding appends |
//! | determinism | encoding again, or after a fresh `prepare`, gives the same bytes |
//! | slices | values inside a larger buffer encode to the same bytes |
//! | memory | once its scratch is warm, decoding allocates nothing; hostile bytes allocate within a bound |
//! | erasure | under a tree that says [`EraseFit::Always`] survivors never need more bytes |
//! | corrupt | every proper prefix, and a unit with a byte too many, is refused; mutated bytes and parameters never panic |
//! | misuse | selections and outputs that do not fit are refused |
//!
//! A broken law panics and names the tree, the values and the step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tarsia_codec::{
    AlignedBuf, BitSlice, BytesSlice, Decoder, Encoding, EraseFit, Error, ErrorKind, FixedSlice,
    Node, Output, OwnedValues, PageEncoder, Reach, Reader, Registry, Result, Scratch, Selection,
    Shared, Tree, Unit, ValueType, Values, build_decoder, build_encoder, limits,
};

pub use crate::cases::{Case, CaseValues, bits_cases, bytes_cases, cases, fixed_cases};
use crate::memory;
use crate::rng::Rng;

/// One tree and one page of values to check it with.
#[derive(Clone, Copy)]
pub struct LawCase<'a> {
    /// Names the values in messages.
    pub name: &'a str,
    /// Knows the decoders and encoders of the tree.
    pub registry: &'a Registry,
    /// The tree, its parameters fit for the values.
    pub tree: &'a Tree,
    /// All values of the page; at most [`limits::BLOCK_VALUES_MAX`], since they are also encoded as one block.
    pub values: Values<'a>,
    /// Shared buffers that exist before encoding. Where this is empty, those the encoder makes are used.
    pub shared: &'a [Arc<OwnedValues>],
    /// Seed of cuts, selections and mutations.
    pub seed: u64,
    /// A proper prefix of a unit may be a unit too (only checked not to panic then).
    pub prefix_may_be_legal: bool,
    /// A unit with a byte appended may be a unit too (only checked not to panic then).
    pub suffix_may_be_legal: bool,
}

impl<'a> LawCase<'a> {
    /// A case without existing shared buffers and without exceptions to the laws.
    pub fn new(name: &'a str, registry: &'a Registry, tree: &'a Tree, values: Values<'a>) -> Self {
        Self {
            name,
            registry,
            tree,
            values,
            shared: &[],
            seed: 0x7a25_1a00,
            prefix_may_be_legal: false,
            suffix_may_be_legal: false,
        }
    }
}

/// Checks one tree with all `cases`.
///
/// # Panics
/// Where a law is broken.
pub fn check_cases(registry: &Registry, tree: &Tree, cases: &[Case]) {
    check_cases_with(registry, cases, |_| Some(tree.clone()));
}

/// Checks each case with the tree that `tree_of` makes for it; a case for which it makes none is left out.
///
/// # Panics
/// Where a law is broken, or where no case is left.
pub fn check_cases_with(
    registry: &Registry,
    cases: &[Case],
    mut tree_of: impl FnMut(&Case) -> Option<Tree>,
) {
    let mut n_checked = 0;
    for case in cases {
        if let Some(tree) = tree_of(case) {
            check_encoding(&LawCase::new(&case.name, registry, &tree, case.values()));
            n_checked += 1;
        }
    }
    assert!(
        n_checked > 0,
        "no case was checked: the tree function left out all of them"
    );
}

/// Checks all laws for one tree and one page of values.
///
/// # Panics
/// Where a law is broken.
pub fn check_encoding(case: &LawCase<'_>) {
    let context = format!(
        "{} of {:?} as {}",
        case.name,
        case.values.value_type(),
        case.tree
    );
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| Laws::new(*case).check_all())) {
        panic!("[{context}] {}", panic_text(&*panic));
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (None, Some(text)) => (*text).to_owned(),
        (None, None) => "a panic without text".to_owned(),
    }
}

/// A prepared case.
struct Laws<'a> {
    case: LawCase<'a>,
    value_type: ValueType,
    encoder: Box<dyn PageEncoder>,
    /// Prepared once more from the same values.
    fresh: Box<dyn PageEncoder>,
    /// What readers are given.
    shared: Vec<Arc<OwnedValues>>,
    decoder: Box<dyn Decoder>,
    rng: Rng,
}

impl<'a> Laws<'a> {
    fn new(case: LawCase<'a>) -> Self {
        let n = case.values.len();
        assert!(
            n <= limits::BLOCK_VALUES_MAX as usize,
            "{n} values do not fit one block"
        );
        let encoder = prepare(&case, case.values);
        let shared = match case.shared {
            [] => encoder.shared(),
            given => given.to_vec(),
        };
        let value_type = case.values.value_type();
        let decoder = build_decoder(
            case.registry,
            case.tree,
            value_type,
            Shared { buffers: &shared },
        )
        .unwrap_or_else(|error| panic!("init refused what was written: {error}"));
        let mut laws = Self {
            case,
            value_type,
            encoder,
            fresh: prepare(&case, case.values),
            shared,
            decoder,
            rng: Rng::new(case.seed),
        };
        laws.rng.u64();
        laws
    }

    fn check_all(&mut self) {
        let n = self.case.values.len();
        self.check_tree();
        let whole = self.check_block(0, n);
        for (start, end) in self.cuts(n) {
            self.check_block(start, end);
        }
        self.check_ranges_beyond();
        self.check_slices();
        self.check_erasure(0, n, whole.len());
        // Corruption is checked on the whole (its first and last bytes) and thoroughly on a short block.
        let start = self.rng.below(n.saturating_sub(200).max(1));
        let end = (start + self.rng.between(1, 200)).min(n);
        let short = self.encode(start, end);
        self.check_corrupt(start, end, &short);
        if end - start < n {
            self.check_corrupt(0, n, &whole);
        }
        self.check_hostile_trees(start, end, &short);
    }

    fn slice(&self, start: usize, end: usize) -> Values<'a> {
        self.case.values.slice(start..end)
    }

    fn encode(&self, start: usize, end: usize) -> Vec<u8> {
        encode_with(&*self.encoder, self.case.values, start, end)
    }

    /// Ranges of the page to encode as blocks: around multiples of 1,024 and random.
    fn cuts(&mut self, n: usize) -> Vec<(usize, usize)> {
        let mut cuts = vec![(0, 0), (n, n)];
        if n > 0 {
            cuts.extend([(0, 1), (n - 1, n), (n / 2, n)]);
            for _ in 0..3 {
                let start = self.rng.below(n);
                cuts.push((start, self.rng.between(start, n)));
            }
        }
        if n > 1100 {
            cuts.extend([(0, 1024), (1, 1025), (n - 1024, n)]);
        }
        cuts
    }

    /// The tree survives its layout, and every node is one that `check` and the list of features know.
    fn check_tree(&self) {
        let mut bytes = vec![];
        self.case
            .tree
            .write_to(&mut bytes)
            .expect("the tree can be written");
        let parsed = Tree::parse(&mut Reader::new(&bytes)).expect("the tree can be read");
        assert_eq!(
            &parsed, self.case.tree,
            "the tree changed on its way through its layout"
        );
        self.visit_nodes(self.case.tree, self.value_type, &mut |encoding, node| {
            let features = encoding.check(node);
            assert!(
                features.is_ok(),
                "check of {} refused: {features:?}",
                encoding.id()
            );
            assert_eq!(
                features,
                encoding.check(node),
                "check of {} varies",
                encoding.id()
            );
        });
    }

    fn visit_nodes(
        &self,
        tree: &Tree,
        value_type: ValueType,
        visit: &mut dyn FnMut(&dyn Encoding, &Node<'_>),
    ) {
        let encoding = self.case.registry.encoding(tree).expect("a known encoding");
        let node = Node {
            value_type,
            params: &tree.params,
        };
        visit(encoding, &node);
        let types = encoding.child_types(&node).expect("types of the children");
        assert_eq!(
            types.len(),
            tree.children.len(),
            "{}: number of children",
            tree.id
        );
        for (child, child_type) in tree.children.iter().zip(types) {
            self.visit_nodes(child, child_type, visit);
        }
    }

    /// All laws of one block but those about corruption; returns its unit.
    fn check_block(&mut self, start: usize, end: usize) -> Vec<u8> {
        let values = self.slice(start, end);
        let encoded = self.encode(start, end);
        let at = format!("block {start}..{end}");

        let max = self
            .case
            .registry
            .encoded_bytes_max(
                self.case.tree,
                self.value_type,
                values.len() as u64,
                values.decoded_bytes(),
            )
            .expect("an upper bound");
        assert!(
            encoded.len() as u64 <= max,
            "{at}: {} bytes exceed encoded_bytes_max = {max}",
            encoded.len()
        );
        assert!(
            encoded == self.encode(start, end),
            "{at}: encoding twice differs"
        );
        assert!(
            encoded == encode_with(&*self.fresh, self.case.values, start, end),
            "{at}: encoding after a fresh prepare differs"
        );

        let mut scratch = Scratch::new();
        let unit = unit_of(&encoded, values);
        for selection in self.selections(values.len()) {
            let seed = self.rng.u64();
            let expected = Expected::new(values, &selection.as_selection(), seed);
            let got = decode(
                &*self.decoder,
                unit,
                &selection.as_selection(),
                &expected,
                &mut scratch,
            );
            let what = format!("{at}, {}", selection.describe());
            expected.compare(got, &what);
        }
        self.check_reach(unit, values, &at);
        self.check_strings(unit, values, &at);
        self.check_warm(unit, values, &at);
        self.check_misuse(unit, values, &at);
        encoded
    }

    /// What is not within reach of a range need not be there.
    fn check_reach(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        let n = values.len();
        let mut scratch = Scratch::new();
        let mut ranges = vec![0..n, 0..1.min(n), n.saturating_sub(1)..n];
        for _ in 0..4 {
            let start = self.rng.below(n + 1);
            ranges.push(start..start + self.rng.below(n - start + 1));
        }
        for range in ranges {
            let range = range.start as u32..range.end as u32;
            let at = format!("{at}, reach of {range:?}");
            let mut known = vec![0; unit.bytes.len()];
            let mut front = 0;
            let with = |known: &mut [u8], bytes: std::ops::Range<usize>| {
                known[bytes.clone()].copy_from_slice(&unit.bytes[bytes]);
            };
            loop {
                let part = Unit {
                    bytes: &known,
                    ..unit
                };
                let reach = self.decoder.reach(part, front, range.clone(), &mut scratch);
                match reach.unwrap_or_else(|error| panic!("{at}: {error}")) {
                    Reach::Front(more) => {
                        assert!(more > front && more <= unit.bytes.len(), "{at}: {more}");
                        front = more;
                        with(&mut known, 0..front);
                    }
                    Reach::Bytes {
                        place,
                        decoded_bytes,
                    } => {
                        with(&mut known, place);
                        if let Values::Bytes(_) = values {
                            let range = range.start as usize..range.end as usize;
                            let exact = values.slice(range).decoded_bytes();
                            assert!(decoded_bytes >= exact, "{at}: {decoded_bytes} bytes");
                        }
                        break;
                    }
                    Reach::All => {
                        with(&mut known, 0..unit.bytes.len());
                        break;
                    }
                }
            }
            let part = Unit {
                bytes: &known,
                ..unit
            };
            let selection = Selection::from(&range);
            let expected = Expected::new(values, &selection, self.rng.u64());
            let got = decode(&*self.decoder, part, &selection, &expected, &mut scratch);
            expected.compare(got, &at);
        }
    }

    /// Byte strings that are said to lie in the unit as they are do.
    fn check_strings(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        let strings = self.decoder.strings(unit);
        let Some(strings) = strings.unwrap_or_else(|error| panic!("{at}, strings: {error}")) else {
            return;
        };
        let Values::Bytes(expected) = values else {
            panic!("{at}: strings in a unit of other values");
        };
        assert_eq!(strings.unit.len as usize, expected.len(), "{at}, strings");
        let mut lengths = AlignedBuf::zeroed(4 * expected.len());
        let (all, out) = (Selection::All, Output::Fixed(&mut lengths));
        let done = strings
            .lengths
            .decode(strings.unit, all, &mut Scratch::new(), out);
        done.unwrap_or_else(|error| panic!("{at}, lengths: {error}"));
        let mut rest = &unit.bytes[strings.data];
        for (i, length) in lengths.as_chunks::<4>().0.iter().enumerate() {
            let (value, after) = rest.split_at(u32::from_le_bytes(*length) as usize);
            assert_eq!(value, expected.get(i), "{at}, string {i}");
            rest = after;
        }
        assert!(rest.is_empty(), "{at}: bytes behind the strings");
    }

    /// Decoding allocates nothing but through its scratch.
    fn check_warm(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        let n = values.len() as u32;
        let some: Vec<u32> = (0..n).step_by(7).collect();
        for selection in [
            Selection::All,
            Selection::Range {
                start: n / 3,
                len: n / 2,
            },
            Selection::Indices(&some),
        ] {
            let mut scratch = Scratch::new();
            let mut buffers = Buffers::new(&Expected::new(values, &selection, 0));
            // Scratch hands out the buffer that came back last, so sizes settle after a few rounds.
            for _ in 0..8 {
                let done = self
                    .decoder
                    .decode(unit, selection, &mut scratch, buffers.output());
                assert!(done.is_ok(), "{at}: {done:?}");
            }
            let (done, allocated) = memory::measure(|| {
                self.decoder
                    .decode(unit, selection, &mut scratch, buffers.output())
            });
            assert!(done.is_ok(), "{at}: {done:?}");
            assert_eq!(
                allocated.n_allocations, 0,
                "{at}, {selection:.60?}: decoding with a warm scratch allocates {allocated:?}",
            );
        }
    }

    /// Selections and outputs that do not fit are the caller's error.
    fn check_misuse(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        let n = values.len() as u32;
        let all = Expected::new(values, &Selection::All, 1);
        let mut scratch = Scratch::new();
        let mut bad = vec![
            (Selection::Range { start: n, len: 1 }, 1),
            (Selection::Range { start: 1, len: n }, n),
            (
                Selection::Range {
                    start: u32::MAX,
                    len: 2,
                },
                2,
            ),
            (Selection::Indices(std::slice::from_ref(&unit.len)), 1),
            (Selection::Indices(&[u32::MAX]), 1),
        ];
        if n > 1 {
            bad.push((Selection::Indices(&[1, 0]), 2));
        }
        for (selection, n_selected) in bad {
            let mut buffers = Buffers::for_values(self.value_type, n_selected as usize, 64);
            let got = self
                .decoder
                .decode(unit, selection, &mut scratch, buffers.output());
            assert!(
                got.is_err(),
                "{at}: {selection:?} of {n} values was not refused"
            );
        }
        let mut wrong = vec![];
        match self.value_type {
            ValueType::Bits => {
                wrong.push(Buffers::for_values(ValueType::Fixed(1), n as usize, 0));
                if n > 0 {
                    wrong.push(
                        Buffers::for_values(ValueType::Bits, n as usize - 1, 0)
                            .with_bit_offset(usize::MAX),
                    );
                }
            }
            ValueType::Fixed(width) => {
                wrong.push(Buffers::for_values(ValueType::Bits, n as usize, 0));
                if width > 0 {
                    wrong.push(Buffers::for_values(self.value_type, n as usize + 1, 0));
                }
            }
            ValueType::Bytes => {
                wrong.push(Buffers::for_values(ValueType::Fixed(4), n as usize, 0));
                wrong.push(Buffers::for_values(
                    self.value_type,
                    n as usize + 1,
                    all.data_bytes(),
                ));
                if all.data_bytes() > 0 {
                    wrong.push(Buffers::for_values(
                        self.value_type,
                        n as usize,
                        all.data_bytes() - 1,
                    ));
                }
            }
        }
        for mut buffers in wrong {
            let text = buffers.describe();
            let got = self
                .decoder
                .decode(unit, Selection::All, &mut scratch, buffers.output());
            assert!(
                got.is_err(),
                "{at}: an output of {text} for {n} values was not refused"
            );
        }
    }

    /// Encoding refuses ranges that the page does not have.
    fn check_ranges_beyond(&self) {
        let n = self.case.values.len();
        for range in [n..n + 1, 0..n + 1, n + 1..n + 2, usize::MAX - 1..usize::MAX] {
            let mut out = vec![];
            let got = self
                .encoder
                .encode(self.case.values, range.clone(), &mut out);
            assert!(
                got.is_err(),
                "encoding {range:?} of {n} values was not refused"
            );
        }
    }

    /// Values inside a larger buffer, at another alignment and bit offset, encode to the same bytes.
    fn check_slices(&mut self) {
        let values = self.case.values;
        let n = values.len();
        let expected = self.encode(0, n);
        for before in [1usize, 3, 13] {
            let check = |moved: Values<'_>| {
                let encoder = prepare(&self.case, moved);
                let got = encode_with(&*encoder, moved, 0, n);
                assert!(
                    got == expected,
                    "values at offset {before} of a larger buffer encode differently"
                );
            };
            match values {
                Values::Bits(bits) => {
                    let mut larger = self.rng.bytes((before + n).div_ceil(8) + 2);
                    for i in 0..n {
                        set_bit(&mut larger, before + i, bits.get(i));
                    }
                    let all = BitSlice::new(&larger, 0, larger.len() * 8).expect("bits");
                    check(Values::Bits(all.slice(before..before + n)));
                }
                Values::Fixed(fixed) => {
                    let mut larger = self.rng.bytes(before);
                    larger.extend_from_slice(fixed.bytes());
                    larger.extend(self.rng.bytes(9));
                    let inside = &larger[before..before + fixed.bytes().len()];
                    check(Values::Fixed(
                        FixedSlice::new(inside, fixed.width(), n).expect("values"),
                    ));
                }
                Values::Bytes(strings) => {
                    let mut larger = self.rng.bytes(before);
                    let mut offsets = vec![0; before];
                    offsets.push(before as u32);
                    for i in 0..n {
                        larger.extend_from_slice(strings.get(i));
                        offsets.push(larger.len() as u32);
                    }
                    larger.extend(self.rng.bytes(9));
                    offsets.push(larger.len() as u32);
                    let all = BytesSlice::new(&offsets, &larger).expect("strings");
                    check(Values::Bytes(all.slice(before..before + n)));
                }
            }
        }
    }

    /// Survivors of an erasure, encoded alone with the page's tree and shared buffers, decode with the page's decoder
    /// and fit into the old place where the tree promises it.
    fn check_erasure(&mut self, start: usize, end: usize, old_bytes: usize) {
        let mut fits = true;
        self.visit_nodes(self.case.tree, self.value_type, &mut |encoding, node| {
            fits &= encoding.erase_fit(node) == EraseFit::Always;
        });
        let values = self.slice(start, end);
        for percent in [0, 3, 50, 97] {
            let kept: Vec<usize> = (0..values.len())
                .filter(|_| self.rng.percent(percent))
                .collect();
            let survivors = gather(values, &kept);
            let what = format!("{} survivors of {}", kept.len(), values.len());
            let case = LawCase {
                shared: &self.shared,
                ..self.case
            };
            let encoder = match build_encoder(
                case.registry,
                case.tree,
                survivors.values(),
                Shared {
                    buffers: case.shared,
                },
            ) {
                Ok(encoder) => encoder,
                Err(error) => panic!("{what}: prepare refused them: {error}"),
            };
            let encoded = encode_with(&*encoder, survivors.values(), 0, kept.len());
            assert!(
                !fits || encoded.len() <= old_bytes,
                "{what}: {} bytes do not fit into {old_bytes}, yet the tree promises EraseFit::Always",
                encoded.len()
            );
            let expected = Expected::new(survivors.values(), &Selection::All, 3);
            let unit = unit_of(&encoded, survivors.values());
            let got = decode(
                &*self.decoder,
                unit,
                &Selection::All,
                &expected,
                &mut Scratch::new(),
            );
            expected.compare(got, &what);
        }
    }

    /// Selections of a unit of `n` values: named ones and random ones.
    fn selections(&mut self, n: usize) -> Vec<OwnedSelection> {
        let n32 = n as u32;
        let mut all = vec![
            OwnedSelection::All,
            OwnedSelection::Range(0, 0),
            OwnedSelection::Range(n32, 0),
            OwnedSelection::Range(0, n32),
            OwnedSelection::Indices(vec![]),
        ];
        if n == 0 {
            return all;
        }
        all.push(OwnedSelection::Range(n32 - 1, 1));
        all.push(OwnedSelection::Indices(vec![0, 0, n32 - 1, n32 - 1]));
        all.push(OwnedSelection::Indices((0..n32).collect()));
        for edge in [64, 1024, 4096] {
            if n > edge + 2 {
                all.push(OwnedSelection::Range(edge as u32 - 1, 3));
                all.push(OwnedSelection::Range(edge as u32, n32 - edge as u32));
                all.push(OwnedSelection::Indices(vec![edge as u32 - 1, edge as u32]));
            }
        }
        for _ in 0..6 {
            let start = self.rng.below(n);
            let len = self.rng.between(0, n - start);
            all.push(OwnedSelection::Range(start as u32, len as u32));
        }
        for spread in [1, 3, 40, 2000] {
            let mut indices = vec![];
            let mut at = self.rng.below(spread);
            while at < n {
                indices.push(at as u32);
                // A step of zero names the value again.
                at += self.rng.below(2 * spread);
                if indices.len() > 2 * n {
                    break;
                }
            }
            all.push(OwnedSelection::Indices(indices));
        }
        all
    }

    /// Prefixes, a byte too many, and mutations of a unit.
    fn check_corrupt(&mut self, start: usize, end: usize, encoded: &[u8]) {
        let values = self.slice(start, end);
        let unit = unit_of(encoded, values);
        let at = format!("block {start}..{end} of {} bytes", encoded.len());
        // The work per attempt grows with the unit; keep the sum about constant.
        let cost = encoded.len() as u64 + values.decoded_bytes() + 4 * values.len() as u64 + 64;
        let n_attempts = ((1u64 << 21) / cost).clamp(24, 400) as usize;

        let n = encoded.len();
        let prefixes: Vec<usize> = if n <= n_attempts {
            (0..n).collect()
        } else {
            let ends = (0..n_attempts / 3).flat_map(|i| [i, n - 1 - i]);
            let random = (0..n_attempts / 3).map(|_| self.rng.below(n));
            ends.chain(random).collect()
        };
        for len in prefixes {
            let prefix = Unit {
                bytes: &encoded[..len],
                ..unit
            };
            let what = format!("{at}: its first {len} bytes");
            match self.decode_hostile(prefix, Selection::All, &what) {
                Ok(()) => assert!(self.case.prefix_may_be_legal, "{what} were not refused"),
                Err(error) => assert_bytes_to_blame(&error, &what),
            }
        }
        for byte in [0, 1, 0xff] {
            let longer = [encoded, &[byte]].concat();
            let what = format!("{at}: the byte {byte:#04x} appended");
            let longer = Unit {
                bytes: &longer,
                ..unit
            };
            match self.decode_hostile(longer, Selection::All, &what) {
                Ok(()) => assert!(self.case.suffix_may_be_legal, "{what} was not refused"),
                Err(error) => assert_bytes_to_blame(&error, &what),
            }
        }
        // The block header may lie as well. The reader has made the output before the decoder is called, so wide values
        // are not tried with a large length.
        let width = self.value_type.fixed_bytes().unwrap_or(1).max(1) as u32;
        let len_max = limits::BLOCK_VALUES_MAX.min((4 << 20) / width);
        for (len, decoded_bytes) in [
            (0, 0),
            (unit.len.saturating_add(1), unit.decoded_bytes),
            (unit.len.saturating_sub(1), unit.decoded_bytes),
            ((unit.len ^ 0x400).min(len_max), unit.decoded_bytes),
            (len_max, unit.decoded_bytes),
            (unit.len, unit.decoded_bytes.saturating_add(1)),
            (unit.len, unit.decoded_bytes.saturating_sub(1)),
            (unit.len, 0),
        ] {
            let lying = Unit {
                len,
                decoded_bytes,
                ..unit
            };
            let what = format!("{at}: a header that says {len} values, {decoded_bytes} bytes");
            let got = self.decode_hostile(lying, Selection::All, &what);
            if self.value_type == ValueType::Bytes
                && len == unit.len
                && decoded_bytes != unit.decoded_bytes
            {
                assert!(got.is_err(), "{what} was not refused");
            }
        }
        for round in 0..n_attempts {
            let mut mutated = encoded.to_vec();
            let n_mutations = 1 + round % 4;
            for _ in 0..n_mutations {
                mutate(&mut self.rng, &mut mutated);
            }
            let unit = Unit {
                bytes: &mutated,
                ..unit
            };
            let indices: Vec<u32> = (0..unit.len).step_by(5).collect();
            let range = Selection::Range {
                start: unit.len / 4,
                len: unit.len / 2,
            };
            for selection in [Selection::All, range, Selection::Indices(&indices)] {
                let what = format!("{at}: mutation {round} to {:x}", Shortened(&mutated));
                // Whether it is refused depends on the bytes; what counts happens inside.
                let _ = self.decode_hostile(unit, selection, &what);
            }
        }
    }

    fn decode_hostile(&self, unit: Unit<'_>, selection: Selection<'_>, what: &str) -> Result<()> {
        // Mutations may only shorten strings or be refused, so the header's sum is enough for rising indices.
        decode_hostile(
            &*self.decoder,
            self.value_type,
            unit,
            selection,
            unit.decoded_bytes,
            what,
        )
    }

    /// Trees with mutated parameters, wrong children and missing shared buffers: an error or a decoder, never a panic.
    fn check_hostile_trees(&mut self, start: usize, end: usize, encoded: &[u8]) {
        let unit = unit_of(encoded, self.slice(start, end));
        // Too few entries, and another type.
        let foreign = [shared_fixed(1, &[7]), shared_bits(3)];
        let mut n_nodes = 0;
        self.case.tree.visit(&mut |_| n_nodes += 1);
        for node_idx in 0..n_nodes {
            for round in 0..40 {
                let mut tree = self.case.tree.clone();
                let rng = &mut self.rng;
                change_node(&mut tree, node_idx, &mut |node| match round {
                    0 => node.children.clear(),
                    1 => node.children.extend(node.children.clone()),
                    2 => node.params.clear(),
                    _ => mutate(rng, &mut node.params),
                });
                let buffers: &[Arc<OwnedValues>] = match round % 8 {
                    5 => &[],
                    6 => &foreign[..1],
                    7 => &foreign[1..],
                    _ => &self.shared,
                };
                let what = format!("hostile tree {tree:?}, {} shared buffers", buffers.len());
                check_hostile_tree(&self.case, &tree, buffers, unit, &what);
            }
        }
        let other_types = [
            ValueType::Bits,
            ValueType::Fixed(0),
            ValueType::Fixed(3),
            ValueType::Bytes,
        ];
        for other in other_types {
            let built = catch_unwind(AssertUnwindSafe(|| {
                let shared = Shared {
                    buffers: &self.shared,
                };
                build_decoder(self.case.registry, self.case.tree, other, shared).map(|_| ())
            }));
            assert!(built.is_ok(), "init of the tree for {other:?} panicked");
        }
    }
}

fn check_hostile_tree(
    case: &LawCase<'_>,
    tree: &Tree,
    buffers: &[Arc<OwnedValues>],
    unit: Unit<'_>,
    what: &str,
) {
    let value_type = case.values.value_type();
    let shared_bytes: usize = buffers.iter().map(|buffer| buffer.memory_bytes()).sum();
    let built = catch_unwind(AssertUnwindSafe(|| {
        memory::measure(|| build_decoder(case.registry, tree, value_type, Shared { buffers }))
    }));
    let (built, allocated) =
        built.unwrap_or_else(|panic| panic!("{what}: init panicked: {}", panic_text(&*panic)));
    let bound = (1 << 20) + 16 * shared_bytes as u64;
    assert!(
        allocated.bytes <= bound,
        "{what}: init allocates {allocated:?}"
    );
    if let Ok(decoder) = built {
        // An error or values; what counts happens inside.
        let _ = decode_hostile(
            &*decoder,
            value_type,
            unit,
            Selection::All,
            unit.decoded_bytes,
            what,
        );
    }
}

/// Decodes bytes that may be bad: no panic, bounded memory, and a result that is whole where there is one.
fn decode_hostile(
    decoder: &dyn Decoder,
    value_type: ValueType,
    unit: Unit<'_>,
    selection: Selection<'_>,
    data_bytes: u32,
    what: &str,
) -> Result<()> {
    let n = selection
        .check(unit.len)
        .expect("laws select inside the unit");
    let mut buffers = Buffers::for_values(value_type, n, data_bytes as usize);
    let before = buffers.clone();
    let decoded = catch_unwind(AssertUnwindSafe(|| {
        memory::measure(|| {
            let mut scratch = Scratch::new();
            decoder.decode(unit, selection, &mut scratch, buffers.output())
        })
    }));
    let (got, allocated) = decoded
        .unwrap_or_else(|panic| panic!("{what}: decoding panicked: {}", panic_text(&*panic)));
    let reached = catch_unwind(AssertUnwindSafe(|| {
        for front in [0, unit.bytes.len() / 2, unit.bytes.len()] {
            let mut scratch = Scratch::new();
            // Whoever asks sees to it that what is named is there.
            let _ = decoder.reach(unit, front, 0..unit.len, &mut scratch);
            if let Ok(Some(strings)) = decoder.strings(unit) {
                assert!(
                    strings.data.end <= unit.bytes.len(),
                    "strings outside of a bad unit"
                );
            }
            let _ = decoder.reach(unit, front, unit.len / 2..unit.len, &mut scratch);
        }
    }));
    reached.unwrap_or_else(|panic| panic!("{what}: its reach panicked: {}", panic_text(&*panic)));
    // Children may decode the whole unit into scratch, at up to 8 bytes per value and level, rounded up to powers of two.
    let width = value_type.fixed_bytes().unwrap_or(1) as u64 + 8;
    let decoded_bytes = u64::from(unit.len) * width + u64::from(unit.decoded_bytes);
    let bound = (1 << 20) + 16 * (decoded_bytes + unit.bytes.len() as u64);
    assert!(
        allocated.bytes <= bound,
        "{what}: {allocated:?} is more than {bound} bytes"
    );
    let written = got?;
    buffers.assert_whole(&before, written, n, what);
    if value_type == ValueType::Bytes && matches!(selection, Selection::All) {
        assert_eq!(
            written, unit.decoded_bytes as usize,
            "{what}: accepted, though the strings do not add up to `decoded_bytes`"
        );
    }
    Ok(())
}

fn assert_bytes_to_blame(error: &Error, what: &str) {
    assert!(
        !matches!(error.kind(), ErrorKind::InvalidInput { .. }),
        "{what}: the caller is blamed for bad bytes: {error}"
    );
}

fn prepare(case: &LawCase<'_>, values: Values<'_>) -> Box<dyn PageEncoder> {
    let shared = Shared {
        buffers: case.shared,
    };
    build_encoder(case.registry, case.tree, values, shared)
        .unwrap_or_else(|error| panic!("prepare refused the values: {error}"))
}

fn encode_with(encoder: &dyn PageEncoder, values: Values<'_>, start: usize, end: usize) -> Vec<u8> {
    let before = b"kept";
    let mut out = before.to_vec();
    if let Err(error) = encoder.encode(values, start..end, &mut out) {
        panic!("encoding {start}..{end} failed: {error}");
    }
    assert!(
        out.starts_with(before),
        "encoding {start}..{end} changed what was in the output"
    );
    out.split_off(before.len())
}

fn unit_of<'a>(encoded: &'a [u8], values: Values<'_>) -> Unit<'a> {
    Unit {
        bytes: encoded,
        len: u32::try_from(values.len()).expect("values of a unit"),
        decoded_bytes: u32::try_from(values.decoded_bytes()).expect("bytes of a unit"),
    }
}

fn change_node(tree: &mut Tree, node_idx: usize, change: &mut dyn FnMut(&mut Tree)) {
    fn walk(tree: &mut Tree, left: &mut usize, change: &mut dyn FnMut(&mut Tree)) {
        if *left == 0 {
            change(tree);
        }
        *left = left.wrapping_sub(1);
        for child in &mut tree.children {
            walk(child, left, change);
        }
    }
    let mut left = node_idx;
    walk(tree, &mut left, change);
}

/// One random change: a bit, a byte, a removed or added stretch, a number of an interesting size.
pub fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        let len = rng.between(1, 20);
        *bytes = rng.bytes(len);
        return;
    }
    // Headers matter most and are at the front.
    let at = match rng.below(2) {
        0 => rng.below(bytes.len().min(24)),
        _ => rng.below(bytes.len()),
    };
    match rng.below(8) {
        0..3 => bytes[at] ^= 1 << rng.below(8),
        3 => bytes[at] = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
        4 => bytes[at] = rng.u8(),
        5 => bytes.truncate(at),
        6 => {
            let len = rng.between(1, 9);
            let added = rng.bytes(len);
            bytes.splice(at..at, added);
        }
        _ => {
            let number = rng
                .pick(&[u32::MAX, i32::MAX as u32, 1 << 31, 0xffff, 65_537, 0])
                .to_le_bytes();
            for (to, from) in bytes[at..].iter_mut().zip(number) {
                *to = from;
            }
        }
    }
}

fn set_bit(bytes: &mut [u8], at: usize, bit: bool) {
    bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | u8::from(bit) << (at % 8);
}

fn gather(values: Values<'_>, indices: &[usize]) -> Case {
    match values {
        Values::Bits(bits) => {
            let kept: Vec<bool> = indices.iter().map(|i| bits.get(*i)).collect();
            Case::bits("kept", &kept)
        }
        Values::Fixed(fixed) => {
            let kept: Vec<u8> = indices
                .iter()
                .flat_map(|i| fixed.get(*i))
                .copied()
                .collect();
            Case::fixed("kept", fixed.width(), indices.len(), kept)
        }
        Values::Bytes(strings) => {
            let kept: Vec<&[u8]> = indices.iter().map(|i| strings.get(*i)).collect();
            Case::strings("kept", &kept)
        }
    }
}

enum OwnedSelection {
    All,
    Range(u32, u32),
    Indices(Vec<u32>),
}

impl OwnedSelection {
    fn as_selection(&self) -> Selection<'_> {
        match self {
            Self::All => Selection::All,
            Self::Range(start, len) => Selection::Range {
                start: *start,
                len: *len,
            },
            Self::Indices(indices) => Selection::Indices(indices),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::Range(start, len) => format!("{len} values from {start}"),
            Self::Indices(indices) => {
                format!(
                    "{} indices {:?}…",
                    indices.len(),
                    &indices[..indices.len().min(8)]
                )
            }
        }
    }
}

/// Output memory of any kind. Fixed outputs are aligned or not, as the seed of the expectation says.
#[derive(Clone, PartialEq)]
enum Buffers {
    Bits {
        bytes: Vec<u8>,
        offset: usize,
        len: usize,
    },
    Fixed {
        bytes: Vec<u8>,
        start: usize,
        len: usize,
    },
    Bytes {
        ends: Vec<u32>,
        base: u32,
        data: Vec<u8>,
    },
}

impl Buffers {
    /// Poisoned memory for exactly what is expected.
    fn new(expected: &Expected) -> Self {
        match expected {
            Expected::Bits {
                before,
                offset,
                len,
                ..
            } => Self::Bits {
                bytes: before.clone(),
                offset: *offset,
                len: *len,
            },
            Expected::Fixed { bytes, misalign } => Self::fixed(bytes.len(), *misalign),
            Expected::Bytes {
                ends,
                base,
                data,
                slack,
            } => Self::Bytes {
                ends: vec![0xaaaa_aaaa; ends.len()],
                base: *base,
                data: vec![0xaa; data.len() + slack],
            },
        }
    }

    fn fixed(len: usize, misalign: usize) -> Self {
        let bytes = vec![0xaa; len + 64 + misalign];
        let start = bytes.as_ptr().align_offset(64).min(64) + misalign;
        Self::Fixed { bytes, start, len }
    }

    fn for_values(value_type: ValueType, n: usize, data_bytes: usize) -> Self {
        match value_type {
            ValueType::Bits => Self::Bits {
                bytes: vec![0xa5; (n + 3).div_ceil(8)],
                offset: 3,
                len: n,
            },
            ValueType::Fixed(width) => Self::fixed(n * width as usize, 0),
            ValueType::Bytes => Self::Bytes {
                ends: vec![0xaaaa_aaaa; n],
                base: 77,
                data: vec![0xaa; data_bytes],
            },
        }
    }

    fn with_bit_offset(self, offset: usize) -> Self {
        match self {
            Self::Bits { bytes, len, .. } => Self::Bits { bytes, offset, len },
            other => other,
        }
    }

    fn output(&mut self) -> Output<'_> {
        match self {
            Self::Bits { bytes, offset, .. } => Output::Bits {
                bytes,
                offset: *offset,
            },
            // A clone of the vector may lie elsewhere, so the start is only aligned for the original.
            Self::Fixed { bytes, start, len } => Output::Fixed(&mut bytes[*start..*start + *len]),
            Self::Bytes { ends, base, data } => Output::Bytes {
                ends,
                base: *base,
                data,
            },
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Bits { bytes, offset, .. } => {
                format!("{} bytes of bits at {offset}", bytes.len())
            }
            Self::Fixed { len, .. } => format!("{len} bytes of fixed width"),
            Self::Bytes { ends, data, .. } => {
                format!("{} ends and {} bytes", ends.len(), data.len())
            }
        }
    }

    /// After a success on bytes that may be bad: neighbours are as they were, ends rise and lie inside the data.
    fn assert_whole(&self, before: &Self, written: usize, n: usize, what: &str) {
        match (self, before) {
            (Self::Bits { bytes, offset, len }, Self::Bits { bytes: old, .. }) => {
                assert_neighbours(bytes, old, *offset, *len, what);
            }
            (Self::Bytes { ends, base, data }, _) => {
                assert_eq!(ends.len(), n, "{what}");
                assert!(
                    written <= data.len(),
                    "{what}: {written} bytes written into {}",
                    data.len()
                );
                let mut at = *base;
                for end in ends {
                    assert!(*end >= at, "{what}: ends fall: {end} after {at}");
                    at = *end;
                }
                assert_eq!(
                    (at - base) as usize,
                    written,
                    "{what}: the last end and the bytes written differ"
                );
            }
            _ => {}
        }
    }
}

fn assert_neighbours(bytes: &[u8], old: &[u8], offset: usize, len: usize, what: &str) {
    for at in (0..offset).chain(offset + len..bytes.len() * 8) {
        let bit = |bytes: &[u8]| bytes[at / 8] >> (at % 8) & 1;
        assert_eq!(
            bit(bytes),
            bit(old),
            "{what}: bit {at} outside of {offset} + {len} changed"
        );
    }
}

/// What a selection must decode to: the naive model.
enum Expected {
    Bits {
        /// The output before decoding.
        before: Vec<u8>,
        /// And afterwards.
        after: Vec<u8>,
        offset: usize,
        len: usize,
    },
    Fixed {
        bytes: Vec<u8>,
        misalign: usize,
    },
    Bytes {
        ends: Vec<u32>,
        base: u32,
        data: Vec<u8>,
        slack: usize,
    },
}

impl Expected {
    /// `seed` decides the place of the output: bit offset, alignment, base, slack. Seed 0 is the plainest.
    fn new(values: Values<'_>, selection: &Selection<'_>, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let mut pick = |choices: &[usize]| match seed {
            0 => 0,
            _ => *rng.pick(choices),
        };
        let indices: Vec<usize> = match selection {
            Selection::All => (0..values.len()).collect(),
            Selection::Range { start, len } => {
                (*start as usize..*start as usize + *len as usize).collect()
            }
            Selection::Indices(indices) => indices.iter().map(|i| *i as usize).collect(),
        };
        match values {
            Values::Bits(bits) => {
                let offset = pick(&[0, 1, 3, 7, 8, 13, 64, 129]);
                let len = indices.len();
                let before =
                    Rng::new(seed ^ 1).bytes((offset + len).div_ceil(8) + pick(&[0, 1, 9]));
                let mut after = before.clone();
                for (i, index) in indices.iter().enumerate() {
                    set_bit(&mut after, offset + i, bits.get(*index));
                }
                Self::Bits {
                    before,
                    after,
                    offset,
                    len,
                }
            }
            Values::Fixed(fixed) => Self::Fixed {
                bytes: indices
                    .iter()
                    .flat_map(|i| fixed.get(*i))
                    .copied()
                    .collect(),
                misalign: pick(&[0, 0, 1, 4, 8]),
            },
            Values::Bytes(strings) => {
                let base = pick(&[0, 1, 1000, 1 << 30]) as u32;
                let mut data = vec![];
                let mut ends = vec![];
                for i in indices {
                    data.extend_from_slice(strings.get(i));
                    ends.push(base + data.len() as u32);
                }
                Self::Bytes {
                    ends,
                    base,
                    data,
                    slack: pick(&[0, 0, 1, 64]),
                }
            }
        }
    }

    fn data_bytes(&self) -> usize {
        match self {
            Self::Bytes { data, .. } => data.len(),
            _ => 0,
        }
    }

    fn compare(&self, got: Result<(usize, Buffers)>, what: &str) {
        let (written, buffers) = match got {
            Ok(got) => got,
            Err(error) => panic!("{what}: decoding failed: {error}"),
        };
        match (self, buffers) {
            (
                Self::Bits {
                    before,
                    after,
                    offset,
                    len,
                },
                Buffers::Bits { bytes, .. },
            ) => {
                for i in 0..*len {
                    let at = offset + i;
                    let bit = |bytes: &[u8]| bytes[at / 8] >> (at % 8) & 1;
                    assert_eq!(
                        bit(&bytes),
                        bit(after),
                        "{what}: value {i}, written from bit {offset}"
                    );
                }
                assert_neighbours(&bytes, before, *offset, *len, what);
                assert_eq!(written, 0, "{what}: bits have no data");
            }
            (
                Self::Fixed {
                    bytes: expected, ..
                },
                Buffers::Fixed { bytes, start, len },
            ) => {
                let got = &bytes[start..start + len];
                if let Some(at) = first_difference(got, expected) {
                    panic!(
                        "{what}: byte {at} of {len} is {}, expected {}",
                        got[at], expected[at]
                    );
                }
                let outside = bytes[..start].iter().chain(&bytes[start + len..]);
                assert!(
                    outside.into_iter().all(|byte| *byte == 0xaa),
                    "{what}: written outside"
                );
                assert_eq!(written, 0, "{what}: fixed-width values have no data");
            }
            (
                Self::Bytes {
                    ends: expected_ends,
                    data: expected,
                    ..
                },
                Buffers::Bytes { ends, data, .. },
            ) => {
                for (i, (end, expected)) in ends.iter().zip(expected_ends).enumerate() {
                    assert_eq!(end, expected, "{what}: end {i} of {}", ends.len());
                }
                assert_eq!(written, expected.len(), "{what}: bytes of data written");
                if let Some(at) = first_difference(&data[..written], expected) {
                    panic!(
                        "{what}: data byte {at} is {}, expected {}",
                        data[at], expected[at]
                    );
                }
            }
            _ => unreachable!("buffers are made from the expectation"),
        }
    }
}

fn first_difference(got: &[u8], expected: &[u8]) -> Option<usize> {
    got.iter()
        .zip(expected)
        .position(|(got, expected)| got != expected)
}

fn decode(
    decoder: &dyn Decoder,
    unit: Unit<'_>,
    selection: &Selection<'_>,
    expected: &Expected,
    scratch: &mut Scratch,
) -> Result<(usize, Buffers)> {
    let mut buffers = Buffers::new(expected);
    let written = decoder.decode(unit, *selection, scratch, buffers.output())?;
    Ok((written, buffers))
}

/// Prints at most 48 bytes.
struct Shortened<'a>(&'a [u8]);

impl std::fmt::LowerHex for Shortened<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for byte in self.0.iter().take(48) {
            write!(f, "{byte:02x}")?;
        }
        match self.0.len() {
            0..49 => Ok(()),
            n => write!(f, "… ({n} bytes)"),
        }
    }
}

/// A shared buffer of fixed-width values, for tests that bring their own.
pub fn shared_fixed(width: usize, bytes: &[u8]) -> Arc<OwnedValues> {
    Arc::new(OwnedValues::Fixed {
        bytes: AlignedBuf::copy_of(bytes),
        width,
        len: bytes.len().checked_div(width).unwrap_or(0),
    })
}

/// A shared buffer of `len` set bits.
pub fn shared_bits(len: usize) -> Arc<OwnedValues> {
    let mut bytes = AlignedBuf::zeroed(len.div_ceil(8));
    for at in 0..len {
        set_bit(&mut bytes, at, true);
    }
    Arc::new(OwnedValues::Bits { bytes, len })
}
