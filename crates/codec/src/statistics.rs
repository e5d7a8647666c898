//! Statistics of the values of a page, from which encodings make proposals. Each is computed once, on first use.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::cell::{OnceCell, RefCell};
use core::ops::Range;

use tarsia_bits::{WidthHistogram, Word};

use crate::toolbox::{Distinct, is_constant, lengths_of, run_starts, sample_of};
use crate::{Facts, FixedSlice, MemoryKey, OwnedValues, Part, Result, SharedKind, Values, limits};

/// Number of values that are sampled before distinct values are counted.
const DISTINCT_SAMPLE: usize = 1024;

/// The values of one node of a page, and their statistics. Each is computed on first use and kept, so that all
/// encodings share it. All are functions of the values alone.
pub struct Statistics<'v> {
    values: Values<'v>,
    facts: Facts<'v>,
    unit_values: usize,
    is_constant: OnceCell<bool>,
    extent: OnceCell<Option<NumberExtent>>,
    widths: OnceCell<Option<WidthHistogram>>,
    run_starts: OnceCell<Vec<u32>>,
    sort_order: OnceCell<Option<SortOrder>>,
    floats: OnceCell<Option<FloatFacts>>,
    lengths: OnceCell<Option<Rc<OwnedValues>>>,
    is_mostly_distinct: OnceCell<bool>,
    distinct: RefCell<DistinctSoFar>,
    cached: RefCell<Vec<Box<dyn Any>>>,
}

/// The smallest and the largest of numbers of 1, 2, 4 or 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberExtent {
    /// The smallest and the largest as unsigned numbers.
    pub unsigned: (u64, u64),
    /// The smallest and the largest in two's complement.
    pub signed: (i64, i64),
}

/// The order of the values of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortOrder {
    /// No value is smaller than the one before.
    Ascending,
    /// No value is larger than the one before.
    Descending,
}

/// Facts about floating-point numbers of 4 or 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FloatFacts {
    /// Number of NaNs and infinities.
    pub n_special: usize,
    /// Number of negative zeros.
    pub n_negative_zero: usize,
    /// Number of values that are integers.
    pub n_integral: usize,
    /// The smallest and the largest biased exponent of the values that are neither zero, NaN nor infinite.
    pub exponents: Option<(u16, u16)>,
}

#[derive(Default)]
enum DistinctSoFar {
    #[default]
    Unknown,
    Found(Rc<Distinct>),
    /// There are more distinct values than this number, or they take more bytes than this.
    More {
        cap: usize,
        entry_bytes_max: u64,
    },
}

