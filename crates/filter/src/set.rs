//! Sets of values of one flat type, for `IN`.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, Scalar};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, ScalarBuffer};
use arrow_ord::sort::sort;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::range::equal;

/// Most members that are compared one by one.
const FEW_MAX: usize = 4;

/// Values of one type that is neither nested nor a dictionary.
#[derive(Debug)]
pub(crate) struct Set {
    members: Members,
    /// The members in rising order; `None` for types that are not sorted.
    sorted: Option<ArrayRef>,
}

#[derive(Debug)]
enum Members {
    Few(Vec<Scalar<ArrayRef>>),
    /// The bits of values of at most 64.
    Words(HashSet<u64, RandomState>),
    Bytes(HashSet<Box<[u8]>, RandomState>),
}

impl Set {
    /// The set of these values: arrays of one value each, of one type.
    pub(crate) fn new(members: Vec<ArrayRef>) -> Set {
        let all: Vec<&dyn Array> = members.iter().map(|it| it.as_ref()).collect();
        let sorted = concat(&all).and_then(|all| sort(&all, None)).ok();
        Set {
            members: Members::new(members),
            sorted,
        }
    }

    /// The members in rising order; `None` for types that are not sorted.
    pub(crate) fn sorted(&self) -> Option<&ArrayRef> {
        self.sorted.as_ref()
    }

    /// The values that are members. What is set for nulls has no meaning.
    ///
    /// # Errors
    /// An array of another type than the members'.
    pub(crate) fn holds(&self, array: &ArrayRef) -> Result<BooleanBuffer, ArrowError> {
        self.members.holds(array)
    }
}

impl Members {
    fn new(members: Vec<ArrayRef>) -> Self {
        let few =
            |members: Vec<ArrayRef>| Members::Few(members.into_iter().map(Scalar::new).collect());
        if members.len() <= FEW_MAX {
            return few(members);
        }
        let mut words = HashSet::default();
        let mut bytes = HashSet::default();
        for member in &members {
            let word = match Values::of(member) {
                Values::Of1(values) => values.first().map(|it| u64::from(*it)),
                Values::Of2(values) => values.first().map(|it| u64::from(*it)),
                Values::Of4(values) => values.first().map(|it| u64::from(*it)),
                Values::Of8(values) => values.first().copied(),
                Values::Bytes(bytes_of) => {
                    bytes.insert(bytes_of(0).into());
                    None
                }
                Values::Others => None,
            };
            words.extend(word);
        }
        // Members are of one type, so one of the sets is empty.
        match (words.is_empty(), bytes.is_empty()) {
            (false, _) => Members::Words(words),
            (_, false) => Members::Bytes(bytes),
            _ => few(members),
        }
    }

    fn holds(&self, array: &ArrayRef) -> Result<BooleanBuffer, ArrowError> {
        let n = array.len();
        let words = |set: &HashSet<u64, RandomState>| {
            Some(match Values::of(array) {
                Values::Of1(values) => holds_words(set, &values),
                Values::Of2(values) => holds_words(set, &values),
                Values::Of4(values) => holds_words(set, &values),
                Values::Of8(values) => holds_words(set, &values),
                Values::Bytes(_) | Values::Others => return None,
            })
        };
        let held = match self {
            Self::Few(members) => {
                let mut all = BooleanBuffer::new_unset(n);
                for member in members {
                    all = &all | &equal(array, member)?;
                }
                return Ok(all);
            }
            Self::Words(set) => words(set),
            Self::Bytes(set) => match Values::of(array) {
                Values::Bytes(bytes) => {
                    Some(BooleanBuffer::collect_bool(n, |i| set.contains(bytes(i))))
                }
                _ => None,
            },
        };
        held.ok_or_else(|| {
            let what = format!("IN with values of another type than {}", array.data_type());
            ArrowError::SchemaError(what)
        })
    }
}

