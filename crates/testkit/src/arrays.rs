//! Arrow arrays of every flat type, and comparison bit for bit.
//!
//! Values under nulls are random on purpose: Arrow leaves them undefined, and a format must not depend on them.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, NullArray, RecordBatch, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, i256};
use arrow_data::ArrayData;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use half::f16;

use crate::rng::Rng;

/// Which values an array has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// One value.
    Constant,
    /// A dozen values.
    LowCardinality,
    /// Rising.
    Sorted,
    /// From the whole range of the type: random bits, or strings of 0 to 24 characters.
    Random,
    /// Mostly small or short, a few large or long.
    Skewed,
    /// Smallest, largest, zero and their neighbours; NaN payloads and zeros of both signs; strings that are empty,
    /// around the 12 bytes a view holds inline, and of 4 KiB.
    Extremes,
}

/// All distributions.
pub const DISTRIBUTIONS: [Distribution; 6] = [
    Distribution::Constant,
    Distribution::LowCardinality,
    Distribution::Sorted,
    Distribution::Random,
    Distribution::Skewed,
    Distribution::Extremes,
];

/// Which rows are null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// No row, and no bitmap.
    None,
    /// No row, but there is a bitmap.
    EmptyBitmap,
    /// This many of 100 rows, at random.
    Percent(u32),
    /// Runs of up to 3,000 rows, alternating with runs of as many rows that are valid.
    Runs,
    /// Every row.
    All,
}

/// All variants that tests use.
pub const NULLS: [Nulls; 7] = [
    Nulls::None,
    Nulls::EmptyBitmap,
    Nulls::Percent(1),
    Nulls::Percent(30),
    Nulls::Percent(95),
    Nulls::Runs,
    Nulls::All,
];

/// How an array is filled. Equal profiles give equal arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Which rows are null.
    pub nulls: Nulls,
    /// Which values there are.
    pub distribution: Distribution,
    /// Seed of all choices.
    pub seed: u64,
}

impl Profile {
    /// A profile from its parts.
    pub const fn new(nulls: Nulls, distribution: Distribution, seed: u64) -> Self {
        Self {
            nulls,
            distribution,
            seed,
        }
    }
}

/// Every combination of nulls and values, with one seed.
pub fn profiles(seed: u64) -> Vec<Profile> {
    NULLS
        .iter()
        .flat_map(|nulls| {
            let profile =
                move |distribution: &Distribution| Profile::new(*nulls, *distribution, seed);
            DISTRIBUTIONS.iter().map(profile)
        })
        .collect()
}

/// Every flat type: all widths, units, zones, string layouts, and dictionaries of all key types. Types with parameters
/// appear with several.
pub fn flat_types() -> Vec<DataType> {
    use DataType::*;
    let mut types = vec![
        Null,
        Boolean,
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
    ];
    types.extend([
        Decimal32(9, 2),
        Decimal32(1, 0),
        Decimal64(18, 4),
        Decimal128(38, 10),
    ]);
    types.extend([Decimal128(15, 2), Decimal128(5, -3), Decimal256(76, 20)]);
    types.extend([Time32(TimeUnit::Second), Time32(TimeUnit::Millisecond)]);
    types.extend([Time64(TimeUnit::Microsecond), Time64(TimeUnit::Nanosecond)]);
    for unit in [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ] {
        for zone in [None, Some("UTC"), Some("+05:30"), Some("Europe/Berlin")] {
            types.push(Timestamp(unit, zone.map(Arc::from)));
        }
        types.push(Duration(unit));
    }
    types.extend(
        [
            IntervalUnit::YearMonth,
            IntervalUnit::DayTime,
            IntervalUnit::MonthDayNano,
        ]
        .map(Interval),
    );
    types.extend([0, 1, 3, 16, 1000].map(FixedSizeBinary));
    for key in [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64] {
        for value in [Utf8, Int32, Binary] {
            types.push(Dictionary(Box::new(key.clone()), Box::new(value)));
        }
    }
    for value in [
        LargeUtf8,
        Utf8View,
        LargeBinary,
        BinaryView,
        Float64,
        Boolean,
        Decimal128(15, 2),
        FixedSizeBinary(16),
        Date32,
    ] {
        types.push(Dictionary(Box::new(Int32), Box::new(value)));
    }
    types
}