impl core::fmt::Debug for Statistics<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Statistics")
            .field("n_values", &self.values.len())
            .field("value_type", &self.values.value_type())
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl<'v> Statistics<'v> {
    /// Statistics of these values. Nothing is computed yet.
    pub fn new(values: Values<'v>, facts: Facts<'v>) -> Self {
        Self {
            values,
            facts,
            unit_values: limits::BLOCK_VALUES_MAX as usize,
            is_constant: OnceCell::new(),
            extent: OnceCell::new(),
            widths: OnceCell::new(),
            run_starts: OnceCell::new(),
            sort_order: OnceCell::new(),
            floats: OnceCell::new(),
            lengths: OnceCell::new(),
            is_mostly_distinct: OnceCell::new(),
            distinct: RefCell::default(),
            cached: RefCell::default(),
        }
    }

    /// Sets the most values in a unit.
    #[must_use]
    pub fn in_units_of(self, unit_values: usize) -> Self {
        Self {
            unit_values,
            ..self
        }
    }

    /// Statistics of a part of a proposal for these values: of a child's values, or of those of a shared buffer of this
    /// kind.
    ///
    /// # Errors
    /// As [`Part::values`].
    pub fn of_part<'p>(
        &'p self,
        part: &'p Part<'_>,
        shared: Option<SharedKind>,
    ) -> Result<Statistics<'p>> {
        let facts = Facts {
            logical_type: part.logical_type,
            all_distinct: part.all_distinct,
            shared,
            shared_depth: self.facts.shared_depth + u32::from(shared.is_some()),
            rows: None,
            memory: self.facts.memory.filter(|_| shared.is_some()),
            erasable: self.facts.erasable,
        };
        Ok(Statistics {
            unit_values: match part.units_may_be_longer {
                true => part.unit_values,
                false => part.unit_values.min(self.unit_values),
            },
            ..Statistics::new(part.values()?, facts)
        })
    }

    /// The values.
    pub fn values(&self) -> Values<'v> {
        self.values
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the facts about the values besides the values themselves.
    pub fn facts(&self) -> &Facts<'v> {
        &self.facts
    }

    /// The most values in a unit. Formulas that depend on the number of units assume that units are this long.
    pub fn unit_values(&self) -> usize {
        self.unit_values
    }

    /// The least number of units.
    pub fn n_units(&self) -> u64 {
        self.len().div_ceil(self.unit_values.max(1)) as u64
    }

    /// True if all values are bitwise equal, also if there are none or one.
    pub fn is_constant(&self) -> bool {
        *self.is_constant.get_or_init(|| is_constant(self.values))
    }

    /// The smallest and the largest value; `None` if there are no values, or if they are not numbers of 1, 2, 4 or 8
    /// bytes.
    pub fn extent(&self) -> Option<NumberExtent> {
        *self.extent.get_or_init(|| {
            let fixed = self.values.as_fixed().ok()?;
            match fixed.width() {
                1 => extent_of::<u8>(fixed),
                2 => extent_of::<u16>(fixed),
                4 => extent_of::<u32>(fixed),
                8 => extent_of::<u64>(fixed),
                _ => None,
            }
        })
    }

    /// `histogram[w]` is the number of values whose difference from the smallest (unsigned) value needs `w` bits.
    /// `None` if [`Statistics::extent`] is.
    pub fn widths(&self) -> Option<&WidthHistogram> {
        let base = self.extent()?.unsigned.0;
        let widths = self.widths.get_or_init(|| {
            let fixed = self.values.as_fixed().ok()?;
            let bytes = fixed.bytes();
            match fixed.width() {
                1 => tarsia_bits::width_histogram::<u8>(bytes, base as u8).ok(),
                2 => tarsia_bits::width_histogram::<u16>(bytes, base as u16).ok(),
                4 => tarsia_bits::width_histogram::<u32>(bytes, base as u32).ok(),
                8 => tarsia_bits::width_histogram::<u64>(bytes, base).ok(),
                _ => None,
            }
        });
        widths.as_ref()
    }

    /// The first value of each run of bitwise equal values.
    pub fn run_starts(&self) -> &[u32] {
        self.run_starts.get_or_init(|| run_starts(self.values))
    }

    /// The order of the values. Numbers of 1, 2, 4 or 8 bytes are compared as unsigned numbers if the logical type is
    /// unsigned, else in two's complement; byte strings byte by byte. `None` for values in no order and for other
    /// types. Values that are all equal are ascending.
    pub fn sort_order(&self) -> Option<SortOrder> {
        *self.sort_order.get_or_init(|| match self.values {
            Values::Fixed(fixed) => {
                let is_unsigned = self.facts.logical_type == crate::LogicalType::Unsigned;
                match fixed.width() {
                    1 => order_of::<u8>(fixed, is_unsigned),
                    2 => order_of::<u16>(fixed, is_unsigned),
                    4 => order_of::<u32>(fixed, is_unsigned),
                    8 => order_of::<u64>(fixed, is_unsigned),
                    _ => None,
                }
            }
            Values::Bytes(strings) => {
                let n = strings.len();
                let ordered = |before: core::cmp::Ordering| {
                    (1..n).all(|i| strings.get(i - 1).cmp(strings.get(i)) != before)
                };
                order(
                    || ordered(core::cmp::Ordering::Greater),
                    || ordered(core::cmp::Ordering::Less),
                )
            }
            Values::Bits(_) => None,
        })
    }

    /// Facts about floating-point numbers of 4 or 8 bytes; `None` for other values.
    pub fn floats(&self) -> Option<FloatFacts> {
        *self.floats.get_or_init(|| {
            let fixed = self.values.as_fixed().ok()?;
            if self.facts.logical_type != crate::LogicalType::Float {
                return None;
            }
            let mut facts = FloatFacts::default();
            match fixed.width() {
                4 => {
                    for bytes in fixed.bytes().as_chunks::<4>().0 {
                        let bits = u32::from_le_bytes(*bytes);
                        let exponent = (bits >> 23 & 0xff) as u16;
                        let is_integral = is_integral((bits & 0x7f_ffff).into(), exponent, 127, 23);
                        let is_zero = bits << 1 == 0;
                        facts.add(exponent, 0xff, is_zero, bits >> 31 == 1, is_integral);
                    }
                }
                8 => {
                    for bytes in fixed.bytes().as_chunks::<8>().0 {
                        let bits = u64::from_le_bytes(*bytes);
                        let exponent = (bits >> 52 & 0x7ff) as u16;
                        let mantissa = bits & 0xf_ffff_ffff_ffff;
                        let is_integral = is_integral(mantissa, exponent, 1023, 52);
                        let is_zero = bits << 1 == 0;
                        facts.add(exponent, 0x7ff, is_zero, bits >> 63 == 1, is_integral);
                    }
                }
                _ => return None,
            }
            Some(facts)
        })
    }

    /// The lengths of byte strings as numbers of 4 bytes; `None` for other values.
    pub fn lengths(&self) -> Option<&Rc<OwnedValues>> {
        let lengths = self.lengths.get_or_init(|| {
            let strings = self.values.as_bytes().ok()?;
            Some(Rc::new(lengths_of(&strings)))
        });
        lengths.as_ref()
    }

    /// A sample of the values; see [`sample_of`].
    pub fn sample(&self) -> Vec<Range<usize>> {
        sample_of(self.len())
    }

    /// True if nearly all values of an evenly spread sample differ. Then counting the distinct values is not worth the
    /// time.
    pub fn is_mostly_distinct(&self) -> bool {
        let n = self.len();
        *self.is_mostly_distinct.get_or_init(|| {
            self.facts.all_distinct
                || n > 2 * DISTINCT_SAMPLE
                    && Distinct::count_sampled(self.values, DISTINCT_SAMPLE) * 20
                        > DISTINCT_SAMPLE * 19
        })
    }

    /// The distinct values; `None` if there are more than `cap`, or where they take more than `entry_bytes_max`.
    /// Computed once; a call with higher limits computes again only if the result can differ.
    pub fn distinct(&self, cap: usize, entry_bytes_max: u64) -> Option<Rc<Distinct>> {
        let fits = |distinct: &Distinct| {
            distinct.n_entries() <= cap && distinct.entry_bytes(self.values) <= entry_bytes_max
        };
        match &*self.distinct.borrow() {
            DistinctSoFar::Unknown => {}
            DistinctSoFar::Found(found) => return fits(found).then(|| found.clone()),
            DistinctSoFar::More {
                cap: tried,
                entry_bytes_max: tried_bytes,
            } if cap <= *tried && entry_bytes_max <= *tried_bytes => return None,
            DistinctSoFar::More { .. } => {}
        }
        let found = Distinct::within(self.values, cap, entry_bytes_max).map(Rc::new);
        *self.distinct.borrow_mut() = match &found {
            Some(found) => DistinctSoFar::Found(found.clone()),
            None => DistinctSoFar::More {
                cap,
                entry_bytes_max,
            },
        };
        found
    }

    /// Returns what the column's first page has left, or, while that is encoded, what it has left so far.
    pub fn recall<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let memory = self.facts.memory?;
        let found = memory.recall(MemoryKey::of::<T>(self.facts.shared))?;
        found.downcast().ok()
    }

    /// Whether what is recalled may be of another file: see [`ColumnMemory::is_of_other_file`](crate::ColumnMemory).
    pub fn recalls_other_file(&self) -> bool {
        self.facts
            .memory
            .is_some_and(|memory| memory.is_of_other_file())
    }

    /// Leaves something for later pages of the column.
    pub fn remember<T: Any + Send + Sync>(&self, found: Arc<T>) {
        if let Some(memory) = self.facts.memory {
            memory.remember(MemoryKey::of::<T>(self.facts.shared), found);
        }
    }

    /// The result of `make`, kept for the next call with the same `T`. For statistics that only one encoding needs.
    pub fn cached<T: Any>(&self, make: impl FnOnce() -> T) -> Rc<T> {
        let find = |cached: &Vec<Box<dyn Any>>| {
            let mut found = cached.iter();
            found.find_map(|known| known.downcast_ref::<Rc<T>>().cloned())
        };
        if let Some(found) = find(&self.cached.borrow()) {
            return found;
        }
        let made = Rc::new(make());
        self.cached.borrow_mut().push(Box::new(made.clone()));
        made
    }
}

