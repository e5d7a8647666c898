//! Proposals of encodings, and the facts that they know about values besides the values themselves.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use crate::{ColumnMemory, Encoding, OwnedValues, Result, SharedKind, Values, Version, limits};

/// The logical type of values. Writers choose encodings by it; decoders do not need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LogicalType {
    /// Unknown.
    #[default]
    Unknown,
    /// True and false.
    Boolean,
    /// Validity: one bit per item, set if the item is not null.
    Validity,
    /// Lengths of lists or strings.
    Length,
    /// Indices of dictionary entries.
    Code,
    /// Unsigned integers.
    Unsigned,
    /// Integers in two's complement.
    Signed,
    /// IEEE 754 numbers.
    Float,
    /// Integers in two's complement, in units of 10^-scale.
    Decimal {
        /// Digits after the decimal point.
        scale: i8,
    },
    /// Days (4 bytes) or milliseconds (8 bytes) since 1970-01-01.
    Date,
    /// Time of day.
    Time(TimeUnit),
    /// Time since 1970-01-01.
    Timestamp(TimeUnit),
    /// Durations.
    Duration(TimeUnit),
    /// UTF-8.
    Text,
    /// Bytes.
    Binary,
}

impl LogicalType {
    /// True if the values are integers whose differences and sums are meaningful.
    pub fn is_integer(self) -> bool {
        !matches!(
            self,
            Self::Boolean | Self::Validity | Self::Float | Self::Text | Self::Binary | Self::Code
        )
    }
}

/// Units of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// 1 s
    Second,
    /// 10^-3 s
    Millisecond,
    /// 10^-6 s
    Microsecond,
    /// 10^-9 s
    Nanosecond,
}

/// Where the rows of a page begin among its values. For lists, whose rows have any number of values.
pub trait RowStarts {
    /// For each row the number of values before it, then the number of all values: one more entry than there are rows.
    /// They do not fall.
    fn row_starts(&self) -> Vec<u32>;
}

/// Facts about values besides the values themselves.
#[derive(Clone, Copy, Default)]
pub struct Facts<'a> {
    /// Their logical type.
    pub logical_type: LogicalType,
    /// True if all values are distinct, as the entries of a dictionary are.
    pub all_distinct: bool,
    /// The kind of shared buffer that the values are stored as, if they are one. A shared buffer is a page of its own.
    pub shared: Option<SharedKind>,
    /// How many shared buffers lead to the values: 0 for a column's own, 1 for a buffer of those.
    pub shared_depth: u32,
    /// Where rows begin; `None` if every value is a row.
    pub rows: Option<&'a dyn RowStarts>,
    /// The memory that earlier pages of the column have left; `None` for values that are not a column's own or a shared
    /// buffer's.
    pub memory: Option<&'a dyn ColumnMemory>,
    /// Whether rows may be erased. Entries of shared buffers are then in the order of their values: the order in which
    /// they first appear would tell, after an erasure, what stood in erased rows.
    pub erasable: bool,
}

impl Facts<'_> {
    /// True for the values of a column's items; false for lengths, validity and what a shared buffer holds.
    pub fn are_of_items(&self) -> bool {
        let is_of_levels = matches!(
            self.logical_type,
            LogicalType::Length | LogicalType::Validity
        );
        !is_of_levels && self.shared.is_none()
    }

    /// Only the logical type is known.
    pub fn of(logical_type: LogicalType) -> Self {
        Self {
            logical_type,
            ..Self::default()
        }
    }
}

impl core::fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Facts")
            .field("logical_type", &self.logical_type)
            .field("all_distinct", &self.all_distinct)
            .field("shared", &self.shared)
            .field("shared_depth", &self.shared_depth)
            .field("rows", &self.rows.is_some())
            .field("memory", &self.memory.is_some())
            .field("erasable", &self.erasable)
            .finish()
    }
}

