//! Tables of one column: every flat Arrow type, of few and of many distinct values, without nulls and with some.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Result, bail};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Int32Array,
    PrimitiveArray, RecordBatch, StringArray,
};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, ToByteSlice, i256};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, IntervalUnit, Schema, SchemaRef, TimeUnit};

use crate::speed::generate::word;
use crate::speed::random::Random;

/// Rows of a batch handed to a writer.
const BATCH_ROWS: usize = 65_536;

/// One row of so many is null, in the mean.
const NULL_EVERY: usize = 10;

/// Distinct values of a column that has few; of one byte there are no more than 256.
const FEW: usize = 1_000;
const FEW_OF_ONE_BYTE: usize = 16;

/// Entries of a dictionary array of many values.
const ENTRIES_MAX: usize = 100_000;

/// One Boolean of so many is true where values are few: there are two in any case.
const TRUE_EVERY: usize = 64;

const FIXED_BYTES: i32 = 16;

/// Bytes of a byte string: shorter and longer than what a view holds.
const BINARY_BYTES: (usize, usize) = (4, 28);

/// Timestamps lie in ten years, durations and numbers below a power of ten of their unit.
const TEN_YEARS_SECONDS: usize = 315_360_000;
const BEGIN_SECONDS: i64 = 1_600_000_000;
const DAY_SECONDS: usize = 86_400;
const DATES: usize = 30_000;
const DURATION_SECONDS: usize = 10_000_000;

/// Types that the summary puts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Boolean,
    Integer,
    Float,
    Decimal,
    Time,
    Bytes,
    Text,
}

impl Family {
    pub(super) const ALL: [Self; 7] = [
        Self::Boolean,
        Self::Integer,
        Self::Float,
        Self::Decimal,
        Self::Time,
        Self::Bytes,
        Self::Text,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Boolean => "Booleans",
            Self::Integer => "integers",
            Self::Float => "floats",
            Self::Decimal => "decimals",
            Self::Time => "dates, times, durations, intervals",
            Self::Bytes => "binary",
            Self::Text => "text",
        }
    }

    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Self::Float,
            DataType::FixedSizeBinary(_)
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView => Self::Bytes,
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Dictionary(..) => Self::Text,
            other if other.is_integer() => Self::Integer,
            other if other.is_decimal() => Self::Decimal,
            _ => Self::Time,
        }
    }
}

/// How many distinct values there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cardinality {
    Low,
    High,
}

/// A table.
#[derive(Clone, Debug)]
pub(super) struct Case {
    type_name: String,
    data_type: DataType,
    pub(super) cardinality: Cardinality,
    pub(super) has_nulls: bool,
}

/// Makes an array of so many rows.
type Column = Box<dyn FnMut(usize) -> Result<ArrayRef>>;

/// Makes a value.
type Draw<V> = Box<dyn Fn(&mut Random) -> V>;

