//! The laws of all encodings, for both schemes.

use tarsia_codec::{DecodeCost, EncodingWriter, EraseFit, Node, Registry, ValueType};
use tarsia_fastpfor::{FASTPFOR, Scheme, VERSION, tree};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

pub(crate) fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_writer(&FASTPFOR, DecodeCost::default());
    registry
}

/// The bytes of one unit of all values.
pub(crate) fn encoded(case: &Case, scheme: Scheme) -> Vec<u8> {
    let (encoded, _) = units::encode(&registry(), &tree(scheme), case.values()).unwrap();
    encoded
}

/// Cases that the encoding is made for: groups of their own widths, with and without rare large values.
pub(crate) fn grouped(width: usize) -> Vec<Case> {
    let mut rng = Rng::new(width as u64);
    let bits = width as u64 * 8;
    let mut all = Vec::new();
    for n in [1, 127, 128, 129, 1000, 5000] {
        let mut of = |name, percent: u32| {
            let mut number = |i: u64| {
                let n_bits = match rng.percent(percent) {
                    true => bits - i / 128 % 4,
                    false => i / 128 * 3 % bits,
                };
                u128::from(rng.u64()) & ((1 << n_bits) - 1)
            };
            let numbers: Vec<u128> = (0..n).map(&mut number).collect();
            Case::numbers(name, width, &numbers)
        };
        all.push(of("no exceptions", 0));
        all.push(of("rare exceptions", 2));
        all.push(of("many exceptions", 20));
    }
    all
}

#[test]
fn numbers_obey_the_laws() {
    for scheme in Scheme::ALL {
        for width in [1, 2, 4, 8] {
            check_cases(&registry(), &tree(scheme), &cases(ValueType::Fixed(width)));
        }
    }
}

#[test]
fn groups_obey_the_laws() {
    for scheme in Scheme::ALL {
        for width in [1, 2, 4, 8] {
            check_cases(&registry(), &tree(scheme), &grouped(width));
        }
    }
}

#[test]
fn the_largest_units_are_as_large_as_the_bound() {
    for width in [1, 2, 4, 8] {
        for n in [0usize, 1, 127, 128, 129, 3000] {
            let case = Case::numbers("the largest", width, &vec![u128::MAX; n]);
            for scheme in Scheme::ALL {
                let node = Node {
                    value_type: ValueType::Fixed(width as u32),
                    version: VERSION,
                    params: &[u8::from(scheme == Scheme::FastPfor)],
                };
                let child = |_, _, _, _| panic!("there are no children");
                let bytes = (n * width) as u64;
                let bound = FASTPFOR.encoded_bytes_max(&node, n as u64, bytes, &child);
                let found = encoded(&case, scheme).len() as u64;
                assert_eq!(found, bound, "{scheme:?}, {n} of {width} bytes");
                assert_eq!(FASTPFOR.erase_fit(&node), EraseFit::MayGrow);
            }
        }
    }
}

/// Without the first value, a wide one moves to a group of narrow ones.
#[test]
fn survivors_may_take_more_bytes() {
    let mut numbers = [vec![1; 128], vec![0xffff_ffff; 128]].concat();
    let all = Case::numbers("all", 4, &numbers);
    numbers.remove(0);
    let survivors = Case::numbers("survivors", 4, &numbers);
    for scheme in Scheme::ALL {
        assert!(encoded(&all, scheme).len() < encoded(&survivors, scheme).len());
    }
}
