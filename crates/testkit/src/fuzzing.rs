//! Parts of fuzz targets: a reader of choices, generators that use it, and oracles for decoders.
//!
//! A fuzz target is a function of bytes. The bytes are read as choices ([`Input`]). After their end all choices are 0.
//! So every input is legal, and a mutation of the bytes changes some choices and leaves the others.
//!
//! | oracle | what must hold |
//! |---|---|
//! | [`decode_anything`] | hostile bytes: no panic, memory within a bound, all selections agree with the whole |
//! | [`round_trip`] | values come back under every selection, the size bound holds, encoding is a function |
//!
//! [`smoke_inputs`] makes inputs without a fuzzer, for runs on a stable toolchain. [`accepted`] counts the inputs that
//! got past the checks in front of the code under test: a target that accepts none tests nothing.

use std::cell::Cell;
use std::sync::Arc;

use tarsia_codec::{
    BlockValues, Decoder, ErrorKind, Output, OwnedValues, Registry, Result, Scratch, Selection,
    SharedBuffer, SharedBuffers, Tree, Unit, ValueType, Values, build_decoder, build_encoder,
    limits,
};

use crate::cases::{Case, value};
use crate::memory::measure;
use crate::rng::Rng;

thread_local! {
    static N_ACCEPTED: Cell<u64> = const { Cell::new(0) };
}

/// Notes that the current input reached the code under test.
pub fn accepted() {
    N_ACCEPTED.set(N_ACCEPTED.get() + 1);
}

/// How often this thread called [`accepted`].
pub fn n_accepted() -> u64 {
    N_ACCEPTED.get()
}

/// Choices read from bytes. After the end of the bytes all choices are 0.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    bytes: &'a [u8],
}

impl<'a> Input<'a> {
    /// Reads from the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether all bytes were read, so that only zeros follow.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next `len` bytes, or as many as are left.
    pub fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(len.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let taken = self.take(N);
        out[..taken.len()].copy_from_slice(taken);
        out
    }

    /// A byte.
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// Two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// Four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// A number in `0 .. bound`, read from as few bytes as possible; 0 for a bound of 0 or 1.
    pub fn below(&mut self, bound: usize) -> usize {
        match bound {
            0 | 1 => 0,
            2..=0x100 => usize::from(self.u8()) % bound,
            0x101..=0x1_0000 => usize::from(self.u16()) % bound,
            _ => self.u32() as usize % bound,
        }
    }

    /// True in one of `n` cases; false after the end of the bytes.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }

    /// A number of values or rows, at most `max`: mostly a few, sometimes around 1,024, rarely `max`.
    pub fn count(&mut self, max: usize) -> usize {
        let n = match self.u8() {
            0..140 => self.below(70),
            140..200 => self.below(1100),
            200..240 => 1000 + self.below(100),
            240..252 => self.below(5000),
            _ => max - self.below(4).min(max),
        };
        n.min(max)
    }

    /// A number of an interesting size: small, around a power of two, or anything.
    pub fn number(&mut self) -> u64 {
        let near = u64::from(self.u8() % 5);
        match self.below(4) {
            0 => self.u8().into(),
            1 | 2 => (1u64 << self.below(64)).wrapping_add(near).wrapping_sub(2),
            _ => self.u64(),
        }
    }

    /// Rising indices below `n`, some of them twice.
    pub fn indices(&mut self, n: u32) -> Vec<u32> {
        let mut indices = Vec::new();
        if n == 0 {
            return indices;
        }
        // A step for all, so that dense selections of large units need few bytes, then a list of steps.
        if self.one_in(3) {
            let step = 1 + self.below(100);
            return (0..n).skip(self.below(50)).step_by(step).collect();
        }
        let mut at = self.below(n as usize) as u32;
        for _ in 0..self.below(40) {
            indices.push(at);
            at = match at.checked_add(u32::from(self.u8()) * u32::from(self.u8() % 8)) {
                Some(next) if next < n => next,
                _ => break,
            };
        }
        indices
    }

