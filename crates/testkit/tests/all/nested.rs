//! Nested arrays are valid and full of garbage, and comparison finds each flipped bit that changes what rows mean, by a
//! naive model of that.
#![cfg(feature = "arrow")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields, Schema, UnionFields};
use tarsia_testkit::arrays::{Distribution, NULLS, Nulls, array, bit_difference, flat_types};
use tarsia_testkit::nested::{
    LENGTHS, Lengths, NestedProfile, assert_logically_equal, is_uninhabited, logical_difference,
    nested_array, nested_profiles, nested_types, random_type, sliced_nested,
};
use tarsia_testkit::rng::Rng;

/// The meaning of a row as text, made one value at a time. It is slow, and shares no code with the comparison.
fn meaning(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "null".to_owned();
    }
    let items = |items: &ArrayRef, start: usize, len: usize| {
        let items = (start..start + len).map(|at| meaning(items, at));
        format!("[{}]", items.collect::<Vec<_>>().join(", "))
    };
    match array.data_type() {
        DataType::Null => "null".to_owned(),
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            let columns: Vec<String> = columns.map(|column| meaning(column, row)).collect();
            format!("{{{}}}", columns.join(", "))
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let start = list.value_offsets()[row] as usize;
            items(list.values(), start, list.value_length(row) as usize)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let start = list.value_offsets()[row] as usize;
            items(list.values(), start, list.value_length(row) as usize)
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            let start = list.value_offset(row) as usize;
            items(list.values(), start, list.value_size(row) as usize)
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            let start = list.value_offset(row) as usize;
            items(list.values(), start, list.value_size(row) as usize)
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let start = map.value_offsets()[row] as usize;
            items(&entries, start, map.value_length(row) as usize)
        }
        DataType::FixedSizeList(..) => {
            let vectors = array.as_fixed_size_list();
            let start = vectors.value_offset(row) as usize;
            items(vectors.values(), start, vectors.value_length() as usize)
        }
        DataType::Union(..) => {
            let union = array.as_union();
            let id = union.type_id(row);
            format!("{id}:{}", meaning(union.child(id), union.value_offset(row)))
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => {
                let runs = array.as_run::<Int16Type>();
                meaning(runs.values(), runs.get_physical_index(row))
            }
            DataType::Int32 => {
                let runs = array.as_run::<Int32Type>();
                meaning(runs.values(), runs.get_physical_index(row))
            }
            _ => {
                let runs = array.as_run::<Int64Type>();
                meaning(runs.values(), runs.get_physical_index(row))
            }
        },
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            meaning(dictionary.values(), dictionary.normalized_keys()[row])
        }
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => format!("{:?}", array.as_string::<i64>().value(row)),
        DataType::Utf8View => format!("{:?}", array.as_string_view().value(row)),
        DataType::Binary => format!("{:?}", array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => format!("{:?}", array.as_binary::<i64>().value(row)),
        DataType::BinaryView => format!("{:?}", array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => {
            format!("{:?}", array.as_fixed_size_binary().value(row))
        }
        primitive => {
            let width = primitive.primitive_width().unwrap();
            let data = array.to_data();
            let start = (data.offset() + row) * width;
            format!("{:?}", &data.buffers()[0][start..start + width])
        }
    }
}

fn meanings(array: &ArrayRef) -> Vec<String> {
    (0..array.len()).map(|row| meaning(array, row)).collect()
}

fn random_types() -> Vec<DataType> {
    let mut rng = Rng::new(77);
    (0..120)
        .map(|at| random_type(&mut rng, 1 + at % 4))
        .collect()
}

fn check_valid(made: &ArrayRef, data_type: &DataType, rows: usize, profile: &NestedProfile) {
    assert_eq!((made.data_type(), made.len()), (data_type, rows));
    made.to_data()
        .validate_full()
        .unwrap_or_else(|error| panic!("{data_type} {profile:?}: {error}"));
}

fn has_vectors_of_768(data_type: &DataType) -> bool {
    format!("{data_type:?}").contains("768")
}

