//! Proposals for values of several kinds.

use tarsia_codec::{
    EncodingWriter, Facts, LogicalType, Proposal, Proposals, RowStarts, Statistics, Tree,
};
use tarsia_quantized::{Format, ID, QUANTIZED, VERSION, round_f32, round_f64};
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

use crate::laws::{doubles, floats, registry};

struct Rows(Vec<u32>);

impl RowStarts for Rows {
    fn row_starts(&self) -> Vec<u32> {
        self.0.clone()
    }
}

fn rows_of(n: usize, dim: usize) -> Rows {
    Rows((0..=n).step_by(dim).map(|it| it as u32).collect())
}

/// The parameters of what is proposed. The bytes that each proposal states are checked.
fn proposed(case: &Case, facts: Facts<'_>) -> Vec<Vec<u8>> {
    let values = Statistics::new(case.values(), facts);
    let mut proposals = Proposals::new(u64::MAX, VERSION);
    QUANTIZED.propose(&values, &mut proposals).unwrap();
    let check = |it: Proposal<'_>| {
        let children = vec![tarsia_plain::tree(); it.children.len()];
        let tree = Tree::node(ID, VERSION, &it.params, children);
        let (encoded, _) = units::encode(&registry(), &tree, case.values()).unwrap();
        let of_children = it
            .children
            .iter()
            .map(|it| it.values().unwrap().decoded_bytes());
        assert_eq!(it.bytes + of_children.sum::<u64>(), encoded.len() as u64);
        it.params
    };
    proposals.into_vec().into_iter().map(check).collect()
}

/// The formats of what is proposed.
fn formats(case: &Case) -> Vec<Format> {
    let proposed = proposed(case, Facts::of(LogicalType::Float)).into_iter();
    proposed.map(|it| Format::ALL[usize::from(it[0])]).collect()
}

fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    let number = |_| (rng.u64() >> 40) as f32 / (1 << 24) as f32 - 0.5;
    (0..n).map(number).collect()
}

#[test]
fn rounded_values_are_found_in_their_format() {
    for format in [Format::F16, Format::Bf16, Format::E4m3, Format::E5m2] {
        // Too large for binary16, or too small for 8 bits of a significand.
        let factor = if format == Format::Bf16 { 1e9 } else { 1.0 };
        let mut numbers: Vec<f32> = random(5000, 1).iter().map(|it| it * factor).collect();
        round_f32(&mut numbers, format, None).unwrap();
        assert_eq!(formats(&floats(&numbers)), [format]);
        let numbers: Vec<f64> = numbers.iter().map(|it| f64::from(*it)).collect();
        assert_eq!(formats(&doubles(&numbers)), [format]);
    }
    let singles: Vec<f64> = random(5000, 2)
        .iter()
        .map(|it| f64::from(*it) / 3.0)
        .collect();
    assert_eq!(formats(&doubles(&singles)), []);
    let mut singles = singles;
    round_f64(&mut singles, Format::F32, None).unwrap();
    assert_eq!(formats(&doubles(&singles)), [Format::F32]);
    // Multiples of 1/8 up to 15.875 have 7 bits: both formats of 2 bytes hold them, and none of 1 byte.
    let eighths: Vec<f32> = (0..128).map(|i| i as f32 / 8.0).collect();
    assert!(formats(&floats(&eighths)).starts_with(&[Format::F16, Format::Bf16]));
    // Both formats of 1 byte hold powers of two.
    let powers: Vec<f32> = (0..8).map(|i| (1 << i) as f32).collect();
    assert_eq!(formats(&floats(&powers))[..2], [Format::E4m3, Format::E5m2]);
}

#[test]
fn one_value_decides() {
    let mut numbers: Vec<f32> = random(5000, 1).iter().map(|it| it * 1e9).collect();
    round_f32(&mut numbers, Format::Bf16, None).unwrap();
    numbers[4999] = 0.1;
    assert_eq!(formats(&floats(&numbers)), []);
    numbers[4999] = f32::from_bits(0x7f80_0001);
    assert_eq!(formats(&floats(&numbers)), []);
    numbers[4999] = f32::NAN;
    assert_eq!(formats(&floats(&numbers)), [Format::Bf16]);
}