/// An array of `rows` rows.
///
/// # Panics
/// For a type that is not flat.
pub fn array(data_type: &DataType, rows: usize, profile: Profile) -> ArrayRef {
    let mut rng = Rng::new(profile.seed);
    let nulls = null_buffer(rows, profile.nulls, &mut rng);
    let values = profile.distribution;
    if let Some(width) = fixed_width(data_type) {
        let bytes = fixed_values(data_type, width, rows, values, &mut rng);
        return build(data_type, rows, nulls, vec![bytes.into()], vec![]);
    }
    match data_type {
        DataType::Null => Arc::new(NullArray::new(rows)),
        DataType::Boolean => {
            let bits: BooleanBuffer = boolean_values(rows, values, &mut rng).into_iter().collect();
            build(data_type, rows, nulls, vec![bits.into_inner()], vec![])
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => {
            let is_text = matches!(data_type, DataType::Utf8 | DataType::LargeUtf8);
            let strings = string_values(is_text, rows, values, &mut rng);
            let mut ends = vec![0i64];
            let mut data = vec![];
            for string in &strings {
                data.extend_from_slice(string);
                ends.push(data.len() as i64);
            }
            let offsets = match data_type {
                DataType::Utf8 | DataType::Binary => {
                    let narrow =
                        |end: &i64| i32::try_from(*end).expect("less than 2 GiB of strings");
                    Buffer::from_vec(ends.iter().map(narrow).collect::<Vec<i32>>())
                }
                _ => Buffer::from_vec(ends),
            };
            build(data_type, rows, nulls, vec![offsets, data.into()], vec![])
        }
        DataType::Utf8View | DataType::BinaryView => {
            let is_text = *data_type == DataType::Utf8View;
            let strings = string_values(is_text, rows, values, &mut rng);
            let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            // The data buffers are small, so that there are several.
            let mut text = StringViewBuilder::new().with_fixed_block_size(1 << 13);
            let mut binary = BinaryViewBuilder::new().with_fixed_block_size(1 << 13);
            for (row, string) in strings.iter().enumerate() {
                match (is_text, is_valid(row)) {
                    (true, true) => text.append_value(std::str::from_utf8(string).expect("text")),
                    (true, false) => text.append_null(),
                    (false, true) => binary.append_value(string),
                    (false, false) => binary.append_null(),
                }
            }
            match is_text {
                true => Arc::new(text.finish()),
                false => Arc::new(binary.finish()),
            }
        }
        DataType::Dictionary(key, value) => {
            dictionary(data_type, key, value, rows, nulls, profile, &mut rng)
        }
        other => panic!("{other} is not a flat type"),
    }
}

/// An array that is a slice of a longer one, at an offset that is no multiple of 8.
pub fn sliced(data_type: &DataType, rows: usize, profile: Profile) -> ArrayRef {
    array(data_type, rows + 13 + 6, profile).slice(13, rows)
}

pub(crate) fn build(
    data_type: &DataType,
    rows: usize,
    nulls: Option<NullBuffer>,
    buffers: Vec<Buffer>,
    children: Vec<ArrayData>,
) -> ArrayRef {
    let data = ArrayData::builder(data_type.clone())
        .len(rows)
        .nulls(nulls)
        .buffers(buffers)
        .child_data(children)
        // The buffers were made as bytes and may have any alignment.
        .align_buffers(true)
        .build()
        .unwrap_or_else(|error| panic!("{data_type} x{rows}: {error}"));
    make_array(data)
}

pub(crate) fn null_buffer(rows: usize, nulls: Nulls, rng: &mut Rng) -> Option<NullBuffer> {
    let valid: Vec<bool> = match nulls {
        Nulls::None => return None,
        Nulls::EmptyBitmap => vec![true; rows],
        Nulls::All => vec![false; rows],
        Nulls::Percent(percent) => (0..rows).map(|_| !rng.percent(percent)).collect(),
        Nulls::Runs => {
            let mut valid = Vec::with_capacity(rows);
            let mut is_valid = rng.flip();
            while valid.len() < rows {
                let run = rng.between(1, 3000).min(rows - valid.len());
                valid.resize(valid.len() + run, is_valid);
                is_valid = !is_valid;
            }
            valid
        }
    };
    Some(NullBuffer::from(valid))
}

/// Bytes of one value, where all are equally wide.
pub(crate) fn fixed_width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
        other => other.primitive_width(),
    }
}

