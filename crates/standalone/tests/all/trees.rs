//! Every encoding of the table alone: all samples of all trees, back in every way, and hostile bytes. No encoding is
//! named.

use tarsia_codec::{BytesSlice, ErrorKind, Output, Registry, Selection, Tree, ValueType, Values};
use tarsia_standalone::{Encoded, encode};
use tarsia_testkit::cases::{Case, cases};
use tarsia_testkit::effort::some_or_all;
use tarsia_testkit::memory::measure;
use tarsia_testkit::mutate::mutate;
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::{fitted, sample_trees};

const VALUES_MAX: usize = 1025;
const STRING_BYTES_MAX: u64 = 1 << 14;

fn value_types() -> impl Iterator<Item = ValueType> {
    let widths = [0, 1, 2, 3, 4, 8, 16, 33].map(ValueType::Fixed);
    widths
        .into_iter()
        .chain([ValueType::Bits, ValueType::Bytes])
}

fn small_cases(value_type: ValueType) -> Vec<Case> {
    let mut small = cases(value_type);
    small.retain(|it| it.len() <= VALUES_MAX && it.values().decoded_bytes() <= STRING_BYTES_MAX);
    small
}

/// Trees that differ from others in a child alone are checked with one case in so many, each with others.
fn cases_one_in() -> usize {
    some_or_all(16, 4)
}

/// Calls `check` with the buffer of every case under the first tree of each kind of node, and of some cases under the
/// others, where these hold them.
fn for_each_buffer(mut check: impl FnMut(&Registry, &Tree, &Case, Vec<u8>)) {
    let registry = tarsia_encodings::registry();
    let one_in = cases_one_in();
    for value_type in value_types() {
        let mut roots = Vec::new();
        for (number, (tree, fit)) in sample_trees(&registry, value_type).into_iter().enumerate() {
            let root = (tree.id.clone(), tree.params.clone());
            let is_first = !roots.contains(&root);
            roots.push(root);
            let mut held = 0;
            // Those of its turn first, and others until it holds one.
            let mut cases: Vec<_> = small_cases(value_type).into_iter().enumerate().collect();
            let is_of_turn = |i: usize| is_first || i % one_in == number % one_in;
            cases.sort_by_key(|(i, _)| !is_of_turn(*i));
            for (i, case) in cases {
                if held > 0 && !is_of_turn(i) {
                    break;
                }
                let case = fitted(&case, fit);
                match encode(&registry, &tree, case.values()) {
                    Ok(bytes) => {
                        held += 1;
                        check(&registry, &tree, &case, bytes);
                    }
                    Err(error) => assert!(
                        matches!(error.kind(), ErrorKind::InvalidInput { .. }),
                        "{tree} of {}: {error}",
                        case.name
                    ),
                }
            }
            assert!(held > 0, "{tree} over {value_type:?} held no case");
        }
    }
}

/// The selected values as bytes, one vector each; of bits one byte that is 0 or 1.
fn selected(
    encoded: &mut Encoded<'_>,
    selection: Selection<'_>,
    n: usize,
) -> tarsia_standalone::Result<Vec<Vec<u8>>> {
    Ok(match encoded.value_type() {
        ValueType::Bits => {
            let bits = encoded.bits(selection)?;
            bits.into_iter().map(|bit| vec![bit.into()]).collect()
        }
        ValueType::Fixed(width) => {
            let n_selected = selection.check(encoded.len() as u32)?;
            assert_eq!(n_selected, n);
            let mut bytes = vec![0; n * width as usize];
            encoded.decode(selection, Output::Fixed(&mut bytes))?;
            let value = |i: usize| bytes[i * width as usize..][..width as usize].to_vec();
            (0..n).map(value).collect()
        }
        ValueType::Bytes => {
            let strings = encoded.strings(selection)?;
            strings.iter().map(<[u8]>::to_vec).collect()
        }
    })
}

fn expected(values: Values<'_>, i: usize) -> Vec<u8> {
    match values {
        Values::Bits(bits) => vec![bits.get(i).into()],
        Values::Fixed(fixed) => fixed.get(i).to_vec(),
        Values::Bytes(strings) => strings.get(i).to_vec(),
    }
}

#[test]
fn every_encoding_works_alone() {
    let mut with_shared = 0;
    for_each_buffer(|registry, tree, case, bytes| {
        let name = format!("{tree} of {}", case.name);
        let mut encoded = Encoded::open(registry, &bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (n, values) = (case.len(), case.values());
        assert_eq!(
            (encoded.len(), encoded.value_type()),
            (n, case.value_type()),
            "{name}"
        );
        with_shared += usize::from(!encoded.tree().shared.is_empty());
        let mut check = |selection: Selection<'_>, wanted: &[usize]| {
            let got = selected(&mut encoded, selection, wanted.len());
            let want: Vec<_> = wanted.iter().map(|i| expected(values, *i)).collect();
            assert_eq!(got, Ok(want), "{name}, {selection:?}");
        };
        check(Selection::All, &(0..n).collect::<Vec<_>>());
        let (start, len) = (n / 3, n / 2);
        let range = Selection::Range {
            start: start as u32,
            len: len as u32,
        };
        check(range, &(start..start + len).collect::<Vec<_>>());
        let some: Vec<usize> = (0..n).step_by(7).flat_map(|i| [i, i]).collect();
        let indices: Vec<u32> = some.iter().map(|i| *i as u32).collect();
        check(Selection::Indices(&indices), &some);
        if n > 0 {
            check(Selection::Indices(&[n as u32 - 1]), &[n - 1]);
        }
        let beyond = selected(&mut encoded, Selection::Indices(&[n as u32]), 1);
        let kind = beyond.as_ref().map_err(tarsia_standalone::Error::kind);
        assert!(
            matches!(kind, Err(ErrorKind::InvalidInput { .. })),
            "{name}: {kind:?}"
        );
    });
    assert!(with_shared > 0, "no tree had a shared buffer");
}

