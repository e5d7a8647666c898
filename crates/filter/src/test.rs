//! Tests of one flat column.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    RunEndIndexType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RunArray, Scalar};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;

use tarsia_codec::{NumberRange, Order};

use crate::like::Pattern;
use crate::range::{Range, equal, test_numbers};
use crate::set::Set;
use crate::truth::Truth;

/// A test of a column whose values have one type.
#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) kind: Kind,
    /// The type of the values; not of their numbers, where they are in a dictionary.
    pub(crate) values: DataType,
    /// Comparisons with NaN are unknown.
    pub(crate) nan_is_unknown: bool,
}

#[derive(Debug)]
pub(crate) enum Kind {
    IsNull,
    Equal(Scalar<ArrayRef>),
    /// Values that lie within both bounds; all values, if there is none.
    Range(Range),
    /// False for all values.
    Nothing,
    /// Unknown for all values.
    Unknown,
    In {
        set: Set,
        /// True if values that are no members give unknown instead of false.
        or_unknown: bool,
    },
    Like(Pattern),
}

impl Test {
    /// Tests every value of an array: of [`Test::values`], or a dictionary or runs of such.
    ///
    /// # Errors
    /// An array of another type.
    pub(crate) fn truth(&self, array: &ArrayRef) -> Result<Truth, ArrowError> {
        match array.data_type() {
            _ if matches!(self.kind, Kind::IsNull) => self.of_flat(array),
            DataType::Dictionary(..) => self.of_dictionary(array),
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => self.of_runs::<Int16Type>(array),
                DataType::Int32 => self.of_runs::<Int32Type>(array),
                _ => self.of_runs::<Int64Type>(array),
            },
            other if *other == self.values => self.of_flat(array),
            other => Err(ArrowError::SchemaError(format!(
                "a column of type {other} where the condition was bound to {}",
                self.values
            ))),
        }
    }

    fn of_dictionary(&self, array: &ArrayRef) -> Result<Truth, ArrowError> {
        let dictionary = array.as_any_dictionary();
        let (keys, values) = (dictionary.keys(), dictionary.values());
        if values.len() > keys.len() {
            return self.truth(&take(values, keys, None)?);
        }
        let of_values = self.truth(values)?;
        let truth = Truth {
            yes: by_keys(of_values.yes, keys)?,
            no: by_keys(of_values.no, keys)?,
        };
        Ok(truth.known_unless_null(keys.nulls()))
    }

    fn of_runs<R: RunEndIndexType>(&self, array: &ArrayRef) -> Result<Truth, ArrowError> {
        let Some(runs) = array.as_any().downcast_ref::<RunArray<R>>() else {
            let what = format!("an array that is not of its type {}", array.data_type());
            return Err(ArrowError::SchemaError(what));
        };
        if runs.is_empty() {
            return Ok(Truth::unknown(0));
        }
        let ends = runs.run_ends();
        let first = ends.get_start_physical_index();
        let n_runs = ends.get_end_physical_index() + 1 - first;
        let of_runs = self.truth(&runs.values().slice(first, n_runs))?;
        // Ends of the runs, counted from the first row of this array.
        let ends = ends.values().iter().skip(first).take(n_runs);
        let ends: Vec<usize> = ends
            .map(|end| (end.as_usize() - runs.offset()).min(runs.len()))
            .collect();
        let spread = |bits: &BooleanBuffer| {
            let mut rows = BooleanBufferBuilder::new(runs.len());
            for (end, bit) in ends.iter().zip(bits) {
                rows.append_n(end.saturating_sub(rows.len()), bit);
            }
            rows.finish()
        };
        Ok(Truth {
            yes: spread(&of_runs.yes),
            no: spread(&of_runs.no),
        })
    }

    /// Tests an array of the values' own type, or any array for null.
    fn of_flat(&self, array: &ArrayRef) -> Result<Truth, ArrowError> {
        let n = array.len();
        let truth = match &self.kind {
            Kind::IsNull => return Ok(Truth::of_bits(nulls_of(array))),
            Kind::Unknown => return Ok(Truth::unknown(n)),
            Kind::Nothing => Truth::of_all(false, n),
            Kind::Equal(value) => Truth::of_bits(equal(array, value)?),
            Kind::Range(range) => Truth::of_bits(range.holds(array)?),
            Kind::In { set, or_unknown } => {
                let held = Truth::of_bits(set.holds(array)?);
                match or_unknown {
                    true => {
                        let held_too = held.yes.clone();
                        held.known_at(&held_too)
                    }
                    false => held,
                }
            }
            Kind::Like(pattern) => Truth::of_bits(like(pattern, array)),
        };
        let truth = truth.known_unless_null(array.nulls());
        Ok(match self.nan_is_unknown {
            true => match is_number(array) {
                Some(numbers) => truth.known_at(&numbers),
                None => truth,
            },
            false => truth,
        })
    }
}

