//! Shapes of values, and the trees that a search finds for them: under Balanced unless a line says otherwise. What is
//! expected are the trees' texts, the same on every machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tarsia_cascade::{Chooser, Objective, Weights};
use tarsia_codec::{Facts, LogicalType, Registry, Statistics, Tree, ValueType, Version};
use tarsia_page_writer::Choose;
use tarsia_testkit::cases::Case;
use tarsia_testkit::rng::Rng;

const N: usize = 50_000;

fn registry() -> Arc<Registry> {
    Arc::new(tarsia_encodings::registry())
}

fn chooser(objective: Objective) -> Chooser {
    Chooser::new(registry(), objective)
}

fn numbers(width: usize, n: usize, number: impl FnMut(usize) -> u64) -> Case {
    let numbers: Vec<u128> = (0..n).map(number).map(u128::from).collect();
    Case::numbers("", width, &numbers)
}

fn trees_of(chooser: &Chooser, case: &Case, logical_type: LogicalType) -> Vec<String> {
    let values = Statistics::new(case.values(), Facts::of(logical_type));
    let choice = chooser.choose(&values).expect("a choice");
    choice.trees.iter().map(Tree::to_string).collect()
}

fn check(case: &Case, logical_type: LogicalType, expect: &[&str]) {
    let found = trees_of(&chooser(Objective::Balanced), case, logical_type);
    assert_eq!(found, expect, "{logical_type:?}");
}

#[test]
fn numbers_by_their_shape() {
    let mut rng = Rng::new(1);
    let signed = LogicalType::Signed;
    check(&numbers(8, N, |_| 7), signed, &["constant", "plain"]);
    check(&numbers(8, N, |_| rng.u64()), signed, &["plain"]);
    check(
        &numbers(4, N, |_| rng.below(1000) as u64),
        signed,
        &["bitpack", "plain"],
    );
    // Few values far apart.
    let far: Vec<u64> = (0..40).map(|_| rng.u64()).collect();
    check(
        &numbers(8, N, |_| far[rng.below(40)]),
        signed,
        &["dict(bitpack)", "plain"],
    );
    let mut time = 1 << 40;
    let clock = numbers(8, N, |_| {
        time += rng.below(1000) as u64;
        time
    });
    let unit = tarsia_codec::TimeUnit::Millisecond;
    let timestamp = LogicalType::Timestamp(unit);
    check(&clock, timestamp, &["delta(bitpack)", "plain"]);
    check(
        &numbers(8, N, |i| 5 + 250 * i as u64),
        timestamp,
        &["sequence", "plain"],
    );
    // What has no order has no use for differences, and bits of floats are no integers.
    check(&clock, LogicalType::Float, &["bitpack", "plain"]);
    // A width that nothing packs.
    let wide = Case::fixed("", 12, 1000, rng.bytes(12_000));
    check(&wide, LogicalType::Unknown, &["plain"]);
    check(&numbers(4, 0, |_| 0), signed, &["plain"]);
}

#[test]
fn a_dictionary_lies_in_the_block_where_the_page_is_one() {
    let mut rng = Rng::new(2);
    let words: Vec<String> = (0..30).map(|i| format!("a rather long word {i}")).collect();
    let text = |n: usize, rng: &mut Rng| {
        let all: Vec<&str> = (0..n).map(|_| words[rng.below(30)].as_str()).collect();
        Case::strings("", &all)
    };
    let fallback = "bytes(plain)";
    let text_type = LogicalType::Text;
    check(
        &text(2000, &mut rng),
        text_type,
        &["dict(bitpack, bytes(bitpack))", fallback],
    );
    check(&text(N, &mut rng), text_type, &["dict(bitpack)", fallback]);
    // The entries of a dictionary are not looked through for entries.
    let values = text(N, &mut rng);
    let facts = Facts {
        all_distinct: true,
        ..Facts::of(text_type)
    };
    let entries = Statistics::new(values.values(), facts);
    let choice = chooser(Objective::Balanced).choose(&entries).unwrap();
    let tree = choice.trees[0].to_string();
    assert!(tree.starts_with("onpair(constant, "), "{tree}");
}

#[test]
fn strings_and_bits_by_their_shape() {
    let mut rng = Rng::new(3);
    let all: Vec<Vec<u8>> = (0..5000)
        .map(|_| {
            let n = rng.below(40);
            rng.bytes(n)
        })
        .collect();
    let text = Case::strings("", &all);
    check(
        &text,
        LogicalType::Binary,
        &["bytes(bitpack)", "bytes(plain)"],
    );
    let same = Case::strings("", &["same"; 900]);
    check(&same, LogicalType::Text, &["constant", "bytes(plain)"]);
    let bits: Vec<bool> = (0..900).map(|_| rng.flip()).collect();
    check(&Case::bits("", &bits), LogicalType::Boolean, &["bitmap"]);
    check(
        &Case::bits("", &[true; 900]),
        LogicalType::Boolean,
        &["constant", "bitmap"],
    );
}

