//! Elements of nested rows, against the rows themselves.

use std::sync::Arc;

use crate::common::{deterministic, open, write};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, Int64Array, ListArray, RecordBatch, StructArray, UnionArray, new_empty_array,
    new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema, UnionFields};
use tarsia::{ErrorKind, File};
use tarsia_testkit::arrays::{Distribution, Nulls};
use tarsia_testkit::nested::{Lengths, NestedProfile, assert_logically_equal, nested_array};
use tarsia_testkit::rng::Rng;

#[derive(Clone, Copy)]
enum Step {
    Field(usize),
    Item(usize),
    /// The field of each item of a list.
    FieldOfEach(usize),
}

/// The element of one row by Arrow alone: an array of one value, or a null of the element's type.
fn model(row: &ArrayRef, steps: &[Step], data_type: &DataType) -> ArrayRef {
    let Some((step, steps)) = steps.split_first() else {
        return row.clone();
    };
    let null = || new_null_array(data_type, 1);
    if row.is_null(0) {
        return null();
    }
    match step {
        Step::Field(i) => model(row.as_struct().column(*i), steps, data_type),
        Step::FieldOfEach(i) => {
            let items = items(row);
            let DataType::List(item) = data_type else {
                panic!("{data_type} is no list");
            };
            let each = (0..items.len()).map(|at| {
                let steps = [&[Step::Field(*i)], steps].concat();
                model(&items.slice(at, 1), &steps, item.data_type())
            });
            let each: Vec<ArrayRef> = each.collect();
            let each: Vec<&dyn Array> = each.iter().map(AsRef::as_ref).collect();
            let values = match each.is_empty() {
                true => new_empty_array(item.data_type()),
                false => arrow_select::concat::concat(&each).unwrap(),
            };
            let ends = OffsetBuffer::from_lengths([values.len()]);
            Arc::new(ListArray::new(item.clone(), ends, values, None))
        }
        Step::Item(i) => {
            let items = items(row);
            match *i < items.len() {
                true => model(&items.slice(*i, 1), steps, data_type),
                false => null(),
            }
        }
    }
}

fn items(row: &ArrayRef) -> ArrayRef {
    match row.data_type() {
        DataType::List(_) => row.as_list::<i32>().value(0),
        DataType::LargeList(_) => row.as_list::<i64>().value(0),
        DataType::ListView(_) => row.as_list_view::<i32>().value(0),
        DataType::LargeListView(_) => row.as_list_view::<i64>().value(0),
        DataType::Map(..) => Arc::new(row.as_map().value(0)),
        _ => row.as_fixed_size_list().value(0),
    }
}