impl Case {
    /// All of them, type by type.
    pub(super) fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for (type_name, data_type) in types() {
            for cardinality in [Cardinality::Low, Cardinality::High] {
                for has_nulls in [false, true] {
                    cases.push(Self {
                        type_name: type_name.clone(),
                        data_type: data_type.clone(),
                        cardinality,
                        has_nulls,
                    });
                }
            }
        }
        cases
    }

    /// As it stands in the tables of the report.
    pub(super) fn name(&self) -> String {
        let cardinality = match self.cardinality {
            Cardinality::Low => "low",
            Cardinality::High => "high",
        };
        let nulls = if self.has_nulls { "_nulls" } else { "" };
        format!("{}_{cardinality}{nulls}", self.type_name)
    }

    pub(super) fn family(&self) -> Family {
        Family::of(&self.data_type)
    }

    /// A column may have nulls where it has none, as most that are written.
    pub(super) fn schema(&self) -> SchemaRef {
        let value = Field::new("value", self.data_type.clone(), true);
        Arc::new(Schema::new(vec![value]))
    }

    /// The first `n_rows` rows.
    pub(super) fn batches(
        &self,
        n_rows: usize,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let mut column = self.column()?;
        let schema = self.schema();
        Ok((0..n_rows).step_by(BATCH_ROWS).map(move |start| {
            let values = column(BATCH_ROWS.min(n_rows - start))?;
            Ok(RecordBatch::try_new(schema.clone(), vec![values])?)
        }))
    }

    /// Distinct values where they are few.
    fn few(&self) -> usize {
        match self.data_type {
            DataType::Int8 | DataType::UInt8 => FEW_OF_ONE_BYTE,
            _ => FEW,
        }
    }

    /// Another sequence for each case.
    fn random(&self) -> Random {
        let name = self.name();
        let seed = name.bytes().fold(0x7479_7065, |seed: u64, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        Random::new(seed)
    }

    fn column(&self) -> Result<Column> {
        Ok(match &self.data_type {
            DataType::Boolean => self.booleans(),
            DataType::Int8 => self.primitive::<Int8Type>(|r| r.next() as i8),
            DataType::Int16 => self.primitive::<Int16Type>(|r| r.next() as i16),
            DataType::Int32 => self.primitive::<Int32Type>(|r| r.below(1 << 24) as i32 - (1 << 23)),
            DataType::Int64 => self.primitive::<Int64Type>(|r| r.below(1 << 40) as i64 - (1 << 39)),
            DataType::UInt8 => self.primitive::<UInt8Type>(|r| r.next() as u8),
            DataType::UInt16 => self.primitive::<UInt16Type>(|r| r.next() as u16),
            DataType::UInt32 => self.primitive::<UInt32Type>(|r| r.below(1 << 24) as u32),
            DataType::UInt64 => self.primitive::<UInt64Type>(|r| r.below(1 << 40) as u64),
            DataType::Float16 => self.primitive::<Float16Type>(|r| {
                <Float16Type as ArrowPrimitiveType>::Native::from_f64(r.unit())
            }),
            // Random digits here, prices below.
            DataType::Float32 => self.primitive::<Float32Type>(|r| r.unit() as f32),
            DataType::Float64 => {
                self.primitive::<Float64Type>(|r| r.below(100_000_000) as f64 / 100.0)
            }
            DataType::Decimal32(..) => {
                self.primitive::<Decimal32Type>(|r| r.below(1_000_000_000) as i32)
            }
            DataType::Decimal64(..) => {
                self.primitive::<Decimal64Type>(|r| r.below(10_usize.pow(12)) as i64)
            }
            DataType::Decimal128(15, _) => {
                self.primitive::<Decimal128Type>(|r| r.below(10_usize.pow(9)) as i128)
            }
            DataType::Decimal128(..) => self.primitive::<Decimal128Type>(wide),
            DataType::Decimal256(..) => {
                self.primitive::<Decimal256Type>(|r| i256::from_i128(wide(r)))
            }
            DataType::Date32 => self.primitive::<Date32Type>(|r| r.below(DATES) as i32),
            DataType::Date64 => {
                self.primitive::<Date64Type>(|r| (r.below(DATES) * DAY_SECONDS * 1_000) as i64)
            }
            DataType::Time32(TimeUnit::Second) => {
                self.primitive::<Time32SecondType>(|r| r.below(DAY_SECONDS) as i32)
            }
            DataType::Time32(_) => {
                self.primitive::<Time32MillisecondType>(|r| r.below(DAY_SECONDS * 1_000) as i32)
            }
            DataType::Time64(TimeUnit::Microsecond) => {
                self.primitive::<Time64MicrosecondType>(|r| r.below(DAY_SECONDS * 1_000_000) as i64)
            }
            DataType::Time64(_) => self
                .primitive::<Time64NanosecondType>(|r| r.below(DAY_SECONDS * 1_000_000_000) as i64),
            DataType::Timestamp(unit, _) => match unit {
                TimeUnit::Second => self.primitive::<TimestampSecondType>(|r| instant(r, 1)),
                TimeUnit::Millisecond => {
                    self.primitive::<TimestampMillisecondType>(|r| instant(r, 1_000))
                }
                TimeUnit::Microsecond => {
                    self.primitive::<TimestampMicrosecondType>(|r| instant(r, 1_000_000))
                }
                TimeUnit::Nanosecond => {
                    self.primitive::<TimestampNanosecondType>(|r| instant(r, 1_000_000_000))
                }
            },
            DataType::Duration(unit) => match unit {
                TimeUnit::Second => self.primitive::<DurationSecondType>(|r| span(r, 1)),
                TimeUnit::Millisecond => {
                    self.primitive::<DurationMillisecondType>(|r| span(r, 1_000))
                }
                TimeUnit::Microsecond => {
                    self.primitive::<DurationMicrosecondType>(|r| span(r, 1_000_000))
                }
                TimeUnit::Nanosecond => {
                    self.primitive::<DurationNanosecondType>(|r| span(r, 1_000_000_000))
                }
            },
            DataType::Interval(unit) => match unit {
                IntervalUnit::YearMonth => {
                    self.primitive::<IntervalYearMonthType>(|r| r.below(1_000_000) as i32)
                }
                IntervalUnit::DayTime => self.primitive::<IntervalDayTimeType>(|r| {
                    IntervalDayTime::new(r.below(1_000) as i32, milliseconds_of_day(r))
                }),
                IntervalUnit::MonthDayNano => self.primitive::<IntervalMonthDayNanoType>(|r| {
                    let (months, days) = (r.below(120) as i32, r.below(30) as i32);
                    let nanoseconds = i64::from(milliseconds_of_day(r)) * 1_000_000;
                    IntervalMonthDayNano::new(months, days, nanoseconds)
                }),
            },
            DataType::FixedSizeBinary(_) => self.fixed_size_binary(),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => self.binary(),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => self.text(),
            DataType::Dictionary(..) => self.dictionary()?,
            other => bail!("no values of type {other}"),
        })
    }

    /// `value` where values are many, else one of few that it has made. `bytes` tells them apart.
    fn draw<V: Clone + 'static>(
        &self,
        random: &mut Random,
        value: fn(&mut Random) -> V,
        bytes: fn(&V) -> &[u8],
    ) -> Draw<V> {
        match self.cardinality {
            Cardinality::High => Box::new(value),
            Cardinality::Low => {
                let values = distinct(random, self.few(), value, bytes);
                Box::new(move |random| values[random.below(values.len())].clone())
            }
        }
    }

    /// Arrays that `collect` makes of values and nulls.
    fn collected<V: Clone + 'static>(
        &self,
        value: fn(&mut Random) -> V,
        bytes: fn(&V) -> &[u8],
        collect: impl Fn(Vec<Option<V>>) -> Result<ArrayRef> + 'static,
    ) -> Column {
        let mut random = self.random();
        let draw = self.draw(&mut random, value, bytes);
        let has_nulls = self.has_nulls;
        Box::new(move |n_rows| {
            let row = |_| {
                let is_null = has_nulls && random.below(NULL_EVERY) == 0;
                (!is_null).then(|| draw(&mut random))
            };
            collect((0..n_rows).map(row).collect())
        })
    }

    fn primitive<T: ArrowPrimitiveType>(&self, value: fn(&mut Random) -> T::Native) -> Column {
        let data_type = self.data_type.clone();
        self.collected(
            value,
            |value| value.to_byte_slice(),
            move |values| {
                let array = PrimitiveArray::<T>::from_iter(values);
                Ok(Arc::new(array.with_data_type(data_type.clone())))
            },
        )
    }

    /// Rarely true, or true and false by chance.
    fn booleans(&self) -> Column {
        let mut random = self.random();
        let true_every = match self.cardinality {
            Cardinality::Low => TRUE_EVERY,
            Cardinality::High => 2,
        };
        let has_nulls = self.has_nulls;
        Box::new(move |n_rows| {
            let row = |_| {
                let is_null = has_nulls && random.below(NULL_EVERY) == 0;
                (!is_null).then(|| random.below(true_every) == 0)
            };
            Ok(Arc::new((0..n_rows).map(row).collect::<BooleanArray>()))
        })
    }

    fn fixed_size_binary(&self) -> Column {
        self.collected(fixed_bytes, <[u8; 16]>::as_slice, |values| {
            let values = values.into_iter();
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, FIXED_BYTES)?;
            Ok(Arc::new(array))
        })
    }

    fn binary(&self) -> Column {
        let data_type = self.data_type.clone();
        self.collected(binary, Vec::as_slice, move |values| {
            Ok(cast(&BinaryArray::from_iter(values), &data_type)?)
        })
    }

    fn text(&self) -> Column {
        let data_type = self.data_type.clone();
        self.collected(text, String::as_bytes, move |values| {
            Ok(cast(&StringArray::from_iter(values), &data_type)?)
        })
    }

    /// All arrays have the same entries.
    fn dictionary(&self) -> Result<Column> {
        let mut random = self.random();
        let n_entries = match self.cardinality {
            Cardinality::Low => self.few(),
            Cardinality::High => ENTRIES_MAX,
        };
        let entries = distinct(&mut random, n_entries, text, String::as_bytes);
        let entries: ArrayRef = Arc::new(StringArray::from_iter_values(entries));
        let n_keys = i32::try_from(n_entries)?;
        let has_nulls = self.has_nulls;
        Ok(Box::new(move |n_rows| {
            let row = |_| {
                let is_null = has_nulls && random.below(NULL_EVERY) == 0;
                (!is_null).then(|| random.below(n_keys as usize) as i32)
            };
            let keys: Int32Array = (0..n_rows).map(row).collect();
            let array = DictionaryArray::try_new(keys, entries.clone())?;
            Ok(Arc::new(array))
        }))
    }
}

