//! Conditions proved for runs of rows by the smallest and the largest value of each, and by values that they lack.
//!
//! A proof says of each run whether the condition can be true for a row, and whether it is true for all. What is not
//! known is possible.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Datum, Scalar};
use arrow_buffer::BooleanBuffer;
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{ArrowError, DataType, SortOptions};

use crate::filter::{ColumnPlace, Conjunct, Node};
use crate::range::{Bound, Range};
use crate::test::{Kind, Test};

/// Most values of an `IN` that are looked for one by one: of more, some seems to be there nearly always.
const KEYS_MAX: usize = 64;

/// Values that a condition compares the rows of a column with, by equality.
#[derive(Debug, Clone)]
pub struct Keys {
    /// The column.
    pub place: ColumnPlace,
    /// Values of the type of the column, or, for dictionaries and runs, that of their values; none is null.
    pub values: ArrayRef,
}

/// Says which runs of rows may hold a value.
pub trait KeyRuns: fmt::Debug + Send + Sync {
    /// The runs that may hold value `at` of an array of [`Keys::values`], a bit for each: of others it is certain that
    /// no row has it. `None` if nothing is known.
    fn that_may_hold(&self, values: &ArrayRef, at: usize) -> Option<BooleanBuffer>;
}

/// Bounds of a column: what is known of it in each of some runs of rows.
#[derive(Debug, Clone)]
pub struct ColumnBounds {
    /// The smallest value of each run that is neither null nor NaN, or the beginning of it; null if there is none.
    /// Values have the type of the column, or, for dictionaries and runs, that of their values.
    pub min: ArrayRef,
    /// The largest value of each run, or the beginning of it.
    pub max: ArrayRef,
    /// Runs of which `min` or `max` is only the beginning of the value.
    pub is_cut: BooleanBuffer,
    /// Runs with a null.
    pub has_nulls: BooleanBuffer,
    /// Runs with a NaN.
    pub has_nans: BooleanBuffer,
    /// Runs of which something is known. Of the others the bits and values above have no meaning.
    pub is_known: BooleanBuffer,
    /// Says what the runs lack, also those of which nothing else is known.
    pub keys: Option<Arc<dyn KeyRuns>>,
}

/// Conclusions from bounds, a bit for each run of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Runs in which a row may pass. In the others none does.
    pub some_may_pass: BooleanBuffer,
    /// Runs of which all rows pass.
    pub all_pass: BooleanBuffer,
}

impl Conjunct {
    /// Proves what can be proved of `n` runs of rows. `columns` are the bounds of [`Conjunct::columns`], in their
    /// order, `None` for columns of which nothing is known. A field of a struct is null where a struct around it is:
    /// such rows count in [`ColumnBounds::has_nulls`].
    ///
    /// # Errors
    /// Another number of columns, other numbers of runs, and bounds of other types than those that were bound.
    pub fn prove(&self, columns: &[Option<ColumnBounds>], n: usize) -> Result<Proof, ArrowError> {
        let places = self.columns();
        let is_right = |it: &ColumnBounds| it.min.len() == n && it.max.len() == n;
        if columns.len() != places.len() || !columns.iter().flatten().all(is_right) {
            return Err(ArrowError::InvalidArgumentError(
                "bounds of other columns or runs than those of the condition".to_owned(),
            ));
        }
        let input = Input {
            places: &places,
            columns,
            n,
        };
        let possible = self.node.possible(&input)?;
        Ok(Proof {
            all_pass: !&(&possible.no | &possible.unknown),
            some_may_pass: possible.yes,
        })
    }

    /// The values that it compares columns with by equality, one entry for each `=`, and `IN` of few values.
    pub fn keys(&self) -> Vec<Keys> {
        let mut keys = Vec::new();
        let mut rest = vec![&self.node];
        while let Some(node) = rest.pop() {
            match node {
                Node::Test { field, path, test } => {
                    keys.extend(test.kind.keys().map(|values| Keys {
                        place: ColumnPlace {
                            field: *field,
                            path: path.clone(),
                        },
                        values,
                    }));
                }
                Node::And(all) | Node::Or(all) => rest.extend(all),
                Node::Not(inner) => rest.push(inner),
            }
        }
        keys
    }
}

