//! Fields inside structures as columns of a read: their values, and that nothing else is read.

use std::sync::Arc;

use crate::common::{deterministic, open, open_with, same, write};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, LargeListArray, ListArray, MapArray, RecordBatch,
    StructArray,
};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use tarsia::{ErrorKind, File, LAYOUT_KEY, OpenOptions};
use tarsia_testkit::nested::{nested_array, nested_profiles};
use tarsia_testkit::rng::Rng;

fn field(name: &str, data_type: DataType) -> FieldRef {
    Arc::new(Field::new(name, data_type, true))
}

fn fields(fields: &[(&str, DataType)]) -> DataType {
    let fields = fields.iter().map(|(name, of)| field(name, of.clone()));
    DataType::Struct(fields.collect::<Fields>())
}

/// A user with an address, events, and points.
fn types() -> Vec<(&'static str, DataType)> {
    let address = fields(&[("city", DataType::Utf8), ("zip", DataType::Int32)]);
    let event = fields(&[
        ("time", DataType::Int64),
        ("tags", DataType::List(field("item", DataType::Utf8))),
        (
            "by",
            fields(&[("id", DataType::Int32), ("blob", DataType::Binary)]),
        ),
    ]);
    let point = fields(&[("x", DataType::Float32), ("y", DataType::Float32)]);
    vec![
        (
            "user",
            fields(&[
                ("id", DataType::Int64),
                ("address", address),
                ("name", DataType::Utf8),
            ]),
        ),
        ("events", DataType::List(field("item", event.clone()))),
        ("more", DataType::LargeList(field("event", event))),
        ("points", DataType::FixedSizeList(field("item", point), 3)),
        ("plain", DataType::Int32),
    ]
}