/// Returns the types that are measured, with the names of their tables.
fn types() -> Vec<(String, DataType)> {
    let mut types = vec![
        ("boolean", DataType::Boolean),
        ("int8", DataType::Int8),
        ("int16", DataType::Int16),
        ("int32", DataType::Int32),
        ("int64", DataType::Int64),
        ("uint8", DataType::UInt8),
        ("uint16", DataType::UInt16),
        ("uint32", DataType::UInt32),
        ("uint64", DataType::UInt64),
        ("float16", DataType::Float16),
        ("float32", DataType::Float32),
        ("float64", DataType::Float64),
        ("decimal32_9_2", DataType::Decimal32(9, 2)),
        ("decimal64_18_2", DataType::Decimal64(18, 2)),
        ("decimal128_15_2", DataType::Decimal128(15, 2)),
        ("decimal128_38_4", DataType::Decimal128(38, 4)),
        ("decimal256_76_4", DataType::Decimal256(76, 4)),
        ("date32", DataType::Date32),
        ("date64", DataType::Date64),
        ("time32_s", DataType::Time32(TimeUnit::Second)),
        ("time32_ms", DataType::Time32(TimeUnit::Millisecond)),
        ("time64_us", DataType::Time64(TimeUnit::Microsecond)),
        ("time64_ns", DataType::Time64(TimeUnit::Nanosecond)),
    ]
    .into_iter()
    .map(|(name, data_type)| (name.to_owned(), data_type))
    .collect::<Vec<_>>();
    let units = [
        ("s", TimeUnit::Second),
        ("ms", TimeUnit::Millisecond),
        ("us", TimeUnit::Microsecond),
        ("ns", TimeUnit::Nanosecond),
    ];
    for (name, unit) in units {
        types.push((format!("timestamp_{name}"), DataType::Timestamp(unit, None)));
    }
    for (name, unit) in units {
        let data_type = DataType::Timestamp(unit, Some("UTC".into()));
        types.push((format!("timestamp_{name}_utc"), data_type));
    }
    for (name, unit) in units {
        types.push((format!("duration_{name}"), DataType::Duration(unit)));
    }
    let key = Box::new(DataType::Int32);
    let rest = [
        (
            "interval_year_month",
            DataType::Interval(IntervalUnit::YearMonth),
        ),
        (
            "interval_day_time",
            DataType::Interval(IntervalUnit::DayTime),
        ),
        (
            "interval_month_day_nano",
            DataType::Interval(IntervalUnit::MonthDayNano),
        ),
        (
            "fixed_size_binary_16",
            DataType::FixedSizeBinary(FIXED_BYTES),
        ),
        ("binary", DataType::Binary),
        ("large_binary", DataType::LargeBinary),
        ("binary_view", DataType::BinaryView),
        ("utf8", DataType::Utf8),
        ("large_utf8", DataType::LargeUtf8),
        ("utf8_view", DataType::Utf8View),
        (
            "dictionary_utf8",
            DataType::Dictionary(key, Box::new(DataType::Utf8)),
        ),
    ];
    types.extend(rest.map(|(name, data_type)| (name.to_owned(), data_type)));
    types
}

