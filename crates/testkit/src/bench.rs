//! Parts that the benchmarks of encodings share: a page of one block is encoded, decoded, and read at 256 indices. A
//! crate's `benches/codec.rs` names the data and leaves the rest to [`codec_benches`](crate::codec_benches).
//!
//! All speeds are in bytes of decoded values per second, so that encodings can be compared with each other and with the
//! speed of memory.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tarsia_codec::toolbox::Holds;
use tarsia_codec::{
    AlignedBuf, BlockValues, DecodeCost, Decoder, EncodingWriter, Output, OwnedPredicate,
    PageEncoder, Registry, Result, Scratch, Selection, SharedBuffers, Tree, ValueType, Values,
    build_decoder, build_encoder,
};

use crate::cases::{Case, value};
use crate::rng::Rng;
use crate::units::unit_of;

/// Values of each kind of data: as many as a block of flat values may have.
pub const N_VALUES: usize = 1 << 16;

/// Values that are read one by one.
const N_RANDOM: usize = 256;

/// Kinds of data that an encoding is measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Data that it is fastest with.
    Best,
    /// Data that it is made for.
    Typical,
    /// Data that it is slowest with, or that it does not make smaller.
    Worst,
}

impl Data {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Best, Self::Typical, Self::Worst];

    /// Numbers of `width` bytes: the lowest bytes of `number(i)` for each index `i`.
    pub fn numbers(self, width: usize, mut number: impl FnMut(u64, &mut Rng) -> u64) -> Case {
        let numbers = self.values(|i, rng| number(i, rng).into());
        Case::numbers("", width, &numbers)
    }

    /// Byte strings: `string(i)` for each index `i`.
    pub fn strings(self, string: impl FnMut(u64, &mut Rng) -> Vec<u8>) -> Case {
        Case::strings("", &self.values(string))
    }

    /// Bits: `bit(i)` for each index `i`.
    pub fn bits(self, bit: impl FnMut(u64, &mut Rng) -> bool) -> Case {
        Case::bits("", &self.values(bit))
    }

    fn values<T>(self, mut value: impl FnMut(u64, &mut Rng) -> T) -> Vec<T> {
        let mut rng = Rng::new(self as u64);
        (0..N_VALUES as u64).map(|i| value(i, &mut rng)).collect()
    }
}

/// A tree and the values that it is measured with.
#[derive(Debug)]
pub struct Codec {
    registry: Registry,
    tree: Tree,
    case: Case,
}

