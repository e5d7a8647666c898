//! The laws of all encodings, for concat over plain and over packed children.

use tarsia_codec::ValueType;
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};

use crate::{packed, plain, registry};

#[test]
fn strings_obey_the_laws() {
    let mut all = cases(ValueType::Bytes);
    // Larger ones test nothing else, and take long.
    all.retain(|case| case.values().decoded_bytes() <= 1 << 19);
    check_cases(&registry(), &plain(), &all);
    check_cases(&registry(), &packed(), &all);
}

#[test]
fn numerals_obey_the_laws() {
    let numerals: Vec<String> = (0..3000u32).map(|i| (i * i).to_string()).collect();
    check_cases(
        &registry(),
        &packed(),
        &[Case::strings("numerals", &numerals)],
    );
}
