//! Slices of numbers, strings and booleans.

use tarsia_codec::ValueType;
use tarsia_codec::{ErrorKind, Registry, Tree};
use tarsia_standalone::{Encoded, Selection, encode_bits, encode_slice, encode_strings, registry};
use tarsia_testkit::trees::any_tree;

fn plain() -> (Registry, Tree) {
    (registry(&[&tarsia_plain::PLAIN]), tarsia_plain::tree())
}

#[test]
fn numbers_of_every_type() {
    let (registry, tree) = plain();
    macro_rules! check {
        ($($number:ty),*) => {
            $(
                let numbers = [<$number>::MIN, <$number>::MAX, 0 as $number, 1 as $number, <$number>::MAX / (2 as $number)];
                let bytes = encode_slice(&registry, &tree, &numbers).unwrap();
                let mut encoded = Encoded::open(&registry, &bytes).unwrap();
                assert_eq!(encoded.to_vec::<$number>(Selection::All).unwrap(), numbers);
                let mut some = [0 as $number; 2];
                encoded.decode_slice(Selection::Indices(&[1, 4]), &mut some).unwrap();
                assert_eq!(some, [numbers[1], numbers[4]]);
                for (i, number) in (0..).zip(numbers) {
                    assert_eq!(encoded.value::<$number>(i), Ok(number));
                }
                assert!(encoded.value::<$number>(5).is_err());
                assert!(encoded.decode_slice(Selection::All, &mut some).is_err());
            )*
        };
    }
    check!(u8, i8, u16, i16, u32, i32, u64, i64, u128, i128, f32, f64);
}

#[test]
fn units_are_little_endian() {
    let (registry, tree) = plain();
    let bytes = encode_slice(&registry, &tree, &[0x0102u16, 0x0304]).unwrap();
    let encoded = Encoded::open(&registry, &bytes).unwrap();
    assert_eq!(encoded.unit_bytes(), 4);
    assert_eq!(bytes[bytes.len() - 4..], [2, 1, 4, 3]);
}

#[test]
fn strings_come_back() {
    let registry = tarsia_encodings::registry();
    let tree = any_tree(&registry, ValueType::Bytes).unwrap();
    let long = "long ".repeat(2000);
    let strings = ["", "a", &long, "bc"];
    let bytes = encode_strings(&registry, &tree, &strings).unwrap();
    let mut encoded = Encoded::open(&registry, &bytes).unwrap();
    let all = encoded.strings(Selection::All).unwrap();
    assert_eq!((all.len(), all.is_empty()), (4, false));
    assert_eq!(all.iter().collect::<Vec<_>>(), strings.map(str::as_bytes));
    assert_eq!(all.get(4), None);
    // One long string among short ones: more than the first room for it.
    let one = encoded.strings(Selection::Indices(&[2, 2, 2])).unwrap();
    assert_eq!(one.iter().collect::<Vec<_>>(), [long.as_bytes(); 3]);
    assert!(encoded.bits(Selection::All).is_err());
    assert!(encoded.to_vec::<u8>(Selection::All).is_err());
    let none: [&[u8]; 0] = [];
    let bytes = encode_strings(&registry, &tree, &none).unwrap();
    assert!(
        Encoded::open(&registry, &bytes)
            .unwrap()
            .strings(Selection::All)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn bits_come_back() {
    let (registry, tree) = plain();
    let bits: Vec<bool> = (0..77).map(|i| i % 3 == 0).collect();
    let bytes = encode_bits(&registry, &tree, &bits).unwrap();
    let mut encoded = Encoded::open(&registry, &bytes).unwrap();
    assert_eq!(encoded.unit_bytes(), 10);
    assert_eq!(encoded.bits(Selection::All), Ok(bits.clone()));
    let range = Selection::Range { start: 5, len: 70 };
    assert_eq!(encoded.bits(range).unwrap(), bits[5..75]);
    assert!(encoded.strings(Selection::All).is_err());
}

#[test]
fn wrong_trees_and_readers_are_refused() {
    let (registry, tree) = plain();
    let kind = |error: tarsia_standalone::Error| error.into_kind();
    let strings = encode_strings(&registry, &tree, &["a"]).unwrap_err();
    assert!(matches!(kind(strings), ErrorKind::Unsupported { .. }));
    let bytes = encode_slice(&registry, &tree, &[1u32]).unwrap();
    let unknown = Encoded::open(&Registry::new(), &bytes).unwrap_err();
    assert!(matches!(kind(unknown), ErrorKind::Unsupported { .. }));
    let mut encoded = Encoded::open(&registry, &bytes).unwrap();
    let wide = encoded.to_vec::<u64>(Selection::All).unwrap_err();
    assert!(matches!(kind(wide), ErrorKind::InvalidInput { .. }));
    let text = format!("{encoded:?}");
    assert!(text.contains("plain") && text.contains("len: 1"), "{text}");
}
