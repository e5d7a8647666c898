//! The laws of all encodings, for window over plain and packed values.

use tarsia_codec::{DecodeCost, Facts, LogicalType, Proposals, Registry, RowStarts, Statistics};
use tarsia_codec::{EncodingWriter, Tree, ValueType, Values, Version};
use tarsia_testkit::cases::Case;
use tarsia_testkit::laws::{cases, check_cases};
use tarsia_testkit::rng::Rng;
use tarsia_testkit::units;
use tarsia_window::{Reference, WINDOW};

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry
        .add_writer(&WINDOW, DecodeCost::default())
        .add_writer(&tarsia_bitpack::BITPACK, DecodeCost::default())
        .add_writer(&tarsia_plain::PLAIN, DecodeCost::default());
    registry
}

fn plain_tree(reference: Reference) -> Tree {
    let plain = tarsia_plain::tree;
    tarsia_window::tree(reference, plain(), plain(), plain(), plain())
}

/// Lists that slide: most get up to three new values at the head or at the tail, some in the middle, some lose values,
/// a few are new, empty, or the same as before.
fn sliding(width: usize, rows: usize, seed: u64) -> (Case, Vec<u32>) {
    let mut rng = Rng::new(seed);
    let (mut values, mut starts) = (Vec::new(), vec![0]);
    let mut list: Vec<u128> = Vec::new();
    for _ in 0..rows {
        let new: Vec<u128> = (0..rng.below(4)).map(|_| rng.u64().into()).collect();
        let at = match rng.below(10) {
            0 => {
                list = (0..rng.below(60)).map(|_| rng.u64().into()).collect();
                0
            }
            1 => list.len() / 2,
            2..5 => list.len(),
            _ => 0,
        };
        list.splice(at..at, new);
        let lost = list.len().saturating_sub(50);
        match at {
            0 => list.truncate(50),
            _ => drop(list.drain(..lost)),
        }
        if rng.below(12) > 0 {
            values.extend_from_slice(&list);
        }
        starts.push(values.len() as u32);
    }
    let values: Vec<u128> = values.into_iter().collect();
    (Case::numbers("sliding", width, &values), starts)
}

#[test]
fn numbers_obey_the_laws() {
    for (width, reference) in [1, 2, 4, 8, 3, 16]
        .into_iter()
        .zip(Reference::ALL.iter().cycle())
    {
        let tree = plain_tree(*reference);
        check_cases(&registry(), &tree, &cases(ValueType::Fixed(width)));
        check_cases(&registry(), &tree, &[sliding(width as usize, 300, 5).0]);
    }
}

#[test]
fn packed_children_obey_the_laws() {
    let packed = tarsia_bitpack::tree;
    for reference in Reference::ALL {
        let tree = tarsia_window::tree(reference, packed(), packed(), packed(), packed());
        let slide = |seed| sliding(8, 200, seed).0;
        check_cases(&registry(), &tree, &[slide(1), slide(2), slide(3)]);
    }
}

struct Starts(Vec<u32>);

impl RowStarts for Starts {
    fn row_starts(&self) -> Vec<u32> {
        self.0.clone()
    }
}

/// Returns the proposal for lists: parameters, and the values of each child.
fn proposed(values: Values<'_>, starts: Option<Vec<u32>>) -> Option<(Vec<u8>, Vec<Vec<u64>>)> {
    let starts = starts.map(Starts);
    let facts = Facts {
        rows: starts.as_ref().map(|it| it as &dyn RowStarts),
        ..Facts::of(LogicalType::Signed)
    };
    let mut proposals = Proposals::new(u64::MAX, Version::new(1, 0));
    let values = Statistics::new(values, facts);
    WINDOW.propose(&values, &mut proposals).unwrap();
    let mut proposals = proposals.into_vec();
    assert!(proposals.len() < 2);
    let proposal = proposals.pop()?;
    let child = |values: Values<'_>| -> Vec<u64> {
        let fixed = values.as_fixed().unwrap();
        let number = |i: usize| {
            let mut bytes = [0; 8];
            bytes[..fixed.width()].copy_from_slice(fixed.get(i));
            u64::from_le_bytes(bytes)
        };
        (0..fixed.len()).map(number).collect()
    };
    let children = proposal.children.iter();
    let children = children.map(|part| child(part.values().unwrap())).collect();
    Some((proposal.params, children))
}