#[test]
fn the_lists_of_types_are_what_they_say() {
    let types = nested_types();
    assert!(types.len() >= 60, "{}", types.len());
    for (at, data_type) in types.iter().enumerate() {
        assert!(!types[..at].contains(data_type), "{data_type} twice");
        assert!(
            data_type.is_nested()
                || matches!(
                    data_type,
                    DataType::Dictionary(..) | DataType::RunEndEncoded(..)
                ),
            "{data_type}"
        );
        assert!(!is_uninhabited(data_type), "{data_type}");
    }
    let text = format!("{types:?} {:?}", random_types());
    for kind in [
        "Struct([])",
        "List(",
        "LargeList(",
        "ListView(",
        "LargeListView(",
        "Map(",
        "FixedSizeList(",
        "Dense",
        "Sparse",
        "RunEndEncoded(",
        "Dictionary(",
        "data_type: Null",
        "metadata",
    ] {
        assert!(text.contains(kind), "{kind}");
    }
    assert!(!random_type(&mut Rng::new(3), 0).is_nested());
    let mut kinds = random_types();
    kinds.dedup();
    assert!(kinds.len() > 100);
    assert!(random_types().iter().all(|made| !is_uninhabited(made)));
}

#[test]
fn arrays_of_every_type_and_profile_are_valid() {
    for data_type in nested_types().iter().chain(&random_types()) {
        let row_counts: &[usize] = match has_vectors_of_768(data_type) {
            true => &[0, 5],
            false => &[0, 1, 100],
        };
        for profile in nested_profiles(5) {
            for rows in row_counts {
                let made = nested_array(data_type, *rows, &profile);
                check_valid(&made, data_type, *rows, &profile);
                let again = nested_array(data_type, *rows, &profile);
                assert_eq!(made.to_data(), again.to_data(), "{data_type} {profile:?}");
                assert_logically_equal(&made, &again);
                let cut = sliced_nested(data_type, *rows, &profile);
                check_valid(&cut, data_type, *rows, &profile);
                assert_logically_equal(&cut, &cut.slice(0, *rows));
                let schema = Schema::new(vec![Field::new("c", data_type.clone(), true)]);
                RecordBatch::try_new(Arc::new(schema), vec![cut]).unwrap();
            }
        }
    }
}

#[test]
fn every_kind_of_nulls_and_lengths_occurs() {
    let profiles = nested_profiles(1);
    for nulls in NULLS {
        assert!(profiles.iter().any(|profile| profile.nulls == nulls));
    }
    for lengths in LENGTHS {
        assert!(profiles.iter().any(|profile| profile.lengths == lengths));
    }
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    let lengths = |lengths| {
        let profile = NestedProfile::new(Nulls::None, Distribution::Random, lengths, 2);
        let made = nested_array(&list, 200, &profile);
        let list = made.as_list::<i32>();
        (0..200)
            .map(|row| list.value_length(row))
            .collect::<Vec<_>>()
    };
    assert!(lengths(Lengths::Short).iter().all(|len| *len <= 4));
    assert_eq!(lengths(Lengths::Empty), [0; 200]);
    assert_eq!(lengths(Lengths::Constant(7)), [7; 200]);
    let long = lengths(Lengths::EmptyPrefixThenLong);
    assert!(long[..197].iter().all(|len| *len == 0) && long[197..].iter().all(|len| *len >= 50));
    let giant = lengths(Lengths::OneGiant);
    assert_eq!(giant.iter().filter(|len| **len > 0).count(), 1);
    assert!(giant.iter().any(|len| *len >= 3000));
    assert!(lengths(Lengths::Skewed).iter().any(|len| *len > 10));
}