impl FloatFacts {
    /// Counts one number; `special` is the exponent of infinities and NaNs.
    fn add(
        &mut self,
        exponent: u16,
        special: u16,
        is_zero: bool,
        is_negative: bool,
        is_integral: bool,
    ) {
        self.n_special += usize::from(exponent == special);
        self.n_negative_zero += usize::from(is_zero && is_negative);
        self.n_integral += usize::from(is_zero || is_integral && exponent != special);
        if !is_zero && exponent != special {
            let (low, high) = self.exponents.unwrap_or((exponent, exponent));
            self.exponents = Some((low.min(exponent), high.max(exponent)));
        }
    }
}

/// True if a floating-point number with these parts is an integer.
fn is_integral(mantissa: u64, exponent: u16, bias: u16, mantissa_bits: u32) -> bool {
    match u32::from(exponent).checked_sub(bias.into()) {
        None => false,
        Some(shift) if shift >= mantissa_bits => true,
        Some(shift) => mantissa.trailing_zeros() >= mantissa_bits - shift,
    }
}

fn extent_of<T: Word>(values: FixedSlice<'_>) -> Option<NumberExtent> {
    let extent = tarsia_bits::extent::<T>(values.bytes()).ok()??;
    let shift = 64 - 8 * T::BYTES as u32;
    let signed = |value: T| ((value.to_u64() << shift) as i64) >> shift;
    Some(NumberExtent {
        unsigned: (extent.unsigned.0.to_u64(), extent.unsigned.1.to_u64()),
        signed: (signed(extent.signed.0), signed(extent.signed.1)),
    })
}

