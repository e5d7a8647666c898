//! When it proposes itself, and that the stated bytes are those that are written.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Proposal, Proposals, Registry, Statistics,
    Version,
};
use tarsia_lz4::{LZ4, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

use crate::text;

fn propose<'v>(
    case: &'v Case,
    change: impl FnOnce(Proposals<'v>) -> Proposals<'v>,
) -> Option<Proposal<'v>> {
    propose_below(case, u64::MAX, change)
}

fn propose_below<'v>(
    case: &'v Case,
    bytes_to_beat: u64,
    change: impl FnOnce(Proposals<'v>) -> Proposals<'v>,
) -> Option<Proposal<'v>> {
    let statistics = Statistics::new(case.values(), Facts::of(LogicalType::Unsigned));
    let proposals = Proposals::new(bytes_to_beat, Version::new(1, 0)).of_named(true);
    let mut proposals = change(proposals);
    LZ4.propose(&statistics, &mut proposals).unwrap();
    let mut found = proposals.into_vec();
    assert!(found.len() < 2);
    found.pop()
}

fn encoded_bytes(case: &Case) -> u64 {
    let mut registry = Registry::new();
    registry.add_writer(&LZ4, DecodeCost::default());
    let (unit, _) = units::encode(&registry, &tree(), case.values()).unwrap();
    unit.len() as u64
}

#[test]
fn the_stated_bytes_are_those_of_units() {
    let bytes = text(60_000, 1);
    for (width, n) in [(1, 60_000), (4, 15_000), (3, 20_000)] {
        let case = Case::fixed("text", width, n, bytes.clone());
        let found = propose(&case, |it| it).unwrap();
        assert_eq!(found.bytes, encoded_bytes(&case));
        assert!(!found.is_uniform);
        let (params, children, shared) = (found.params, found.children, found.shared);
        assert!(params.is_empty() && children.is_empty() && shared.is_empty());
        // The same is not proposed where it does not win.
        assert!(propose_below(&case, found.bytes, |it| it).is_none());
        assert!(propose_below(&case, found.bytes + 1, |it| it).is_some());
    }
    // Units of 65,536 values.
    let n = 200_000;
    let bytes = text(n, 2);
    let units = bytes.chunks(1 << 16);
    let units = units.map(|it| encoded_bytes(&Case::fixed("", 1, it.len(), it.to_vec())));
    let written: u64 = units.sum();
    let case = Case::fixed("text", 1, n, bytes);
    assert_eq!(propose(&case, |it| it).unwrap().bytes, written);
}

#[test]
fn nothing_is_proposed_that_cannot_win() {
    let case = Case::fixed("", 1, 20_000, text(20_000, 1));
    assert!(propose(&case, |it| it).is_some());
    assert!(propose(&case, |it| it.of_named(false)).is_none());
    // What remains after an erasure may need more bytes.
    assert!(propose(&case, |it| it.that_fit(true)).is_none());
    assert!(propose_below(&case, 2000, |it| it).is_none());
    let few = Case::fixed("", 1, 2000, text(2000, 1));
    assert!(propose(&few, |it| it).is_none());
    let random = Case::fixed("", 8, 4000, Rng::new(1).bytes(32_000));
    assert!(propose(&random, |it| it).is_none());
    assert!(propose(&Case::strings("", &["a"; 4000]), |it| it).is_none());
    assert!(propose(&Case::bits("", &[true; 40_000]), |it| it).is_none());
}