    /// Values of a type, at most `n_max` of them. Many come from few bytes, by a rule that the bytes choose.
    pub fn values(&mut self, value_type: ValueType, n_max: usize) -> Case {
        let n = self.count(n_max);
        match value_type {
            ValueType::Bits => self.bits(n),
            ValueType::Fixed(width) => self.fixed(width as usize, n),
            ValueType::Bytes => self.strings(n),
        }
    }

    fn bits(&mut self, n: usize) -> Case {
        let bits: Vec<bool> = match self.below(4) {
            0 => {
                let literal = self.take(n.div_ceil(8));
                let bit = |i: usize| {
                    literal
                        .get(i / 8)
                        .is_some_and(|byte| byte >> (i % 8) & 1 == 1)
                };
                (0..n).map(bit).collect()
            }
            1 => vec![self.one_in(2); n],
            2 => {
                let (period, phase) = (1 + self.below(200), self.below(200));
                (0..n).map(|i| (i + phase) % period == 0).collect()
            }
            _ => {
                let mut rng = Rng::new(self.u16().into());
                let percent = self.below(101) as u32;
                (0..n).map(|_| rng.percent(percent)).collect()
            }
        };
        Case::bits("fuzzed", &bits)
    }

    fn fixed(&mut self, width: usize, n: usize) -> Case {
        if width == 0 {
            return Case::fixed("fuzzed", 0, n, vec![]);
        }
        let style = self.below(6);
        let mut rng = Rng::new(self.u16().into());
        let mut bytes = Vec::with_capacity(width * n);
        let mut push = |number: u64, filler: u64| {
            let (low, high) = (number.to_le_bytes(), filler.to_le_bytes());
            let all = low.into_iter().chain(high.into_iter().cycle());
            bytes.extend(all.take(width));
        };
        match style {
            0 => {
                for _ in 0..n {
                    let mut value = [0; 8];
                    let taken = self.take(width.min(8));
                    value[..taken.len()].copy_from_slice(taken);
                    push(u64::from_le_bytes(value), 0);
                }
            }
            1 => {
                let entries: Vec<u64> = (0..1 + self.below(20)).map(|_| self.number()).collect();
                for _ in 0..n {
                    let entry = *rng.pick(&entries);
                    push(entry, entry);
                }
            }
            2 => {
                let (mut base, mut bits, every) =
                    (self.number(), self.below(65), 1 + self.below(300));
                for i in 0..n {
                    // Groups of 1,024 may differ.
                    if i % 1024 == 0 && i > 0 && !self.is_empty() {
                        (base, bits) = (self.number(), self.below(65));
                    }
                    let bits = if i % every == every - 1 { 64 } else { bits };
                    let offset = rng.u64().checked_shr(64 - bits as u32).unwrap_or_default();
                    push(base.wrapping_add(offset), 0);
                }
            }
            3 => {
                let (base, step) = (self.number(), self.number());
                for i in 0..n as u64 {
                    push(base.wrapping_add(i.wrapping_mul(step)), 0);
                }
            }
            4 => {
                let value = self.number();
                for _ in 0..n {
                    push(value, value);
                }
            }
            _ => {
                for _ in 0..n {
                    push(rng.u64(), rng.u64());
                }
            }
        }
        Case::fixed("fuzzed", width, n, bytes)
    }

    fn strings(&mut self, n: usize) -> Case {
        // More than a quarter of a MiB tests nothing else.
        const DATA_BYTES_MAX: usize = 1 << 18;
        let style = self.below(5);
        let mut rng = Rng::new(self.u16().into());
        let entries: Vec<Vec<u8>> = (0..1 + self.below(20))
            .map(|_| {
                let len = self.below(40);
                let mut entry = self.take(len).to_vec();
                entry.resize(len, b'x');
                entry
            })
            .collect();
        let length_max = [0, 1, 20, 300][self.below(4)];
        let mut strings: Vec<Vec<u8>> = Vec::with_capacity(n);
        let mut data_bytes = 0;
        for i in 0..n {
            let string = match style {
                0 => {
                    let len = self.below(24);
                    self.take(len).to_vec()
                }
                1 => rng.pick(&entries).clone(),
                2 => entries[0].clone(),
                3 => {
                    let len = rng.between(0, length_max);
                    rng.bytes(len)
                }
                _ if i % 200 == 199 => vec![i as u8; 1000],
                _ => Vec::new(),
            };
            data_bytes += string.len();
            strings.push(if data_bytes > DATA_BYTES_MAX {
                Vec::new()
            } else {
                string
            });
        }
        Case::strings("fuzzed", &strings)
    }

