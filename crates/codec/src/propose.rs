//! What writers are told of values beside the values, and what they propose.

use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;

use crate::{Encoding, OwnedValues, Result, SharedKind, Values, Version};

/// What values mean. Decoders need not know; writers choose by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LogicalType {
    /// Nothing is known.
    #[default]
    Unknown,
    /// True and false.
    Boolean,
    /// Whether an item is null.
    Validity,
    /// Lengths of lists or strings.
    Length,
    /// Numbers of a dictionary's entries.
    Code,
    /// Unsigned integers.
    Unsigned,
    /// Integers in two's complement.
    Signed,
    /// IEEE 754 numbers.
    Float,
    /// Integers in two's complement, of units of 10^-scale.
    Decimal {
        /// Digits behind the decimal point.
        scale: i8,
    },
    /// Days (4 bytes) or milliseconds (8 bytes) since 1970-01-01.
    Date,
    /// Time of day.
    Time(TimeUnit),
    /// Time since 1970-01-01.
    Timestamp(TimeUnit),
    /// Lengths of time.
    Duration(TimeUnit),
    /// UTF-8.
    Text,
    /// Bytes.
    Binary,
}

impl LogicalType {
    /// Whether the values are integers of some kind, of which differences and sums mean something.
    pub fn is_integer(self) -> bool {
        !matches!(
            self,
            Self::Boolean | Self::Validity | Self::Float | Self::Text | Self::Binary | Self::Code
        )
    }
}

/// Units of times.
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

/// Where the rows of a page begin among its values: of lists, whose rows have any number of values.
pub trait RowStarts {
    /// For each row the number of values in front of it, and at last the number of all values: one more than there are
    /// rows, rising.
    fn row_starts(&self) -> Vec<u32>;
}

/// What is known of values beside the values.
#[derive(Clone, Copy, Default)]
pub struct Facts<'a> {
    /// What they mean.
    pub logical_type: LogicalType,
    /// Whether no two are equal, as the entries of a dictionary are.
    pub all_distinct: bool,
    /// What shared buffer they are, if they are one: it is stored as a page of its own.
    pub shared: Option<SharedKind>,
    /// Where rows begin; `None` where a value is a row.
    pub rows: Option<&'a dyn RowStarts>,
}

impl Facts<'_> {
    /// Nothing but what the values mean.
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
            .field("rows", &self.rows.is_some())
            .finish()
    }
}

/// The values of a child or of a shared buffer, for which a tree has to be found.
#[derive(Debug, Clone)]
pub struct Part<'v> {
    values: PartValues<'v>,
    /// What is known of them.
    pub logical_type: LogicalType,
    /// See [`Facts::all_distinct`].
    pub all_distinct: bool,
    /// Values in a unit at most: see [`Statistics::unit_values`](crate::Statistics::unit_values).
    pub unit_values: usize,
}

#[derive(Debug, Clone)]
enum PartValues<'v> {
    Borrowed(Values<'v>),
    Owned(Rc<OwnedValues>),
}

impl<'v> Part<'v> {
    /// Values that were made for the proposal.
    pub fn owned(values: Rc<OwnedValues>, logical_type: LogicalType) -> Self {
        Self::of(PartValues::Owned(values), logical_type)
    }

    /// Values that the node's own are made of.
    pub fn borrowed(values: Values<'v>, logical_type: LogicalType) -> Self {
        Self::of(PartValues::Borrowed(values), logical_type)
    }

    fn of(values: PartValues<'v>, logical_type: LogicalType) -> Self {
        Self {
            values,
            logical_type,
            all_distinct: false,
            unit_values: usize::MAX,
        }
    }

    /// The same, of which no two are equal.
    #[must_use]
    pub fn distinct(self) -> Self {
        Self {
            all_distinct: true,
            ..self
        }
    }

    /// The same in units of at most `unit_values`.
    #[must_use]
    pub fn in_units_of(self, unit_values: usize) -> Self {
        Self {
            unit_values,
            ..self
        }
    }

    /// The values.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) where the parts of owned values do not fit each
    /// other.
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
    /// Bytes that all units of the page take together, without what the children's units take: by an exact formula, or
    /// by a trial on a sample.
    pub bytes: u64,
    /// One for each child.
    pub children: Vec<Part<'v>>,
    /// One for each shared buffer.
    pub shared: Vec<Part<'v>>,
    /// The proposal holds only if node, children and shared buffers take no more than this: a dictionary inside a
    /// page's only block.
    pub bytes_max: u64,
    /// Whether values take about equally many bytes, so that blocks can have equally many rows.
    pub is_uniform: bool,
}

impl Proposal<'_> {
    /// A node without parameters, children and shared buffers, of which all units take `bytes`.
    pub fn leaf(encoding: &dyn Encoding, bytes: u64) -> Self {
        Self {
            version: encoding.version(),
            params: Vec::new(),
            bytes,
            children: Vec::new(),
            shared: Vec::new(),
            bytes_max: u64::MAX,
            is_uniform: true,
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
}

impl<'v> Proposals<'v> {
    /// None yet. What takes `bytes_to_beat` or more is of no use; newer layouts than `version` are not to be written.
    pub fn new(bytes_to_beat: u64, version: Version) -> Self {
        Self {
            list: vec![],
            bytes_to_beat,
            version,
            must_fit: false,
            shared_bytes_max: SHARED_BYTES_MAX,
        }
    }

    /// The same with another limit on the size of shared buffers.
    #[must_use]
    pub fn with_shared_bytes_max(self, shared_bytes_max: u64) -> Self {
        Self {
            shared_bytes_max,
            ..self
        }
    }

    /// The most bytes that a shared buffer of values of fixed width is worth: it is read before the first value, and is
    /// to stay in the cache.
    pub fn shared_bytes_max(&self) -> u64 {
        self.shared_bytes_max
    }

    /// The same for values that are to be erased in place: only nodes that say
    /// [`EraseFit::Always`](crate::EraseFit::Always) are of use.
    #[must_use]
    pub fn that_fit(self, must_fit: bool) -> Self {
        Self { must_fit, ..self }
    }

    /// Whether survivors of an erasure must fit their old place under the node.
    pub fn must_fit(&self) -> bool {
        self.must_fit
    }

    /// The bytes of the best tree found so far, less what this encoding's decoder takes longer: a proposal that needs
    /// as many or more is not taken, so an encoding may stop computing as soon as it knows that.
    pub fn bytes_to_beat(&self) -> u64 {
        self.bytes_to_beat
    }

    /// The newest layout that the writer's options allow.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Adds a proposal.
    pub fn push(&mut self, proposal: Proposal<'v>) {
        self.list.push(proposal);
    }

    /// All of them.
    pub fn into_vec(self) -> Vec<Proposal<'v>> {
        self.list
    }
}