/// The values of a child or of a shared buffer, for which the search must find a tree.
#[derive(Debug, Clone)]
pub struct Part<'v> {
    values: PartValues<'v>,
    /// Their logical type.
    pub logical_type: LogicalType,
    /// See [`Facts::all_distinct`].
    pub all_distinct: bool,
    /// The most values in a unit: see [`Statistics::unit_values`](crate::Statistics::unit_values).
    pub unit_values: usize,
    /// Whether units may have more values than the node's, such as the bytes of strings.
    pub units_may_be_longer: bool,
    /// How many of the node's values each of these stands for, rounded down: for one, a dictionary of them may be the
    /// larger. At least 1.
    pub stands_for: u64,
    /// Whether other values come out where blocks are cut at other rows: the search takes only encodings that hold any
    /// values. A block that a page's tree does not hold is stored under the fallback.
    pub depends_on_cuts: bool,
    /// Whether the search may put the node's own encoding there, where it mostly finds little that the node has left.
    pub nests: bool,
}

#[derive(Debug, Clone)]
enum PartValues<'v> {
    Borrowed(Values<'v>),
    Owned(Rc<OwnedValues>),
}

impl<'v> Part<'v> {
    /// Values that were computed for the proposal.
    pub fn owned(values: Rc<OwnedValues>, logical_type: LogicalType) -> Self {
        Self::of(PartValues::Owned(values), logical_type)
    }

    /// A copy of values that were computed for the proposal and that their owner keeps.
    pub fn copied(values: Values<'_>, logical_type: LogicalType) -> Self {
        Self::owned(Rc::new(OwnedValues::copy_of(values)), logical_type)
    }

    /// Values that are borrowed from those of the node.
    pub fn borrowed(values: Values<'v>, logical_type: LogicalType) -> Self {
        Self::of(PartValues::Borrowed(values), logical_type)
    }

    fn of(values: PartValues<'v>, logical_type: LogicalType) -> Self {
        Self {
            values,
            logical_type,
            all_distinct: false,
            unit_values: usize::MAX,
            units_may_be_longer: false,
            stands_for: 1,
            depends_on_cuts: false,
            nests: false,
        }
    }

    /// Says that the part may be of the node's own encoding.
    #[must_use]
    pub fn nesting(self) -> Self {
        Self {
            nests: true,
            ..self
        }
    }

    /// Marks the part as having other values where blocks are cut at other rows.
    #[must_use]
    pub fn depending_on_cuts(self) -> Self {
        Self {
            depends_on_cuts: true,
            ..self
        }
    }

    /// Says that the values of the part each stand for so many of the node's.
    #[must_use]
    pub fn standing_for(self, n_values: u64) -> Self {
        Self {
            stands_for: n_values.max(1),
            ..self
        }
    }

    /// Marks the part as having distinct values.
    #[must_use]
    pub fn distinct(self) -> Self {
        Self {
            all_distinct: true,
            ..self
        }
    }

    /// Gives the part units of at most `unit_values`, and of no more values than the node's.
    #[must_use]
    pub fn in_units_of(self, unit_values: usize) -> Self {
        Self {
            unit_values,
            ..self
        }
    }

    /// Gives the part units of at most `unit_values`, which may be more than the node's.
    #[must_use]
    pub fn in_longer_units_of(self, unit_values: usize) -> Self {
        Self {
            unit_values,
            units_may_be_longer: true,
            ..self
        }
    }

    /// The values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the lengths inside owned values do not match.
    pub fn values(&self) -> Result<Values<'_>> {
        match &self.values {
            PartValues::Borrowed(values) => Ok(*values),
            PartValues::Owned(values) => values.as_values(),
        }
    }
}

/// A node that an encoding proposes for values.
#[derive(Debug, Clone)]
pub struct Proposal<'v> {
    /// The version of the layout.
    pub version: Version,
    /// The node's parameters.
    pub params: Vec<u8>,
    /// Total bytes of all units of the page without their children's units: by an exact formula, or estimated by
    /// encoding a sample.
    pub bytes: u64,
    /// The values of each child.
    pub children: Vec<Part<'v>>,
    /// The values of each shared buffer.
    pub shared: Vec<Part<'v>>,
    /// The search drops the proposal if node, children and shared buffers together take more bytes than this. Used for
    /// a dictionary inside a page's only block.
    pub bytes_max: u64,
    /// True if all values take about the same number of bytes, so that all blocks can have the same number of rows.
    pub is_uniform: bool,
    /// The payload in bytes that blocks should aim at: [`limits::UNIT_BYTES_TARGET`], or more for encodings that find
    /// what repeats only within a block. A block is what a lookup reads and decodes.
    pub block_bytes: usize,
}