#[test]
fn presets_weigh_size_against_time() {
    let mut rng = Rng::new(4);
    // A dictionary saves two bits of eleven.
    let some: Vec<u64> = (0..400).map(|_| rng.below(2048) as u64).collect();
    let case = numbers(8, N, |_| some[rng.below(400)]);
    let tree = |objective| trees_of(&chooser(objective), &case, LogicalType::Signed)[0].clone();
    assert_eq!(tree(Objective::Fast), "bitpack");
    assert_eq!(tree(Objective::Compact), "dict(bitpack)");
}

#[test]
fn columns_that_are_erased_in_place_have_trees_that_always_fit() {
    let mut rng = Rng::new(5);
    let mut time = 0;
    let case = numbers(8, N, |_| {
        time += rng.below(100) as u64;
        time
    });
    let weights = Weights {
        for_size: false,
        must_fit: true,
        ..Objective::Balanced.weights()
    };
    let chooser = chooser(Objective::Balanced).with_weights(weights);
    let values = Statistics::new(case.values(), Facts::of(LogicalType::Signed));
    let choice = chooser.choose(&values).unwrap();
    for tree in &choice.trees {
        let writer = tarsia_codec::TreeWriter::new(&registry(), tree, ValueType::Fixed(8)).unwrap();
        assert_eq!(writer.erase_fit(), tarsia_codec::EraseFit::Always, "{tree}");
    }
    assert_eq!(choice.trees[0].to_string(), "bitpack");
    assert_eq!(choice.trees[0].params, [1], "one width for the unit");
}

/// Where rows may be erased, entries of a page's dictionary are in the order of their values, so that its codes are in
/// no order of use. Blocks list what they have for themselves where that is smaller.
#[test]
fn blocks_of_pages_that_may_be_erased_have_codes_of_their_own() {
    let trees = |case: &Case, logical_type: LogicalType, erasable: bool| {
        let facts = Facts {
            erasable,
            ..Facts::of(logical_type)
        };
        let chooser = chooser(Objective::Balanced).with_weights(Weights {
            erasable,
            ..Objective::Balanced.weights()
        });
        let choice = chooser.choose(&Statistics::new(case.values(), facts));
        choice.expect("a choice").trees[0].to_string()
    };
    let mut rng = Rng::new(12);
    let names: Vec<String> = (0..4000).map(|_| format!("{:x}", rng.u64())).collect();
    // Neighbours have few of all names.
    let near: Vec<&str> = (0..N)
        .map(|i| &*names[i / 4000 * 200 + rng.below(200)])
        .collect();
    let near = Case::strings("", &near);
    let text = LogicalType::Text;
    assert_eq!(trees(&near, text, false), "dict(bitpack)");
    let of_near = trees(&near, text, true);
    assert!(of_near.starts_with("dict(dict("), "{of_near}");
    // All blocks have all names: lists of them gain nothing.
    let few: Vec<&str> = (0..N).map(|_| &*names[rng.below(60)]).collect();
    let few = Case::strings("", &few);
    assert_eq!(trees(&few, text, true), "dict(bitpack)");
    // Floating-point numbers with four exponents, and a rare one, which takes codes of a page beyond three bits.
    let floats = numbers(4, N, |_| {
        let exponent = match rng.below(256) {
            0 => 97,
            any => 123 + any as u64 % 4,
        };
        (rng.u64() & 0x807f_ffff) | exponent << 23
    });
    let of_floats = trees(&floats, LogicalType::Float, true);
    assert!(of_floats.starts_with("alprd(dict(bitpack, "), "{of_floats}");
}

/// Slack counts: a tree under which survivors always fit may take more bytes than one whose blocks get some.
#[test]
fn trees_under_which_survivors_fit_are_preferred_where_rows_may_be_erased() {
    let mut rng = Rng::new(13);
    let params = |case: &Case, erasable: bool| {
        let facts = Facts {
            erasable,
            ..Facts::of(LogicalType::Signed)
        };
        let chooser = chooser(Objective::Balanced).with_weights(Weights {
            erasable,
            ..Objective::Balanced.weights()
        });
        let choice = chooser.choose(&Statistics::new(case.values(), facts));
        let trees = choice.expect("a choice").trees;
        assert_eq!(trees[0].to_string(), "bitpack");
        trees[0].params.clone()
    };
    let any = numbers(4, N, |_| rng.below(1000) as u64);
    assert!(params(&any, false).is_empty());
    assert_eq!(params(&any, true), [1], "one width for the unit");
    // Every other group of 1,024 has numbers of four bits.
    let groups = numbers(4, N, |i| match i / 1024 % 2 {
        0 => rng.below(16) as u64,
        _ => rng.below(1000) as u64,
    });
    assert_ne!(params(&groups, true), [1], "a width for each group");
}

