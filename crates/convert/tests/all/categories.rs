//! Dictionaries whose order or whose unused values mean something.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int8Array, ListArray, RecordBatch, StringArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tarsia_convert::Format;
use tarsia_convert::source::{Options, Source};
use tarsia_convert::target::Plan;

use crate::run::Folder;

fn dictionary(keys: Vec<Option<i8>>, values: &[&str]) -> ArrayRef {
    let values = Arc::new(StringArray::from(values.to_vec()));
    Arc::new(DictionaryArray::<Int8Type>::new(
        Int8Array::from(keys),
        values,
    ))
}

fn field(name: &str, array: &ArrayRef, ordered: bool) -> Field {
    Field::new(name, array.data_type().clone(), true).with_dict_is_ordered(ordered)
}

fn list_of(array: &ArrayRef, ordered: bool) -> (ArrayRef, Field) {
    let item = Arc::new(field("item", array, ordered));
    let offsets = OffsetBuffer::from_lengths(vec![1; array.len()]);
    let list: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::clone(array), None));
    let field = Field::new("l", list.data_type().clone(), true);
    (list, field)
}

fn stream(batches: &[RecordBatch]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batches[0].schema()).unwrap();
    batches
        .iter()
        .for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// A table as an import has it: its schema with what is known at the end, and its notes.
fn imported(path: &Path) -> (SchemaRef, Vec<RecordBatch>, Vec<String>) {
    let mut source = Source::open(path, &Options::default()).unwrap();
    let batches: Vec<RecordBatch> = source.by_ref().map(Result::unwrap).collect();
    let mut schema = source.schema().as_ref().clone();
    for late in source.late_metadata().unwrap() {
        schema.metadata.insert(late.key, late.value);
    }
    let notes = source.notes().iter().map(ToString::to_string).collect();
    (Arc::new(schema), batches, notes)
}

/// Batches as a Tarsia file gives them back: dictionaries have the values of their rows, in the order of first use.
fn plain(batches: &[RecordBatch]) -> Vec<RecordBatch> {
    let by_first_use = |array: &ArrayRef| -> ArrayRef {
        let texts = array.as_dictionary::<Int8Type>();
        let texts = texts.downcast_dict::<StringArray>().unwrap();
        Arc::new(texts.into_iter().collect::<DictionaryArray<Int8Type>>())
    };
    let of_batch = |batch: &RecordBatch| {
        let arrays = batch.columns().iter().map(|array| match array.data_type() {
            DataType::List(item) => {
                let list = array.as_list::<i32>();
                let values = by_first_use(list.values());
                let offsets = list.offsets().clone();
                let made = ListArray::new(Arc::clone(item), offsets, values, list.nulls().cloned());
                Arc::new(made) as ArrayRef
            }
            _ => by_first_use(array),
        });
        RecordBatch::try_new(batch.schema(), arrays.collect()).unwrap()
    };
    batches.iter().map(of_batch).collect()
}

fn export(folder: &Folder, name: &str, schema: &SchemaRef, batches: &[RecordBatch]) -> Vec<String> {
    let path = folder.path(name);
    let mut plan = Plan::new(Format::of(&path).unwrap(), schema.clone()).unwrap();
    let columns = plan.needs_dictionaries();
    for batch in batches {
        plan.merge(&batch.project(&columns).unwrap(), &columns)
            .unwrap();
    }
    let notes = plan.notes().iter().map(ToString::to_string).collect();
    let sink = tarsia_io::FileSink::create(&path).unwrap();
    let mut target = plan.write_to(sink).unwrap();
    batches
        .iter()
        .for_each(|batch| target.write(batch).unwrap());
    target.finish().unwrap();
    notes
}

/// The values of a dictionary.
fn values(array: &ArrayRef) -> Vec<String> {
    let values = array.as_any_dictionary().values().clone();
    values
        .as_string::<i32>()
        .iter()
        .map(|v| v.unwrap().to_owned())
        .collect()
}