/// So many values, each of them once.
fn distinct<V>(
    random: &mut Random,
    n: usize,
    value: fn(&mut Random) -> V,
    bytes: fn(&V) -> &[u8],
) -> Vec<V> {
    let mut seen = HashSet::new();
    let mut values = Vec::new();
    while values.len() < n {
        let value = value(random);
        if seen.insert(bytes(&value).to_vec()) {
            values.push(value);
        }
    }
    values
}

/// Below 10²⁴: more than a word holds.
fn wide(random: &mut Random) -> i128 {
    let part = 10_usize.pow(12);
    random.below(part) as i128 * part as i128 + random.below(part) as i128
}

fn instant(random: &mut Random, per_second: usize) -> i64 {
    BEGIN_SECONDS * per_second as i64 + random.below(TEN_YEARS_SECONDS * per_second) as i64
}

fn span(random: &mut Random, per_second: usize) -> i64 {
    random.below(DURATION_SECONDS * per_second) as i64
}

fn milliseconds_of_day(random: &mut Random) -> i32 {
    random.below(DAY_SECONDS * 1_000) as i32
}

fn fixed_bytes(random: &mut Random) -> [u8; FIXED_BYTES as usize] {
    let mut bytes = [0; FIXED_BYTES as usize];
    for part in bytes.chunks_exact_mut(8) {
        part.copy_from_slice(&random.next().to_le_bytes());
    }
    bytes
}