    /// Changes up to three places of `bytes`; the length may change too.
    pub fn edit(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(3) {
            match self.below(8) {
                6 => bytes.truncate(self.below(bytes.len() + 1)),
                7 => {
                    let at = self.below(bytes.len() + 1);
                    let len = 1 + self.below(9);
                    let added = self.take(len).to_vec();
                    bytes.splice(at..at, added);
                }
                _ => self.overwrite(bytes),
            }
        }
    }

    /// Changes one place of `bytes`, not their length.
    pub fn overwrite(&mut self, bytes: &mut [u8]) {
        if bytes.is_empty() {
            return;
        }
        // Headers matter most and are at the front.
        let at = match self.below(2) {
            0 => self.below(bytes.len().min(40)),
            _ => self.below(bytes.len()),
        };
        match self.below(8) {
            0..3 => bytes[at] ^= 1 << self.below(8),
            3 => bytes[at] = bytes[at].wrapping_add(1),
            4 => bytes[at] = self.u8(),
            5 => bytes[at] = *self.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            _ => {
                let width = [1, 2, 4, 8][self.below(4)];
                let number = self.number().to_le_bytes();
                for (to, from) in bytes[at..].iter_mut().zip(&number[..width]) {
                    *to = *from;
                }
            }
        }
    }
}

/// The values of a shared buffer, as its page decodes to.
pub fn shared_of(case: &Case) -> Arc<OwnedValues> {
    Arc::new(OwnedValues::copy_of(case.values()))
}

/// Output memory, poisoned.
struct Buffer {
    value_type: ValueType,
    n: usize,
    offset: usize,
    bytes: Vec<u8>,
    ends: Vec<u32>,
    base: u32,
}

const POISON: u8 = 0xa5;

impl Buffer {
    fn new(value_type: ValueType, n: usize, data_bytes: usize, place: u8) -> Self {
        let offset = usize::from(place % 21);
        let bytes = match value_type {
            ValueType::Bits => (offset + n).div_ceil(8) + 1,
            ValueType::Fixed(width) => n * width as usize,
            ValueType::Bytes => data_bytes,
        };
        Self {
            value_type,
            n,
            offset,
            bytes: vec![POISON; bytes],
            ends: vec![0; if value_type == ValueType::Bytes { n } else { 0 }],
            base: u32::from(place) * 1000,
        }
    }

    fn output(&mut self) -> Output<'_> {
        match self.value_type {
            ValueType::Bits => Output::Bits {
                bytes: &mut self.bytes,
                offset: self.offset,
            },
            ValueType::Fixed(_) => Output::Fixed(&mut self.bytes),
            ValueType::Bytes => Output::Bytes {
                ends: &mut self.ends,
                base: self.base,
                data: &mut self.bytes,
            },
        }
    }

    /// Value `i` as bytes; a bit as one byte.
    fn get(&self, i: usize) -> &[u8] {
        match self.value_type {
            ValueType::Bits => {
                let at = self.offset + i;
                match self.bytes[at / 8] >> (at % 8) & 1 {
                    0 => &[0],
                    _ => &[1],
                }
            }
            ValueType::Fixed(width) => &self.bytes[i * width as usize..(i + 1) * width as usize],
            ValueType::Bytes => {
                let start = if i == 0 { self.base } else { self.ends[i - 1] };
                &self.bytes[(start - self.base) as usize..(self.ends[i] - self.base) as usize]
            }
        }
    }

    /// Checks what a decoder that succeeds must guarantee of its output, for any bytes.
    fn assert_whole(&self, written: usize) {
        match self.value_type {
            ValueType::Bits => {
                for at in (0..self.offset).chain(self.offset + self.n..self.bytes.len() * 8) {
                    let bit = |byte: u8| byte >> (at % 8) & 1;
                    assert_eq!(
                        bit(self.bytes[at / 8]),
                        bit(POISON),
                        "bit {at} beside the output changed"
                    );
                }
            }
            ValueType::Fixed(_) => {}
            ValueType::Bytes => {
                assert!(
                    written <= self.bytes.len(),
                    "{written} bytes written into {}",
                    self.bytes.len()
                );
                let mut last = self.base;
                for end in &self.ends {
                    assert!(*end >= last, "ends fall: {end} after {last}");
                    last = *end;
                }
                assert_eq!(
                    (last - self.base) as usize,
                    written,
                    "the last end and the bytes written differ"
                );
            }
        }
    }
}