#[test]
fn order_and_unused_values_come_back_at_every_depth() {
    let folder = Folder::default();
    for ordered in [true, false] {
        let levels = ["lo", "mid", "hi", "never"];
        let flat = dictionary(vec![Some(2), None, Some(0)], &levels);
        let (list, list_field) = list_of(&flat, ordered);
        let schema = Arc::new(Schema::new(vec![field("c", &flat, ordered), list_field]));
        let batch = RecordBatch::try_new(schema, vec![flat.clone(), list]).unwrap();
        folder.write("x.arrow", stream(&[batch.clone(), batch.slice(0, 1)]));
        let (schema, batches, notes) = imported(&folder.path("x.arrow"));
        assert_eq!(notes, Vec::<String>::new());
        let notes = export(&folder, "back.arrow", &schema, &plain(&batches));
        assert_eq!(notes, Vec::<String>::new());
        let (schema, batches) = crate::run::read_table(&folder.path("back.arrow"));
        assert_eq!(schema.metadata().len(), 0);
        assert_eq!(schema.field(0).dict_is_ordered(), Some(ordered));
        let DataType::List(item) = schema.field(1).data_type() else {
            panic!("{schema}");
        };
        assert_eq!(item.dict_is_ordered(), Some(ordered));
        for batch in &batches {
            assert_eq!(values(batch.column(0)), levels);
            assert_eq!(values(batch.column(1).as_list::<i32>().values()), levels);
            assert_eq!(
                batch.column(0).as_dictionary::<Int8Type>().keys().value(0),
                2
            );
        }
    }
}

/// Values that no row has are there as well where a batch without rows has them.
#[test]
fn order_comes_back_without_rows() {
    let folder = Folder::default();
    let levels = ["lo", "mid", "hi"];
    let flat = dictionary(vec![], &levels);
    let (list, list_field) = list_of(&flat, true);
    let schema = Arc::new(Schema::new(vec![field("c", &flat, true), list_field]));
    let empty = RecordBatch::try_new(Arc::clone(&schema), vec![flat, list]).unwrap();
    for (batches, expected) in [(&[][..], &[][..]), (&[empty], &levels)] {
        let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
        batches
            .iter()
            .for_each(|batch| writer.write(batch).unwrap());
        folder.write("x.arrow", writer.into_inner().unwrap());
        let (imported_schema, _, notes) = imported(&folder.path("x.arrow"));
        assert_eq!(notes, Vec::<String>::new());
        let notes = export(&folder, "t.parquet", &imported_schema, &[]);
        assert!(notes[0].contains("Parquet keeps no order"), "{notes:?}");
        let (of_parquet, _, notes) = imported(&folder.path("t.parquet"));
        assert_eq!(notes, Vec::<String>::new());
        for schema in [imported_schema, of_parquet] {
            let notes = export(&folder, "back.arrow", &schema, &[]);
            assert_eq!(notes, Vec::<String>::new());
            let (schema, batches) = crate::run::read_table(&folder.path("back.arrow"));
            assert_eq!(schema.field(0).dict_is_ordered(), Some(true));
            let DataType::List(item) = schema.field(1).data_type() else {
                panic!("{schema}");
            };
            assert_eq!(item.dict_is_ordered(), Some(true));
            let found = batches.iter().map(|batch| values(batch.column(0)));
            assert_eq!(found.flatten().collect::<Vec<_>>(), expected);
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
        }
    }
}

#[test]
fn values_that_are_there_twice_have_no_order() {
    let folder = Folder::default();
    let flat = dictionary(vec![Some(0), Some(2)], &["lo", "hi", "lo"]);
    for ordered in [true, false] {
        let schema = Arc::new(Schema::new(vec![field("c", &flat, ordered)]));
        let batch = RecordBatch::try_new(schema, vec![flat.clone()]).unwrap();
        folder.write("x.arrow", stream(&[batch]));
        let (_, _, notes) = imported(&folder.path("x.arrow"));
        let what =
            "column `c`: the order of the dictionary is left out, since it has a value twice";
        let expected: &[&str] = if ordered { &[what] } else { &[] };
        assert_eq!(notes, expected);
    }
}