fn table(data_type: &DataType, profile: &NestedProfile) -> (File, RecordBatch) {
    let array = nested_array(data_type, 500, profile);
    let field = Field::new("x", data_type.clone(), true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
    let options = deterministic().with_page_bytes(20_000);
    let bytes = write(batch.schema(), std::slice::from_ref(&batch), options);
    (open(&bytes).unwrap(), batch)
}

fn list(item: DataType) -> DataType {
    DataType::new_list(item, true)
}

#[test]
fn elements_are_those_of_the_rows() {
    let item = |data_type| Arc::new(Field::new("item", data_type, true));
    let pair = DataType::Struct(
        vec![
            Field::new("ids", list(DataType::Int64), true),
            Field::new("name", DataType::Utf8, true),
        ]
        .into(),
    );
    let fixed = DataType::FixedSizeList(item(DataType::Float32), 5);
    let entries = vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", pair.clone(), true),
    ];
    let entries = Field::new("entries", DataType::Struct(entries.into()), false);
    let map = DataType::Map(Arc::new(entries), false);
    let cases: Vec<(DataType, &str, Vec<Step>)> = vec![
        (list(DataType::Int64), "x[0]", vec![Step::Item(0)]),
        (list(DataType::Utf8), "x[3]", vec![Step::Item(3)]),
        (list(list(DataType::Int32)), "x[1]", vec![Step::Item(1)]),
        (
            list(list(DataType::Boolean)),
            "x[1][2]",
            vec![Step::Item(1), Step::Item(2)],
        ),
        (
            pair.clone(),
            "x.ids[1]",
            vec![Step::Field(0), Step::Item(1)],
        ),
        (pair.clone(), "x.name", vec![Step::Field(1)]),
        (
            list(pair.clone()),
            "x[2].ids[0]",
            vec![Step::Item(2), Step::Field(0), Step::Item(0)],
        ),
        (list(pair.clone()), "x[1]", vec![Step::Item(1)]),
        (list(pair.clone()), "x.name", vec![Step::FieldOfEach(1)]),
        (
            list(pair.clone()),
            "x.ids[1]",
            vec![Step::FieldOfEach(0), Step::Item(1)],
        ),
        (map.clone(), "x[1]", vec![Step::Item(1)]),
        (map.clone(), "x[0].key", vec![Step::Item(0), Step::Field(0)]),
        (
            map.clone(),
            "x[1].value.ids[0]",
            vec![Step::Item(1), Step::Field(1), Step::Field(0), Step::Item(0)],
        ),
        (map.clone(), "x.key", vec![Step::FieldOfEach(0)]),
        (
            map,
            "x.value.name",
            vec![Step::FieldOfEach(1), Step::Field(1)],
        ),
        (fixed.clone(), "x[4]", vec![Step::Item(4)]),
        (fixed.clone(), "x[5]", vec![Step::Item(5)]),
        (list(fixed), "x[0][2]", vec![Step::Item(0), Step::Item(2)]),
        (
            DataType::LargeList(item(DataType::Int8)),
            "x[2]",
            vec![Step::Item(2)],
        ),
        (
            DataType::ListView(item(DataType::Int16)),
            "x[2]",
            vec![Step::Item(2)],
        ),
    ];
    for (data_type, path, steps) in cases {
        for lengths in [Lengths::Short, Lengths::Constant(3), Lengths::OneGiant] {
            for nulls in [Nulls::None, Nulls::Percent(30)] {
                let profile = NestedProfile::new(nulls, Distribution::Random, lengths, 11);
                let (file, batch) = table(&data_type, &profile);
                let mut rng = Rng::new(3);
                let rows: Vec<u64> = (0..80).map(|_| rng.below(500) as u64).collect();
                let taken = file
                    .take(&rows)
                    .element(&path.parse().unwrap())
                    .read()
                    .unwrap();
                assert_eq!(taken.schema().field(0).name(), path);
                let column = taken.column(0);
                for (i, row) in rows.iter().enumerate() {
                    let whole = batch.column(0).slice(*row as usize, 1);
                    let want = model(&whole, &steps, column.data_type());
                    assert_logically_equal(column.slice(i, 1).as_ref(), want.as_ref());
                }
            }
        }
    }
}

#[test]
fn ranges_of_items_are_cut_to_what_is_there() {
    let profile = NestedProfile::new(Nulls::Percent(30), Distribution::Random, Lengths::Short, 5);
    let (file, batch) = table(&list(DataType::Int64), &profile);
    let rows: Vec<u64> = (0..500).rev().collect();
    let taken = file
        .take(&rows)
        .element(&"x[1..3]".parse().unwrap())
        .read()
        .unwrap();
    let column = taken.column(0).as_list::<i32>();
    for (i, row) in rows.iter().enumerate() {
        let whole = batch.column(0).as_list::<i32>();
        let row = *row as usize;
        assert_eq!(column.is_null(i), whole.is_null(row));
        if whole.is_valid(row) {
            let items = whole.value(row);
            let start = items.len().min(1);
            let want = items.slice(start, items.len().min(3) - start);
            assert_logically_equal(column.value(i).as_ref(), want.as_ref());
        }
    }
}

/// Ranges of maps are maps, and fields of a range are lists.
#[test]
fn ranges_of_maps_and_fields_of_ranges() {
    let entries = vec![
        Field::new("keys", DataType::Int32, false),
        Field::new("values", DataType::Utf8, true),
    ];
    let entries = Field::new("entries", DataType::Struct(entries.into()), false);
    let map = DataType::Map(Arc::new(entries), false);
    let profile = NestedProfile::new(Nulls::Percent(30), Distribution::Random, Lengths::Short, 5);
    let (file, batch) = table(&map, &profile);
    let rows: Vec<u64> = (0..500).collect();
    let take = |path: &str| {
        let taken = file.take(&rows).element(&path.parse().unwrap()).read();
        taken.unwrap().column(0).clone()
    };
    let (range, keys) = (take("x[1..3]"), take("x[1..3].keys"));
    assert_eq!(range.data_type(), &map);
    let whole = batch.column(0).as_map();
    for row in 0..500 {
        assert_eq!(range.is_null(row), whole.is_null(row));
        assert_eq!(keys.is_null(row), whole.is_null(row));
        if whole.is_valid(row) {
            let entries = whole.value(row);
            let start = entries.len().min(1);
            let want = entries.slice(start, entries.len().min(3) - start);
            assert_logically_equal(&range.as_map().value(row), &want);
            assert_logically_equal(&keys.as_list::<i32>().value(row), want.column(0));
        }
    }
}