fn boolean_values(rows: usize, distribution: Distribution, rng: &mut Rng) -> Vec<bool> {
    let constant = rng.flip();
    (0..rows)
        .map(|row| match distribution {
            Distribution::Constant => constant,
            Distribution::Sorted => row > rows / 3,
            Distribution::Skewed => rng.percent(2),
            Distribution::Extremes => row % 2 == 0,
            Distribution::LowCardinality | Distribution::Random => rng.flip(),
        })
        .collect()
}

fn fixed_values(
    data_type: &DataType,
    width: usize,
    rows: usize,
    distribution: Distribution,
    rng: &mut Rng,
) -> Vec<u8> {
    if let DataType::FixedSizeBinary(_) = data_type {
        return binary_values(width, rows, distribution, rng);
    }
    if data_type.is_floating() {
        return float_values(width, rows, distribution, rng);
    }
    let (low, high) = bounds(data_type, width);
    let numbers = numbers(low, high, rows, distribution, rng);
    let mut bytes = Vec::with_capacity(rows * width);
    for number in numbers {
        match width {
            // Decimals of 256 bits: times 10^38, so that the upper half is used.
            32 => {
                let scaled = match distribution {
                    Distribution::Random | Distribution::Extremes => {
                        i256::from_i128(number).wrapping_mul(i256::from_i128(10i128.pow(38)))
                    }
                    _ => i256::from_i128(number),
                };
                bytes.extend_from_slice(&scaled.to_le_bytes());
            }
            _ => bytes.extend_from_slice(&number.to_le_bytes()[..width]),
        }
    }
    bytes
}

/// The smallest and the largest valid value.
fn bounds(data_type: &DataType, width: usize) -> (i128, i128) {
    let day = 86_400i128;
    match data_type {
        DataType::Decimal32(precision, _)
        | DataType::Decimal64(precision, _)
        | DataType::Decimal128(precision, _)
        | DataType::Decimal256(precision, _) => {
            let high = 10i128.pow(u32::from(*precision).min(38)) - 1;
            (-high, high)
        }
        DataType::Time32(TimeUnit::Second) => (0, day - 1),
        DataType::Time32(_) => (0, day * 1000 - 1),
        DataType::Time64(TimeUnit::Microsecond) => (0, day * 1_000_000 - 1),
        DataType::Time64(_) => (0, day * 1_000_000_000 - 1),
        other if other.is_unsigned_integer() => (0, (1i128 << (width * 8)) - 1),
        _ if width == 16 => (i128::MIN, i128::MAX),
        _ => (-(1i128 << (width * 8 - 1)), (1i128 << (width * 8 - 1)) - 1),
    }
}

fn numbers(
    low: i128,
    high: i128,
    rows: usize,
    distribution: Distribution,
    rng: &mut Rng,
) -> Vec<i128> {
    // Distances from `low` need the unsigned range.
    let span = high.wrapping_sub(low) as u128;
    let from_low = |distance: u128| low.wrapping_add(distance as i128);
    let uniform = |rng: &mut Rng| {
        let random = u128::from(rng.u64()) << 64 | u128::from(rng.u64());
        from_low(span.checked_add(1).map_or(random, |n| random % n))
    };
    let few: Vec<i128> = (0..12).map(|_| uniform(rng)).collect();
    let edges = [
        low,
        high,
        0,
        1,
        -1,
        low.wrapping_add(1),
        high.wrapping_sub(1),
    ];
    let edges: Vec<i128> = edges
        .into_iter()
        .filter(|edge| (low..=high).contains(edge))
        .collect();
    let step = (span / (2 * rows as u128 + 1)).min(2000);
    let mut at = span / 4;
    (0..rows)
        .map(|_| match distribution {
            Distribution::Constant => few[0],
            Distribution::LowCardinality => *rng.pick(&few),
            Distribution::Random => uniform(rng),
            Distribution::Extremes => *rng.pick(&edges),
            Distribution::Sorted => {
                at += rng.below(step as usize + 1) as u128;
                from_low(at)
            }
            Distribution::Skewed => match rng.below(100) {
                0 => uniform(rng),
                _ => {
                    let n_bits = rng.below(9);
                    (rng.below(1 << n_bits) as i128).min(high)
                }
            },
        })
        .collect()
}