fn order_of<T: Word>(values: FixedSlice<'_>, is_unsigned: bool) -> Option<SortOrder> {
    let flip = if is_unsigned { T::ZERO } else { T::SIGN };
    let number = |i: usize| T::read_le(values.get(i)).unwrap_or(T::ZERO).xor(flip);
    let n = values.len();
    order(
        || (1..n).all(|i| number(i - 1) <= number(i)),
        || (1..n).all(|i| number(i - 1) >= number(i)),
    )
}

fn order(ascends: impl Fn() -> bool, descends: impl Fn() -> bool) -> Option<SortOrder> {
    match ascends() {
        true => Some(SortOrder::Ascending),
        false => descends().then_some(SortOrder::Descending),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitSlice, BytesSlice, LogicalType};
    use alloc::vec;

    fn check<T>(
        bytes: &[u8],
        width: usize,
        logical_type: LogicalType,
        look: impl Fn(&Statistics<'_>) -> T,
    ) -> T {
        let values = FixedSlice::new(bytes, width, bytes.len() / width).unwrap();
        look(&Statistics::new(
            Values::Fixed(values),
            Facts::of(logical_type),
        ))
    }

    #[test]
    fn extents_are_those_of_both_orders() {
        let numbers = [-5i16, 300, 7].map(i16::to_le_bytes).concat();
        let extent = check(&numbers, 2, LogicalType::Signed, |it| it.extent()).unwrap();
        assert_eq!(extent.signed, (-5, 300));
        assert_eq!(extent.unsigned, (7, 0xfffb));
        let widths = check(&numbers, 2, LogicalType::Signed, |it| *it.widths().unwrap());
        assert_eq!((widths[0], widths[9], widths[16]), (1, 1, 1));
        let wide = check(&[0; 32], 16, LogicalType::Signed, |it| it.extent());
        assert_eq!(wide, None);
    }

    #[test]
    fn runs_and_orders_are_found() {
        let of = |bytes: &[u8], logical_type| {
            let order = check(bytes, 1, logical_type, |it| it.sort_order());
            (
                check(bytes, 1, logical_type, |it| it.run_starts().len()),
                order,
            )
        };
        let (unsigned, signed) = (LogicalType::Unsigned, LogicalType::Signed);
        assert_eq!(of(&[], signed), (0, Some(SortOrder::Ascending)));
        assert_eq!(
            of(&[1, 1, 2, 200], unsigned),
            (3, Some(SortOrder::Ascending))
        );
        // 200 is -56 there.
        assert_eq!(of(&[1, 1, 2, 200], signed), (3, None));
        assert_eq!(of(&[9, 4, 4], signed), (2, Some(SortOrder::Descending)));
        let strings = BytesSlice::new(&[0, 1, 1, 3], b"baa").unwrap();
        let strings = Statistics::new(Values::Bytes(strings), Facts::default());
        assert_eq!(
            (strings.run_starts().len(), strings.sort_order()),
            (3, None)
        );
        let bits = BitSlice::new(&[0b0110], 0, 4).unwrap();
        let bits = Statistics::new(Values::Bits(bits), Facts::default());
        assert_eq!((bits.run_starts().len(), bits.sort_order()), (3, None));
    }

    #[test]
    fn floats_are_told_apart() {
        let numbers = [1.5, -0.0, 0.0, 3.0, f64::NAN, f64::INFINITY, 1e300, -2.0];
        let bytes = numbers.map(f64::to_le_bytes).concat();
        let facts = check(&bytes, 8, LogicalType::Float, |it| it.floats()).unwrap();
        assert_eq!((facts.n_special, facts.n_negative_zero), (2, 1));
        // Both zeros, 3, 1e300 and -2.
        assert_eq!(facts.n_integral, 5);
        let exponent = |number: f64| (number.to_bits() >> 52 & 0x7ff) as u16;
        assert_eq!(facts.exponents, Some((1023, exponent(1e300))));
        let small = [0.25f32, 8.0].map(f32::to_le_bytes).concat();
        let facts = check(&small, 4, LogicalType::Float, |it| it.floats()).unwrap();
        assert_eq!((facts.n_integral, facts.exponents), (1, Some((125, 130))));
        assert_eq!(
            check(&small, 4, LogicalType::Signed, |it| it.floats()),
            None
        );
    }

    #[test]
    fn samples_are_spread_and_inside() {
        for n in [0, 1, 1024, 1025, 100_000] {
            let bytes = vec![0; n];
            let sample = check(&bytes, 1, LogicalType::Unknown, |it| it.sample());
            let sampled: usize = sample.iter().map(Range::len).sum();
            assert_eq!(sampled, n.min(1024));
            assert!(sample.windows(2).all(|pair| pair[0].end <= pair[1].start));
            assert_eq!(sample.last().map(|run| run.end), Some(n));
        }
    }

    #[test]
    fn distinct_values_and_facts_of_ones_own_are_found_once() {
        let bytes: Vec<u8> = (0..3000u32).map(|i| (i % 50) as u8).collect();
        check(&bytes, 1, LogicalType::Unknown, |statistics| {
            assert!(statistics.distinct(10, u64::MAX).is_none());
            let found = statistics.distinct(60, u64::MAX).unwrap();
            assert_eq!(found.n_entries(), 50);
            let again = statistics.distinct(50, 50).unwrap();
            assert!(Rc::ptr_eq(&found, &again));
            assert!(statistics.distinct(49, u64::MAX).is_none());
            assert!(statistics.distinct(50, 49).is_none());
            assert!(!statistics.is_mostly_distinct());
            struct Sum(u64);
            let sum = statistics.cached(|| Sum(7));
            let again = statistics.cached(|| -> Sum { panic!("made before") });
            assert_eq!((sum.0, again.0), (7, 7));
        });
    }
}