fn table(rows: usize) -> RecordBatch {
    let profile = nested_profiles(3).swap_remove(0);
    let columns = types().into_iter().map(|(name, data_type)| {
        let array = nested_array(&data_type, rows, &profile);
        (Field::new(name, data_type, true), array)
    });
    let (fields, columns): (Vec<_>, Vec<_>) = columns.unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// The part of an array whose type has fewer fields.
fn part(array: &ArrayRef, to: &DataType) -> ArrayRef {
    match to {
        DataType::Struct(fields) => {
            let whole = array.as_struct();
            let children = fields.iter().map(|field| {
                let child = whole.column_by_name(field.name()).unwrap();
                part(child, field.data_type())
            });
            let children = children.collect();
            Arc::new(StructArray::new(
                fields.clone(),
                children,
                whole.nulls().cloned(),
            ))
        }
        DataType::List(item) => {
            let whole = array.as_list::<i32>();
            let values = part(whole.values(), item.data_type());
            let (offsets, nulls) = (whole.offsets().clone(), whole.nulls().cloned());
            Arc::new(ListArray::new(item.clone(), offsets, values, nulls))
        }
        DataType::LargeList(item) => {
            let whole = array.as_list::<i64>();
            let values = part(whole.values(), item.data_type());
            let (offsets, nulls) = (whole.offsets().clone(), whole.nulls().cloned());
            Arc::new(LargeListArray::new(item.clone(), offsets, values, nulls))
        }
        DataType::FixedSizeList(item, length) => {
            let whole = array.as_fixed_size_list();
            let values = part(whole.values(), item.data_type());
            let nulls = whole.nulls().cloned();
            Arc::new(FixedSizeListArray::new(
                item.clone(),
                *length,
                values,
                nulls,
            ))
        }
        _ => array.clone(),
    }
}

/// The table with only this schema.
fn parts(batch: &RecordBatch, schema: &Schema) -> RecordBatch {
    let columns = schema.fields().iter().map(|field| {
        let whole = batch.column_by_name(field.name()).unwrap();
        part(whole, field.data_type())
    });
    RecordBatch::try_new(Arc::new(schema.clone()), columns.collect()).unwrap()
}
/// Scans, ranges and takes of what names lead to.
fn check(file: &File, batch: &RecordBatch, names: &[&str], schema: &Schema) {
    let what = names.join(", ");
    let want = parts(batch, schema);
    let mut at = 0;
    for got in file.scan().columns(names).batch_rows(97).build().unwrap() {
        let got = got.unwrap();
        assert_eq!(got.schema().as_ref(), schema, "{what}");
        same(&got, &want.slice(at, got.num_rows()), &what);
        at += got.num_rows();
    }
    assert_eq!(at, want.num_rows());
    let rows = [5, 5, 0, want.num_rows() as u64 - 1];
    let taken = file.take(&rows).columns(names).read().unwrap();
    assert_eq!(taken.schema().as_ref(), schema, "{what}");
    for (at, row) in rows.into_iter().enumerate() {
        same(&taken.slice(at, 1), &want.slice(row as usize, 1), &what);
    }
}

fn schema(columns: &[(&str, DataType)]) -> Schema {
    let fields = columns.iter().map(|(name, of)| field(name, of.clone()));
    Schema::new(fields.collect::<Fields>())
}

#[test]
fn names_lead_into_structures_and_lists() {
    let batch = table(500);
    let options = deterministic().with_page_bytes(4000);
    let bytes = write(batch.schema(), std::slice::from_ref(&batch), options);
    let file = open(&bytes).unwrap();
    let city = fields(&[("city", DataType::Utf8)]);
    let id = fields(&[("id", DataType::Int64)]);
    let time = fields(&[("time", DataType::Int64)]);
    let list = |item: DataType| DataType::List(field("item", item));
    check(
        &file,
        &batch,
        &["user.id"],
        &schema(&[("user", id.clone())]),
    );
    check(
        &file,
        &batch,
        &["user.address.city"],
        &schema(&[("user", fields(&[("address", city.clone())]))]),
    );
    // Names of one field are joined, in its order, where the first of them stands.
    check(
        &file,
        &batch,
        &["user.address.city", "plain", "user.id"],
        &schema(&[
            (
                "user",
                fields(&[("id", DataType::Int64), ("address", city)]),
            ),
            ("plain", DataType::Int32),
        ]),
    );
    check(
        &file,
        &batch,
        &["events.time"],
        &schema(&[("events", list(time.clone()))]),
    );
    check(
        &file,
        &batch,
        &["events.item.time"],
        &schema(&[("events", list(time.clone()))]),
    );
    let tags = fields(&[("tags", list(DataType::Utf8))]);
    check(
        &file,
        &batch,
        &["events.tags"],
        &schema(&[("events", list(tags))]),
    );
    let blob = fields(&[("by", fields(&[("blob", DataType::Binary)]))]);
    check(
        &file,
        &batch,
        &["more.by.blob", "user.id"],
        &schema(&[
            ("more", DataType::LargeList(field("event", blob))),
            ("user", id),
        ]),
    );
    let y = fields(&[("y", DataType::Float32)]);
    check(
        &file,
        &batch,
        &["points.y"],
        &schema(&[("points", DataType::FixedSizeList(field("item", y), 3))]),
    );
    // All of a field, named by parts or with one of them.
    let points = types().swap_remove(3).1;
    check(
        &file,
        &batch,
        &["points.y", "points.x"],
        &schema(&[("points", points.clone())]),
    );
    check(
        &file,
        &batch,
        &["points.y", "points"],
        &schema(&[("points", points)]),
    );
}

#[test]
fn nothing_else_is_read() {
    let batch = table(2000);
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let file = open(&bytes).unwrap();
    let requests = |names: &[&str]| {
        let tarsia::Taken { reads, .. } = file.take(&[1000]).columns(names).read_counted().unwrap();
        reads.requests
    };
    assert_eq!(requests(&["user.id"]), 1);
    assert_eq!(requests(&["user.id", "user.name"]), 2);
    assert_eq!(requests(&["user"]), 3);
    assert_eq!(requests(&["events.time", "events.by.id"]), 2);
}

/// Threads that ask for fields of one struct at the same time, of a file that nobody has asked before, find it once
/// each.
#[test]
fn a_struct_comes_once_whoever_asks_at_the_same_time() {
    let batch = table(10);
    let bytes = write(batch.schema(), &[batch], deterministic());
    for _ in 0..200 {
        let file = open(&bytes).unwrap();
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    let names = ["user.id", "user.address.zip", "user.name"];
                    let scan = file.scan().columns(&names).build().unwrap();
                    assert_eq!(scan.schema().fields().len(), 1);
                });
            }
        });
    }
}

