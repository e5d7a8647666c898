//! Pages as they are encoded: input, choice of trees, result.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tarsia_codec::{
    BitSlice, ColumnMemory, Facts, LogicalType, OwnedValues, Registry, Result, RowStarts,
    SharedKind, Statistics, Tree, Values, limits,
};
use tarsia_structure::full_zip::INDEXED_BYTES_END;
use tarsia_structure::meta::Meta;

use crate::collected_levels::LevelsSlice;

/// A block's payload is at most this long (validity may add 1 KiB), unless it is one row or the fewest rows a block may
/// have.
pub const BLOCK_PAYLOAD_BYTES_TARGET: usize = limits::UNIT_BYTES_TARGET;

/// Fixed-width values of up to 8 bytes have at least this many rows in a block.
pub const BLOCK_ROWS_MIN: usize = 1024;

/// Value of [`Choose::full_zip_bytes_min`] unless the policy says otherwise. Source: the Lance paper, section 4.3.
pub const FULL_ZIP_BYTES_MIN: u32 = 128;

/// The strings of a full-zip block take at most this many bytes, the most that its index can say.
pub(crate) const STRINGS_BLOCK_BYTES_MAX: usize = INDEXED_BYTES_END - 1;

/// Most bytes of strings in a block where rows may be erased: to erase a row, its block is read and written.
pub(crate) const ERASABLE_STRINGS_BYTES_MAX: usize = 256 << 10;

/// A run of rows of one column, as the writer collected them.
#[derive(Debug, Clone, Copy)]
pub struct PageInput<'a> {
    /// The levels above the items; `None` in flat columns, where an item is a row.
    pub levels: Option<LevelsSlice<'a>>,
    /// One bit per item, 1 for valid; `None` where all are.
    pub validity: Option<BitSlice<'a>>,
    /// One value per item; values of null items may be anything.
    pub values: Values<'a>,
    /// Meaning of the values.
    pub logical_type: LogicalType,
    /// The kind of shared buffer that the values are, if they are one. Such a page is always of mini-blocks.
    pub shared: Option<SharedKind>,
    /// How many shared buffers lead to them: 0 for a column's own values.
    pub shared_depth: u32,
}

impl<'a> PageInput<'a> {
    /// A flat column without nulls, of which nothing else is known.
    pub fn of_values(values: Values<'a>) -> Self {
        Self {
            levels: None,
            validity: None,
            values,
            logical_type: LogicalType::Unknown,
            shared: None,
            shared_depth: 0,
        }
    }
}

impl PageInput<'_> {
    /// Computes statistics of these values, which are the input's with nulls dealt with.
    pub(crate) fn statistics<'s>(
        &self,
        values: Values<'s>,
        rows: Option<&'s dyn RowStarts>,
        context: &EncodeContext<'s>,
    ) -> Statistics<'s> {
        let facts = Facts {
            logical_type: self.logical_type,
            all_distinct: self.shared == Some(SharedKind::Dictionary),
            shared: self.shared,
            shared_depth: self.shared_depth,
            rows,
            memory: context.memory,
            erasable: context.erasable,
        };
        Statistics::new(values, facts)
    }
}

/// How a page's values are to be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Best first; the last holds any values of the type.
    pub trees: Vec<Tree>,
    /// Bytes that all values are expected to take under the first tree, shared buffers not counted: for cutting blocks.
    pub bytes: u64,
    /// Whether values take about equally many bits, so that blocks can have equally many rows.
    pub uniform: bool,
    /// The payload in bytes that blocks aim at, [`BLOCK_PAYLOAD_BYTES_TARGET`] for most trees.
    pub block_bytes: usize,
}

/// Chooses trees; the policy lives above this crate.
pub trait Choose {
    /// Trees for values: those of a page, filler and nulls already dealt with, or the validity or the lengths of a
    /// level ([`LogicalType`] says which). The shared buffers of all trees together are numbered from 0 on.
    ///
    /// # Errors
    /// What encodings refuse.
    fn choose(&self, values: &Statistics<'_>) -> Result<Choice>;

    /// Rows whose values take at least this many bytes are stored one by one (full-zip), unless encoding them together
    /// makes them smaller.
    fn full_zip_bytes_min(&self) -> u32 {
        FULL_ZIP_BYTES_MIN
    }
}

/// Needs of encoding besides values.
#[derive(Clone, Copy)]
pub struct EncodeContext<'a> {
    /// Encoders by id.
    pub registry: &'a Registry,
    /// The policy.
    pub chooser: &'a dyn Choose,
    /// The memory that earlier pages of the column have left.
    pub memory: Option<&'a dyn ColumnMemory>,
    /// CRC-32C.
    pub checksum: fn(&[u8]) -> u32,
    /// Whether rows may be erased. Blocks of long byte strings are then shorter, since an erasure writes a block
    /// afresh, and entries of dictionaries are in the order of their values.
    pub erasable: bool,
}

/// Rows of the blocks of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockRows {
    /// `1 << log2` in each but the last.
    Uniform(u8),
    /// The rows of each block.
    Table(Vec<u32>),
}

/// A page ready to be written.
#[derive(Debug, Clone)]
pub struct EncodedPage {
    /// All blocks, 8-aligned to the page's start.
    pub bytes: Vec<u8>,
    /// Start of each block in `bytes`.
    pub starts: Vec<u64>,
    /// Rows of each block.
    pub block_rows: BlockRows,
    /// Rows of the page.
    pub rows: u64,
    /// Null items.
    pub null_count: u64,
    /// How to decode it.
    pub meta: Meta,
    /// Values of the shared buffers that `meta` lists, in the order of their numbers; they are stored as pages of their
    /// own.
    pub shared: Vec<Arc<OwnedValues>>,
}

impl EncodedPage {
    /// The bytes of block `i`, padding included.
    pub fn block(&self, i: usize) -> &[u8] {
        let start = self.starts.get(i).copied().unwrap_or_default() as usize;
        let end = match self.starts.get(i + 1) {
            Some(end) => *end as usize,
            None => self.bytes.len(),
        };
        self.bytes.get(start..end).unwrap_or_default()
    }
}
