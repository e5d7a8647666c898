//! Nested types and profiles to go through.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, UnionFields, UnionMode};

use crate::arrays::{Distribution, Nulls, fixed_width, flat_types};
use crate::rng::Rng;

/// How many items lists have, at every level of lists. Fixed-size lists have the length of their type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lengths {
    /// 0 to 4 items.
    Short,
    /// No items.
    Empty,
    /// No items but in the last three rows, which have 50 to 300.
    EmptyPrefixThenLong,
    /// 3,000 to 6,000 items in one row that is not null, none in the others.
    OneGiant,
    /// So many items in each row.
    Constant(usize),
    /// Mostly 0 or 1 items, in a few rows up to 200.
    Skewed,
}

/// All kinds of lengths that tests go through.
pub const LENGTHS: [Lengths; 6] = [
    Lengths::Short,
    Lengths::Empty,
    Lengths::EmptyPrefixThenLong,
    Lengths::OneGiant,
    Lengths::Constant(2),
    Lengths::Skewed,
];

/// How a nested array is filled. Equal profiles give equal arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NestedProfile {
    /// Which rows are null, at each nullable level. [`Nulls::All`] applies to the top level only. The others have some
    /// nulls, so that there are values under the null rows.
    pub nulls: Nulls,
    /// Which values the leaves have.
    pub distribution: Distribution,
    /// How many items lists have. Null lists always have some.
    pub lengths: Lengths,
    /// Seed of all choices.
    pub seed: u64,
}

impl NestedProfile {
    /// A profile from its parts.
    pub const fn new(
        nulls: Nulls,
        distribution: Distribution,
        lengths: Lengths,
        seed: u64,
    ) -> Self {
        Self {
            nulls,
            distribution,
            lengths,
            seed,
        }
    }
}

/// A dozen profiles in which every kind of nulls, values and lengths occurs.
pub fn nested_profiles(seed: u64) -> Vec<NestedProfile> {
    use Distribution as D;
    let profile = |nulls, distribution, lengths| NestedProfile {
        nulls,
        distribution,
        lengths,
        seed,
    };
    vec![
        profile(Nulls::None, D::Random, Lengths::Short),
        profile(Nulls::None, D::Constant, Lengths::Constant(2)),
        profile(Nulls::EmptyBitmap, D::Sorted, Lengths::Skewed),
        profile(Nulls::Percent(30), D::Random, Lengths::Short),
        profile(Nulls::Percent(30), D::Extremes, Lengths::OneGiant),
        profile(Nulls::Percent(30), D::LowCardinality, Lengths::Constant(3)),
        profile(Nulls::Percent(30), D::Random, Lengths::Empty),
        profile(Nulls::Percent(1), D::Skewed, Lengths::Skewed),
        profile(Nulls::Percent(95), D::Random, Lengths::Short),
        profile(Nulls::Runs, D::Sorted, Lengths::EmptyPrefixThenLong),
        profile(Nulls::All, D::Random, Lengths::Short),
        profile(Nulls::None, D::Random, Lengths::Empty),
    ]
}

fn nullable(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, true))
}

fn required(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, false))
}

fn structure(fields: impl IntoIterator<Item = FieldRef>) -> DataType {
    DataType::Struct(fields.into_iter().collect())
}

fn list(item: DataType) -> DataType {
    DataType::List(nullable("item", item))
}

fn vector(item: DataType, size: i32) -> DataType {
    DataType::FixedSizeList(nullable("item", item), size)
}

fn map(key: DataType, value: DataType, is_sorted: bool) -> DataType {
    let entries = structure([required("key", key), nullable("value", value)]);
    DataType::Map(required("entries", entries), is_sorted)
}

fn run_end_encoded(ends: DataType, values: DataType) -> DataType {
    DataType::RunEndEncoded(required("run_ends", ends), nullable("values", values))
}

fn dictionary(key: DataType, value: DataType) -> DataType {
    DataType::Dictionary(Box::new(key), Box::new(value))
}

/// Arms have type ids that are neither contiguous nor rising, where `ids` says so.
fn union<const N: usize>(mode: UnionMode, ids: [i8; N], arms: [FieldRef; N]) -> DataType {
    let fields =
        UnionFields::try_new(ids, arms).unwrap_or_else(|error| panic!("union {ids:?}: {error}"));
    DataType::Union(fields, mode)
}

