//! One broken unit, table or tree per rule, with the exact error.

use tarsia_bins::NUMBER_BITS_MAX;
use tarsia_codec::{
    Error, ErrorKind, Output, Scratch, Selection, SharedBuffer, SharedKind, Tree, Unit, ValueType,
    build_decoder,
};
use tarsia_testkit::units;

use super::tables::{registry, table};

/// The place of the offsets in [`good`].
const OFFSETS_AT: usize = 7;

fn tree() -> Tree {
    tarsia_bins::tree(NUMBER_BITS_MAX, tarsia_plain::tree())
}

/// Two bins of values of 4 bytes: 10 to 41, and 1000 alone.
fn bins() -> SharedBuffer {
    table(4, &[(10, 5), (1000, 0)])
}

/// The values 15, 1000 and 40: the numbers of their bins, and 10 bits.
fn good() -> Vec<u8> {
    let offsets = 5u16 | 30 << 5;
    let [low, high] = offsets.to_le_bytes();
    vec![3, 0, 0, 0, 0, 1, 0, low, high]
}

fn decode(bytes: &[u8]) -> Result<(), Error> {
    let unit = Unit {
        bytes,
        len: 3,
        decoded_bytes: 12,
    };
    units::decode(&registry(), &tree(), ValueType::Fixed(4), unit, &[bins()]).map(|_| ())
}

fn check(change: impl FnOnce(&mut Vec<u8>), expected: Error) {
    let mut bytes = good();
    change(&mut bytes);
    assert_eq!(decode(&bytes), Err(expected));
}

fn no_bin(found: u8) -> Error {
    Error::corrupt("bins.numbers", 4, found, "below the number of bins")
}

fn behind(at: usize, found: usize) -> Error {
    Error::corrupt("bins.offsets", at, found, "no bytes behind the last offset")
}

fn spare(at: usize, found: u8) -> Error {
    Error::corrupt("bins.spare_bits", at, found, "zero")
}

#[test]
fn every_field_is_checked() {
    assert_eq!(decode(&good()), Ok(()));
    let truncated = Error::truncated;
    check(|it| it.truncate(3), truncated("bins.numbers_len", 4, 3));
    check(|it| it.truncate(6), truncated("bins.numbers", 7, 6));
    let huge = Error::from(ErrorKind::Truncated {
        field: "bins.numbers",
        needed_bytes: u64::from(u32::MAX) + 4,
        have_bytes: 9,
    });
    check(|it| it[..4].fill(255), huge);
    check(|it| it[0] = 2, truncated("plain.values", 3, 2));
    check(|it| it[5] = 2, no_bin(2));
    check(|it| it[6] = 255, no_bin(255));
    check(|it| it.truncate(8), truncated("bins.offsets", 9, 8));
    check(|it| it.truncate(7), truncated("bins.offsets", 9, 7));
    check(|it| it.push(0), behind(9, 1));
    check(|it| it.extend([0; 300]), behind(9, 300));
    // Without offsets.
    check(|it| it[4..7].fill(1), behind(OFFSETS_AT, 2));
    check(|it| it[8] |= 1 << 2, spare(8, 1));
    check(|it| it[8] |= 1 << 7, spare(8, 1 << 5));
}

/// Values of 8 bytes whose offsets all have as many bits as they say.
fn many(bits: u8, n: u32, n_bytes: usize) -> Result<(), Error> {
    let mut bytes = n.to_le_bytes().to_vec();
    bytes.resize(4 + n as usize + n_bytes, 0);
    let unit = Unit {
        bytes: &bytes,
        len: n,
        decoded_bytes: n * 8,
    };
    let shared = [table(8, &[(7, bits)])];
    units::decode(&registry(), &tree(), ValueType::Fixed(8), unit, &shared).map(|_| ())
}

#[test]
fn offsets_end_where_the_widths_say() {
    for bits in [0, 1, 3, 8, 27, 28, 29, 56, 57, 58, 63, 64] {
        for n in [1, 2, 7, 8, 9, 16, 100, 1000, 5000] {
            let needed = (n as usize * usize::from(bits)).div_ceil(8);
            let at = 4 + n as usize;
            assert_eq!(many(bits, n, needed), Ok(()), "{n} of {bits} bits");
            for missing in [1, 2, 79, 80, 81, 159, 160, 161, 4000] {
                if let Some(less) = needed.checked_sub(missing) {
                    let error = Error::truncated("bins.offsets", at + needed, at + less);
                    assert_eq!(many(bits, n, less), Err(error), "{n} of {bits} bits");
                }
                let more = many(bits, n, needed + missing);
                let error = behind(at + needed, missing);
                assert_eq!(more, Err(error), "{n} of {bits} bits");
            }
        }
    }
}