impl Kind {
    /// The values that a row has one of if it passes.
    fn keys(&self) -> Option<ArrayRef> {
        match self {
            Self::Equal(value) => Some(array_of(value)),
            Self::In { set, .. } => set.sorted().filter(|it| it.len() <= KEYS_MAX).cloned(),
            _ => None,
        }
    }
}

struct Input<'a> {
    /// The places of the columns, rising.
    places: &'a [ColumnPlace],
    columns: &'a [Option<ColumnBounds>],
    n: usize,
}

/// Values that a condition may have for some row of each run.
struct Possible {
    yes: BooleanBuffer,
    no: BooleanBuffer,
    unknown: BooleanBuffer,
}

impl Possible {
    fn anything(n: usize) -> Self {
        let all = BooleanBuffer::new_set(n);
        Self {
            yes: all.clone(),
            no: all.clone(),
            unknown: all,
        }
    }

    fn only(is_true: bool, n: usize) -> Self {
        let (all, none) = (BooleanBuffer::new_set(n), BooleanBuffer::new_unset(n));
        let (yes, no) = match is_true {
            true => (all, none.clone()),
            false => (none.clone(), all),
        };
        Self {
            yes,
            no,
            unknown: none,
        }
    }

    fn not(self) -> Self {
        Self {
            yes: self.no,
            no: self.yes,
            ..self
        }
    }

    /// A row of the run may be true for both, or false for one, or unknown for one; which rows these are is not known.
    fn and(&self, other: &Self) -> Self {
        Self {
            yes: &self.yes & &other.yes,
            no: &self.no | &other.no,
            unknown: &self.unknown | &other.unknown,
        }
    }

    fn or(self, other: Self) -> Self {
        self.not().and(&other.not()).not()
    }
}

impl Node {
    fn possible(&self, input: &Input<'_>) -> Result<Possible, ArrowError> {
        Ok(match self {
            Node::Test { field, path, test } => {
                let wanted = (*field, path.as_slice());
                let places = input.places;
                let slot =
                    places.binary_search_by(|it| (it.field, it.path.as_slice()).cmp(&wanted));
                match slot.ok().and_then(|slot| input.columns.get(slot)?.as_ref()) {
                    None => Possible::anything(input.n),
                    Some(bounds) => test.possible(bounds)?,
                }
            }
            Node::And(all) => {
                let mut possible = Possible::only(true, input.n);
                for node in all {
                    possible = possible.and(&node.possible(input)?);
                }
                possible
            }
            Node::Or(all) => {
                let mut possible = Possible::only(false, input.n);
                for node in all {
                    possible = possible.or(node.possible(input)?);
                }
                possible
            }
            Node::Not(inner) => inner.possible(input)?.not(),
        })
    }
}

impl Test {
    /// Values that the test may have for the rows of each run.
    fn possible(&self, bounds: &ColumnBounds) -> Result<Possible, ArrowError> {
        let n = bounds.min.len();
        let has_values = match bounds.min.nulls() {
            None => BooleanBuffer::new_set(n),
            Some(nulls) => nulls.inner().clone(),
        };
        let unproved = !&bounds.is_known;
        let known = |bits: &BooleanBuffer| bits | &unproved;
        if let Kind::IsNull = self.kind {
            return Ok(Possible {
                yes: known(&bounds.has_nulls),
                no: known(&(&has_values | &bounds.has_nans)),
                unknown: unproved.clone(),
            });
        }
        let [mut yes, mut no] = self.of_values(bounds)?.map(|bits| &bits & &has_values);
        let mut unknown = bounds.has_nulls.clone();
        match &self.kind {
            Kind::Unknown => {
                unknown = &(&unknown | &has_values) | &bounds.has_nans;
                (yes, no) = (BooleanBuffer::new_unset(n), BooleanBuffer::new_unset(n));
            }
            _ if self.nan_is_unknown => unknown = &unknown | &bounds.has_nans,
            // A NaN is above all numbers, or below them.
            kind => {
                no = &no | &bounds.has_nans;
                if !matches!(kind, Kind::Nothing) {
                    yes = &yes | &bounds.has_nans;
                }
            }
        }
        if matches!(
            &self.kind,
            Kind::In {
                or_unknown: true,
                ..
            }
        ) {
            unknown = &unknown | &no;
            no = BooleanBuffer::new_unset(n);
        }
        let mut yes = known(&yes);
        if let (Some(runs), Some(keys)) = (&bounds.keys, self.kind.keys()) {
            let some = (0..keys.len()).try_fold(BooleanBuffer::new_unset(n), |some, at| {
                let runs = runs.that_may_hold(&keys, at);
                Some(&some | &runs.filter(|runs| runs.len() == n)?)
            });
            if let Some(some) = some {
                yes = &yes & &some;
            }
        }
        Ok(Possible {
            yes,
            no: known(&no),
            unknown: known(&unknown),
        })
    }