fn selected(selection: &Selection<'_>, n: u32) -> Vec<usize> {
    match selection {
        Selection::All => (0..n as usize).collect(),
        Selection::Range { start, len } => {
            (*start as usize..*start as usize + *len as usize).collect()
        }
        Selection::Indices(indices) => indices.iter().map(|index| *index as usize).collect(),
    }
}

/// Decodes with a fresh scratch, and checks that the decoder allocates no more than its bound.
fn decode_measured(
    decoder: &dyn Decoder,
    unit: Unit<'_>,
    selection: Selection<'_>,
    buffer: &mut Buffer,
) -> Result<usize> {
    let (done, allocated) =
        measure(|| decoder.decode(unit, selection, &mut Scratch::new(), buffer.output()));
    // Children may decode the whole unit into scratch memory, at up to 8 bytes per value and depth, rounded up to
    // powers of two.
    let width = buffer.value_type.fixed_bytes().unwrap_or(1) as u64 + 8;
    let n = u64::from(unit.len) + buffer.n as u64;
    let used = n * width + u64::from(unit.decoded_bytes) + unit.bytes.len() as u64;
    let bound = (1 << 20) + 16 * used;
    assert!(
        allocated.bytes <= bound,
        "decoding allocates {allocated:?}, more than {bound} bytes"
    );
    if let Ok(written) = done {
        buffer.assert_whole(written);
    }
    if let Selection::Range { start, len } = selection {
        // What it says is the reader's to check.
        let front = unit.bytes.len() / 2;
        let _ = decoder.reach(unit, front, start..start + len, &mut Scratch::new());
        let _ = decoder.reach(
            unit,
            unit.bytes.len(),
            start..start + len,
            &mut Scratch::new(),
        );
    }
    done
}

/// Hostile parameters and bytes: `tree` is built for `value_type` and decodes `unit` under the selections that `input`
/// chooses.
///
/// The caller must limit `unit.len` and `unit.decoded_bytes`, as a reader does with those of a block header: the output
/// is made from them.
///
/// # Panics
/// Where init or decoding allocates beyond its bound, an output is not whole, or a selection differs from the same
/// values of the whole unit.
pub fn decode_anything(
    registry: &Registry,
    tree: &Tree,
    value_type: ValueType,
    shared: &[SharedBuffer],
    unit: Unit<'_>,
    input: &mut Input<'_>,
) {
    let (built, allocated) = measure(|| build_decoder(registry, tree, value_type, shared));
    // A dictionary may be laid out anew for its lookups.
    let shared_bytes: usize = shared.iter().map(|it| it.values().memory_bytes()).sum();
    let bound = (1 << 20) + 16 * shared_bytes as u64;
    assert!(
        allocated.bytes <= bound,
        "init allocates {allocated:?}, more than {bound} bytes"
    );
    let Ok(decoder) = built else { return };
    let place = input.u8();
    let all_data = unit.decoded_bytes as usize;
    let mut all = Buffer::new(value_type, unit.len as usize, all_data, place);
    let whole = decode_measured(&*decoder, unit, Selection::All, &mut all);
    if let Ok(written) = whole {
        accepted();
        if value_type == ValueType::Bytes {
            assert_eq!(
                written, all_data,
                "accepted strings do not add up to the decoded bytes"
            );
        }
    }
    let start = input.below(unit.len as usize + 1) as u32;
    let len = input.below((unit.len - start) as usize + 1) as u32;
    let indices = input.indices(unit.len);
    for selection in [
        Selection::Range { start, len },
        Selection::Indices(&indices),
    ] {
        let picked = selected(&selection, unit.len);
        let data_bytes = match whole {
            Ok(_) => picked.iter().map(|i| all.get(*i).len()).sum(),
            Err(_) => all_data,
        };
        let mut some = Buffer::new(value_type, picked.len(), data_bytes, place.wrapping_mul(7));
        let done = decode_measured(&*decoder, unit, selection, &mut some);
        if whole.is_ok() {
            // Parts of a unit that decodes as a whole decode too, and to the same values.
            if let Err(error) = done {
                panic!("the whole decodes, {selection:?} does not: {error}");
            }
            for (to, from) in picked.iter().enumerate() {
                assert_eq!(
                    some.get(to),
                    all.get(*from),
                    "value {from} under {selection:?}"
                );
            }
        }
    }
}