fn float_bytes(width: usize, value: f64) -> Vec<u8> {
    match width {
        2 => f16::from_f64(value).to_le_bytes().to_vec(),
        4 => (value as f32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    }
}

fn float_values(width: usize, rows: usize, distribution: Distribution, rng: &mut Rng) -> Vec<u8> {
    let fraction_bits = match width {
        2 => 10,
        4 => 23,
        _ => 52,
    };
    let sign = 1u64 << (width * 8 - 1);
    let infinity = (sign - 1) >> fraction_bits << fraction_bits;
    let quiet = 1u64 << (fraction_bits - 1);
    let nan = infinity | quiet;
    let special = [
        0,
        sign,
        1,
        sign | 1,
        infinity,
        infinity | sign,
        nan,
        nan | sign,
        nan | 0x2a,
        infinity | 1,
        infinity | sign | 3,
        infinity - 1,
        (infinity - 1) | sign,
    ];
    let decimal =
        |rng: &mut Rng| float_bytes(width, rng.below(2_000_000) as f64 / 100.0 - 10_000.0);
    let few: Vec<Vec<u8>> = (0..12).map(|_| decimal(rng)).collect();
    let mut bytes = Vec::with_capacity(rows * width);
    for row in 0..rows {
        match distribution {
            Distribution::Constant => bytes.extend_from_slice(&few[0]),
            Distribution::LowCardinality => bytes.extend(rng.pick(&few)),
            Distribution::Sorted => bytes.extend(float_bytes(width, row as f64 * 0.25 - 100.0)),
            Distribution::Random => bytes.extend(rng.bytes(width)),
            Distribution::Skewed if rng.percent(1) => bytes.extend(rng.bytes(width)),
            Distribution::Skewed => bytes.extend(decimal(rng)),
            Distribution::Extremes => {
                bytes.extend_from_slice(&rng.pick(&special).to_le_bytes()[..width]);
            }
        }
    }
    bytes
}

fn binary_values(width: usize, rows: usize, distribution: Distribution, rng: &mut Rng) -> Vec<u8> {
    let few: Vec<Vec<u8>> = (0..12).map(|_| rng.bytes(width)).collect();
    let mut bytes = Vec::with_capacity(rows * width);
    for row in 0..rows {
        match distribution {
            Distribution::Constant => bytes.extend_from_slice(&few[0]),
            Distribution::LowCardinality => bytes.extend(rng.pick(&few)),
            Distribution::Random => bytes.extend(rng.bytes(width)),
            Distribution::Extremes => bytes.resize(bytes.len() + width, *rng.pick(&[0, 0xff])),
            Distribution::Skewed if rng.percent(2) => bytes.extend(rng.bytes(width)),
            Distribution::Skewed => bytes.resize(bytes.len() + width, 0),
            // Big-endian, so that the bytes rise.
            Distribution::Sorted => {
                let number = (row as u128).to_be_bytes();
                let pad = width.saturating_sub(16);
                bytes.resize(bytes.len() + pad, 0);
                bytes.extend_from_slice(&number[16 - (width - pad)..]);
            }
        }
    }
    bytes
}

fn string_values(
    is_text: bool,
    rows: usize,
    distribution: Distribution,
    rng: &mut Rng,
) -> Vec<Vec<u8>> {
    let few: Vec<Vec<u8>> = (0..12)
        .map(|_| string(is_text, rng.below(20), rng))
        .collect();
    (0..rows)
        .map(|row| match distribution {
            Distribution::Constant => b"Intarsia, not parquetry".to_vec(),
            Distribution::LowCardinality => rng.pick(&few).clone(),
            Distribution::Sorted => format!("row {row:09}").into_bytes(),
            Distribution::Random => {
                let n_chars = rng.below(25);
                string(is_text, n_chars, rng)
            }
            Distribution::Skewed => match rng.below(200) {
                0 => {
                    let n_chars = rng.between(200, 1500);
                    string(is_text, n_chars, rng)
                }
                1..80 => vec![],
                _ => {
                    let n_chars = rng.below(6);
                    string(is_text, n_chars, rng)
                }
            },
            Distribution::Extremes => match rng.below(200) {
                0 => vec![b'x'; 4096],
                1..60 => vec![],
                60..100 => b"twelve bytes".to_vec(),
                100..140 => b"twelve bytes!".to_vec(),
                140..170 => vec![0],
                _ if is_text => "\u{10ffff}\u{0}é".as_bytes().to_vec(),
                _ => vec![0xff, 0xfe, 0x80],
            },
        })
        .collect()
}

fn string(is_text: bool, n_chars: usize, rng: &mut Rng) -> Vec<u8> {
    if !is_text {
        return rng.bytes(n_chars);
    }
    let mut text = String::new();
    for _ in 0..n_chars {
        text.push(match rng.below(12) {
            0 => *rng.pick(&['ß', '数', '🪵', '\u{301}']),
            _ => char::from(b'a' + rng.below(26) as u8),
        });
    }
    text.into_bytes()
}

/// Dictionaries have entries that no key names, entries that are equal, and null entries where the profile has nulls.
fn dictionary(
    data_type: &DataType,
    key: &DataType,
    value: &DataType,
    rows: usize,
    nulls: Option<NullBuffer>,
    profile: Profile,
    rng: &mut Rng,
) -> ArrayRef {
    let n_used = match profile.distribution {
        Distribution::Constant => 1,
        Distribution::LowCardinality => 12,
        Distribution::Sorted | Distribution::Skewed => 100,
        // As many entries as the narrowest keys can number.
        Distribution::Random | Distribution::Extremes => (rows / 2).clamp(1, 120),
    };
    let has_null_entries = matches!(profile.nulls, Nulls::Percent(_) | Nulls::Runs);
    let entries = array(
        value,
        n_used + 5,
        Profile {
            nulls: if has_null_entries {
                Nulls::Percent(10)
            } else {
                Nulls::None
            },
            distribution: match profile.distribution {
                // A constant column may still have other, unused entries.
                Distribution::Constant => Distribution::Random,
                other => other,
            },
            seed: rng.u64(),
        },
    );
    let width = fixed_width(key).unwrap_or_else(|| panic!("{key} is not a key type"));
    let mut keys = Vec::with_capacity(rows * width);
    for row in 0..rows {
        let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        // The key under a null need not be valid.
        let code = match profile.distribution {
            _ if !is_valid => rng.u64() & 0x7f,
            Distribution::Sorted => (row * n_used / rows.max(1)) as u64,
            Distribution::Skewed if rng.percent(80) => 0,
            _ => rng.below(n_used) as u64,
        };
        keys.extend_from_slice(&code.to_le_bytes()[..width]);
    }
    build(
        data_type,
        rows,
        nulls,
        vec![keys.into()],
        vec![entries.to_data()],
    )
}

/// The values of an array, row by row, whatever its layout.
pub(crate) enum Access {
    Null,
    Bits {
        buffer: Buffer,
        offset: usize,
    },
    Fixed {
        buffer: Buffer,
        offset: usize,
        width: usize,
    },
    Offsets {
        array: ArrayRef,
    },
    Dictionary {
        keys: Vec<usize>,
        values: Box<Access>,
    },
}

#[derive(Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Nothing,
    Bit(bool),
    Bytes(&'a [u8]),
}

impl Access {
    pub(crate) fn new(array: &dyn Array) -> Self {
        let data = array.to_data();
        if let Some(width) = fixed_width(array.data_type()) {
            return Self::Fixed {
                buffer: data.buffers()[0].clone(),
                offset: data.offset(),
                width,
            };
        }
        match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Bits {
                buffer: data.buffers()[0].clone(),
                offset: data.offset(),
            },
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView => Self::Offsets {
                array: make_array(data),
            },
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = dictionary.values();
                // `normalized_keys` has no answer for a dictionary without entries, and there all rows are null.
                let keys = match values.is_empty() {
                    true => vec![0; array.len()],
                    false => dictionary.normalized_keys(),
                };
                Self::Dictionary {
                    keys,
                    values: Box::new(Self::new(values)),
                }
            }
            other => panic!("{other} is not a flat type"),
        }
    }

    pub(crate) fn get(&self, row: usize) -> Value<'_> {
        match self {
            Self::Null => Value::Nothing,
            Self::Bits { buffer, offset } => {
                let at = offset + row;
                Value::Bit(buffer[at / 8] >> (at % 8) & 1 == 1)
            }
            Self::Fixed {
                buffer,
                offset,
                width,
            } => {
                let start = (offset + row) * width;
                Value::Bytes(&buffer[start..start + width])
            }
            Self::Offsets { array } => Value::Bytes(match array.data_type() {
                DataType::Utf8 => array.as_string::<i32>().value(row).as_bytes(),
                DataType::LargeUtf8 => array.as_string::<i64>().value(row).as_bytes(),
                DataType::Utf8View => array.as_string_view().value(row).as_bytes(),
                DataType::Binary => array.as_binary::<i32>().value(row),
                DataType::LargeBinary => array.as_binary::<i64>().value(row),
                _ => array.as_binary_view().value(row),
            }),
            Self::Dictionary { keys, values } => values.get(keys[row]),
        }
    }
}

