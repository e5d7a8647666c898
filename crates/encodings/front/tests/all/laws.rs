//! The laws of all encodings, for front over plain and packed children.

use tarsia_codec::{
    DecodeCost, EncodingWriter, Facts, LogicalType, Output, Proposals, Registry, Scratch,
    Selection, Statistics, Tree, ValueType, Version, build_decoder,
};
use tarsia_front::FRONT;
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&FRONT, DecodeCost::default())
        .add_writer(&tarsia_bytes::BYTES, DecodeCost::default())
        .add_writer(&tarsia_bitpack::BITPACK, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

fn plain() -> Tree {
    let plain = tarsia_plain::tree;
    tarsia_front::tree(plain(), tarsia_bytes::tree(plain()))
}

fn packed() -> Tree {
    let packed = tarsia_bitpack::tree;
    tarsia_front::tree(packed(), tarsia_bytes::tree(packed()))
}

/// Paths of up to `depth` names, some of them long, in sorted clusters.
fn paths(n: usize, depth: usize, cluster: usize) -> Case {
    let mut rng = Rng::new(n as u64);
    let names = ["usr", "a", "", "Grüße", "a-library-of-long-names-in-a-row"];
    let mut path = |_| {
        let name = |_| match rng.below(names.len() + 2) {
            i @ 0..5 => names[i].to_string(),
            _ => format!("{:x}", rng.below(5000)),
        };
        let depth = depth + 1;
        (0..depth).map(name).collect::<Vec<_>>().join("/")
    };
    let mut all: Vec<String> = (0..n).map(&mut path).collect();
    for cluster in all.chunks_mut(cluster) {
        cluster.sort();
    }
    Case::strings("sorted paths", &all)
}

/// Strings of very different lengths, of which each starts like the one before for a random part.
fn random_prefixes(n: usize, length: usize) -> Case {
    let mut rng = Rng::new(length as u64);
    let mut all: Vec<Vec<u8>> = vec![];
    for _ in 0..n {
        let mut string = all.last().cloned().unwrap_or_default();
        string.truncate(rng.below(string.len() + 1));
        let more = match rng.below(8) {
            0 => rng.below(length + 1),
            1..4 => 0,
            _ => rng.below(8),
        };
        string.extend_from_slice(&rng.bytes(more));
        all.push(string);
    }
    Case::strings("random prefixes", &all)
}

#[test]
fn strings_obey_the_laws() {
    for tree in [plain(), packed()] {
        check_cases(&registry(), &tree, &cases(ValueType::Bytes));
    }
}

#[test]
fn strings_with_shared_prefixes_obey_the_laws() {
    let mut all = vec![];
    // Around a group, and around the groups that are put together at a time.
    for n in [1, 15, 16, 17, 33, 127, 128, 129, 300, 5000] {
        all.push(paths(n, 4, usize::MAX));
        all.push(paths(n, 2, 20));
        all.extend([3, 20, 40, 300].map(|length| random_prefixes(n, length)));
    }
    for tree in [plain(), packed()] {
        check_cases(&registry(), &tree, &all);
    }
}

/// The example of "Managing Gigabytes", section 4.1: words of a lexicon.
#[test]
fn words_are_proposed_as_prefixes_and_suffixes() {
    let words = [
        "jezebel",
        "jezer",
        "jezerit",
        "jeziah",
        "jeziel",
        "jezliah",
        "jezoar",
        "jezrahiah",
        "jezreel",
        "jezreelites",
        "jibsam",
        "jidlaph",
    ];
    let case = Case::strings("", &words);
    let values = Statistics::new(case.values(), Facts::of(LogicalType::Text));
    let mut proposals = Proposals::new(u64::MAX, Version::new(1, 0));
    FRONT.propose(&values, &mut proposals).unwrap();
    let proposals = proposals.into_vec();
    let [proposal] = &proposals[..] else {
        panic!("{proposals:?}");
    };
    assert_eq!(proposal.bytes, 8);
    let [prefixes, suffixes] = &proposal.children[..] else {
        panic!("{proposal:?}");
    };
    let prefixes = prefixes.values().unwrap().as_fixed().unwrap();
    let prefixes: Vec<u8> = (0..prefixes.len()).map(|i| prefixes.get(i)[0]).collect();
    assert_eq!(prefixes, [0, 4, 5, 3, 4, 3, 3, 3, 4, 7, 1, 2]);
    let suffixes = suffixes.values().unwrap().as_bytes().unwrap();
    let suffixes: Vec<&[u8]> = (0..suffixes.len()).map(|i| suffixes.get(i)).collect();
    let expected = [
        "jezebel", "r", "it", "iah", "el", "liah", "oar", "rahiah", "eel", "ites", "ibsam", "dlaph",
    ];
    assert_eq!(suffixes, expected.map(str::as_bytes));
}

#[test]
fn nothing_is_proposed_without_strings() {
    for case in [
        Case::strings::<&str>("", &[]),
        Case::numbers("", 4, &[1, 1]),
    ] {
        let values = Statistics::new(case.values(), Facts::default());
        let mut proposals = Proposals::new(u64::MAX, Version::new(1, 0));
        FRONT.propose(&values, &mut proposals).unwrap();
        assert!(proposals.into_vec().is_empty());
    }
}

/// A unit of sorted strings takes little more than their ends.
#[test]
fn sorted_strings_get_small() {
    let keys: Vec<String> = (0..10_000)
        .map(|i| format!("customer/2024/{i:08}"))
        .collect();
    let case = Case::strings("", &keys);
    let (bytes, _) = units::encode(&registry(), &packed(), case.values()).unwrap();
    let n_decoded = case.values().decoded_bytes() as usize;
    assert!(
        bytes.len() * 5 < n_decoded,
        "{} of {n_decoded}",
        bytes.len()
    );
}

/// Why an erasure may need more room: without its first string the long one is both the last of a group and the first
/// of the next.
#[test]
fn fewer_strings_may_take_more_bytes() {
    let long = "x".repeat(1000);
    let mut strings = vec!["a"; 16];
    strings.extend([&long[..]; 2]);
    let bytes_of = |strings: &[&str]| {
        let case = Case::strings("", strings);
        units::encode(&registry(), &plain(), case.values())
            .unwrap()
            .0
            .len()
    };
    assert!(bytes_of(&strings[1..]) > bytes_of(&strings) + 900);
}

#[test]
fn ends_never_wrap() {
    let case = Case::strings("", &["abc", "abd"]);
    let values = case.values();
    let (encoded, _) = units::encode(&registry(), &plain(), values).unwrap();
    let decoder = build_decoder(&registry(), &plain(), ValueType::Bytes, &[]).unwrap();
    for selection in [
        Selection::All,
        Selection::Range { start: 0, len: 2 },
        Selection::Indices(&[0, 1]),
    ] {
        for (base, fits) in [
            (u32::MAX - 6, true),
            (u32::MAX - 5, false),
            (u32::MAX, false),
        ] {
            let out = Output::Bytes {
                ends: &mut [0; 2],
                base,
                data: &mut [0; 6],
            };
            let unit = units::unit_of(&encoded, &values);
            let got = decoder.decode(unit, selection, &mut Scratch::new(), out);
            assert_eq!(got.is_ok(), fits, "{selection:?} {base}");
        }
    }
}