/// Encodes a range of `values` that `input` chooses under `tree`, and decodes it under several selections. A tree that
/// holds all values of the page may refuse some of them by themselves (what is between the entries of a block's
/// dictionary need not be between those of the page's): writers fall back then.
///
/// # Panics
/// Where the values do not come back, the bytes exceed `encoded_bytes_max`, or encoding again gives other bytes.
pub fn round_trip(registry: &Registry, tree: &Tree, values: Values<'_>, input: &mut Input<'_>) {
    let mut shared = SharedBuffers::new();
    let encoder = build_encoder(registry, tree, values, &mut shared)
        .unwrap_or_else(|error| panic!("{tree} refuses {} values: {error}", values.len()));
    let shared = shared.to_decode().expect("whole buffers");
    let value_type = values.value_type();
    let decoder = build_decoder(registry, tree, value_type, &shared)
        .unwrap_or_else(|error| panic!("init of {tree} refuses what was written: {error}"));
    let (start, end) = match input.below(3) {
        0 => (0, values.len()),
        _ => {
            let start = input.below(values.len() + 1);
            (start, start + input.below(values.len() - start + 1))
        }
    };
    let block = values.slice(start..end);
    let mut bytes = Vec::new();
    for round in 0..2 {
        let mut again = b"kept".to_vec();
        let encoded = BlockValues::new(values, start..end)
            .and_then(|block| encoder.encode(block, &mut again));
        if let Err(error) = encoded {
            let is_part = end - start < values.len();
            let is_refusal = matches!(error.kind(), ErrorKind::InvalidInput { .. });
            if is_part && is_refusal && round == 0 {
                return;
            }
            panic!("{tree} refuses {start}..{end} of {}: {error}", values.len());
        }
        assert_eq!(
            &again[..4],
            b"kept",
            "encoding changes what was in the output"
        );
        again.drain(..4);
        assert!(
            round == 0 || again == bytes,
            "encoding again gives other bytes"
        );
        bytes = again;
    }
    let bound = registry
        .encoded_bytes_max(tree, value_type, block.len() as u64, block.decoded_bytes())
        .expect("a bound of a known tree");
    assert!(
        bytes.len() as u64 <= bound,
        "{} bytes exceed the bound of {bound}",
        bytes.len()
    );
    let unit = Unit {
        bytes: &bytes,
        len: block.len() as u32,
        decoded_bytes: block.decoded_bytes() as u32,
    };
    let from = input.below(block.len() + 1) as u32;
    let len = input.below(block.len() - from as usize + 1) as u32;
    let indices = input.indices(unit.len);
    let place = input.u8();
    for selection in [
        Selection::All,
        Selection::Range { start: from, len },
        Selection::Indices(&indices),
    ] {
        let picked = selected(&selection, unit.len);
        let data_bytes = picked.iter().map(|i| value(&block, *i).len()).sum();
        let mut buffer = Buffer::new(value_type, picked.len(), data_bytes, place);
        decode_measured(&*decoder, unit, selection, &mut buffer)
            .unwrap_or_else(|error| panic!("{tree}: {selection:?} of what was written: {error}"));
        for (to, from) in picked.iter().enumerate() {
            assert_eq!(
                buffer.get(to),
                value(&block, *from),
                "{tree}: value {from} under {selection:?}"
            );
        }
    }
    accepted();
}