#[test]
fn what_arrow_leaves_undefined_is_filled() {
    let profile = NestedProfile::new(Nulls::Percent(30), Distribution::Random, Lengths::Empty, 3);
    let int = Arc::new(Field::new("item", DataType::Int32, true));
    let made = nested_array(&DataType::List(int.clone()), 300, &profile);
    let list = made.as_list::<i32>();
    assert!((0..300).all(|row| list.is_null(row) || list.value_length(row) == 0));
    assert!((0..300).any(|row| list.is_null(row) && list.value_length(row) > 0));
    let short = NestedProfile {
        lengths: Lengths::Short,
        ..profile
    };
    let seeds = (0..20).map(|seed| {
        let made = nested_array(
            &DataType::List(int.clone()),
            30,
            &NestedProfile { seed, ..short },
        );
        let list = made.as_list::<i32>();
        (
            list.value_offsets()[0] > 0,
            (list.value_offsets()[30] as usize) < list.values().len(),
        )
    });
    let seeds: Vec<(bool, bool)> = seeds.collect();
    assert!(seeds.iter().any(|(before, _)| *before) && seeds.iter().any(|(_, after)| *after));

    let made = nested_array(&DataType::ListView(int), 300, &short);
    let views = made.as_list_view::<i32>();
    assert!(!views.value_offsets().is_sorted());
    let used: usize = views.value_sizes().iter().map(|size| *size as usize).sum();
    let mut named = vec![0; views.values().len()];
    for (start, size) in views.value_offsets().iter().zip(views.value_sizes()) {
        (*start..start + size).for_each(|at| named[at as usize] += 1);
    }
    assert!(named.contains(&0) && named.iter().any(|times| *times > 1) && used > 0);

    let required = Fields::from(vec![Field::new("x", DataType::Int64, false)]);
    let made = nested_array(&DataType::Struct(required), 300, &short);
    let (parent, child) = (made.as_struct(), made.as_struct().column(0));
    assert!((0..300).all(|row| parent.is_null(row) || child.is_valid(row)));
    assert!((0..300).any(|row| parent.is_null(row) && child.is_null(row)));
    let values = child.as_primitive::<Int64Type>().values();
    assert!((0..300).any(|row| parent.is_null(row) && child.is_valid(row) && values[row] != 0));
    assert!((0..300).any(|row| child.is_null(row) && values[row] != 0));

    let item = |name: &str, data_type| Field::new(name, data_type, true);
    let arms = [item("a", DataType::Int8), item("b", DataType::Utf8)];
    let fields = UnionFields::try_new([3, 1], arms).unwrap();
    let dense = DataType::Union(fields, arrow_schema::UnionMode::Dense);
    let made = nested_array(&dense, 300, &short);
    let union = made.as_union();
    let chosen = |id: i8| -> Vec<usize> {
        let rows = (0..300).filter(|row| union.type_id(*row) == id);
        rows.map(|row| union.value_offset(row)).collect()
    };
    for id in [1, 3] {
        let offsets = chosen(id);
        assert!(offsets.is_sorted());
        let mut distinct = offsets.clone();
        distinct.dedup();
        assert!(distinct.len() < offsets.len() && distinct.len() < union.child(id).len());
    }

    let code = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let made = nested_array(&code, 300, &short);
    let dictionary = made.as_dictionary::<Int32Type>();
    let entries = dictionary.values();
    let mut meanings = meanings(entries);
    assert!(entries.null_count() > 0);
    meanings.sort();
    assert!(
        meanings
            .windows(2)
            .any(|pair| pair[0] == pair[1] && pair[0] != "null")
    );
}

#[test]
fn keys_of_sorted_maps_are_sorted() {
    for key in [
        DataType::Utf8,
        DataType::Int64,
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
    ] {
        let fields = Fields::from(vec![
            Field::new("key", key, false),
            Field::new("value", DataType::Int8, true),
        ]);
        let entries = Arc::new(Field::new("entries", DataType::Struct(fields), false));
        let keys_rise = |is_sorted| {
            let profile = NestedProfile::new(
                Nulls::Percent(30),
                Distribution::Random,
                Lengths::Constant(3),
                4,
            );
            let made = sliced_nested(&DataType::Map(entries.clone(), is_sorted), 50, &profile);
            let map = made.as_map();
            (0..50).all(|row| {
                let keys = map.value(row).column(0).clone();
                match keys.data_type() {
                    DataType::Int64 => keys.as_primitive::<Int64Type>().values().is_sorted(),
                    _ => meanings(&keys).is_sorted(),
                }
            })
        };
        assert!(keys_rise(true) && !keys_rise(false), "{entries}");
    }
}