#[test]
fn ranges_and_single_values_are_checked() {
    let shared = [bins()];
    let decoder = build_decoder(&registry(), &tree(), ValueType::Fixed(4), &shared).unwrap();
    let get = |bytes: &[u8], selection: Selection<'_>| {
        let unit = Unit {
            bytes,
            len: 3,
            decoded_bytes: 12,
        };
        let mut to = [0; 4];
        let out = Output::Fixed(&mut to);
        let done = decoder.decode(unit, selection, &mut Scratch::new(), out);
        done.map(|_| u32::from_le_bytes(to))
    };
    for i in 0..3 {
        let one = [i];
        for selection in [
            Selection::Range { start: i, len: 1 },
            Selection::Indices(&one),
        ] {
            let expected = [15, 1000, 40][i as usize];
            assert_eq!(get(&good(), selection), Ok(expected));
            // The end of the offsets is known to the last value alone.
            let is_last = i == 2;
            let longer = [good(), vec![0]].concat();
            let error = Err(behind(9, 1));
            assert_eq!(
                get(&longer, selection),
                if is_last { error } else { Ok(expected) }
            );
            let mut bad = good();
            bad[8] |= 1 << 3;
            let error = Err(spare(8, 2));
            assert_eq!(
                get(&bad, selection),
                if is_last { error } else { Ok(expected) }
            );
            // The offsets before are skipped, and must be there.
            let needed = if is_last { 9 } else { 8 };
            let short = get(&good()[..7], selection);
            assert_eq!(short, Err(Error::truncated("bins.offsets", needed, 7)));
            // The numbers of the bins before are needed, those behind are not.
            let mut bad = good();
            bad[5] = 9;
            let error = Err(no_bin(9));
            assert_eq!(get(&bad, selection), if i > 0 { error } else { Ok(15) });
        }
    }
}

fn init(tree: &Tree, value_type: ValueType, shared: SharedBuffer) -> Result<(), Error> {
    build_decoder(&registry(), tree, value_type, &[shared]).map(|_| ())
}

#[test]
fn tables_are_checked() {
    for width in [1, 2, 4, 8] {
        let with =
            |bins: &[(u64, u8)]| init(&tree(), ValueType::Fixed(width as u32), table(width, bins));
        let n_bits = width as u8 * 8;
        let max = u64::MAX >> (64 - n_bits);
        assert_eq!(with(&[]), Ok(()));
        // Bins may overlap, and reach beyond the largest number.
        assert_eq!(with(&[(0, n_bits), (1, n_bits), (max, n_bits)]), Ok(()));
        let wide = |i, found: u8| {
            let allowed = "at most the bits of a value";
            Err(Error::corrupt("bins.width", i, found, allowed))
        };
        assert_eq!(with(&[(0, 0), (3, n_bits + 1)]), wide(1, n_bits + 1));
        assert_eq!(with(&[(0, 255)]), wide(0, 255));
        let falls = |i, found: u64| {
            let allowed = "above the lower end before";
            Err(Error::corrupt("bins.lower", i, found, allowed))
        };
        assert_eq!(with(&[(0, 0), (5, 0), (5, 0)]), falls(2, 5));
        assert_eq!(with(&[(1, 0), (0, 0)]), falls(1, 0));
    }
    for number_bits in 1..=NUMBER_BITS_MAX {
        let n_max = 1 << number_bits;
        let with = |n: u64| {
            let bins: Vec<_> = (0..n).map(|i| (i, 0)).collect();
            let tree = tarsia_bins::tree(number_bits, tarsia_plain::tree());
            init(&tree, ValueType::Fixed(4), table(4, &bins))
        };
        assert_eq!(with(n_max), Ok(()));
        let many = Error::corrupt("bins.table", 0, n_max + 1, "at most 2^number_bits bins");
        assert_eq!(with(n_max + 1), Err(many));
    }
    let none = units::decode(
        &registry(),
        &tree(),
        ValueType::Fixed(4),
        Unit {
            bytes: &[1, 0, 0, 0, 0],
            len: 1,
            decoded_bytes: 4,
        },
        &[table(4, &[])],
    );
    assert_eq!(none.map(|_| ()), Err(no_bin(0)));
}

#[test]
fn parameters_other_types_and_other_buffers_are_refused() {
    let with_params = |params: &[u8]| {
        let (id, version) = (tarsia_bins::ID, tarsia_bins::VERSION);
        let tree = Tree::node(id, version, params, vec![tarsia_plain::tree()]);
        init(&tree.with_shared(&[0]), ValueType::Fixed(4), bins())
    };
    for number_bits in 1..=8 {
        assert_eq!(with_params(&[number_bits]), Ok(()));
    }
    let none = Error::truncated("bins.number_bits", 1, 0);
    assert_eq!(with_params(&[]), Err(none));
    for number_bits in [0, 9, 255] {
        let error = Error::corrupt("bins.number_bits", 0, number_bits, "1 to 8");
        assert_eq!(with_params(&[number_bits]), Err(error));
    }
    let more = Error::corrupt("bins.params", 1, 1u8, "no bytes after the last field");
    assert_eq!(with_params(&[4, 0]), Err(more));
    for other in [
        ValueType::Bytes,
        ValueType::Bits,
        ValueType::Fixed(3),
        ValueType::Fixed(16),
    ] {
        let got = init(&tree(), other, bins());
        let kind = got.as_ref().map_err(Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::Unsupported { .. })),
            "{got:?}"
        );
    }
    for kind in SharedKind::ALL {
        let buffer = SharedBuffer::new(kind, bins().values().clone());
        let got = init(&tree(), ValueType::Fixed(4), buffer);
        assert_eq!(got.is_ok(), kind == SharedKind::SymbolTable, "{kind:?}");
    }
    // Entries of another size.
    assert!(init(&tree(), ValueType::Fixed(8), bins()).is_err());
}