    /// Whether the test may be true, and whether it may be false, for values between the bounds of each run.
    fn of_values(&self, bounds: &ColumnBounds) -> Result<[BooleanBuffer; 2], ArrowError> {
        let n = bounds.min.len();
        let (all, none) = (BooleanBuffer::new_set(n), BooleanBuffer::new_unset(n));
        Ok(match &self.kind {
            Kind::IsNull | Kind::Unknown => [none.clone(), none],
            Kind::Nothing => [none, all],
            Kind::Equal(value) => {
                let beside = Beside::new(bounds, array_of(value))?;
                [
                    BooleanBuffer::collect_bool(n, |i| beside.may_hold(i, 0)),
                    BooleanBuffer::collect_bool(n, |i| !beside.is_only(i, 0)),
                ]
            }
            Kind::Range(range) => of_range(range, bounds)?,
            Kind::In { set, .. } => match set.sorted() {
                None => [all.clone(), all],
                Some(members) => {
                    let beside = Beside::new(bounds, members.clone())?;
                    let n_members = members.len();
                    let first = |i: usize| partition(n_members, |j| beside.min_is_above(i, j));
                    [
                        BooleanBuffer::collect_bool(n, |i| {
                            let first = first(i);
                            first < n_members && beside.may_hold(i, first)
                        }),
                        BooleanBuffer::collect_bool(n, |i| {
                            let first = first(i);
                            !(first < n_members && beside.is_only(i, first))
                        }),
                    ]
                }
            },
            Kind::Like(pattern) => {
                let (Some(prefix), Some(min), Some(max)) = (
                    pattern.prefix(),
                    texts_of(&bounds.min),
                    texts_of(&bounds.max),
                ) else {
                    return Ok([all.clone(), all]);
                };
                let prefix = prefix.as_bytes();
                let begins = |text: Option<&[u8]>| text.is_some_and(|it| it.starts_with(prefix));
                let may = |i: usize| {
                    let (Some(min), Some(max)) = (min(i), max(i)) else {
                        return false;
                    };
                    let is_cut = bounds.is_cut.value(i);
                    let reaches = max >= prefix || is_cut && prefix.starts_with(max);
                    reaches && (min <= prefix || min.starts_with(prefix))
                };
                [
                    BooleanBuffer::collect_bool(n, may),
                    BooleanBuffer::collect_bool(n, |i| {
                        !(pattern.is_prefix() && begins(min(i)) && begins(max(i)))
                    }),
                ]
            }
        })
    }
}

