//! The encoder: counts what each kind of container would take, and writes the smallest.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use tarsia_codec::{
    BitSlice, BlockValues, EncodingWriter, EraseFit, Node, PageEncoder, Prepare, Proposal,
    Proposals, Result, Sample, Statistics, ValueType, Values,
};

use crate::Roaring;
use crate::layout::{CONTAINER_VALUES, HEAD_BYTES, Kind, POSITION_BYTES, RUN_BYTES};

const WORD_VALUES: usize = u64::BITS as usize;

impl EncodingWriter for Roaring {
    fn propose<'v>(&self, values: &Statistics<'v>, proposals: &mut Proposals<'v>) -> Result<()> {
        let Values::Bits(bits) = values.values() else {
            return Ok(());
        };
        let mut bytes = 0;
        for start in (0..bits.len()).step_by(values.unit_values().max(1)) {
            let unit = bits.slice(start..start.saturating_add(values.unit_values()));
            for container in containers(&unit) {
                bytes += (HEAD_BYTES + Counts::of(&container).smallest().body_bytes) as u64;
            }
            if bytes >= proposals.bytes_to_beat() {
                return Ok(());
            }
        }
        if bytes > 0 {
            proposals.push(Proposal::leaf(self, bytes));
        }
        Ok(())
    }

    fn prepare(
        &self,
        _node: &Node<'_>,
        _values: Values<'_>,
        _page: &mut Prepare<'_>,
    ) -> Result<Box<dyn PageEncoder>> {
        Ok(Box::new(RoaringPage))
    }

    fn encoded_bytes_max(
        &self,
        _node: &Node<'_>,
        n_values: u64,
        _decoded_bytes: u64,
        _child: &dyn Fn(usize, ValueType, u64, u64) -> u64,
    ) -> u64 {
        // Containers but the last hold whole bytes.
        let heads = n_values.div_ceil(CONTAINER_VALUES as u64) * HEAD_BYTES as u64;
        n_values.div_ceil(8).saturating_add(heads)
    }

    fn erase_fit(&self, _node: &Node<'_>) -> EraseFit {
        // Of a container with fewer values no kind is larger. Units of several containers are one row, which is erased
        // as a whole: no values move from one container to another.
        EraseFit::Always
    }

    fn samples(&self) -> Vec<Sample> {
        vec![Sample::any(ValueType::Bits, &[])]
    }
}

/// The values of each container of a unit.
fn containers<'a>(unit: &BitSlice<'a>) -> impl Iterator<Item = BitSlice<'a>> {
    let starts = (0..unit.len()).step_by(CONTAINER_VALUES);
    starts.map(|start| unit.slice(start..start + CONTAINER_VALUES))
}

/// The words of a container whose set bits are those that are `of`, with the place of each word's first bit.
fn words_of(bits: &BitSlice<'_>, of: bool) -> impl Iterator<Item = (u64, usize)> {
    let n = bits.len();
    (0..n).step_by(WORD_VALUES).map(move |at| {
        let word = match of {
            true => bits.word(at),
            false => !bits.word(at) & below(n - at),
        };
        (word, at)
    })
}

/// A word with its lowest `n` bits set, at most all.
fn below(n: usize) -> u64 {
    match n {
        0..WORD_VALUES => (1 << n) - 1,
        _ => u64::MAX,
    }
}

/// Counts that the sizes of a container depend on.
#[derive(Default)]
struct Counts {
    n: usize,
    n_set: usize,
    /// Runs of set bits.
    n_set_runs: usize,
    /// Runs of unset bits.
    n_unset_runs: usize,
}

/// How a container is stored.
#[derive(Clone, Copy)]
struct Form {
    kind: Kind,
    /// Positions or runs; 0 of a bitmap.
    count: usize,
    body_bytes: usize,
}

impl Counts {
    fn of(bits: &BitSlice<'_>) -> Self {
        let n = bits.len();
        let (mut n_set, mut n_set_runs) = (0, 0);
        let mut before = 0;
        for (word, _) in words_of(bits, true) {
            n_set += word.count_ones() as usize;
            n_set_runs += (word & !(word << 1 | before)).count_ones() as usize;
            before = word >> 63;
        }
        // Between two runs of set bits there is one of unset bits.
        let starts_unset = n > 0 && !bits.get(0);
        let ends_unset = n > 0 && !bits.get(n - 1);
        let n_unset_runs = match n_set_runs {
            0 => usize::from(n > 0),
            _ => n_set_runs - 1 + usize::from(starts_unset) + usize::from(ends_unset),
        };
        Self {
            n,
            n_set,
            n_set_runs,
            n_unset_runs,
        }
    }

    /// The form with the smallest body: of several the first, which is faster to decode. So a count fits 16 bits.
    fn smallest(&self) -> Form {
        let positions = |of, count| Form {
            kind: Kind::Positions { of },
            count,
            body_bytes: count * POSITION_BYTES,
        };
        let runs = |of, count| Form {
            kind: Kind::Runs { of },
            count,
            body_bytes: count * RUN_BYTES,
        };
        let mut best = Form {
            kind: Kind::Bitmap,
            count: 0,
            body_bytes: self.n.div_ceil(8),
        };
        for form in [
            positions(true, self.n_set),
            positions(false, self.n - self.n_set),
            runs(true, self.n_set_runs),
            runs(false, self.n_unset_runs),
        ] {
            if form.body_bytes < best.body_bytes {
                best = form;
            }
        }
        best
    }
}

struct RoaringPage;

impl PageEncoder for RoaringPage {
    fn encode(&self, block: BlockValues<'_>, out: &mut Vec<u8>) -> Result<()> {
        let bits = block.values().as_bits()?;
        let mut forms = Vec::with_capacity(bits.len().div_ceil(CONTAINER_VALUES));
        for container in containers(&bits) {
            let form = Counts::of(&container).smallest();
            out.push(form.kind.code());
            out.extend_from_slice(&(form.count as u16).to_le_bytes());
            forms.push(form);
        }
        for (container, form) in containers(&bits).zip(forms) {
            out.reserve(form.body_bytes);
            match form.kind {
                Kind::Positions { of } => push_positions(&container, of, out),
                Kind::Runs { of } => push_runs(&container, of, out),
                Kind::Bitmap => container.append_to(out),
            }
        }
        Ok(())
    }
}

/// Appends the places of the bits that are `of`.
fn push_positions(bits: &BitSlice<'_>, of: bool, out: &mut Vec<u8>) {
    for (mut word, at) in words_of(bits, of) {
        while word != 0 {
            push_place(at + word.trailing_zeros() as usize, out);
            word &= word - 1;
        }
    }
}

/// Appends the first and the last place of each run of bits that are `of`.
fn push_runs(bits: &BitSlice<'_>, of: bool, out: &mut Vec<u8>) {
    let n = bits.len();
    // The bit before the word at hand, as its bit 0.
    let mut before = 0;
    for (word, at) in words_of(bits, of) {
        // Places where a run begins, and places behind the last of one.
        let mut changes = word ^ (word << 1 | before);
        while changes != 0 {
            let place = at + changes.trailing_zeros() as usize;
            let begins = word >> (place - at) & 1 == 1;
            push_place(place - usize::from(!begins), out);
            changes &= changes - 1;
        }
        before = word >> 63;
    }
    // A run up to the end of the last word is not closed yet.
    if before == 1 {
        push_place(n - 1, out);
    }
}

/// Appends a place in a container.
fn push_place(place: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(place as u16).to_le_bytes());
}