#[test]
fn names_that_lead_nowhere_are_refused() {
    let batch = table(20);
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let file = open(&bytes).unwrap();
    for name in [
        "user.nobody",
        "user.",
        "user.id.x",
        "plain.x",
        ".user",
        "events.item.",
        "nobody.id",
        "user.address.city.x",
    ] {
        let error = file.scan().columns(&["plain", name]).build().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NoSuchColumn, "{name}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

/// The table's part of a map is made by hand here: its entries are lists.
#[test]
fn keys_and_values_of_maps_are_columns_too() {
    let point = fields(&[("x", DataType::Float32), ("y", DataType::Utf8)]);
    let of_entries = |fields: Vec<Field>| {
        let entries = DataType::Struct(fields.into());
        Arc::new(Field::new("entries", entries, false))
    };
    let key = Field::new("key", DataType::Utf8, false);
    let value = Field::new("value", point.clone(), true);
    let map = DataType::Map(of_entries(vec![key.clone(), value.clone()]), true);
    for profile in nested_profiles(3) {
        let array = nested_array(&map, 300, &profile);
        let whole = array.as_map().clone();
        let batch = RecordBatch::try_from_iter_with_nullable([("m", array, true)]).unwrap();
        let bytes = write(
            batch.schema(),
            std::slice::from_ref(&batch),
            deterministic().with_page_bytes(4000),
        );
        let file = open(&bytes).unwrap();
        // The name as users say it, and as the leaf is called.
        let x = fields(&[("x", DataType::Float32)]);
        for (names, wanted) in [
            (&["m.key"][..], vec![key.clone()]),
            (&["m.entries.key"], vec![key.clone()]),
            (&["m.value"], vec![value.clone()]),
            (&["m.value.x"], vec![Field::new("value", x.clone(), true)]),
            (
                &["m.key", "m.value.x"],
                vec![key.clone(), Field::new("value", x, true)],
            ),
            (&["m.value", "m.key"], vec![key.clone(), value.clone()]),
        ] {
            let kept = of_entries(wanted);
            let entries: ArrayRef = Arc::new(whole.entries().clone());
            let entries = part(&entries, kept.data_type());
            let (offsets, nulls) = (whole.offsets().clone(), whole.nulls().cloned());
            let want: ArrayRef = match entries.as_struct().num_columns() {
                1 => Arc::new(ListArray::new(kept, offsets, entries, nulls)),
                _ => {
                    let entries = entries.as_struct().clone();
                    Arc::new(MapArray::new(kept, offsets, entries, nulls, true))
                }
            };
            let want = RecordBatch::try_from_iter_with_nullable([("m", want, true)]).unwrap();
            check(&file, &want, names, &want.schema());
        }
        let columns = file.inspect_columns("m").unwrap();
        let leaves = columns.iter().map(|column| column.name.as_str());
        let leaves: Vec<&str> = leaves.collect();
        assert_eq!(
            leaves,
            ["m.entries.key", "m.entries.value.x", "m.entries.value.y"]
        );
        for leaf in leaves {
            file.scan().columns(&[leaf]).build().unwrap();
        }
        let tarsia::Taken { reads, .. } =
            file.take(&[7]).columns(&["m.key"]).read_counted().unwrap();
        assert_eq!(reads.requests, 1);
    }
}

/// Whole rows are read, and what is not wanted is left out.
#[test]
fn fields_of_packed_structs_are_columns_too() {
    let inner = fields(&[("city", DataType::Utf8), ("zip", DataType::Int32)]);
    let data_type = fields(&[
        ("id", DataType::Int64),
        ("address", inner),
        ("name", DataType::Utf8),
    ]);
    let array = nested_array(&data_type, 300, &nested_profiles(3).swap_remove(0));
    let metadata = [(LAYOUT_KEY.to_owned(), "packed".to_owned())];
    let packed = Field::new("user", data_type, true).with_metadata(metadata.into());
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![packed])), vec![array]).unwrap();
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let file = open(&bytes).unwrap();
    let names = ["user.address.zip", "user.id"];
    let zip = fields(&[("zip", DataType::Int32)]);
    let of = fields(&[("id", DataType::Int64), ("address", zip)]);
    let metadata = batch.schema().field(0).metadata().clone();
    let schema = Schema::new(vec![Field::new("user", of, true).with_metadata(metadata)]);
    check(&file, &batch, &names, &schema);
}

