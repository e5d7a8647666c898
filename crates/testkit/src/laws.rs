//! The laws of encodings. [`check_encoding`] checks them for one tree and one page of values; [`check_cases`] for many.
//!
//! | law | in words |
//! |---|---|
//! | round trip | every selection of every unit equals the same selection of the values |
//! | outputs | bits at any offset leave their neighbours alone; string ends start at any base |
//! | reach | a range decodes from the bytes that [`Decoder::reach`] names alone |
//! | views | byte strings decode as views to what they decode to as bytes |
//! | predicates | [`Decoder::filter`] finds the values that decoding and comparing finds, and [`Decoder::aggregates`] are true |
//! | decoded size | a unit decodes to at most [`Decoder::decoded_bytes_max`] |
//! | entries | a decoder notes every entry of a shared buffer that it needs: with all others wiped, values are the same |
//! | size | a unit has at most `encoded_bytes_max` bytes, and encoding appends |
//! | determinism | encoding again, or after a fresh `prepare`, gives the same bytes |
//! | slices | values inside a larger buffer encode to the same bytes |
//! | memory | once its scratch is warm, decoding allocates nothing; hostile bytes allocate within a bound |
//! | erasure | under a tree that says [`EraseFit::Always`] survivors never need more bytes |
//! | nodes | a child or a shared buffer too many or too few is refused |
//! | corrupt | every proper prefix, and a unit with a byte too many, is refused; mutated bytes and parameters never panic |
//! | misuse | selections and outputs that do not fit are refused |
//!
//! A broken law panics and names the tree, the values and the step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tarsia_codec::{
    AlignedBuf, BitSlice, Block, BytesSlice, Comparison, Decoder, Encoding, EraseFit, Error,
    ErrorKind, FixedSlice, Node, Order, Output, OwnedValues, PageEncoder, Predicate, Reach, Reader,
    Registry, Result, Scratch, Selection, SharedBuffer, SharedBuffers, SharedKind, SharedSpec,
    Tree, TreeWriter, Unit, UsedEntries, ValueType, Values, ViewOutput, build_decoder,
    build_encoder, limits,
};

pub use crate::cases::{Case, CaseValues, bits_cases, bytes_cases, cases, fixed_cases};
use crate::fuzzing::value;
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
    /// The page's shared buffers, where they exist before encoding. Where this is empty, those the encoder makes are
    /// used.
    pub shared: &'a [SharedBuffer],
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