/// Checks that two arrays of a flat type are equal: type, length, null rows, and the values of the others bit for bit
/// (so `-0.0` is not `0.0`, and a NaN equals only itself). Dictionary arrays are compared by what their rows mean;
/// their entries may differ.
///
/// # Panics
/// At the first difference, and for types that are not flat.
pub fn assert_bit_equal(got: &dyn Array, expected: &dyn Array) {
    if let Err(difference) = bit_difference(got, expected) {
        panic!("{difference}");
    }
}

/// The text of the first difference for which [`assert_bit_equal`] would panic.
///
/// # Errors
/// The difference, as text.
///
/// # Panics
/// For types that are not flat.
pub fn bit_difference(got: &dyn Array, expected: &dyn Array) -> Result<(), String> {
    if got.data_type() != expected.data_type() {
        return Err(format!(
            "type {} instead of {}",
            got.data_type(),
            expected.data_type()
        ));
    }
    let data_type = got.data_type();
    if got.len() != expected.len() {
        return Err(format!(
            "{data_type}: {} rows instead of {}",
            got.len(),
            expected.len()
        ));
    }
    let (got_nulls, expected_nulls) = (got.logical_nulls(), expected.logical_nulls());
    let is_null =
        |nulls: &Option<NullBuffer>, row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let (got_values, expected_values) = (Access::new(got), Access::new(expected));
    for row in 0..got.len() {
        match (is_null(&got_nulls, row), is_null(&expected_nulls, row)) {
            (true, true) => {}
            (false, false) => {
                let (got, expected) = (got_values.get(row), expected_values.get(row));
                if got != expected {
                    return Err(format!(
                        "{data_type}, row {row}: {} instead of {}",
                        describe(&got),
                        describe(&expected)
                    ));
                }
            }
            (true, false) => {
                let expected = describe(&expected_values.get(row));
                return Err(format!(
                    "{data_type}, row {row}: null instead of {expected}"
                ));
            }
            (false, true) => {
                let got = describe(&got_values.get(row));
                return Err(format!("{data_type}, row {row}: {got} instead of null"));
            }
        }
    }
    Ok(())
}

pub(crate) fn describe(value: &Value<'_>) -> String {
    match value {
        Value::Nothing => "nothing".to_owned(),
        Value::Bit(bit) => bit.to_string(),
        Value::Bytes(bytes) if bytes.len() <= 32 => format!("{bytes:02x?}"),
        Value::Bytes(bytes) => format!("{:02x?}… ({} bytes)", &bytes[..32], bytes.len()),
    }
}

/// Checks two batches: equal schemas, metadata included, and columns as [`assert_bit_equal`] does.
///
/// # Panics
/// At the first difference.
pub fn batch_bit_equal(got: &RecordBatch, expected: &RecordBatch) {
    assert_eq!(got.schema(), expected.schema(), "schemas differ");
    assert_eq!(
        got.num_rows(),
        expected.num_rows(),
        "numbers of rows differ"
    );
    let columns = got.columns().iter().zip(expected.columns());
    for ((got, expected), field) in columns.zip(expected.schema_ref().fields()) {
        if let Err(difference) = bit_difference(got, expected) {
            panic!("column {}: {difference}", field.name());
        }
    }
}