fn holds_words<T>(set: &HashSet<u64, RandomState>, values: &ScalarBuffer<T>) -> BooleanBuffer
where
    T: ArrowNativeType + Into<u64>,
{
    let mut values = values.iter();
    BooleanBuffer::collect_bool(values.len(), |_| {
        values.next().is_some_and(|it| set.contains(&(*it).into()))
    })
}

/// The values of an array of text or of binary data; `None` of other types.
pub(crate) fn strings_of(array: &dyn Array) -> Option<Vec<&[u8]>> {
    let is_fixed = array.data_type().primitive_width().is_some()
        || matches!(array.data_type(), DataType::FixedSizeBinary(_));
    match Values::of(array) {
        Values::Bytes(bytes) if !is_fixed => Some((0..array.len()).map(bytes).collect()),
        _ => None,
    }
}

/// The values of an array as bits or bytes that are equal exactly if the values are.
enum Values<'a> {
    Of1(ScalarBuffer<u8>),
    Of2(ScalarBuffer<u16>),
    Of4(ScalarBuffer<u32>),
    Of8(ScalarBuffer<u64>),
    /// Gives the bytes of the value at an index below the array's length.
    Bytes(Box<dyn Fn(usize) -> &'a [u8] + 'a>),
    /// Booleans, intervals, and types that are not flat.
    Others,
}

impl<'a> Values<'a> {
    fn of(array: &'a dyn Array) -> Values<'a> {
        match array.data_type() {
            DataType::Utf8 => {
                let array = array.as_string::<i32>();
                Values::Bytes(Box::new(|i| array.value(i).as_bytes()))
            }
            DataType::LargeUtf8 => {
                let array = array.as_string::<i64>();
                Values::Bytes(Box::new(|i| array.value(i).as_bytes()))
            }
            DataType::Utf8View => {
                let array = array.as_string_view();
                Values::Bytes(Box::new(|i| array.value(i).as_bytes()))
            }
            DataType::Binary => {
                let array = array.as_binary::<i32>();
                Values::Bytes(Box::new(|i| array.value(i)))
            }
            DataType::LargeBinary => {
                let array = array.as_binary::<i64>();
                Values::Bytes(Box::new(|i| array.value(i)))
            }
            DataType::BinaryView => {
                let array = array.as_binary_view();
                Values::Bytes(Box::new(|i| array.value(i)))
            }
            DataType::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                Values::Bytes(Box::new(|i| array.value(i)))
            }
            DataType::Decimal128(..) => {
                let values = array.as_primitive::<Decimal128Type>().values();
                Values::of_bytes(values.inner().as_slice(), 16)
            }
            DataType::Decimal256(..) => {
                let values = array.as_primitive::<Decimal256Type>().values();
                Values::of_bytes(values.inner().as_slice(), 32)
            }
            // They are aligned to fewer bytes than numbers of their width.
            DataType::Interval(_) => Values::Others,
            other => match other.primitive_width() {
                Some(width) => Values::of_width(array, width),
                None => Values::Others,
            },
        }
    }

    /// Values that lie one behind the other, each of this many bytes.
    fn of_bytes(bytes: &'a [u8], width: usize) -> Values<'a> {
        Values::Bytes(Box::new(move |i| {
            let rest = bytes.get(i * width..).unwrap_or_default();
            rest.get(..width).unwrap_or_default()
        }))
    }

    /// The values of an array of a primitive type of this many bytes.
    fn of_width(array: &'a dyn Array, width: usize) -> Values<'a> {
        let data = array.to_data();
        let (offset, n) = (data.offset(), data.len());
        let Some(buffer) = data.buffers().first().cloned() else {
            return Values::Others;
        };
        match width {
            1 => Values::Of1(ScalarBuffer::new(buffer, offset, n)),
            2 => Values::Of2(ScalarBuffer::new(buffer, offset, n)),
            4 => Values::Of4(ScalarBuffer::new(buffer, offset, n)),
            8 => Values::Of8(ScalarBuffer::new(buffer, offset, n)),
            _ => Values::Others,
        }
    }
}