/// The most memory at a time that decoding may take, for a limit of the values' size.
const LIMIT_BYTES: u64 = 1 << 20;
const MEMORY_MAX: u64 = 16 * LIMIT_BYTES;

/// Opens and decodes whatever the bytes are. Returns whether all went well.
fn decode_anything(registry: &Registry, bytes: &[u8]) -> bool {
    let (done, allocated) = measure(|| {
        let mut encoded = Encoded::open_with_limit(registry, bytes, LIMIT_BYTES)?;
        let n = encoded.len();
        let first = Selection::Indices(&[0]);
        let one = selected(&mut encoded, first, 1);
        if let ValueType::Fixed(0) = encoded.value_type() {
            // Billions of values take no memory, but a vector each here.
            return encoded
                .decode(Selection::All, Output::Fixed(&mut []))
                .map(|_| ());
        }
        if n > 1 << 16 {
            return one.map(|_| ());
        }
        selected(&mut encoded, Selection::All, n).map(|_| ())
    });
    assert!(
        allocated.largest_bytes <= MEMORY_MAX,
        "{allocated:?} for {bytes:?}"
    );
    done.is_ok()
}

#[test]
fn no_prefix_is_taken_for_the_whole() {
    for_each_buffer(|registry, tree, case, bytes| {
        if case.len() > 65 {
            return;
        }
        for len in 0..bytes.len() {
            let is_ok = decode_anything(registry, &bytes[..len]);
            assert!(
                !is_ok,
                "{tree} of {}: {len} of {} bytes",
                case.name,
                bytes.len()
            );
        }
    });
}

#[test]
fn changed_bytes_are_decoded_or_refused() {
    let mut rng = Rng::new(5);
    let (mut refused, mut all) = (0, 0);
    for_each_buffer(|registry, _, _, bytes| {
        for _ in 0..some_or_all(8, 20) {
            let mut changed = bytes.clone();
            for _ in 0..rng.between(1, 3) {
                mutate(&mut rng, &mut changed);
            }
            refused += usize::from(!decode_anything(registry, &changed));
            all += 1;
        }
    });
    assert!(refused > all / 4, "{refused} of {all} refused");
}

#[test]
fn a_few_bytes_cannot_claim_much() {
    let registry = tarsia_encodings::registry();
    let (tree, _) = sample_trees(&registry, ValueType::Fixed(8)).remove(0);
    let case = Case::numbers("all equal", 8, &[7; 100]);
    let mut bytes = encode(&registry, &tree, case.values()).unwrap();
    // `n_values` of the array.
    bytes[16..20].copy_from_slice(&(1u32 << 30).to_le_bytes());
    let error = Encoded::open(&registry, &bytes).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::LimitExceeded { found, .. } if *found == 8 << 30),
        "{error}"
    );
    // The limit is the caller's.
    let opened = Encoded::open_with_limit(&registry, &bytes, 8 << 30).unwrap();
    assert_eq!(opened.len(), 1 << 30);
}

#[test]
fn shared_buffers_are_checked() {
    let registry = tarsia_encodings::registry();
    let strings = BytesSlice::new(&[0, 1, 2, 3, 4], b"abab").unwrap();
    let trees = sample_trees(&registry, ValueType::Bytes);
    let with_shared = trees.iter().find(|(tree, _)| !tree.shared.is_empty());
    let (tree, _) = with_shared.expect("an encoding with a shared buffer of strings");
    let bytes = encode(&registry, tree, Values::Bytes(strings)).unwrap();
    assert!(Encoded::open(&registry, &bytes).is_ok());
    // Magic, number of shared buffers, head and tree come first; then the head of the dictionary and two ends.
    let mut front = vec![];
    tree.write_to(&mut front).unwrap();
    let ends_at = 8 + 16 + front.len() + 16;
    assert_eq!(
        bytes[ends_at..ends_at + 10],
        [1, 0, 0, 0, 2, 0, 0, 0, b'a', b'b']
    );
    let with = |at: usize, byte: u8| {
        let mut changed = bytes.clone();
        changed[at] = byte;
        Encoded::open(&registry, &changed).map(|_| ())
    };
    for (at, byte) in [
        (ends_at, 3),
        (ends_at + 4, 1),
        (ends_at - 15, 0),
        (ends_at - 15, 9),
        (4, 2),
        (4, 0),
    ] {
        let opened = with(at, byte);
        assert!(
            opened.as_ref().is_err_and(|error| error.is_corruption()),
            "{at}: {opened:?}"
        );
    }
}
