//! Expected values of decoding, by a naive model, and output memory of every kind.

use std::sync::Arc;

use tarsia_codec::{
    AlignedBuf, Decoder, Output, OwnedValues, Result, Scratch, Selection, Unit, ValueType, Values,
};

use crate::cases::Case;
use crate::rng::Rng;

/// Output memory of any kind. Fixed outputs are aligned or not, as the seed of the expectation says.
#[derive(Clone, PartialEq)]
pub(super) enum Buffers {
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
    pub(super) fn new(expected: &Expected) -> Self {
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

    pub(super) fn fixed(len: usize, misalign: usize) -> Self {
        let bytes = vec![0xaa; len + 64 + misalign];
        let start = bytes.as_ptr().align_offset(64).min(64) + misalign;
        Self::Fixed { bytes, start, len }
    }

    pub(super) fn for_values(value_type: ValueType, n: usize, data_bytes: usize) -> Self {
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

    pub(super) fn with_bit_offset(self, offset: usize) -> Self {
        match self {
            Self::Bits { bytes, len, .. } => Self::Bits { bytes, offset, len },
            other => other,
        }
    }

    pub(super) fn output(&mut self) -> Output<'_> {
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

    pub(super) fn describe(&self) -> String {
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

    /// Checks the output of a success on bytes that may be corrupt: neighbours are unchanged, and ends rise and lie
    /// inside the data.
    pub(super) fn assert_whole(&self, before: &Self, written: usize, n: usize, what: &str) {
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

/// Values that decoding wrote.
pub(super) struct Decoded {
    /// Bytes of strings; 0 for other values.
    pub(super) written: usize,
    pub(super) buffers: Buffers,
}

pub(super) fn assert_neighbours(bytes: &[u8], old: &[u8], offset: usize, len: usize, what: &str) {
    for at in (0..offset).chain(offset + len..bytes.len() * 8) {
        let bit = |bytes: &[u8]| bytes[at / 8] >> (at % 8) & 1;
        assert_eq!(
            bit(bytes),
            bit(old),
            "{what}: bit {at} outside of {offset} + {len} changed"
        );
    }
}

/// Values that a selection must decode to: the naive model.
pub(super) enum Expected {
    Bits {
        /// The output before decoding.
        before: Vec<u8>,
        /// The output after decoding.
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
    /// `seed` chooses bit offset, alignment, base and slack of the output. Seed 0 chooses the simplest.
    pub(super) fn new(values: Values<'_>, selection: &Selection<'_>, seed: u64) -> Self {
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

    pub(super) fn data_bytes(&self) -> usize {
        match self {
            Self::Bytes { data, .. } => data.len(),
            _ => 0,
        }
    }

    pub(super) fn compare(&self, got: Result<Decoded>, what: &str) {
        let Decoded { written, buffers } = match got {
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

/// The indices of the selected values among `n`.
pub(super) fn indices_of(selection: &Selection<'_>, n: usize) -> Vec<usize> {
    match selection {
        Selection::All => (0..n).collect(),
        Selection::Range { start, len } => {
            (*start as usize..*start as usize + *len as usize).collect()
        }
        Selection::Indices(indices) => indices.iter().map(|i| *i as usize).collect(),
    }
}

pub(super) fn first_difference(got: &[u8], expected: &[u8]) -> Option<usize> {
    got.iter()
        .zip(expected)
        .position(|(got, expected)| got != expected)
}

pub(super) fn decode(
    decoder: &dyn Decoder,
    unit: Unit<'_>,
    selection: &Selection<'_>,
    expected: &Expected,
    scratch: &mut Scratch,
) -> Result<Decoded> {
    let mut buffers = Buffers::new(expected);
    let written = decoder.decode(unit, *selection, scratch, buffers.output())?;
    Ok(Decoded { written, buffers })
}

/// Prints at most 48 bytes.
pub(super) struct Shortened<'a>(pub(super) &'a [u8]);

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

pub(super) fn set_bit(bytes: &mut [u8], at: usize, bit: bool) {
    bytes[at / 8] = bytes[at / 8] & !(1 << (at % 8)) | u8::from(bit) << (at % 8);
}

pub(super) fn gather(values: Values<'_>, indices: &[usize]) -> Case {
    match values {
        Values::Bits(bits) => {
            let kept: Vec<bool> = indices.iter().map(|i| bits.get(*i)).collect();
            Case::bits("kept", &kept)
        }
        Values::Fixed(fixed) => {
            let mut kept = Vec::with_capacity(indices.len() * fixed.width());
            for i in indices {
                kept.extend_from_slice(fixed.get(*i));
            }
            Case::fixed("kept", fixed.width(), indices.len(), kept)
        }
        Values::Bytes(strings) => {
            let kept: Vec<&[u8]> = indices.iter().map(|i| strings.get(*i)).collect();
            Case::strings("kept", &kept)
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