/// A fixed list of nested types: every kind of nesting with several, one and no children, and each kind within others.
///
/// All can be filled with any number of rows, up to 32,767 where runs have 16-bit ends. The union without arms is there
/// only where it needs no row (see [`is_uninhabited`]).
pub fn nested_types() -> Vec<DataType> {
    [
        structs(),
        lists(),
        views_and_maps(),
        vectors(),
        unions(),
        runs_and_dictionaries(),
        four_levels(),
    ]
    .concat()
}

fn point() -> DataType {
    use DataType::Float32;

    structure([required("x", Float32), nullable("y", Float32)])
}

fn person() -> DataType {
    use DataType::{Boolean, Int64, Utf8};

    structure([
        required("id", Int64),
        nullable("name", Utf8),
        nullable("ß.数", Boolean),
    ])
}

fn no_arms(mode: UnionMode) -> DataType {
    DataType::Union(UnionFields::empty(), mode)
}

fn two_arms(mode: UnionMode) -> DataType {
    let arms = [
        nullable("number", DataType::Int32),
        nullable("text", DataType::Utf8),
    ];
    union(mode, [0, 1], arms)
}

/// Structs.
fn structs() -> Vec<DataType> {
    use DataType::*;

    let marked = {
        let metadata = HashMap::from([("unit".to_owned(), "m".to_owned())]);
        Arc::new(Field::new("marked", Int16, true).with_metadata(metadata))
    };
    vec![
        // Structs.
        structure([]),
        structure([nullable("only", Int32)]),
        structure([required("only", Utf8)]),
        person(),
        structure([marked, nullable("nothing", Null)]),
        structure([
            nullable("bits", Boolean),
            nullable("view", BinaryView),
            nullable("code", dictionary(Int8, Utf8)),
        ]),
        structure([
            nullable("inner", structure([required("deep", structure([]))])),
            required("other", point()),
        ]),
        // Required at every level but the second.
        structure([nullable(
            "a",
            structure([required("b", structure([required("c", Int32)]))]),
        )]),
        structure([
            required("items", list(Int32)),
            required("code", dictionary(Int16, Utf8)),
            required("vector", vector(Int8, 3)),
        ]),
        structure([required("runs", run_end_encoded(Int32, Int32))]),
    ]
}

/// Lists.
fn lists() -> Vec<DataType> {
    use DataType::*;
    use UnionMode::{Dense, Sparse};

    vec![
        // Lists.
        list(Int32),
        List(required("element", Int64)),
        list(Utf8),
        list(Boolean),
        list(Utf8View),
        list(Null),
        list(FixedSizeBinary(3)),
        list(dictionary(Int8, Utf8)),
        list(structure([])),
        list(person()),
        List(required("item", point())),
        LargeList(nullable("item", Float64)),
        LargeList(required("item", LargeUtf8)),
        list(list(Int16)),
        list(LargeList(required("item", list(Binary)))),
        list(list(list(list(Int8)))),
        list(no_arms(Sparse)),
        list(no_arms(Dense)),
        list(two_arms(Dense)),
    ]
}

/// List views and maps.
fn views_and_maps() -> Vec<DataType> {
    use DataType::*;

    vec![
        // List views.
        ListView(nullable("item", Int32)),
        ListView(required("item", Utf8)),
        LargeListView(nullable("item", Boolean)),
        LargeListView(nullable("item", person())),
        ListView(nullable("item", ListView(nullable("item", Float32)))),
        list(ListView(nullable("item", list(Utf8)))),
        // Maps.
        map(Utf8, Int32, false),
        map(Utf8, Utf8, true),
        map(Int32, person(), true),
        map(dictionary(Int32, Utf8), list(Float32), false),
        list(map(Int64, map(Utf8, Boolean, false), true)),
    ]
}