/// Arrow cannot make a null of it, and panics where it is asked to.
#[test]
fn a_union_without_fields_is_no_element() {
    let none = UnionArray::try_new(UnionFields::empty(), vec![].into(), None, vec![]).unwrap();
    let item = Field::new("item", none.data_type().clone(), true);
    let ends = OffsetBuffer::from_lengths([0, 0, 0]);
    let lists = ListArray::try_new(Arc::new(item), ends, Arc::new(none), None).unwrap();
    let batch = crate::common::one_column(Arc::new(lists));
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let file = open(&bytes).unwrap();
    assert_eq!(file.take(&[0, 2]).read().unwrap().num_rows(), 2);
    let refused = file.take(&[0]).element(&"x[0]".parse().unwrap()).read();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn paths_that_lead_nowhere_are_refused() {
    let profile = NestedProfile::new(Nulls::None, Distribution::Random, Lengths::Short, 5);
    let (file, _) = table(&list(DataType::Int64), &profile);
    for (path, kind) in [
        ("x.a", ErrorKind::NoSuchColumn),
        ("x[0][0]", ErrorKind::NoSuchColumn),
        ("x[0..2].a", ErrorKind::NoSuchColumn),
        ("y[0]", ErrorKind::NoSuchColumn),
    ] {
        let refused = file
            .take(&[0])
            .element(&path.parse().unwrap())
            .read()
            .unwrap_err();
        assert_eq!(refused.kind(), kind, "{path}: {refused}");
    }
    let path = "x[0]".parse().unwrap();
    let refused = file.take(&[500]).element(&path).read().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::OutOfRange);
    for text in [
        "",
        "[0]",
        "x[",
        "x[a]",
        "x[-1]",
        "x[3..1]",
        "x[0]y",
        "x[4294967296]",
        "x[0..2][1]",
        "x[0..2][1..2]",
    ] {
        let refused = text.parse::<tarsia::ElementPath>().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{text}");
    }
    // No item is the last one.
    let none = file
        .take(&[0, 1])
        .element(&"x[4294967295]".parse().unwrap())
        .read()
        .unwrap();
    assert_eq!(none.column(0).null_count(), 2);
}

/// A column of a dotted name comes before a field, as in projections; names in quotes are taken as they stand.
#[test]
fn names_may_have_dots_and_brackets() {
    let list = |n: i64| -> ArrayRef {
        let values = Arc::new(Int64Array::from(vec![n, n + 1]));
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        Arc::new(ListArray::new(
            item,
            OffsetBuffer::from_lengths([2]),
            values,
            None,
        ))
    };
    let structs = |names: &[(&str, i64)]| -> ArrayRef {
        let fields = names.iter().map(|(name, n)| {
            let values = list(*n);
            (
                Arc::new(Field::new(*name, values.data_type().clone(), true)),
                values,
            )
        });
        Arc::new(StructArray::from(fields.collect::<Vec<_>>()))
    };
    let columns = [
        ("a", structs(&[("b", 10), ("c.d", 20), ("\"", 30)])),
        ("a.b", list(40)),
        ("x[1]", list(50)),
        ("q.", structs(&[("", 60)])),
    ];
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, values)| Field::new(*name, values.data_type().clone(), true))
        .collect();
    let arrays = columns.iter().map(|(_, values)| values.clone()).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let file = open(&write(batch.schema(), &[batch], deterministic())).unwrap();
    let read = |path: &str| -> tarsia::Result<i64> {
        let path = path.parse().unwrap();
        let element = file.take(&[0]).element(&path).read()?;
        Ok(element.column(0).as_primitive::<Int64Type>().value(0))
    };
    for (path, value) in [
        ("a.b[0]", 40),
        ("\"a.b\"[1]", 41),
        ("\"a\".\"b\"[0]", 10),
        ("\"a\".b[1]", 11),
        ("a.\"b\"[1]", 11),
        ("a.c.d[0]", 20),
        ("a.\"c.d\"[1]", 21),
        ("a.\"\"\"\"[0]", 30),
        ("\"x[1]\"[0]", 50),
        ("\"q.\".\"\"[1]", 61),
        ("\"q.\".[0]", 60),
    ] {
        assert_eq!(read(path).unwrap(), value, "{path}");
    }
    for path in [
        "a.c[0]",
        "a.\"c\".d[0]",
        "x[1][0]",
        "\"a.c\".d[0]",
        "a.b.c[0]",
    ] {
        let kind = read(path).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::NoSuchColumn, "{path}");
    }
    for text in ["\"a", "\"a\"b", "a.\"b\"\""] {
        let refused = text.parse::<tarsia::ElementPath>().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{text}");
    }
}
