//! Laws of blocks that are written and read.

use std::sync::Arc;

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    AlignedBuf, BitSlice, BlockValues, BytesSlice, Encoding, EraseFit, ErrorKind, FixedSlice, Node,
    Order, Output, OwnedValues, Reach, Scratch, Selection, SharedBuffer, Tree, TreeWriter, Unit,
    UsedEntries, ValueType, Values, ViewOutput, build_decoder,
};

use super::case::{LawCase, Laws, change_node, encode_with, prepare, try_prepare, unit_of};
use super::expected::{Buffers, Expected, decode, gather, indices_of, set_bit};
use crate::cases::{Case, value};
use crate::memory;

impl Laws<'_> {
    /// The tree survives its layout, and every node is one that `check` and the list of features know.
    pub(super) fn check_tree(&self) {
        let mut bytes = vec![];
        self.case
            .tree
            .write_to(&mut bytes)
            .expect("the tree can be written");
        let parsed = Tree::parse(&mut ByteReader::new(&bytes)).expect("the tree can be read");
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
    pub(super) fn check_counts(&self) {
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

    pub(super) fn visit_nodes(
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
    pub(super) fn check_block(&mut self, start: usize, end: usize) -> Vec<u8> {
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

    /// Bytes that a range does not reach are not needed.
    pub(super) fn check_reach(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
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

    /// Byte strings that, as the decoder says, lie in the unit as they are, do so.
    pub(super) fn check_strings(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
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

    /// Views refer to the selected strings; views of short strings contain them.
    pub(super) fn check_views(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
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
    pub(super) fn orders(&self) -> &'static [Order] {
        match self.value_type {
            ValueType::Bits => &[Order::Unsigned],
            ValueType::Fixed(2 | 4 | 8) => &[Order::Unsigned, Order::Signed, Order::Float],
            ValueType::Fixed(_) => &[Order::Unsigned, Order::Signed, Order::Bytes],
            ValueType::Bytes => &[Order::Bytes],
        }
    }

    /// Checks that what is known of a unit without decoding it is true.
    pub(super) fn check_known(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
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
    pub(super) fn check_used(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
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
    pub(super) fn check_warm(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
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
            // Scratch hands out the buffer that came back last. So after a few rounds all buffers are large enough.
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
    pub(super) fn check_misuse(&mut self, unit: Unit<'_>, values: Values<'_>, at: &str) {
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
    pub(super) fn check_ranges_beyond(&self) {
        let n = self.case.values.len();
        for range in [n..n + 1, 0..n + 1, n + 1..n + 2, usize::MAX - 1..usize::MAX] {
            let got = BlockValues::new(self.case.values, range.clone());
            assert!(got.is_err(), "{range:?} of {n} values was not refused");
        }
    }

    /// Values inside a larger buffer, at another alignment and bit offset, encode to the same bytes.
    pub(super) fn check_slices(&mut self) {
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
    pub(super) fn check_erasure(
        &mut self,
        start: usize,
        end: usize,
        old_bytes: usize,
        may_refuse: bool,
    ) {
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
                let block = BlockValues::all(survivors.values()).expect("a block");
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
