//! Random trees of the table's encodings: every encoding reads what it writes, whatever its children are. No encoding
//! is named here.

use std::collections::BTreeMap;

use tarsia_codec::ValueType;
use tarsia_testkit::cases::{Case, cases};
use tarsia_testkit::fuzzing::Input;
use tarsia_testkit::laws::{LawCase, check_if_held};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::trees::{fitted, random_tree};

const TREES_PER_TYPE: usize = 192;
/// So many times as many trees are made to find some of an encoding that few types have.
const MORE: usize = 16;
/// More trees than this hold their values, of each encoding as root.
const HELD_MIN: usize = 2;
const VALUES_MAX: usize = 300;

fn value_types() -> impl Iterator<Item = ValueType> {
    let widths = [0, 1, 2, 3, 4, 8, 16, 33].map(ValueType::Fixed);
    widths
        .into_iter()
        .chain([ValueType::Bits, ValueType::Bytes])
}

/// Values of a type: a named case or random values.
fn random_values(value_type: ValueType, rng: &mut Rng) -> Case {
    let mut named = cases(value_type);
    named.retain(|case| case.len() <= VALUES_MAX && case.values().decoded_bytes() < 1 << 15);
    match rng.percent(30) && !named.is_empty() {
        true => named.swap_remove(rng.below(named.len())),
        false => Input::new(&rng.bytes(3000)).values(value_type, VALUES_MAX),
    }
}

/// How many trees held their values, and how many there were.
type Count = (usize, usize);

/// Checks trees of a type; with a `root` more of them, but only those that have it as root.
fn check(
    value_type: ValueType,
    seed: u64,
    root: Option<&str>,
    counts: &mut BTreeMap<String, Count>,
) -> Count {
    let registry = tarsia_encodings::registry();
    let mut rng = Rng::new(seed);
    let mut of_type = (0, 0);
    let n_trees = match root {
        None => TREES_PER_TYPE,
        Some(_) => TREES_PER_TYPE * MORE,
    };
    for i in 0..n_trees {
        let depth = 1 + i as u32 % 4;
        let Some((tree, fit)) = random_tree(&registry, value_type, depth, &mut rng) else {
            continue;
        };
        if root.is_some_and(|root| tree.id != root) || root.is_some() && of_type.0 > HELD_MIN {
            continue;
        }
        let mut case = random_values(value_type, &mut rng);
        if rng.percent(75) {
            case = fitted(&case, fit);
        }
        let law = LawCase {
            seed: rng.u64(),
            ..LawCase::new(&case.name, &registry, &tree, case.values())
        };
        let held = usize::from(check_if_held(&law));
        let mut add = |name: String| {
            let count = counts.entry(name).or_default();
            *count = (count.0 + held, count.1 + 1);
        };
        add(format!("{} as root", tree.id));
        for child in &tree.children {
            child.visit(&mut |node| add(format!("{} below", node.id)));
        }
        of_type = (of_type.0 + held, of_type.1 + 1);
    }
    of_type
}

#[test]
fn what_a_tree_writes_it_reads() {
    let mut counts = BTreeMap::new();
    for (seed, value_type) in value_types().enumerate() {
        let (n_held, n) = check(value_type, seed as u64, None, &mut counts);
        println!("{value_type:?}: {n_held} of {n} trees hold their values");
        assert!(
            n_held * 3 > n && n > TREES_PER_TYPE / 2,
            "{value_type:?}: {n_held} of {n}"
        );
    }
    for (name, (n_held, n)) in &counts {
        println!("{name}: {n_held} of {n}");
    }
    for row in tarsia_encodings::rows() {
        let id = row.encoding.id();
        let name = format!("{id} as root");
        let n_held = |counts: &BTreeMap<_, Count>| counts.get(&name).map_or(0, |count| count.0);
        if n_held(&counts) <= HELD_MIN {
            // Few types have it.
            for (seed, value_type) in value_types().enumerate() {
                check(value_type, 1000 + seed as u64, Some(id), &mut counts);
            }
        }
        let n = n_held(&counts);
        assert!(n > HELD_MIN, "{name}: {n} hold their values");
    }
}