/// Fixed-size lists.
fn vectors() -> Vec<DataType> {
    use DataType::*;

    vec![
        // Fixed-size lists.
        vector(Int32, 0),
        FixedSizeList(required("item", Utf8), 0),
        vector(Int32, 1),
        FixedSizeList(required("item", Float32), 3),
        vector(Boolean, 3),
        vector(Utf8, 3),
        FixedSizeList(required("item", Float16), 768),
        vector(Float32, 768),
        FixedSizeList(required("item", person()), 3),
        vector(list(Int32), 3),
        vector(FixedSizeList(required("item", vector(Int8, 2)), 3), 2),
        list(FixedSizeList(required("item", Float32), 3)),
        vector(structure([nullable("v", vector(Utf8View, 1))]), 3),
    ]
}

/// Unions.
fn unions() -> Vec<DataType> {
    use DataType::*;
    use UnionMode::{Dense, Sparse};

    vec![
        // Unions.
        union(Sparse, [0], [nullable("only", Int32)]),
        union(Dense, [5], [nullable("only", Utf8)]),
        two_arms(Sparse),
        two_arms(Dense),
        union(
            Sparse,
            [3, 127, 7],
            [
                nullable("a", Float64),
                nullable("b", person()),
                required("c", Boolean),
            ],
        ),
        union(
            Dense,
            [9, 2, 100],
            [
                nullable("a", list(Int32)),
                nullable("b", Null),
                required("c", LargeBinary),
            ],
        ),
        union(
            Dense,
            [1, 0],
            [
                nullable("none", no_arms(Dense)),
                nullable("nested", two_arms(Sparse)),
            ],
        ),
        structure([nullable("choice", two_arms(Sparse)), nullable("x", Int8)]),
        vector(two_arms(Dense), 3),
    ]
}

/// Run-end encoded types and dictionaries.
fn runs_and_dictionaries() -> Vec<DataType> {
    use DataType::*;

    vec![
        // Runs.
        run_end_encoded(Int16, Int32),
        run_end_encoded(Int32, Utf8),
        run_end_encoded(Int64, Float64),
        run_end_encoded(Int32, person()),
        run_end_encoded(Int32, list(Int32)),
        RunEndEncoded(required("run_ends", Int64), required("values", Boolean)),
        list(run_end_encoded(Int32, Utf8)),
        run_end_encoded(Int32, dictionary(Int16, Utf8)),
        // Dictionaries.
        dictionary(Int32, person()),
        dictionary(UInt8, list(Utf8)),
        dictionary(Int16, dictionary(Int8, Utf8)),
        list(dictionary(Int32, structure([nullable("x", list(Int64))]))),
        dictionary(Int32, vector(Float32, 3)),
    ]
}

/// Types of four levels of different kinds.
fn four_levels() -> Vec<DataType> {
    use DataType::*;
    use UnionMode::Dense;

    vec![
        // Four levels of different kinds.
        list(structure([nullable(
            "m",
            map(
                Utf8,
                vector(structure([required("x", list(Float64))]), 2),
                false,
            ),
        )])),
        structure([nullable(
            "u",
            union(
                Dense,
                [4, 1],
                [
                    nullable("l", LargeListView(nullable("item", dictionary(Int8, Utf8)))),
                    nullable(
                        "r",
                        run_end_encoded(Int32, structure([nullable("z", Utf8)])),
                    ),
                ],
            ),
        )]),
    ]
}

/// A nested type of at most `depth` levels above its leaves. The leaves are of any flat type, mostly of common ones.
/// Depth 0 gives a flat type.
///
/// No type is [uninhabited](is_uninhabited), and a required field is of a type that has values other than null.
pub fn random_type(rng: &mut Rng, depth: u32) -> DataType {
    random_type_within(rng, depth, false)
}