/// The bits of a dictionary's values by keys. What is set for null keys has no meaning.
fn by_keys(bits: BooleanBuffer, keys: &dyn Array) -> Result<BooleanBuffer, ArrowError> {
    let range = |run: (usize, usize)| NumberRange {
        order: Order::Unsigned,
        low: run.0 as i128,
        high: run.1 as i128 - 1,
    };
    // Keys of one run of values are compared with its ends, which is faster than to look them up.
    if let Some(run) = only_run(&bits) {
        return test_numbers(keys, &range(run));
    }
    if let Some(run) = only_run(&!&bits) {
        return Ok(!&test_numbers(keys, &range(run))?);
    }
    let found = take(&BooleanArray::new(bits, None), keys, None)?;
    Ok(found.as_boolean().values().clone())
}

/// The first and the end of the only run of set bits; an empty one if none is set. `None` if there are several.
fn only_run(bits: &BooleanBuffer) -> Option<(usize, usize)> {
    let mut runs = bits.set_slices();
    let first = runs.next().unwrap_or_default();
    runs.next().is_none().then_some(first)
}

fn nulls_of(array: &ArrayRef) -> BooleanBuffer {
    match array.logical_nulls().map(NullBuffer::into_inner) {
        Some(valid) => !&valid,
        None => BooleanBuffer::new_unset(array.len()),
    }
}

fn like(pattern: &Pattern, array: &ArrayRef) -> BooleanBuffer {
    let n = array.len();
    match array.data_type() {
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            BooleanBuffer::collect_bool(n, |i| pattern.matches(array.value(i)))
        }
        DataType::LargeUtf8 => {
            let array = array.as_string::<i64>();
            BooleanBuffer::collect_bool(n, |i| pattern.matches(array.value(i)))
        }
        DataType::Utf8View => {
            let array = array.as_string_view();
            BooleanBuffer::collect_bool(n, |i| pattern.matches(array.value(i)))
        }
        _ => BooleanBuffer::new_unset(n),
    }
}

/// Bits of the values that are numbers; `None` if all values of the type are.
fn is_number(array: &ArrayRef) -> Option<BooleanBuffer> {
    fn bits<T: ArrowPrimitiveType>(
        array: &ArrayRef,
        is_nan: fn(T::Native) -> bool,
    ) -> Option<BooleanBuffer> {
        let mut values = array.as_primitive_opt::<T>()?.values().iter();
        Some(BooleanBuffer::collect_bool(values.len(), |_| {
            values.next().is_some_and(|it| !is_nan(*it))
        }))
    }
    match array.data_type() {
        DataType::Float16 => bits::<Float16Type>(array, |it| it.is_nan()),
        DataType::Float32 => bits::<Float32Type>(array, |it| it.is_nan()),
        DataType::Float64 => bits::<Float64Type>(array, |it| it.is_nan()),
        _ => None,
    }
}