impl Proposal<'_> {
    /// A node without parameters, children and shared buffers whose units take `bytes` in total.
    pub fn leaf(encoding: &dyn Encoding, bytes: u64) -> Self {
        Self {
            version: encoding.version(),
            params: Vec::new(),
            bytes,
            children: Vec::new(),
            shared: Vec::new(),
            bytes_max: u64::MAX,
            is_uniform: true,
            block_bytes: limits::UNIT_BYTES_TARGET,
        }
    }
}

/// See [`Proposals::shared_bytes_max`].
const SHARED_BYTES_MAX: u64 = 64 << 10;

/// The proposals of one encoding for the values of one node.
#[derive(Debug)]
pub struct Proposals<'v> {
    pub(crate) list: Vec<Proposal<'v>>,
    bytes_to_beat: u64,
    version: Version,
    must_fit: bool,
    shared_bytes_max: u64,
    is_named: bool,
    for_size: bool,
    for_speed: bool,
    are_of_sample: bool,
}

impl<'v> Proposals<'v> {
    /// An empty list. Proposals of `bytes_to_beat` or more are useless; layouts newer than `version` must not be
    /// proposed.
    pub fn new(bytes_to_beat: u64, version: Version) -> Self {
        Self {
            list: vec![],
            bytes_to_beat,
            version,
            must_fit: false,
            shared_bytes_max: SHARED_BYTES_MAX,
            is_named: false,
            for_size: false,
            for_speed: false,
            are_of_sample: false,
        }
    }

    /// Sets another limit on the size of shared buffers.
    #[must_use]
    pub fn with_shared_bytes_max(self, shared_bytes_max: u64) -> Self {
        Self {
            shared_bytes_max,
            ..self
        }
    }

    /// The most bytes that a shared buffer of fixed-width values may take. It is read before the first value and should
    /// fit the cache.
    pub fn shared_bytes_max(&self) -> u64 {
        self.shared_bytes_max
    }

    /// Asks for nodes with [`EraseFit::Always`](crate::EraseFit::Always) alone, if `must_fit`.
    #[must_use]
    pub fn that_fit(self, must_fit: bool) -> Self {
        Self { must_fit, ..self }
    }

    /// Returns true if the survivors of an erasure must always fit their old place.
    pub fn must_fit(&self) -> bool {
        self.must_fit
    }

    /// Marks the list as that of an encoding that a user named, or not.
    #[must_use]
    pub fn of_named(self, is_named: bool) -> Self {
        Self { is_named, ..self }
    }

    /// True if a user named the encoding for these values. Then it may propose also what is hardly ever better than
    /// other encodings, or what takes long to compute.
    pub fn is_named(&self) -> bool {
        self.is_named
    }

    /// Marks the values as a sample of a page.
    #[must_use]
    pub fn of_sample(self) -> Self {
        Self {
            are_of_sample: true,
            ..self
        }
    }

    /// True if the values are a sample of those of a page. Then shared buffers may be any size, and
    /// [`Proposals::bytes_to_beat`] holds for all but them.
    pub fn are_of_sample(&self) -> bool {
        self.are_of_sample
    }

    /// Says whether size counts more than time.
    #[must_use]
    pub fn for_size(self, for_size: bool) -> Self {
        Self { for_size, ..self }
    }

    /// Says whether the time of writing counts more than size.
    #[must_use]
    pub fn for_speed(self, for_speed: bool) -> Self {
        Self { for_speed, ..self }
    }

    /// True if the time of writing counts more than size.
    pub fn is_for_speed(&self) -> bool {
        self.for_speed
    }

    /// True if size counts more than time, also that of a read of one row: blocks may be large.
    pub fn is_for_size(&self) -> bool {
        self.for_size
    }

    /// The size in bytes of the best tree so far, reduced if this encoding's decoder is slower. A proposal of this size
    /// or more is not used, so an encoding may stop computing once it reaches it.
    pub fn bytes_to_beat(&self) -> u64 {
        self.bytes_to_beat
    }

    /// The newest version of the layout that the writer's options allow.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Adds a proposal.
    pub fn push(&mut self, proposal: Proposal<'v>) {
        self.list.push(proposal);
    }

    /// All proposals.
    pub fn into_vec(self) -> Vec<Proposal<'v>> {
        self.list
    }
}