#[test]
fn dictionaries_that_rows_say_all_of_leave_no_metadata() {
    let folder = Folder::default();
    let flat = dictionary(vec![Some(1), Some(0)], &["a", "b"]);
    let schema = Arc::new(Schema::new(vec![field("c", &flat, false)]));
    let batch = RecordBatch::try_new(schema, vec![flat]).unwrap();
    folder.write("x.arrow", stream(&[batch]));
    assert_eq!(imported(&folder.path("x.arrow")).0.metadata().len(), 0);
}

#[test]
fn orders_that_contradict_each_other_are_no_order() {
    let folder = Folder::default();
    let batch = |values: &[&str]| {
        let flat = dictionary(vec![Some(0), Some(1)], values);
        let schema = Arc::new(Schema::new(vec![field("c", &flat, true)]));
        RecordBatch::try_new(schema, vec![flat]).unwrap()
    };
    folder.write(
        "x.arrow",
        stream(&[batch(&["lo", "hi"]), batch(&["lo", "mid", "hi"])]),
    );
    let (schema, batches, notes) = imported(&folder.path("x.arrow"));
    assert!(
        notes[0].starts_with("column `c`: the order of the dictionary is left out"),
        "{notes:?}"
    );
    let notes = export(&folder, "back.arrow", &schema, &plain(&batches));
    assert!(
        notes[0].contains("the order of the dictionary is not known"),
        "{notes:?}"
    );
    let (schema, _) = crate::run::read_table(&folder.path("back.arrow"));
    assert_eq!(schema.field(0).dict_is_ordered(), Some(false));
    // A longer dictionary that begins as the shorter one does is no contradiction.
    folder.write(
        "x.arrow",
        stream(&[batch(&["lo", "hi"]), batch(&["lo", "hi", "top"])]),
    );
    assert_eq!(imported(&folder.path("x.arrow")).2, Vec::<String>::new());
}

#[test]
fn parquet_says_no_order_and_keeps_it_for_us() {
    let folder = Folder::default();
    let levels = ["lo", "mid", "hi"];
    let flat = dictionary(vec![Some(2), None, Some(0)], &levels);
    let schema = Arc::new(Schema::new(vec![field("c", &flat, true)]));
    let batch = RecordBatch::try_new(schema, vec![flat]).unwrap();
    folder.write("x.arrow", stream(&[batch]));
    let (schema, batches, _) = imported(&folder.path("x.arrow"));
    let notes = export(&folder, "t.parquet", &schema, &plain(&batches));
    assert!(
        notes[0].starts_with("column `c`: Parquet keeps no order"),
        "{notes:?}"
    );
    let (schema, batches, notes) = imported(&folder.path("t.parquet"));
    assert_eq!(notes, Vec::<String>::new());
    export(&folder, "back.arrow", &schema, &plain(&batches));
    let (schema, batches) = crate::run::read_table(&folder.path("back.arrow"));
    assert_eq!(schema.field(0).dict_is_ordered(), Some(true));
    assert_eq!(values(batches[0].column(0)), levels);
}

/// Other writers write the pages of dictionaries as they are, with values that no row has.
#[test]
fn pages_of_parquet_say_the_order() {
    let folder = Folder::default();
    let levels = ["lo", "mid", "hi"];
    // A first batch has all values in order, and is dropped by its row group in the second file.
    let flat = dictionary(vec![Some(0), Some(1), Some(2), Some(2)], &levels);
    let schema = Arc::new(Schema::new(vec![field("c", &flat, true)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![flat]).unwrap();
    let mut file = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut file, schema, None).unwrap();
    writer.write(&batch).unwrap();
    writer.flush().unwrap();
    writer.write(&batch.slice(2, 2)).unwrap();
    writer.close().unwrap();
    folder.write("x.parquet", file);
    let (schema, batches, notes) = imported(&folder.path("x.parquet"));
    assert_eq!(notes, Vec::<String>::new());
    export(&folder, "back.arrow", &schema, &plain(&batches));
    let (schema, batches) = crate::run::read_table(&folder.path("back.arrow"));
    assert_eq!(schema.field(0).dict_is_ordered(), Some(true));
    assert_eq!(values(batches[0].column(0)), levels);
}
