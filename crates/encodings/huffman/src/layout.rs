//! Fields and checks that decoder and encoder share.

use tarsia_codec::toolbox::ByteReader;
use tarsia_codec::{
    Error, Node, NodeSpec, Result, SharedKind, SharedSpec, Tree, Unit, ValueType, Version,
};

use crate::codes::LENGTH_MAX;

/// The id of this encoding in files.
pub const ID: &str = "tarsia.huffman";

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: Version = Version::new(1, 0);

/// Streams of a unit that is not short.
pub(crate) const N_STREAMS: usize = 4;

/// A unit of fewer values is one stream: the sizes of others would be a percent of it or more.
const STREAMS_VALUES_MIN: u64 = 1024;

/// The type of the values, and of the lengths of codes.
pub(crate) const BYTE_TYPE: ValueType = ValueType::Fixed(1);

/// The tree `huffman`, which has no children, with the lengths of its codes in shared buffer 0.
pub fn tree() -> Tree {
    Tree::leaf(ID, VERSION, &[]).with_shared(&[0])
}

/// Checks a node and returns its needs. Refuses parameters, and values that are not numbers of 1 byte.
pub(crate) fn check_node(node: &Node<'_>) -> Result<NodeSpec> {
    node.without_params("huffman.params_len")?;
    let refusal = "values other than numbers of 1 byte in tarsia.huffman";
    node.only(BYTE_TYPE, refusal)?;
    // Every code depends on the lengths of all: a symbol table, not a list of entries.
    let lengths = SharedSpec {
        kind: SharedKind::SymbolTable,
        value_type: BYTE_TYPE,
    };
    Ok(NodeSpec::LEAF.with_shared(&[lengths]))
}

/// How the values of a unit are divided into streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Streams {
    n_values: u64,
    /// Streams with values.
    pub(crate) n_streams: usize,
    /// Values of each stream but the last one, which may have fewer.
    pub(crate) stream_values: u64,
    /// Bytes of the number of bits of a stream.
    pub(crate) size_bytes: usize,
}

impl Streams {
    pub(crate) fn of(n_values: u64) -> Self {
        let (n_streams, stream_values) = match n_values < STREAMS_VALUES_MIN {
            true => (1, n_values),
            false => (N_STREAMS, n_values.div_ceil(N_STREAMS as u64)),
        };
        let bits_max = stream_values.saturating_mul(LENGTH_MAX.into());
        let size_bytes = if bits_max < 1 << 16 { 2 } else { 4 };
        Self {
            n_values,
            n_streams,
            stream_values,
            size_bytes,
        }
    }

    /// Bytes in front of the codes.
    #[cfg(feature = "encode")]
    pub(crate) fn header_bytes(&self) -> usize {
        self.size_bytes * (self.n_streams - 1)
    }

    /// The number of the first value of stream `i`, or of all values behind the last stream.
    fn start(&self, i: usize) -> u64 {
        self.stream_values
            .saturating_mul(i as u64)
            .min(self.n_values)
    }

    /// The numbers of the values of stream `i`.
    pub(crate) fn values_of(&self, i: usize) -> core::ops::Range<usize> {
        self.start(i) as usize..self.start(i + 1) as usize
    }
}

/// A unit taken apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitParts<'a> {
    pub(crate) streams: Streams,
    /// The codes of all streams.
    pub(crate) codes: &'a [u8],
    /// The place of the codes in the unit.
    codes_at: usize,
    /// Where each stream starts, in bits from the start of the codes.
    pub(crate) starts: [u64; N_STREAMS],
}

impl<'a> UnitParts<'a> {
    pub(crate) fn parse(unit: &Unit<'a>) -> Result<Self> {
        let streams = Streams::of(unit.len.into());
        let mut reader = ByteReader::new(unit.bytes);
        let mut starts = [0; N_STREAMS];
        let mut start = 0;
        for to in starts.iter_mut().take(streams.n_streams).skip(1) {
            start += reader.uint(streams.size_bytes, "huffman.stream_bits")?;
            *to = start;
        }
        let codes_at = reader.position();
        let codes = reader.rest();
        // A code has a bit or more: so many values are no reason to take more memory than eight times the unit.
        reader.take(unit.len.div_ceil(8) as usize, "huffman.codes")?;
        if start > bits_of(codes) {
            let allowed = "at most the bits of all codes";
            return Err(Error::corrupt("huffman.stream_bits", 0, start, allowed));
        }
        Ok(Self {
            streams,
            codes,
            codes_at,
            starts,
        })
    }

    /// Checks that the first `n_values` codes of stream `i`, which end in front of bit `end`, lie in it, and that all
    /// of them fill it.
    pub(crate) fn check_end(&self, i: usize, n_values: usize, end: u64) -> Result<()> {
        let is_whole = n_values == self.streams.values_of(i).len();
        let is_last = i + 1 == self.streams.n_streams;
        let limit = match self.starts.get(i + 1) {
            Some(next) if !is_last => *next,
            _ => bits_of(self.codes),
        };
        let fits = match limit.checked_sub(end) {
            Some(_) if !is_whole => true,
            // The bits behind the last stream are less than a byte.
            Some(n_left) if is_last => n_left < 8,
            Some(n_left) => n_left == 0,
            None => false,
        };
        if !fits {
            return Err(self.bad_end(i, end));
        }
        match is_whole && is_last {
            true => self.check_spare((limit - end) as u32),
            false => Ok(()),
        }
    }

    /// Refuses bits that are set among the last `n_spare` ones, of which there are fewer than 8.
    fn check_spare(&self, n_spare: u32) -> Result<()> {
        let last = self.codes.last().copied().unwrap_or(0);
        match last.checked_shr(8 - n_spare) {
            None | Some(0) => Ok(()),
            Some(spare) => {
                let at_byte = self.codes_at + self.codes.len() - 1;
                Err(Error::corrupt("huffman.spare_bits", at_byte, spare, "zero"))
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn bad_end(&self, i: usize, end: u64) -> Error {
        let start = self.starts.get(i).copied().unwrap_or(0);
        let at_byte = self.codes_at + (start / 8) as usize;
        let allowed = "as many bits as its stream has";
        Error::corrupt("huffman.codes", at_byte, end - start, allowed)
    }
}

fn bits_of(bytes: &[u8]) -> u64 {
    bytes.len() as u64 * 8
}