#[test]
fn what_the_registry_lacks_is_not_chosen() {
    let case = numbers(8, N, |i| 5 + 250 * i as u64);
    let mut registry = tarsia_encodings::registry();
    assert!(registry.remove_writer("tarsia.delta") && !registry.remove_writer("tarsia.delta"));
    assert!(registry.remove_writer("tarsia.divisor"));
    assert!(registry.remove_writer("tarsia.sequence"));
    // Versions that do not exist cannot be asked for.
    assert!(registry.limit_version("tarsia.bitpack", Version::new(1, 0)));
    assert!(!registry.limit_version("tarsia.bitpack", Version::new(9, 0)));
    let registry = Arc::new(registry);
    let chooser = Chooser::new(registry.clone(), Objective::Balanced);
    let found = trees_of(&chooser, &case, LogicalType::Signed);
    assert_eq!(found, ["bitpack", "plain"]);
    let mut fewer = Registry::clone(&registry);
    fewer.remove("tarsia.plain");
    fewer.remove("tarsia.constant");
    let chooser = Chooser::new(Arc::new(fewer), Objective::Balanced);
    // Something else is the fallback then.
    assert_eq!(trees_of(&chooser, &case, LogicalType::Signed)[0], "bitpack");
    let none = Chooser::new(Arc::default(), Objective::Balanced);
    let values = Statistics::new(case.values(), Facts::default());
    assert!(none.choose(&values).is_err());
}

#[test]
fn choosing_again_gives_the_same_and_takes_less_time_than_encoding_with_it() {
    let mut rng = Rng::new(6);
    let words: Vec<String> = (0..3000).map(|_| format!("{:x}", rng.u64())).collect();
    let cases = [
        (
            numbers(8, N, |_| rng.below(1 << 20) as u64),
            LogicalType::Signed,
        ),
        (
            numbers(4, N, |i| i as u64 * 3 + rng.below(3) as u64),
            LogicalType::Signed,
        ),
        (
            Case::strings(
                "",
                &(0..N).map(|_| &words[rng.below(3000)]).collect::<Vec<_>>(),
            ),
            LogicalType::Text,
        ),
    ];
    let chooser = chooser(Objective::Balanced);
    let (mut choosing, mut looks) = (Duration::ZERO, 0);
    for (case, logical_type) in &cases {
        let first = trees_of(&chooser, case, *logical_type);
        let started = Instant::now();
        for _ in 0..3 {
            assert_eq!(trees_of(&chooser, case, *logical_type), first);
            looks += 1;
        }
        choosing += started.elapsed();
    }
    // No time is promised here, a slow machine may be anything; but a search that has gone astray takes a thousand
    // times as long.
    assert!(choosing / looks < Duration::from_secs(2), "{choosing:?}");
}

fn outlined(case: &Case, logical_type: LogicalType, outline: &str) -> Vec<String> {
    let chooser = chooser(Objective::Balanced).with_outline(outline.parse().expect("an outline"));
    trees_of(&chooser, case, logical_type)
}

#[test]
fn an_outline_is_kept_to() {
    let mut rng = Rng::new(5);
    let case = numbers(8, N, |i| (i / 100 % 7 * 1000 + rng.below(30) / 29) as u64);
    let signed = LogicalType::Signed;
    for (outline, expect) in [
        ("dict(bitpack)", "dict(bitpack)"),
        (
            "dict(runend(delta(bitpack), bitpack))",
            "dict(runend(delta(bitpack), bitpack))",
        ),
        ("bitpack", "bitpack"),
        ("plain", "plain"),
    ] {
        assert_eq!(outlined(&case, signed, outline)[0], expect, "{outline}");
    }
    // What is left open is searched for.
    let rising = numbers(8, N, |i| (i * 3 + rng.below(3)) as u64);
    for outline in ["delta", "delta(*)", "delta(bitpack)"] {
        let found = &outlined(&rising, signed, outline)[0];
        assert_eq!(found, "delta(bitpack)", "{outline}");
    }
    // Encodings that propose nothing, and children that they do not have.
    let free = trees_of(&chooser(Objective::Balanced), &case, signed);
    assert_eq!(outlined(&case, signed, "onpair"), free);
    assert_eq!(outlined(&case, signed, "bitpack(plain)"), free);
    assert_eq!(outlined(&case, signed, "*"), free);
    // Lengths are not what the outline is about.
    assert_eq!(
        outlined(&case, LogicalType::Length, "plain")[0],
        trees_of(&chooser(Objective::Balanced), &case, LogicalType::Length)[0]
    );
}

#[test]
fn candidates_begin_with_what_is_chosen() {
    let mut rng = Rng::new(6);
    let case = numbers(8, N, |_| rng.below(40) as u64 * 1_000_000);
    let values = Statistics::new(case.values(), Facts::of(LogicalType::Signed));
    let chooser = chooser(Objective::Balanced);
    let candidates = chooser.candidates(&values).unwrap();
    let found = chooser.search(&values).unwrap();
    assert_eq!(candidates.first(), found.as_ref());
    let texts: Vec<String> = candidates.iter().map(|it| it.tree.to_string()).collect();
    for tree in ["divisor(bitpack)", "bitpack", "plain"] {
        assert!(texts.iter().any(|text| text == tree), "{tree}: {texts:?}");
    }
    let costs: Vec<u64> = candidates.iter().map(|it| it.cost_ps).collect();
    assert!(costs.is_sorted(), "{costs:?}");
    let none = Case::numbers("", 8, &[]);
    let none = Statistics::new(none.values(), Facts::of(LogicalType::Signed));
    assert!(chooser.candidates(&none).is_ok());
}