impl Codec {
    /// Measures `tree`, all of whose encodings are among `writers`.
    pub fn new(writers: &[&'static dyn EncodingWriter], tree: Tree, case: Case) -> Self {
        let mut registry = Registry::new();
        for writer in writers {
            registry.add_writer(*writer, DecodeCost::default());
        }
        Self {
            registry,
            tree,
            case,
        }
    }

    /// Prepares a page and encodes its one block.
    ///
    /// # Panics
    /// Where the encoding refuses its data.
    pub fn encode(&self, bencher: Bencher<'_, '_>) {
        let values = self.case.values();
        let mut out = vec![];
        let bytes = BytesCount::new(values.decoded_bytes());
        bencher.counter(bytes).bench_local(|| {
            out.clear();
            let values = black_box(values);
            let encoder = self.encoder(values, &mut SharedBuffers::new())?;
            encoder.encode(BlockValues::all(values)?, &mut out)
        });
    }

    /// Decodes all values.
    ///
    /// # Panics
    /// As [`Codec::encode`].
    pub fn decode(&self, bencher: Bencher<'_, '_>) {
        self.select(bencher, Selection::All);
    }

    /// Decodes 256 values, one in each 256th part of the unit.
    ///
    /// # Panics
    /// As [`Codec::encode`].
    pub fn decode_256(&self, bencher: Bencher<'_, '_>) {
        let part = N_VALUES / N_RANDOM;
        let mut rng = Rng::new(N_RANDOM as u64);
        let index = |i| (i * part + rng.below(part)) as u32;
        let indices: Vec<u32> = (0..N_RANDOM).map(index).collect();
        self.select(bencher, Selection::Indices(&indices));
    }

    /// Finds the byte strings that equal one of them. The speed counts the bytes of all, as that of decoding them does.
    ///
    /// # Panics
    /// As [`Codec::encode`].
    pub fn find(&self, bencher: Bencher<'_, '_>) {
        let values = self.case.values();
        let (unit, decoder) = self.encoded(values).expect("data that the tree holds");
        let unit = unit_of(&unit, &values);
        let wanted = OwnedPredicate::in_strings([value(&values, N_VALUES / 2)]);
        let wanted = wanted.expect("one string");
        let holds = Holds {
            values: &*decoder,
            value_type: values.value_type(),
            predicate: wanted.as_predicate().expect("one string"),
        };
        let mut bits = vec![0; N_VALUES.div_ceil(8)];
        let mut scratch = Scratch::new();
        let bytes = BytesCount::new(values.decoded_bytes());
        bencher.counter(bytes).bench_local(|| {
            let out = Output::Bits {
                bytes: &mut bits,
                offset: 0,
            };
            holds.decode(black_box(unit), Selection::All, &mut scratch, out)
        });
    }

    fn encoder(
        &self,
        values: Values<'_>,
        shared: &mut SharedBuffers,
    ) -> Result<Box<dyn PageEncoder>> {
        build_encoder(&self.registry, &self.tree, values, shared)
    }

    fn select(&self, bencher: Bencher<'_, '_>, selection: Selection<'_>) {
        let values = self.case.values();
        let (unit, decoder) = self.encoded(values).expect("data that the tree holds");
        let unit = unit_of(&unit, &values);
        let n = selection.check(unit.len).expect("places in the unit");
        let value_type = values.value_type();
        let mut ends = vec![0; n];
        let mut data = AlignedBuf::zeroed(match value_type {
            ValueType::Fixed(width) => n * width as usize,
            ValueType::Bits => n.div_ceil(8),
            // Room for all strings, whatever is selected.
            ValueType::Bytes => values.decoded_bytes() as usize,
        });
        let mut scratch = Scratch::new();
        let mut decode = || {
            let out = match value_type {
                ValueType::Fixed(_) => Output::Fixed(&mut data),
                ValueType::Bits => Output::Bits {
                    bytes: &mut data,
                    offset: 0,
                },
                ValueType::Bytes => Output::Bytes {
                    ends: &mut ends,
                    base: 0,
                    data: &mut data,
                },
            };
            decoder.decode(black_box(unit), selection, &mut scratch, out)
        };
        let string_bytes = decode().expect("the values that were encoded");
        let decoded_bytes = match value_type {
            ValueType::Fixed(width) => n * width as usize,
            ValueType::Bits => n.div_ceil(8),
            ValueType::Bytes => string_bytes,
        };
        let bytes = BytesCount::new(decoded_bytes);
        bencher.counter(bytes).bench_local(decode);
    }

    /// The unit of all values, and its decoder.
    fn encoded(&self, values: Values<'_>) -> Result<(Vec<u8>, Box<dyn Decoder>)> {
        let mut shared = SharedBuffers::new();
        let mut unit = vec![];
        let encoder = self.encoder(values, &mut shared)?;
        encoder.encode(BlockValues::all(values)?, &mut unit)?;
        let shared = shared.to_decode()?;
        let decoder = build_decoder(&self.registry, &self.tree, values.value_type(), &shared)?;
        Ok((unit, decoder))
    }
}

/// The benchmarks of an encoding, for a `benches/codec.rs` without a harness: for each function `fn(Data) -> Codec`
/// that is named, `encode`, `decode` and `decode_256` with each kind of [`Data`].
#[macro_export]
macro_rules! codec_benches {
    ($($codec:ident),+) => {
        fn main() {
            divan::main();
        }

        $(
            mod $codec {
                use divan::Bencher;
                use $crate::bench::Data;

                #[divan::bench(args = Data::ALL)]
                fn encode(bencher: Bencher<'_, '_>, data: Data) {
                    super::$codec(data).encode(bencher);
                }

                #[divan::bench(args = Data::ALL)]
                fn decode(bencher: Bencher<'_, '_>, data: Data) {
                    super::$codec(data).decode(bencher);
                }

                #[divan::bench(args = Data::ALL)]
                fn decode_256(bencher: Bencher<'_, '_>, data: Data) {
                    super::$codec(data).decode_256(bencher);
                }
            }
        )+
    };
}