fn of_range(range: &Range, bounds: &ColumnBounds) -> Result<[BooleanBuffer; 2], ArrowError> {
    let n = bounds.min.len();
    let (mut yes, mut no) = (BooleanBuffer::new_set(n), BooleanBuffer::new_unset(n));
    if let Some(Bound {
        value,
        is_inclusive,
    }) = &range.low
    {
        let beside = Beside::new(bounds, array_of(value))?;
        let within = BooleanBuffer::collect_bool(n, |i| match is_inclusive {
            true => beside.max_reaches(i, 0),
            false => beside.max_is_above(i, 0),
        });
        let without = BooleanBuffer::collect_bool(n, |i| match beside.min(i, 0) {
            Ordering::Less => true,
            Ordering::Equal => !is_inclusive,
            Ordering::Greater => false,
        });
        (yes, no) = (&yes & &within, &no | &without);
    }
    if let Some(Bound {
        value,
        is_inclusive,
    }) = &range.high
    {
        let beside = Beside::new(bounds, array_of(value))?;
        let within = BooleanBuffer::collect_bool(n, |i| match beside.min(i, 0) {
            Ordering::Less => true,
            Ordering::Equal => *is_inclusive,
            Ordering::Greater => false,
        });
        let without = BooleanBuffer::collect_bool(n, |i| match is_inclusive {
            true => beside.max_is_above(i, 0),
            false => beside.max_reaches(i, 0),
        });
        (yes, no) = (&yes & &within, &no | &without);
    }
    Ok([yes, no])
}

/// The bounds of runs beside some values: what is compared, and how.
struct Beside<'a> {
    min: DynComparator,
    max: DynComparator,
    bounds: &'a ColumnBounds,
    values: ArrayRef,
}

impl<'a> Beside<'a> {
    fn new(bounds: &'a ColumnBounds, values: ArrayRef) -> Result<Self, ArrowError> {
        let options = SortOptions::default();
        Ok(Self {
            min: make_comparator(&bounds.min, &values, options)?,
            max: make_comparator(&bounds.max, &values, options)?,
            bounds,
            values,
        })
    }

    /// The smallest value of a run, or the beginning of it, compared with value `j`. Where it is below, so is the
    /// beginning.
    fn min(&self, run: usize, j: usize) -> Ordering {
        (self.min)(run, j)
    }

    fn min_is_above(&self, run: usize, j: usize) -> bool {
        self.min(run, j) == Ordering::Greater
    }

    /// Whether the largest value may be value `j` or above it.
    fn max_reaches(&self, run: usize, j: usize) -> bool {
        (self.max)(run, j) != Ordering::Less || self.begins_with_max(run, j)
    }

    /// Whether the largest value may be above value `j`.
    fn max_is_above(&self, run: usize, j: usize) -> bool {
        (self.max)(run, j) == Ordering::Greater || self.begins_with_max(run, j)
    }

    /// Whether value `j` begins with the beginning of a largest value that is cut: then it may be below that.
    fn begins_with_max(&self, run: usize, j: usize) -> bool {
        self.bounds.is_cut.value(run)
            && match (bytes_at(&self.bounds.max, run), bytes_at(&self.values, j)) {
                (Some(max), Some(value)) => value.starts_with(max),
                _ => true,
            }
    }

    /// Whether value `j` may be among those of a run.
    fn may_hold(&self, run: usize, j: usize) -> bool {
        !self.min_is_above(run, j) && self.max_reaches(run, j)
    }

    /// Whether all values of a run are value `j`.
    fn is_only(&self, run: usize, j: usize) -> bool {
        !self.bounds.is_cut.value(run)
            && self.min(run, j) == Ordering::Equal
            && (self.max)(run, j) == Ordering::Equal
    }
}

/// The first of `n` places for which `is_before` does not hold; it holds for none after that.
fn partition(n: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

fn array_of(value: &Scalar<ArrayRef>) -> ArrayRef {
    let (array, _) = value.get();
    array.slice(0, array.len())
}

/// The bytes of a value that is a byte string; `None` for a null, and for other types.
fn bytes_at(array: &ArrayRef, i: usize) -> Option<&[u8]> {
    if array.is_null(i) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(i).as_bytes(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(i).as_bytes(),
        DataType::Utf8View => array.as_string_view().value(i).as_bytes(),
        DataType::Binary => array.as_binary::<i32>().value(i),
        DataType::LargeBinary => array.as_binary::<i64>().value(i),
        DataType::BinaryView => array.as_binary_view().value(i),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(i),
        _ => return None,
    })
}

/// The texts of an array, by their place; `None` for an array of another type.
fn texts_of<'a>(array: &'a ArrayRef) -> Option<impl Fn(usize) -> Option<&'a [u8]>> {
    matches!(
        array.data_type(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
    .then_some(move |i| bytes_at(array, i))
}