/// Figures 3 and 4 of the Bullion paper (CIDR 2025, section 2.2): the second list has a new value at its head and lacks
/// the last of the first, the third is the second.
#[test]
fn the_example_of_the_paper() {
    let first = [
        92, 82, 66, 18, 67, 11, 12, 13, 14, 15, 16, 85, 59, 30, 47, 55,
    ];
    let mut second = vec![76];
    second.extend_from_slice(&first[..15]);
    let lists = [first.to_vec(), second.clone(), second].concat();
    let numbers: Vec<u128> = lists.iter().map(|it| *it as u128).collect();
    let case = Case::numbers("lists of the paper", 8, &numbers);
    let found = proposed(case.values(), Some(vec![0, 16, 32, 48]));
    let (params, children) = found.unwrap();
    // Distances are the new values of the step and all of the step before.
    assert_eq!(params, [1]);
    assert_eq!(children[0], [16, 1, 0]);
    assert_eq!(children[1], [16, 16, 16]);
    assert_eq!(children[2], [0, 0, 0]);
    let mut new: Vec<u64> = first.to_vec();
    new.push(76);
    assert_eq!(children[3], new);
}

#[test]
fn lists_that_get_values_at_the_tail_copy_what_is_left() {
    let stream: Vec<u128> = (0..2000).map(|i| i * i + 7).collect();
    let (mut lists, mut starts) = (Vec::new(), vec![0]);
    for i in 0..100 {
        lists.extend_from_slice(&stream[i * 3..i * 3 + 90]);
        starts.push(lists.len() as u32);
    }
    let case = Case::numbers("tails", 8, &lists);
    let (params, children) = proposed(case.values(), Some(starts)).unwrap();
    assert_eq!(params, [0]);
    assert!(children[2].iter().all(|it| *it == 0), "{:?}", children[2]);
    assert_eq!(children[3].len(), 90 + 99 * 3);
}

#[test]
fn values_that_do_not_slide_are_left_to_others() {
    let mut rng = Rng::new(1);
    let numbers: Vec<u128> = (0..5000).map(|_| rng.u64().into()).collect();
    let case = Case::numbers("noise", 8, &numbers);
    let starts = || Some((0..=100).map(|i| i * 50).collect());
    assert!(proposed(case.values(), starts()).is_none());
    // Numbers that are all equal, but no lists.
    let case = Case::numbers("equal", 8, &[7; 5000]);
    assert!(proposed(case.values(), None).is_none());
    let case = Case::strings("strings", &["a", "a", "a", "a"]);
    assert!(proposed(case.values(), Some(vec![0, 2, 4])).is_none());
    let none = Case::numbers("none", 8, &[]);
    assert!(proposed(none.values(), Some(vec![0, 0, 0])).is_none());
    let (case, starts) = sliding(8, 300, 2);
    assert!(proposed(case.values(), Some(starts)).is_some());
}

/// A unit of lists takes little more than their new values.
#[test]
fn a_unit_holds_new_values_once() {
    let (case, _) = sliding(8, 500, 9);
    let plain_bytes = case.values().decoded_bytes() as usize;
    let packed = tarsia_bitpack::tree;
    let tree = tarsia_window::tree(Reference::Step, packed(), packed(), packed(), packed());
    let (bytes, _) = units::encode(&registry(), &tree, case.values()).unwrap();
    assert!(
        bytes.len() * 6 < plain_bytes,
        "{} of {plain_bytes}",
        bytes.len()
    );
}