#[test]
fn slices_are_at_offsets_inside_too() {
    let field = |name: &str| Field::new(name, DataType::Utf8, true);
    let fields: Fields = (0..8).map(|at| field(&format!("f{at}"))).collect();
    let profile = NestedProfile::new(Nulls::None, Distribution::Random, Lengths::Short, 1);
    let starts = |made: ArrayRef| -> Vec<i32> {
        let columns = made.as_struct().columns().iter();
        columns
            .map(|column| column.as_string::<i32>().value_offsets()[0])
            .collect()
    };
    let data_type = DataType::Struct(fields);
    let whole = starts(nested_array(&data_type, 50, &profile));
    assert!(whole.iter().all(|start| *start == 0));
    let cut = starts(sliced_nested(&data_type, 50, &profile));
    assert!(cut.iter().all(|start| *start > 0));
}

#[test]
fn flat_arrays_are_compared_as_bits_are() {
    let profile = NestedProfile::new(Nulls::Percent(30), Distribution::Random, Lengths::Short, 11);
    for data_type in flat_types() {
        let made = nested_array(&data_type, 60, &profile);
        check_valid(&made, &data_type, 60, &profile);
        assert_logically_equal(&made, &made.slice(0, 60));
        let shifted = [made.slice(0, 50), made.slice(1, 50)];
        assert_eq!(
            logical_difference(&shifted[0], &shifted[1]).is_ok(),
            bit_difference(&shifted[0], &shifted[1]).is_ok(),
            "{data_type}"
        );
        let plain = array(
            &data_type,
            60,
            tarsia_testkit::arrays::Profile::new(Nulls::All, Distribution::Sorted, 1),
        );
        assert_logically_equal(&plain, &plain);
    }
}

/// The nodes of an array that have buffers or nulls, as paths of child numbers.
fn nodes(data: &ArrayData, path: &[usize], found: &mut Vec<Vec<usize>>) {
    if !data.buffers().is_empty() || data.nulls().is_some() {
        found.push(path.to_vec());
    }
    for (at, child) in data.child_data().iter().enumerate() {
        nodes(child, &[path, &[at]].concat(), found);
    }
}

/// The array with one bit of a node flipped, in its nulls or in a buffer. `None` if that is no valid array.
fn mutated(data: &ArrayData, path: &[usize], rng: &mut Rng) -> Option<ArrayData> {
    let builder = data.clone().into_builder();
    if let Some((first, rest)) = path.split_first() {
        let mut children = data.child_data().to_vec();
        children[*first] = mutated(&children[*first], rest, rng)?;
        return builder.child_data(children).build().ok();
    }
    match data.nulls() {
        Some(nulls) if !nulls.is_empty() && rng.percent(30) => {
            let flipped = rng.below(nulls.len());
            let valid = (0..nulls.len()).map(|row| nulls.is_valid(row) != (row == flipped));
            let nulls = NullBuffer::from(valid.collect::<Vec<bool>>());
            builder.nulls(Some(nulls)).build().ok()
        }
        _ => {
            let mut buffers = data.buffers().to_vec();
            let at = rng.below(buffers.len());
            let mut bytes = buffers.get(at)?.to_vec();
            let byte = rng.below(bytes.len());
            *bytes.get_mut(byte)? ^= 1 << rng.below(8);
            buffers[at] = Buffer::from_vec(bytes);
            builder.buffers(buffers).align_buffers(true).build().ok()
        }
    }
}

/// Flips bits everywhere. The comparison must find a difference if the meaning of a row changes, and none if not.
fn check_mutations(made: &ArrayRef, n_tries: usize, seed: u64) -> (Vec<Vec<usize>>, usize) {
    let mut rng = Rng::new(seed);
    let before = meanings(made);
    let data = made.to_data();
    let mut paths = vec![];
    nodes(&data, &[], &mut paths);
    let mut n_ignored = 0;
    paths.retain(|path| {
        let mut is_found = false;
        for _ in 0..n_tries {
            let Some(other) = mutated(&data, path, &mut rng) else {
                continue;
            };
            if other.validate_full().is_err() {
                continue;
            }
            let other = make_array(other);
            let after = meanings(&other);
            let difference = logical_difference(&other, made);
            assert_eq!(logical_difference(made, &other).is_ok(), difference.is_ok());
            match before.iter().zip(&after).position(|(old, new)| old != new) {
                None => {
                    assert_eq!(difference, Ok(()), "{} {path:?}", made.data_type());
                    n_ignored += 1;
                }
                Some(_) => {
                    let difference = difference.expect_err("the meaning changed");
                    let row = difference.split("row ").nth(1).unwrap();
                    let row: usize = row.split(':').next().unwrap().parse().unwrap();
                    assert_ne!(before[row], after[row], "{difference}");
                    is_found = true;
                }
            }
        }
        !is_found
    });
    (paths, n_ignored)
}