#[test]
fn scales_of_pages_are_found() {
    let mut found = 0;
    for seed in 0..40 {
        for format in [Format::Int8, Format::Int4] {
            let mut numbers = random(700, seed);
            round_f32(&mut numbers, format, None).unwrap();
            found += usize::from(formats(&floats(&numbers)).contains(&format));
            let mut numbers: Vec<f64> = random(700, seed).iter().map(|it| f64::from(*it)).collect();
            round_f64(&mut numbers, format, None).unwrap();
            found += usize::from(formats(&doubles(&numbers)).contains(&format));
        }
    }
    assert_eq!(found, 160);
    let few = Facts::of(LogicalType::Float);
    let numbers: Vec<f32> = (0..700)
        .map(|i| (i * 37 % 255 - 127) as f32 * 0.25)
        .collect();
    let wanted = [&[5, 0][..], &0.25f32.to_le_bytes()].concat();
    assert!(proposed(&floats(&numbers), few).contains(&wanted));
}

/// Values that another program rounded, computed in 4 bytes alone.
#[test]
fn scales_of_other_programs_are_found() {
    let mut rng = Rng::new(3);
    for _ in 0..3000 {
        for (format, largest) in [(Format::Int8, 127i32), (Format::Int4, 7)] {
            let most = (rng.u64() >> 32) as f32 / 1e9;
            let scale = most / largest as f32;
            let integer = |rng: &mut Rng| rng.below(2 * largest as usize + 1) as i32 - largest;
            let mut numbers = vec![largest as f32 * scale];
            numbers.extend((0..63).map(|_| integer(&mut rng) as f32 * scale));
            let wanted = [&[format as u8, 0][..], &scale.to_le_bytes()].concat();
            let proposed = proposed(&floats(&numbers), Facts::of(LogicalType::Float));
            assert!(proposed.contains(&wanted), "{most} {proposed:?}");
        }
    }
}

#[test]
fn scales_of_vectors_are_found_for_rows_of_one_length() {
    const DIM: usize = 32;
    let proposed = |case: &Case, rows: &Rows| {
        let facts = Facts {
            rows: Some(rows),
            ..Facts::of(LogicalType::Float)
        };
        proposed(case, facts)
    };
    for format in [Format::Int8, Format::Int4] {
        let numbers = random(DIM * 50, 4).into_iter().enumerate();
        let mut numbers: Vec<f32> = numbers.map(|(i, it)| it * (1 + i / DIM) as f32).collect();
        round_f32(&mut numbers, format, Some(DIM)).unwrap();
        let case = floats(&numbers);
        let rows = rows_of(numbers.len(), DIM);
        let wanted = [&[format as u8, 1][..], &(DIM as u32).to_le_bytes()].concat();
        assert_eq!(proposed(&case, &rows), [wanted]);
        let none: [Vec<u8>; 0] = [];
        // Other rows, one that is empty, and a value that is no multiple.
        assert_eq!(proposed(&case, &rows_of(numbers.len(), DIM / 2 + 4)), none);
        let mut starts = rows.0.clone();
        starts.insert(7, starts[7]);
        assert_eq!(proposed(&case, &Rows(starts)), none);
        assert_eq!(proposed(&case, &rows_of(numbers.len(), 1)), none);
        assert_eq!(formats(&case), []);
        numbers[DIM * 50 - 1] = 0.123;
        assert_eq!(proposed(&floats(&numbers), &rows), none);
    }
}

#[test]
fn nothing_is_proposed_for_other_values() {
    let none: [Format; 0] = [];
    assert_eq!(formats(&floats(&random(5000, 7))), none);
    assert_eq!(formats(&floats(&[])), none);
    assert_eq!(formats(&floats(&[1.0; 100])), none);
    assert_eq!(formats(&Case::numbers("bytes", 1, &[1, 2, 3])), none);
    assert_eq!(formats(&Case::strings("strings", &["a", "b"])), none);
    let halves: Vec<f32> = (0..9).map(|i| i as f32 / 2.0).collect();
    for other in [LogicalType::Signed, LogicalType::Unknown, LogicalType::Code] {
        let found = proposed(&floats(&halves), Facts::of(other));
        assert!(found.is_empty(), "{other:?}: {found:?}");
    }
    // Binary16 numbers in formats of 1 byte.
    let quarters: Vec<u128> = (0..9)
        .map(|i| half::f16::from_f32(i as f32 / 4.0).to_bits().into())
        .collect();
    assert!(formats(&Case::numbers("halves", 2, &quarters)).contains(&Format::E4m3));
}
