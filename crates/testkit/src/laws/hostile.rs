//! Laws of bytes and trees that no encoder writes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tarsia_codec::{
    BitSlice, BytesSlice, Comparison, Decoder, Error, ErrorKind, FixedSlice, NumberRange, Order,
    Output, Predicate, Result, Scratch, Selection, SharedBuffer, SharedKind, Tree, Unit, ValueType,
    Values, ViewOutput, build_decoder, limits,
};

use super::case::{LawCase, Laws, change_node, unit_of};
use super::expected::{Buffers, Shortened, shared_bits, shared_fixed};
use super::panic::panic_text;
use crate::memory;
use crate::mutate::mutate;

impl Laws<'_> {
    /// Prefixes, a byte too many, and mutations of a unit.
    pub(super) fn check_corrupt(&mut self, start: usize, end: usize, encoded: &[u8]) {
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
        // The block header may be wrong as well. The reader makes the output before it calls the decoder, so wide
        // values are not tried with a large length.
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
                // Whether it is refused depends on the bytes. The called function checks the rest.
                let _ = self.decode_hostile(unit, selection, &what);
            }
        }
    }

    pub(super) fn decode_hostile(
        &self,
        unit: Unit<'_>,
        selection: Selection<'_>,
        what: &str,
    ) -> Result<()> {
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
    pub(super) fn check_hostile_trees(&mut self, start: usize, end: usize, encoded: &[u8]) {
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
        // An error or values. The called function checks the rest.
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
            // The caller makes sure that the named bytes are there.
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
    // Children may decode the whole unit into scratch, at up to 8 bytes per value and depth, rounded up to powers of
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

/// The other functions of a decoder return an error or a result, which may be wrong for corrupt bytes.
fn ask_hostile(decoder: &dyn Decoder, value_type: ValueType, unit: Unit<'_>) {
    let mut scratch = Scratch::new();
    let _ = decoder.decoded_bytes_max(unit.bytes, unit.len);
    let operand = vec![0; value_type.fixed_bytes().unwrap_or(1)];
    let order = match value_type {
        ValueType::Bytes => Order::Bytes,
        _ => Order::Unsigned,
    };
    let _ = decoder.aggregates(unit, order);
    let less = Predicate::Compare {
        comparison: Comparison::Less,
        order,
        operand: &operand,
    };
    let within = Predicate::Within(NumberRange {
        order,
        low: 1,
        high: 77,
    });
    let members = [77, 0];
    let among = Predicate::In(match value_type {
        ValueType::Bits => Values::Bits(BitSlice::new(&members[..1], 0, 1).unwrap()),
        ValueType::Fixed(_) => Values::Fixed(FixedSlice::new(&operand, operand.len(), 1).unwrap()),
        ValueType::Bytes => Values::Bytes(BytesSlice::new(&[0, 1, 2], &members).unwrap()),
    });
    let begins = Predicate::StartsWith(&members[..1]);
    for predicate in [less, within, among, begins] {
        for selection in [
            Selection::All,
            Selection::Range {
                start: unit.len / 3,
                len: unit.len / 2,
            },
        ] {
            let out = Output::Bits {
                bytes: &mut vec![0; unit.len.div_ceil(8) as usize],
                offset: 0,
            };
            let _ = decoder.filter(unit, selection, &predicate, &mut scratch, out);
        }
    }
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

fn assert_bytes_to_blame(error: &Error, what: &str) {
    assert!(
        !matches!(error.kind(), ErrorKind::InvalidInput { .. }),
        "{what}: the caller is blamed for bad bytes: {error}"
    );
}