/// Nodes in which every flipped bit makes an invalid array or changes no row.
const NEVER_FOUND: [&str; 12] = [
    // Required, and without values of their own: a null is no valid array, and where the parent is null it means
    // nothing.
    r#"Struct("inner": Struct("deep": non-null Struct()), "other": non-null Struct("x": non-null Float32, "y": Float32)) [0, 0]"#,
    r#"Struct("inner": Struct("deep": non-null Struct()), "other": non-null Struct("x": non-null Float32, "y": Float32)) [1]"#,
    r#"Struct("a": Struct("b": non-null Struct("c": non-null Int32))) [0, 0]"#,
    r#"Struct("items": non-null List(Int32), "code": non-null Dictionary(Int16, Utf8), "vector": non-null FixedSizeList(3 x Int8)) [2]"#,
    r#"FixedSizeList(3 x non-null Struct("id": non-null Int64, "name": Utf8, "ß.数": Boolean)) [0]"#,
    "FixedSizeList(2 x FixedSizeList(3 x non-null FixedSizeList(2 x Int8))) [0, 0]",
    // Without rows.
    "List(Union(Sparse)) [0]",
    "List(Union(Dense)) [0]",
    "FixedSizeList(0 x Int32) [0]",
    "FixedSizeList(0 x non-null Utf8) [0]",
    r#"Union(Dense, 1: ("none": Union(Dense)), 0: ("nested": Union(Sparse, 0: ("number": Int32), 1: ("text": Utf8)))) [0]"#,
    // There is one type id.
    r#"Union(Sparse, 0: ("only": Int32)) []"#,
];

#[test]
fn flipped_bits_are_found_at_every_level_or_mean_nothing() {
    let mut n_ignored = 0;
    let mut never_found = vec![];
    for data_type in nested_types() {
        let (rows, n_tries) = match has_vectors_of_768(&data_type) {
            true => (3, 12),
            false => (24, 60),
        };
        // What no array of several shows: one may have too few rows at some level.
        let mut missed: Option<Vec<Vec<usize>>> = None;
        for seed in 21..25 {
            let profile = NestedProfile::new(
                Nulls::Percent(30),
                Distribution::Random,
                Lengths::Short,
                seed,
            );
            for made in [
                nested_array(&data_type, rows, &profile),
                sliced_nested(&data_type, rows, &profile),
            ] {
                let (missed_here, ignored) = check_mutations(&made, n_tries, seed);
                n_ignored += ignored;
                let still =
                    |path: &Vec<usize>| missed.as_ref().is_none_or(|missed| missed.contains(path));
                missed = Some(missed_here.into_iter().filter(still).collect());
            }
        }
        for path in missed.unwrap() {
            never_found.push(format!("{data_type} {path:?}"));
        }
    }
    never_found.sort();
    let mut expected = NEVER_FOUND;
    expected.sort_unstable();
    assert_eq!(never_found, expected);
    assert!(n_ignored > 1000, "{n_ignored}");
}

#[test]
fn flipped_bits_of_random_types_are_found_or_mean_nothing() {
    let mut rng = Rng::new(8);
    for (at, data_type) in random_types().into_iter().enumerate() {
        if has_vectors_of_768(&data_type) {
            continue;
        }
        let lengths = *rng.pick(&[Lengths::Short, Lengths::Constant(1), Lengths::Skewed]);
        let profile = NestedProfile::new(
            Nulls::Percent(30),
            Distribution::Extremes,
            lengths,
            at as u64,
        );
        check_mutations(&sliced_nested(&data_type, 10, &profile), 8, at as u64);
    }
}
