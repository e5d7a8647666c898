//! The laws of all encodings, for values of all kinds of widths.

use tarsia_codec::{DecodeCost, Registry, ValueType};
use tarsia_lz4::{LZ4, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};

use crate::text;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&LZ4, DecodeCost::default());
    registry
}

#[test]
fn numbers_obey_the_laws() {
    for width in [1, 2, 4, 8, 3, 16, 100] {
        let mut all = cases(ValueType::Fixed(width));
        // Larger ones test nothing else, and take long.
        all.retain(|case| case.values().decoded_bytes() <= 1 << 16);
        check_cases(&registry(), &tree(), &all);
    }
}

#[test]
fn text_obeys_the_laws() {
    let n = 60_000;
    let case = Case::fixed("text", 1, n, text(n, 4));
    check_cases(&registry(), &tree(), &[case]);
}