/// A unit's number of values and decoded bytes as a hostile header may state them, small enough that outputs can be
/// made.
pub fn hostile_lengths(value_type: ValueType, input: &mut Input<'_>) -> (u32, u32) {
    let len = match input.below(8) {
        7 => limits::BLOCK_VALUES_MAX as usize + input.below(3),
        _ => input.count(limits::BLOCK_VALUES_MAX as usize),
    };
    let len = match value_type {
        // The output is made before the decoder is called.
        ValueType::Fixed(width) if width > 16 => len.min(4096),
        _ => len,
    } as u32;
    let decoded_bytes = match value_type {
        ValueType::Bits => len.div_ceil(8),
        ValueType::Fixed(width) => len * width,
        ValueType::Bytes => match input.below(4) {
            0 => input.u8().into(),
            1 => len * u32::from(input.u8() % 16),
            _ => input.u32() % (1 << 18),
        },
    };
    (len, decoded_bytes)
}

/// Inputs for a run without a fuzzer: random bytes of many lengths, inputs of few different bytes, and changed copies
/// of earlier ones. Equal seeds give equal inputs.
pub fn smoke_inputs(seed: u64) -> impl Iterator<Item = Vec<u8>> {
    const KEPT_MAX: usize = 64;
    let mut rng = Rng::new(seed);
    let mut kept: Vec<Vec<u8>> = Vec::new();
    std::iter::from_fn(move || {
        let len = match rng.below(8) {
            0 => rng.below(8),
            1..5 => rng.below(80),
            5 | 6 => rng.below(600),
            _ => rng.below(5000),
        };
        let input = match rng.below(8) {
            0..4 => rng.bytes(len),
            4 => {
                let alphabet = rng.bytes(3);
                (0..len).map(|_| *rng.pick(&alphabet)).collect()
            }
            5 => {
                // Mostly zeros: first choices, short counts.
                let mut bytes = vec![0; len];
                for _ in 0..len.div_ceil(6) {
                    let at = rng.below(len);
                    bytes[at] = rng.u8();
                }
                bytes
            }
            _ => {
                let mut bytes = kept.get(rng.below(kept.len())).cloned().unwrap_or_default();
                for _ in 0..rng.between(1, 4) {
                    crate::mutate::mutate(&mut rng, &mut bytes);
                }
                bytes
            }
        };
        if kept.len() < KEPT_MAX {
            kept.push(input.clone());
        } else {
            let at = rng.below(KEPT_MAX);
            kept[at].clone_from(&input);
        }
        Some(input)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_end_in_zeros() {
        let mut input = Input::new(&[7, 1, 2, 3]);
        assert_eq!(input.u8(), 7);
        assert_eq!(input.u64(), 0x03_02_01);
        assert!(input.is_empty());
        assert_eq!(
            (input.u32(), input.below(9), input.one_in(3), input.rest()),
            (0, 0, false, &[][..])
        );
    }

    #[test]
    fn every_input_describes_values_within_the_bounds() {
        for bytes in smoke_inputs(3).take(500) {
            for value_type in [
                ValueType::Bits,
                ValueType::Fixed(0),
                ValueType::Fixed(4),
                ValueType::Fixed(33),
                ValueType::Bytes,
            ] {
                let case = Input::new(&bytes).values(value_type, 3000);
                assert!(case.len() <= 3000);
                assert_eq!(case.value_type(), value_type);
                let shared = shared_of(&case);
                assert_eq!(shared.len(), case.len());
            }
            let mut input = Input::new(&bytes);
            let indices = input.indices(50);
            assert!(indices.is_sorted() && indices.iter().all(|index| *index < 50));
            let mut edited = bytes.clone();
            input.edit(&mut edited);
            let mut overwritten = bytes.clone();
            input.overwrite(&mut overwritten);
            assert_eq!(overwritten.len(), bytes.len());
        }
    }

    #[test]
    fn inputs_of_a_seed_stay_the_same_and_differ_among_each_other() {
        let first: Vec<_> = smoke_inputs(1).take(300).collect();
        assert_eq!(first, smoke_inputs(1).take(300).collect::<Vec<_>>());
        assert_ne!(first, smoke_inputs(2).take(300).collect::<Vec<_>>());
        let mut distinct = first.clone();
        distinct.sort();
        distinct.dedup();
        assert!(
            distinct.len() > 250,
            "{} of 300 are distinct",
            distinct.len()
        );
    }
}