#[test]
fn strings_of_parts_come_as_views_where_all_do() {
    let batch = table(200);
    let bytes = write(
        batch.schema(),
        std::slice::from_ref(&batch),
        deterministic(),
    );
    let options = OpenOptions::new().with_views(true);
    let file = open_with(&bytes, options).unwrap();
    let taken = file
        .take(&[7])
        .columns(&["user.address.city"])
        .read()
        .unwrap();
    let city = fields(&[("city", DataType::Utf8View)]);
    let of = fields(&[("address", city)]);
    assert_eq!(taken.schema().field(0).data_type(), &of);
}

/// Every leaf of random types, by its name among the columns.
#[test]
fn every_leaf_of_random_types_is_found() {
    let mut rng = Rng::new(5);
    let mut n_checked = 0;
    for _ in 0..60 {
        let data_type = struct_type(&mut rng, 3);
        let array = nested_array(&data_type, 60, &nested_profiles(rng.u64()).swap_remove(0));
        let column = Field::new("c", data_type.clone(), true);
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![column])), vec![array]).unwrap();
        let bytes = write(
            batch.schema(),
            std::slice::from_ref(&batch),
            deterministic(),
        );
        let file = open(&bytes).unwrap();
        for (path, of) in leaves(&data_type) {
            let name = format!("c.{path}");
            check(&file, &batch, &[&name], &schema(&[("c", of)]));
            n_checked += 1;
        }
    }
    assert!(n_checked > 200, "{n_checked}");
}

/// Structures and lists of structures and numbers.
fn struct_type(rng: &mut Rng, depth: u32) -> DataType {
    let n = 1 + rng.below(3);
    let children = (0..n).map(|i| {
        let of = match (depth, rng.below(4)) {
            (0, _) | (_, 0) => DataType::Int32,
            (_, 1) => DataType::List(field("item", struct_type(rng, depth - 1))),
            (_, 2) => DataType::FixedSizeList(field("item", struct_type(rng, depth - 1)), 2),
            _ => struct_type(rng, depth - 1),
        };
        field(&format!("f{i}"), of)
    });
    DataType::Struct(children.collect::<Fields>())
}

/// The numbers below a type by their names, and the type with each alone.
fn leaves(data_type: &DataType) -> Vec<(String, DataType)> {
    match data_type {
        DataType::Struct(fields) => {
            let of_field = |known: &FieldRef| -> Vec<(String, DataType)> {
                let name = known.name().clone();
                let below = leaves(known.data_type()).into_iter();
                let below = below.map(|(path, of)| {
                    let path = [name.as_str(), path.as_str()].join(".");
                    let path = path.trim_end_matches('.').to_owned();
                    (path, DataType::Struct(vec![field(&name, of)].into()))
                });
                below.collect()
            };
            fields.iter().flat_map(of_field).collect()
        }
        DataType::List(item) => {
            let below = leaves(item.data_type()).into_iter();
            let below = below.map(|(path, of)| (path, DataType::List(field("item", of))));
            below.collect()
        }
        DataType::FixedSizeList(item, length) => {
            let below = leaves(item.data_type()).into_iter();
            let list = |of| DataType::FixedSizeList(field("item", of), *length);
            below.map(|(path, of)| (path, list(of))).collect()
        }
        other => vec![(String::new(), other.clone())],
    }
}