/// Checks the laws of writing and reading where the tree holds the values, and says whether it does: what a tree that
/// was made by chance ([`crate::trees`]) has to obey. A tree may refuse the page or a block of it, but what it writes
/// is read. Bytes are not mutated.
///
/// # Panics
/// Where a law is broken.
pub fn check_if_held(case: &LawCase<'_>) -> bool {
    let checked = catch_unwind(AssertUnwindSafe(|| match Laws::try_new(*case) {
        Ok(laws) => laws.check_held(),
        Err(_) => false,
    }));
    checked.unwrap_or_else(|panic| {
        let (value_type, tree) = (case.values.value_type(), case.tree);
        let text = panic_text(&*panic);
        panic!(
            "[{} of {value_type:?} as {tree}: {tree:?}] {text}",
            case.name
        );
    })
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
    shared: Vec<SharedBuffer>,
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
        Self::try_new(case).unwrap_or_else(|error| panic!("prepare refused the values: {error}"))
    }

    /// The same; an error where the tree does not hold the values.
    fn try_new(case: LawCase<'a>) -> Result<Self> {
        let (encoder, shared) = try_prepare(&case, case.values)?;
        let value_type = case.values.value_type();
        let decoder = build_decoder(case.registry, case.tree, value_type, &shared)
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
        Ok(laws)
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
        self.check_erasure(0, n, whole.len(), false);
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

    fn check_held(mut self) -> bool {
        let n = self.case.values.len();
        self.check_tree();
        let mut is_held = true;
        for (start, end) in [(0, n)].into_iter().chain(self.cuts(n)) {
            let block = Block::new(self.case.values, start..end);
            let mut out = vec![];
            match block.and_then(|block| self.encoder.encode(block, &mut out)) {
                Ok(()) => drop(self.check_block(start, end)),
                Err(_) => is_held = false,
            }
            if (start, end) == (0, n) && is_held {
                self.check_erasure(0, n, out.len(), true);
            }
        }
        is_held
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
            let spec = encoding.check(node);
            let id = encoding.id();
            assert!(spec.is_ok(), "check of {id} refused: {spec:?}");
            assert_eq!(spec, encoding.check(node), "check of {id} varies");
        });
        self.check_counts();
    }

    /// Readers and writers refuse a node with a child or a shared buffer too many, or without its last one.
    fn check_counts(&self) {
        let mut n_nodes = 0;
        self.case.tree.visit(&mut |_| n_nodes += 1);
        type Change<'c> = &'c dyn Fn(&mut Tree);
        let more_child = |node: &mut Tree| {
            let added = node.children.last().cloned();
            let added = added.unwrap_or_else(|| Tree::leaf(&node.id, node.version, &node.params));
            node.children.push(added);
        };
        let more_shared = |node: &mut Tree| node.shared.push(0);
        let fewer_child = |node: &mut Tree| {
            node.children
                .truncate(node.children.len().saturating_sub(1))
        };
        let fewer_shared =
            |node: &mut Tree| node.shared.truncate(node.shared.len().saturating_sub(1));
        let changes: [(&str, Change<'_>); 4] = [
            ("tree.n_children", &more_child),
            ("tree.n_children", &fewer_child),
            ("tree.n_shared", &more_shared),
            ("tree.n_shared", &fewer_shared),
        ];
        for node_idx in 0..n_nodes {
            for (field, change) in changes {
                let mut tree = self.case.tree.clone();
                change_node(&mut tree, node_idx, &mut |node| change(node));
                if tree == *self.case.tree {
                    continue;
                }
                let registry = self.case.registry;
                let read = build_decoder(registry, &tree, self.value_type, &self.shared);
                let written = TreeWriter::new(registry, &tree, self.value_type);
                for got in [read.map(|_| ()), written.map(|_| ())] {
                    let is_refused = got.as_ref().is_err_and(
                        |error| matches!(error.kind(), ErrorKind::Corrupt { field: found, .. } if *found == field),
                    );
                    assert!(is_refused, "{tree:?}: another {field} gives {got:?}");
                }
            }
        }
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
            version: tree.version,
            params: &tree.params,
        };
        visit(encoding, &node);
        let spec = tree.check(encoding, &node, 1).expect("a good node");
        for (child, child_type) in tree.children.iter().zip(spec.children) {
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
        self.check_views(unit, values, &at);
        self.check_filter(unit, values, &at);
        self.check_known(unit, values, &at);
        self.check_used(unit, values, &at);
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

    /// Views show the strings that were selected, short ones in themselves.
    fn check_views(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        let Values::Bytes(strings) = values else {
            return;
        };
        let mut scratch = Scratch::new();
        for selection in self.selections(strings.len()).iter().step_by(2) {
            let at = format!("{at}, views of {}", selection.describe());
            let selection = selection.as_selection();
            let expected: Vec<&[u8]> = (indices_of(&selection, strings.len()).iter())
                .map(|i| strings.get(*i))
                .collect();
            let data_bytes: usize = expected.iter().map(|string| string.len()).sum();
            let (base, buffer) = (*self.rng.pick(&[0, 1, 1 << 30]), self.rng.u8().into());
            let mut views = vec![u128::MAX; expected.len()];
            let mut data = vec![0xaa; data_bytes + self.rng.below(3)];
            let out = ViewOutput {
                views: &mut views,
                buffer,
                base,
                data: &mut data,
            };
            let written = self
                .decoder
                .decode_views(unit, selection, &mut scratch, out);
            let written = written.unwrap_or_else(|error| panic!("{at}: {error}"));
            let data = &data[..written];
            for (i, (view, expected)) in views.iter().zip(&expected).enumerate() {
                let view = view.to_le_bytes();
                let word = |at: usize| u32::from_le_bytes(view[at..at + 4].try_into().expect("4"));
                assert_eq!(word(0) as usize, expected.len(), "{at}: length {i}");
                let mut wanted = [0; 12];
                match expected.len() {
                    len @ 0..=12 => wanted[..len].copy_from_slice(expected),
                    len => {
                        assert_eq!(word(8), buffer, "{at}: buffer of view {i}");
                        let place = word(12).checked_sub(base).expect("a place behind the base");
                        let found = data.get(place as usize..place as usize + len);
                        assert_eq!(found, Some(*expected), "{at}: string {i}");
                        wanted.copy_from_slice(&view[4..]);
                        wanted[..4].copy_from_slice(&expected[..4]);
                    }
                }
                assert_eq!(view[4..], wanted, "{at}: view {i}");
            }
        }
        let out = ViewOutput {
            views: &mut vec![0; strings.len() + 1],
            buffer: 0,
            base: 0,
            data: &mut vec![0; strings.data_bytes() as usize],
        };
        let got = self
            .decoder
            .decode_views(unit, Selection::All, &mut scratch, out);
        assert!(got.is_err(), "{at}: a view too many was not refused");
    }

    /// Orders of values of the type.
    fn orders(&self) -> &'static [Order] {
        match self.value_type {
            ValueType::Bits => &[Order::Unsigned],
            ValueType::Fixed(2 | 4 | 8) => &[Order::Unsigned, Order::Signed, Order::Float],
            ValueType::Fixed(_) => &[Order::Unsigned, Order::Signed, Order::Bytes],
            ValueType::Bytes => &[Order::Bytes],
        }
    }

    /// A filter that evaluates a predicate finds what comparing the values finds; one that does not leaves its output
    /// alone.
    fn check_filter(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        let n = values.len();
        let mut operands = vec![match self.value_type {
            ValueType::Bits => vec![u8::from(self.rng.flip())],
            ValueType::Fixed(width) => self.rng.bytes(width as usize),
            ValueType::Bytes => b"mmm".to_vec(),
        }];
        let chosen: Vec<usize> = (0..n.min(3)).map(|_| self.rng.below(n)).collect();
        operands.extend(chosen.iter().map(|i| value(&values, *i).to_vec()));
        let among = gather(values, &chosen);
        let mut predicates = vec![Predicate::In(among.values())];
        for operand in &operands {
            let order = *self.rng.pick(self.orders());
            let all = [
                Comparison::Equal,
                Comparison::Less,
                Comparison::LessOrEqual,
                Comparison::Greater,
                Comparison::GreaterOrEqual,
            ];
            // Of many values one comparison tells as much and takes less time.
            let one = [*self.rng.pick(&all)];
            for comparison in if n > 2048 { one.to_vec() } else { all.to_vec() } {
                predicates.push(Predicate::Compare {
                    comparison,
                    order,
                    operand,
                });
            }
        }
        let mut scratch = Scratch::new();
        for predicate in predicates {
            let offset = *self.rng.pick(&[0, 1, 8, 13]);
            let before = self.rng.bytes((offset + n).div_ceil(8) + 1);
            let mut bits = before.clone();
            let out = Output::Bits {
                bytes: &mut bits,
                offset,
            };
            let got = self.decoder.filter(unit, &predicate, &mut scratch, out);
            let at = format!("{at}, filter {predicate:.99?}");
            if !got.unwrap_or_else(|error| panic!("{at}: {error}")) {
                assert!(
                    bits == before,
                    "{at}: nothing was evaluated, yet bits changed"
                );
                continue;
            }
            for i in 0..n {
                let holds = predicate.holds(self.value_type, value(&values, i));
                let found = bits[(offset + i) / 8] >> ((offset + i) % 8) & 1 == 1;
                assert_eq!(Some(found), holds, "{at}: value {i}");
            }
            assert_neighbours(&bits, &before, offset, n, &at);
        }
    }

    /// What is known of a unit without decoding it is true.
    fn check_known(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        let bytes_max = self.decoder.decoded_bytes_max(unit.bytes, unit.len);
        let bytes_max = bytes_max.unwrap_or_else(|error| panic!("{at}, decoded size: {error}"));
        if let (Values::Bytes(_), Some(max)) = (values, bytes_max) {
            let exact = values.decoded_bytes();
            assert!(
                max >= exact,
                "{at}: {exact} bytes exceed decoded_bytes_max = {max}"
            );
        }
        for order in self.orders() {
            let known = self.decoder.aggregates(unit, *order);
            let known = known.unwrap_or_else(|error| panic!("{at}, aggregates: {error}"));
            let compare = |a: &[u8], b: &[u8]| {
                let compared = order.compare(self.value_type, a, b);
                compared.expect("an order of the type")
            };
            let all = (0..values.len()).map(|i| value(&values, i));
            if let Some(min) = known.min {
                let least = all.clone().min_by(|a, b| compare(a, b));
                let is_least = least.is_some_and(|least| compare(least, min).is_eq());
                assert!(is_least, "{at}: {min:?} is not the smallest, {least:?} is");
            }
            if let Some(max) = known.max {
                let most = all.max_by(|a, b| compare(a, b));
                let is_most = most.is_some_and(|most| compare(most, max).is_eq());
                assert!(is_most, "{at}: {max:?} is not the largest, {most:?} is");
            }
            let n_nulls = known.null_count.unwrap_or_default();
            assert!(n_nulls <= unit.len, "{at}: {n_nulls} nulls of {}", unit.len);
        }
    }

    /// Entries of shared buffers that a decoder did not note can be wiped.
    fn check_used(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
        if !self.shared.iter().any(|it| it.kind().has_entries()) {
            return;
        }
        let n = unit.len;
        let some: Vec<u32> = (0..n).filter(|_| self.rng.percent(10)).collect();
        for selection in [
            Selection::All,
            Selection::Range {
                start: n / 3,
                len: n / 4,
            },
            Selection::Indices(&some),
        ] {
            let used: Vec<Arc<UsedEntries>> = (self.shared.iter())
                .map(|it| Arc::new(UsedEntries::none_of(it.values().len())))
                .collect();
            let noted = self.shared.iter().zip(&used);
            let recording: Vec<SharedBuffer> = noted
                .clone()
                .map(|(it, used)| it.clone().recording(used.clone()))
                .collect();
            let wiped =
                || -> Vec<SharedBuffer> { noted.map(|(it, used)| wiped(it, used)).collect() };
            let decode = |shared: &[SharedBuffer], what: &str| {
                let (registry, tree) = (self.case.registry, self.case.tree);
                let decoder = build_decoder(registry, tree, self.value_type, shared);
                let decoder = decoder.unwrap_or_else(|error| panic!("{at}, {what}: {error}"));
                let expected = Expected::new(values, &selection, 5);
                let got = decode(&*decoder, unit, &selection, &expected, &mut Scratch::new());
                expected.compare(got, &format!("{at}, {selection:.60?}, {what}"));
            };
            decode(&recording, "entries noted");
            decode(&wiped(), "entries that were not noted are wiped");
        }
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

    /// There are no blocks of ranges that the page does not have.
    fn check_ranges_beyond(&self) {
        let n = self.case.values.len();
        for range in [n..n + 1, 0..n + 1, n + 1..n + 2, usize::MAX - 1..usize::MAX] {
            let got = Block::new(self.case.values, range.clone());
            assert!(got.is_err(), "{range:?} of {n} values was not refused");
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
    /// and fit into the old place where the tree promises it. Of other trees made by chance, they may be refused.
    fn check_erasure(&mut self, start: usize, end: usize, old_bytes: usize, may_refuse: bool) {
        let writer = TreeWriter::new(self.case.registry, self.case.tree, self.value_type);
        let fits = writer.expect("a known tree").erase_fit() == EraseFit::Always;
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
            let encoder = match try_prepare(&case, survivors.values()) {
                Ok((encoder, _)) => encoder,
                Err(_) if may_refuse && !fits => continue,
                Err(error) => panic!("{what}: prepare refused them: {error}"),
            };
            if may_refuse && !fits {
                let block = Block::all(survivors.values()).expect("a block");
                if encoder.encode(block, &mut vec![]).is_err() {
                    continue;
                }
            }
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
        // Too few entries, another type, and another kind.
        let of_kind = |kind, values| SharedBuffer::new(kind, values);
        let foreign = [
            of_kind(SharedKind::Dictionary, shared_fixed(1, &[7])),
            of_kind(SharedKind::SymbolTable, shared_bits(3)),
        ];
        let other_kinds: Vec<SharedBuffer> = (self.shared.iter())
            .map(|it| match it.kind() {
                SharedKind::Dictionary => of_kind(SharedKind::SymbolTable, it.values().clone()),
                _ => of_kind(SharedKind::Dictionary, it.values().clone()),
            })
            .collect();
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
                    3 => node.shared.iter_mut().for_each(|number| *number += 1),
                    _ => mutate(rng, &mut node.params),
                });
                let buffers: &[SharedBuffer] = match round % 8 {
                    4 => &other_kinds,
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
                build_decoder(self.case.registry, self.case.tree, other, &self.shared).map(|_| ())
            }));
            assert!(built.is_ok(), "init of the tree for {other:?} panicked");
        }
    }
}

