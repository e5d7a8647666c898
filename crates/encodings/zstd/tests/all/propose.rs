//! When it proposes itself, and that the stated bytes are those that are written.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Part, Proposal, Proposals, Registry,
    Statistics, Version,
};
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;
use tarsia_zstd::{ZSTD, tree};

use crate::shapes::text;

fn propose(case: &Case, bytes_to_beat: u64, must_fit: bool) -> Option<Proposal<'_>> {
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Unsigned));
    let mut proposals = Proposals::new(bytes_to_beat, Version::new(1, 0)).that_fit(must_fit);
    ZSTD.propose(&statistics, &mut proposals).unwrap();
    let mut found = proposals.into_vec();
    assert!(found.len() < 2);
    found.pop()
}

fn encoded_bytes(case: &Case) -> u64 {
    let mut registry = Registry::new();
    registry.add_writer(&ZSTD, DecodeCost::default());
    let (unit, _) = units::encode(&registry, &tree(), case.values()).unwrap();
    unit.len() as u64
}

#[test]
fn the_stated_bytes_are_those_of_one_unit() {
    let wide = text(60_000, 1);
    for (width, n) in [(1, 60_000), (4, 15_000), (3, 20_000)] {
        let case = Case::fixed("text", width, n, wide.clone());
        let found = propose(&case, u64::MAX, false).unwrap();
        assert_eq!(found.bytes, encoded_bytes(&case));
        assert!(!found.is_uniform);
        assert_eq!(found.block_bytes, 256 << 10);
        let (params, children, shared) = (found.params, found.children, found.shared);
        assert!(params.is_empty() && children.is_empty() && shared.is_empty());
        // The same is not proposed where it does not win.
        assert!(propose(&case, found.bytes, false).is_none());
        assert!(propose(&case, found.bytes + 1, false).is_some());
    }
}

/// Units of 65,536 values are tried in pieces. Those of a parent's bytes may be longer.
#[test]
fn long_pages_are_estimated() {
    let n = 400_000;
    let case = Case::fixed("text", 1, n, text(n, 2));
    let strings = Case::strings("", &["a"; 10]);
    let parent = Statistics::new(strings.values(), Facts::default());
    let data = Part::borrowed(case.values(), LogicalType::Unknown).in_longer_units_of(1 << 30);
    let of_parent = parent.of_part(&data, None).unwrap();
    let mut proposals = Proposals::new(u64::MAX, Version::new(1, 0));
    ZSTD.propose(&of_parent, &mut proposals).unwrap();
    let (stated, written) = (proposals.into_vec()[0].bytes, encoded_bytes(&case));
    assert!(
        stated.abs_diff(written) * 20 < written,
        "{stated} instead of {written}"
    );
    let stated = propose(&case, u64::MAX, false).unwrap().bytes;
    let bytes = text(n, 2);
    let units = bytes.chunks(1 << 16);
    let units = units.map(|it| encoded_bytes(&Case::fixed("", 1, it.len(), it.to_vec())));
    let written: u64 = units.sum();
    let off = stated.abs_diff(written);
    assert!(off * 20 < written, "{stated} instead of {written}");
}

#[test]
fn nothing_is_proposed_that_cannot_win() {
    let few = Case::fixed("", 1, 2000, text(2000, 1));
    assert!(propose(&few, u64::MAX, false).is_none());
    let case = Case::fixed("", 1, 20_000, text(20_000, 1));
    assert!(propose(&case, u64::MAX, false).is_some());
    assert!(propose(&case, 2000, false).is_none());
    // What remains after an erasure may need more bytes.
    assert!(propose(&case, u64::MAX, true).is_none());
    let random = Case::fixed("", 8, 4000, Rng::new(1).bytes(32_000));
    assert!(propose(&random, u64::MAX, false).is_none());
    let strings = Case::strings("", &["a"; 4000]);
    assert!(propose(&strings, u64::MAX, false).is_none());
    assert!(propose(&Case::bits("", &[true; 40_000]), u64::MAX, false).is_none());
}
