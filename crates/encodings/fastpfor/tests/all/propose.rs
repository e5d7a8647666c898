//! Values for which a proposal is made, and values for which none is.

use tarsia_codec::{EncodingWriter, Facts, LogicalType, Proposals, Statistics, ValueType, Version};
use tarsia_fastpfor::{FASTPFOR, Scheme};
use tarsia_testkit::cases::{Case, cases};

use crate::laws::{encoded, grouped};

fn named(bytes_to_beat: u64) -> Proposals<'static> {
    Proposals::new(bytes_to_beat, Version::new(1, 0)).of_named(true)
}

/// The parameters and the bytes that are proposed.
fn proposed<'c>(case: &'c Case, mut proposals: Proposals<'c>) -> Option<(Vec<u8>, u64)> {
    let values = Statistics::new(case.values(), Facts::of(LogicalType::Unsigned));
    FASTPFOR.propose(&values, &mut proposals).unwrap();
    let mut proposals = proposals.into_vec();
    assert!(proposals.len() < 2);
    proposals.pop().map(|it| (it.params, it.bytes))
}

#[test]
fn the_smaller_scheme_is_proposed_with_its_bytes() {
    let mut found = [0; 2];
    for width in [1, 2, 4, 8] {
        let all = cases(ValueType::Fixed(width)).into_iter();
        for case in all.chain(grouped(width as usize)) {
            if case.is_empty() {
                continue;
            }
            let sizes = Scheme::ALL.map(|scheme| encoded(&case, scheme).len() as u64);
            let scheme = usize::from(sizes[1] < sizes[0]);
            let expected = Some((vec![scheme as u8], sizes[scheme]));
            let name = &case.name;
            assert_eq!(proposed(&case, named(u64::MAX)), expected, "{name}");
            assert_eq!(
                proposed(&case, named(sizes[scheme] + 1)),
                expected,
                "{name}"
            );
            assert_eq!(proposed(&case, named(sizes[scheme])), None, "{name}");
            found[scheme] += 1;
        }
    }
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
}

/// 65,536 values and the rest.
#[test]
fn the_bytes_are_those_of_all_units() {
    let number = |i: u128| if i % 100 == 7 { i } else { i % 8 };
    let numbers: Vec<u128> = (0..70_000).map(number).collect();
    let of = |numbers: &[u128]| Case::numbers("", 4, numbers);
    let (first, rest) = numbers.split_at(1 << 16);
    let bytes = |numbers| encoded(&of(numbers), Scheme::FastPfor).len() as u64;
    let expected = Some((vec![1], bytes(first) + bytes(rest)));
    assert_eq!(proposed(&of(&numbers), named(u64::MAX)), expected);
}

#[test]
fn nothing_is_proposed_for_other_values_or_where_survivors_must_fit() {
    for other in [
        Case::numbers("none", 8, &[]),
        Case::numbers("wide", 16, &[1, 2]),
        Case::numbers("of three bytes", 3, &[1, 2]),
        Case::strings("strings", &["a", "b"]),
        Case::bits("bits", &[true, false]),
    ] {
        assert_eq!(proposed(&other, named(u64::MAX)), None, "{}", other.name);
    }
    let numbers = Case::numbers("numbers", 4, &[1, 2]);
    assert!(proposed(&numbers, named(u64::MAX)).is_some());
    assert_eq!(proposed(&numbers, named(u64::MAX).that_fit(true)), None);
}