/// `is_item` where the type has more rows than the array: there, no type is picked whose rows are large or few.
fn random_type_within(rng: &mut Rng, depth: u32, is_item: bool) -> DataType {
    use DataType::*;
    if depth == 0 || rng.percent(10) {
        return random_leaf(rng);
    }
    let below = depth - 1;
    match rng.below(14) {
        0..3 => {
            let n_fields = *rng.pick(&[0, 1, 1, 2, 3, 4]);
            structure((0..n_fields).map(|at| random_field(rng, &format!("f{at}"), below, is_item)))
        }
        3 | 4 => List(random_field(rng, "item", below, true)),
        5 => LargeList(random_field(rng, "element", below, true)),
        6 => ListView(random_field(rng, "item", below, true)),
        7 => LargeListView(random_field(rng, "item", below, true)),
        8 => {
            let key = rng
                .pick(&[Utf8, Int32, LargeUtf8, Int64, Binary, Date32])
                .clone();
            let fields = [
                required("key", key),
                random_field(rng, "value", below, true),
            ];
            Map(required("entries", structure(fields)), rng.flip())
        }
        9 if !is_item && rng.percent(20) => {
            let item = rng.pick(&[Float16, Float32, Int8]).clone();
            FixedSizeList(Arc::new(Field::new("item", item, rng.flip())), 768)
        }
        9 | 10 => {
            let size = *rng.pick(&[0, 1, 2, 3, 5]);
            FixedSizeList(random_field(rng, "item", below, true), size)
        }
        11 => {
            let mode = *rng.pick(&[UnionMode::Sparse, UnionMode::Dense]);
            let n_arms = rng.between(1, 3);
            let mut ids: Vec<i8> = vec![];
            while ids.len() < n_arms {
                let id = match rng.flip() {
                    true => ids.len() as i8,
                    false => rng.below(128) as i8,
                };
                if !ids.contains(&id) {
                    ids.push(id);
                }
            }
            let arms: Vec<FieldRef> = (0..n_arms)
                .map(|at| random_field(rng, &format!("arm{at}"), below, is_item))
                .collect();
            let fields = UnionFields::try_new(ids, arms)
                .unwrap_or_else(|error| panic!("random union: {error}"));
            Union(fields, mode)
        }
        12 => {
            // 16-bit run ends would limit the number of rows.
            let ends = match is_item {
                true => rng.pick(&[Int32, Int64]).clone(),
                false => rng.pick(&[Int16, Int32, Int64]).clone(),
            };
            let values = random_field(rng, "values", below, is_item);
            RunEndEncoded(required("run_ends", ends), values)
        }
        _ => {
            let key = rng.pick(&[Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64]);
            dictionary(key.clone(), random_type_within(rng, below, is_item))
        }
    }
}

fn random_field(rng: &mut Rng, name: &str, depth: u32, is_item: bool) -> FieldRef {
    let data_type = random_type_within(rng, depth, is_item);
    let is_nullable = rng.percent(70) || !has_values(&data_type);
    let mut field = Field::new(name, data_type, is_nullable);
    if rng.percent(5) {
        field.set_metadata(HashMap::from([("key".to_owned(), "value".to_owned())]));
    }
    Arc::new(field)
}

fn random_leaf(rng: &mut Rng) -> DataType {
    use DataType::*;
    if rng.percent(70) {
        return rng
            .pick(&[Int32, Int64, Float32, Float64, Utf8, Boolean, Binary])
            .clone();
    }
    let is_small = |data_type: &DataType| fixed_width(data_type).is_none_or(|width| width <= 32);
    let types: Vec<DataType> = flat_types().into_iter().filter(is_small).collect();
    rng.pick(&types).clone()
}

/// Whether no array of the type can have a row: the union without arms, and what needs a value of such a type for each
/// row.
pub fn is_uninhabited(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(fields, UnionMode::Dense) => fields
            .iter()
            .all(|(_, field)| is_uninhabited(field.data_type())),
        DataType::Union(fields, UnionMode::Sparse) => {
            fields.is_empty()
                || fields
                    .iter()
                    .any(|(_, field)| is_uninhabited(field.data_type()))
        }
        DataType::Struct(fields) => fields.iter().any(|field| is_uninhabited(field.data_type())),
        DataType::FixedSizeList(item, size) => *size > 0 && is_uninhabited(item.data_type()),
        DataType::RunEndEncoded(_, values) => is_uninhabited(values.data_type()),
        // All rows could be null, but no array is made of such a type.
        DataType::Dictionary(_, value) => is_uninhabited(value),
        _ => false,
    }
}

/// Whether an array of the type can be without nulls.
pub(super) fn has_values(data_type: &DataType) -> bool {
    match data_type {
        DataType::Null => false,
        // Arrow asks all arms of a union, not only those that rows choose.
        DataType::Union(fields, _) => fields
            .iter()
            .all(|(_, field)| has_values(field.data_type())),
        DataType::RunEndEncoded(_, values) => has_values(values.data_type()),
        DataType::Dictionary(_, value) => has_values(value),
        _ => true,
    }
}
