//! The laws of all encodings, for values of all kinds of widths.

use tarsia_codec::{DecodeCost, Registry, ValueType};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_zstd::{ZSTD, tree};

use crate::shapes::text;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&ZSTD, DecodeCost::default());
    registry
}

#[test]
fn numbers_obey_the_laws() {
    for width in [1, 2, 4, 8] {
        let mut all = cases(ValueType::Fixed(width));
        // Larger ones test nothing else, and take long.
        all.retain(|case| case.values().decoded_bytes() <= 1 << 13);
        check_cases(&registry(), &tree(), &all);
    }
}

#[test]
fn values_of_other_widths_obey_the_laws() {
    for width in [3, 16, 100] {
        let mut all = cases(ValueType::Fixed(width));
        all.retain(|case| case.values().decoded_bytes() <= 1 << 13);
        check_cases(&registry(), &tree(), &all);
    }
}

#[test]
fn text_obeys_the_laws() {
    let n = 20_000;
    let case = Case::fixed("text", 1, n, text(n, 4));
    check_cases(&registry(), &tree(), &[case]);
}