/// Random bytes.
fn binary(random: &mut Random) -> Vec<u8> {
    let (least, most) = BINARY_BYTES;
    let len = least + random.below(most - least + 1);
    (0..len).map(|_| random.next() as u8).collect()
}

/// Two words and a number: parts of it are met again in other values.
fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..2 {
        let n_syllables = 1 + random.below(3);
        text.push_str(&word(random, n_syllables));
        text.push(' ');
    }
    text + &random.below(100_000).to_string()
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_cast::display::{ArrayFormatter, FormatOptions};
    use arrow_select::concat::concat;

    use super::*;

    /// More than a batch.
    const ROWS: usize = 70_000;

    fn column(case: &Case) -> ArrayRef {
        let batches: Vec<_> = case.batches(ROWS).unwrap().collect::<Result<_>>().unwrap();
        assert_eq!(batches.len(), 2);
        assert!(batches.iter().all(|batch| batch.schema() == case.schema()));
        let columns: Vec<_> = batches
            .iter()
            .map(|batch| batch.column(0).as_ref())
            .collect();
        concat(&columns).unwrap()
    }

    fn n_distinct(array: &dyn Array) -> usize {
        // Time zones other than offsets cannot be shown in this build.
        let array = match array.data_type() {
            DataType::Timestamp(..) => &cast(array, &DataType::Int64).unwrap(),
            _ => array,
        };
        let options = FormatOptions::default();
        let formatter = ArrayFormatter::try_new(array, &options).unwrap();
        let valid = (0..array.len()).filter(|row| array.is_valid(*row));
        let values: HashSet<String> = valid.map(|row| formatter.value(row).to_string()).collect();
        values.len()
    }

    #[test]
    fn columns_have_their_type_rows_nulls_and_values() {
        for case in Case::all() {
            let name = case.name();
            let column = column(&case);
            assert_eq!(column.data_type(), &case.data_type, "{name}");
            assert_eq!(column.len(), ROWS, "{name}");
            match case.has_nulls {
                false => assert_eq!(column.null_count(), 0, "{name}"),
                true => {
                    let nulls = column.null_count() * NULL_EVERY;
                    assert!(nulls.abs_diff(ROWS) < ROWS / 20, "{name}: {nulls}");
                }
            }
            let distinct = n_distinct(&column);
            match (&case.data_type, case.cardinality) {
                (DataType::Boolean, _) => assert_eq!(distinct, 2, "{name}"),
                (_, Cardinality::Low) => assert_eq!(distinct, case.few(), "{name}"),
                (DataType::Int8 | DataType::UInt8, Cardinality::High) => {
                    assert_eq!(distinct, 256, "{name}");
                }
                // So many are there of a type of two bytes.
                (_, Cardinality::High) => assert!(distinct > 5 * FEW, "{name}: {distinct}"),
            }
        }
    }

    #[test]
    fn columns_are_the_same_each_time() {
        for case in Case::all() {
            let [a, b] = [(); 2].map(|()| case.batches(100).unwrap().next().unwrap().unwrap());
            assert_eq!(a, b, "{}", case.name());
        }
    }

    #[test]
    fn names_are_distinct() {
        let names: HashSet<String> = Case::all().iter().map(Case::name).collect();
        assert_eq!(names.len(), Case::all().len());
    }

    #[test]
    fn every_type_has_its_family() {
        for family in Family::ALL {
            assert!(
                Case::all().iter().any(|case| case.family() == family),
                "{family:?}"
            );
        }
    }
}