fn check_hostile_tree(
    case: &LawCase<'_>,
    tree: &Tree,
    buffers: &[SharedBuffer],
    unit: Unit<'_>,
    what: &str,
) {
    let value_type = case.values.value_type();
    let shared_bytes: usize = buffers.iter().map(|it| it.values().memory_bytes()).sum();
    let built = catch_unwind(AssertUnwindSafe(|| {
        memory::measure(|| build_decoder(case.registry, tree, value_type, buffers))
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
        if let Selection::All = selection {
            ask_hostile(decoder, value_type, unit);
        }
    }));
    reached.unwrap_or_else(|panic| panic!("{what}: its reach panicked: {}", panic_text(&*panic)));
    // Children may decode the whole unit into scratch, at up to 8 bytes per value and level, rounded up to powers of
    // two.
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

/// What else is asked of a unit: an error or an answer, which says nothing of bad bytes.
fn ask_hostile(decoder: &dyn Decoder, value_type: ValueType, unit: Unit<'_>) {
    let mut scratch = Scratch::new();
    let _ = decoder.decoded_bytes_max(unit.bytes, unit.len);
    let operand = vec![0; value_type.fixed_bytes().unwrap_or(1)];
    let order = match value_type {
        ValueType::Bytes => Order::Bytes,
        _ => Order::Unsigned,
    };
    let _ = decoder.aggregates(unit, order);
    let predicate = Predicate::Compare {
        comparison: Comparison::Less,
        order,
        operand: &operand,
    };
    let out = Output::Bits {
        bytes: &mut vec![0; unit.len.div_ceil(8) as usize],
        offset: 0,
    };
    let _ = decoder.filter(unit, &predicate, &mut scratch, out);
    if value_type == ValueType::Bytes {
        let out = ViewOutput {
            views: &mut vec![0; unit.len as usize],
            buffer: 0,
            base: 0,
            data: &mut vec![0; unit.decoded_bytes as usize],
        };
        let _ = decoder.decode_views(unit, Selection::All, &mut scratch, out);
    }
}

/// The buffer without the entries that were not noted, where it has entries.
fn wiped(buffer: &SharedBuffer, used: &UsedEntries) -> SharedBuffer {
    if !buffer.kind().has_entries() {
        return buffer.clone();
    }
    let values = buffer.values().as_values().expect("whole values");
    let all = (0..values.len()).map(|i| (value(&values, i), used.contains(i)));
    let case = match values {
        Values::Bits(_) => {
            let bits: Vec<bool> = all.map(|(bit, used)| used && bit == [1]).collect();
            Case::bits("wiped", &bits)
        }
        Values::Fixed(fixed) => {
            let entry = |(entry, used): (&[u8], bool)| match used {
                true => entry.to_vec(),
                false => vec![0; entry.len()],
            };
            let bytes = all.flat_map(entry).collect();
            Case::fixed("wiped", fixed.width(), fixed.len(), bytes)
        }
        Values::Bytes(_) => {
            let entry = |(entry, used): (&'_ [u8], bool)| match used {
                true => entry.to_vec(),
                false => vec![],
            };
            Case::strings("wiped", &all.map(entry).collect::<Vec<_>>())
        }
    };
    let values = OwnedValues::copy_of(case.values());
    SharedBuffer::new(buffer.kind(), Arc::new(values))
}

fn assert_bytes_to_blame(error: &Error, what: &str) {
    assert!(
        !matches!(error.kind(), ErrorKind::InvalidInput { .. }),
        "{what}: the caller is blamed for bad bytes: {error}"
    );
}

fn prepare(case: &LawCase<'_>, values: Values<'_>) -> Box<dyn PageEncoder> {
    let prepared = try_prepare(case, values);
    let (encoder, _) =
        prepared.unwrap_or_else(|error| panic!("prepare refused the values: {error}"));
    encoder
}

/// An encoder, and the page's shared buffers: those that the case has, else those that the encoder makes.
fn try_prepare(
    case: &LawCase<'_>,
    values: Values<'_>,
) -> Result<(Box<dyn PageEncoder>, Vec<SharedBuffer>)> {
    let mut shared = match case.shared {
        [] => SharedBuffers::new(),
        given => existing(given),
    };
    let encoder = build_encoder(case.registry, case.tree, values, &mut shared)?;
    let shared = shared.to_decode().expect("whole buffers");
    Ok((encoder, shared))
}

/// Buffers that exist already, as encoders get them.
pub fn existing(buffers: &[SharedBuffer]) -> SharedBuffers {
    let of = |buffer: &SharedBuffer| {
        let values = buffer.values().as_values().expect("whole values");
        let spec = SharedSpec {
            kind: buffer.kind(),
            value_type: values.value_type(),
        };
        (spec, buffer.values().clone())
    };
    SharedBuffers::closed(&buffers.iter().map(of).collect::<Vec<_>>())
}

fn encode_with(encoder: &dyn PageEncoder, values: Values<'_>, start: usize, end: usize) -> Vec<u8> {
    let before = b"kept";
    let mut out = before.to_vec();
    let block = Block::new(values, start..end);
    if let Err(error) = block.and_then(|block| encoder.encode(block, &mut out)) {
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
        let indices = indices_of(selection, values.len());
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

/// The places of the selected values among `n`.
fn indices_of(selection: &Selection<'_>, n: usize) -> Vec<usize> {
    match selection {
        Selection::All => (0..n).collect(),
        Selection::Range { start, len } => {
            (*start as usize..*start as usize + *len as usize).collect()
        }
        Selection::Indices(indices) => indices.iter().map(|i| *i as usize).collect(),
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
