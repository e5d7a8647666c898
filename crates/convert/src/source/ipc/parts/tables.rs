//! Columns of every type that a batch may have, for tests.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder, StringViewBuilder};
use arrow_array::types::{Int8Type, Int16Type, Int32Type, UInt16Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, DictionaryArray,
    FixedSizeListArray, Int32Array, Int64Array, LargeBinaryArray, LargeListArray, LargeStringArray,
    ListArray, ListViewArray, NullArray, RecordBatch, RunArray, StringArray, StringViewArray,
    StructArray, UnionArray, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit, UnionFields};

type Column = (String, ArrayRef);

/// Numbers that look random, the same in every run.
fn noise(i: usize) -> usize {
    let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 29) as usize
}

fn nulls(n: usize) -> NullBuffer {
    NullBuffer::from_iter((0..n).map(|i| !noise(i + 5).is_multiple_of(4)))
}

fn fixed(data_type: DataType, n: usize) -> Column {
    let width = match data_type {
        DataType::FixedSizeBinary(width) => width as usize,
        _ => data_type.primitive_width().unwrap(),
    };
    let bytes: Vec<u8> = (0..n * width).map(|i| noise(i) as u8).collect();
    let data = ArrayData::builder(data_type.clone())
        .len(n)
        .add_buffer(Buffer::from_vec(bytes))
        .nulls((width % 3 != 1).then(|| nulls(n)))
        .align_buffers(true);
    (data_type.to_string(), make_array(data.build().unwrap()))
}

/// Texts of no characters, few, and many that take several bytes.
fn texts(n: usize) -> Vec<Option<String>> {
    let text = |i| {
        ["", "a", "bär", "日本語の文字列", "0123456789abcdef"][noise(i) % 5].repeat(noise(i) % 3)
    };
    (0..n)
        .map(|i| (!noise(i + 1).is_multiple_of(5)).then(|| text(i)))
        .collect()
}

fn lengths(n: usize) -> impl Iterator<Item = usize> {
    (0..n).map(|i| match noise(i) % 7 {
        0..3 => 0,
        6 => 11,
        n => n,
    })
}

fn item(data_type: &DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type.clone(), true))
}

fn list(items: impl Fn(usize) -> ArrayRef, n: usize) -> ListArray {
    let offsets = OffsetBuffer::from_lengths(lengths(n));
    let items = items(offsets.last().copied().unwrap() as usize);
    ListArray::new(item(items.data_type()), offsets, items, Some(nulls(n)))
}

fn dictionary(n: usize) -> ArrayRef {
    let values = StringArray::from(vec!["red", "green", "", "blau", "no row has it"]);
    let keys = (0..n).map(|i| (!noise(i).is_multiple_of(6)).then_some((noise(i + 9) % 4) as i8));
    Arc::new(DictionaryArray::<Int8Type>::new(
        keys.collect(),
        Arc::new(values),
    ))
}

fn structs(n: usize) -> StructArray {
    let inner: ArrayRef = Arc::new(list(|n| Arc::new(BooleanArray::from(vec![true; n])), n));
    let texts: ArrayRef = Arc::new(StringArray::from(texts(n)));
    let fields = [("l", inner), ("t", texts), ("d", dictionary(n))];
    let (fields, arrays): (Vec<_>, Vec<_>) = fields
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .into_iter()
        .unzip();
    StructArray::new(Fields::from(fields), arrays, Some(nulls(n)))
}

fn map(n: usize) -> ArrayRef {
    let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for (i, length) in lengths(n).enumerate() {
        for j in 0..length {
            builder.keys().append_value(format!("key {j}"));
            builder.values().append_option((j != 1).then_some(i as i32));
        }
        builder.append(length != 2).unwrap();
    }
    Arc::new(builder.finish())
}

fn union_fields() -> UnionFields {
    let fields = [
        Field::new("i", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
    ];
    UnionFields::try_new([3, 5], fields).unwrap()
}

fn sparse_union(n: usize) -> ArrayRef {
    let ids = (0..n).map(|i| [3, 5][noise(i) % 2]).collect::<Vec<i8>>();
    let numbers = Int64Array::from_iter((0..n as i64).map(|i| (i % 3 != 0).then_some(i)));
    let children: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(StringArray::from(texts(n)))];
    let union = UnionArray::try_new(union_fields(), ScalarBuffer::from(ids), None, children);
    Arc::new(union.unwrap())
}

fn dense_union(n: usize) -> ArrayRef {
    let ids = (0..n).map(|i| [3, 5][i % 2]).collect::<Vec<i8>>();
    let offsets: Vec<i32> = (0..n as i32).map(|i| i / 2).collect();
    let numbers = Int64Array::from_iter_values(0..n as i64);
    let children: Vec<ArrayRef> = vec![Arc::new(numbers), Arc::new(StringArray::from(texts(n)))];
    let offsets = Some(ScalarBuffer::from(offsets));
    let union = UnionArray::try_new(union_fields(), ScalarBuffer::from(ids), offsets, children);
    Arc::new(union.unwrap())
}

/// Columns of fixed width.
fn fixed_columns(n: usize) -> Vec<Column> {
    use DataType::*;
    let types = [
        Int8,
        Int16,
        Int32,
        Int64,
        UInt8,
        UInt16,
        UInt32,
        UInt64,
        Float16,
        Float32,
        Float64,
        Date32,
        Date64,
        Time32(TimeUnit::Second),
        Time64(TimeUnit::Nanosecond),
        Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".into())),
        Duration(TimeUnit::Millisecond),
        Interval(IntervalUnit::YearMonth),
        Interval(IntervalUnit::DayTime),
        Interval(IntervalUnit::MonthDayNano),
        Decimal32(9, 2),
        Decimal64(18, 2),
        Decimal128(38, 2),
        Decimal256(76, 2),
        FixedSizeBinary(3),
        FixedSizeBinary(17),
    ];
    types
        .into_iter()
        .map(|data_type| fixed(data_type, n))
        .collect()
}

/// Columns of views, with several buffers of data.
fn views(n: usize) -> Vec<Column> {
    let mut builder = StringViewBuilder::new().with_fixed_block_size(100);
    texts(n)
        .iter()
        .for_each(|text| builder.append_option(text.as_deref()));
    let short: StringViewArray = texts(n)
        .iter()
        .map(|text| text.as_deref().map(|text| &text[..0]))
        .collect();
    let bytes: Vec<Vec<u8>> = (0..n).map(|i| vec![i as u8; noise(i) % 30]).collect();
    let of_lists = |n| {
        let mut views = StringViewBuilder::new().with_deduplicate_strings();
        texts(n)
            .iter()
            .for_each(|text| views.append_option(text.as_deref()));
        Arc::new(views.finish()) as ArrayRef
    };
    let columns: [(&str, ArrayRef); 4] = [
        ("views", Arc::new(builder.finish())),
        ("views of nothing", Arc::new(short)),
        (
            "binary views",
            Arc::new(BinaryViewArray::from_iter_values(bytes)),
        ),
        ("list of views", Arc::new(list(of_lists, n))),
    ];
    columns.map(|(name, array)| (name.to_owned(), array)).into()
}

/// Views whose data lie in another order than the rows.
pub(super) fn views_in_no_order(n: usize) -> Column {
    let values: StringViewArray = (0..n)
        .map(|i| Some(format!("a text of row {i:09}")))
        .collect();
    let (_, data, _) = values.clone().into_parts();
    let views = (0..n).map(|i| values.views()[noise(i) % n]).collect();
    let shuffled = StringViewArray::new(views, data, None);
    ("views in no order".to_owned(), Arc::new(shuffled))
}

/// Columns that can be cut.
pub(super) fn cut_columns(n: usize) -> Vec<Column> {
    let bits = BooleanBuffer::from_iter((0..n).map(|i| noise(i).is_multiple_of(3)));
    let bytes: Vec<_> = (0..n)
        .map(|i| (i % 5 != 0).then(|| vec![i as u8; noise(i) % 9]))
        .collect();
    let bytes: Vec<Option<&[u8]>> = bytes.iter().map(Option::as_deref).collect();
    let numbers =
        |n: usize| Int32Array::from_iter((0..n as i32).map(|i| (i % 4 != 0).then_some(i)));
    let large = LargeListArray::new(
        item(&DataType::Int32),
        OffsetBuffer::from_lengths(lengths(n)),
        Arc::new(numbers(lengths(n).sum())),
        None,
    );
    let vectors = |n| {
        let items = Arc::new(numbers(3 * n));
        FixedSizeListArray::new(item(&DataType::Int32), 3, items, Some(nulls(n)))
    };
    let of_lists = Arc::new(list(|n| Arc::new(StringArray::from(texts(n))), 2 * n));
    let of_lists = FixedSizeListArray::new(item(of_lists.data_type()), 2, of_lists, None);
    let empty = StructArray::new_empty_fields(n, Some(nulls(n)));
    let index = DictionaryArray::<UInt16Type>::from_iter(texts(n).iter().map(Option::as_deref));
    let mut columns = fixed_columns(n);
    let others: [(&str, ArrayRef); 20] = [
        ("null", Arc::new(NullArray::new(n))),
        (
            "bool",
            Arc::new(BooleanArray::new(bits.clone(), Some(nulls(n)))),
        ),
        (
            "bool without nulls",
            Arc::new(BooleanArray::new(bits, None)),
        ),
        ("utf8", Arc::new(StringArray::from(texts(n)))),
        ("utf8 of nothing", Arc::new(StringArray::from(vec![""; n]))),
        ("large utf8", Arc::new(LargeStringArray::from(texts(n)))),
        ("binary", Arc::new(BinaryArray::from(bytes.clone()))),
        ("large binary", Arc::new(LargeBinaryArray::from(bytes))),
        ("list", Arc::new(list(|n| Arc::new(numbers(n)), n))),
        (
            "list of nothing",
            Arc::new(ListArray::new_null(item(&DataType::Utf8), n)),
        ),
        (
            "list of texts",
            Arc::new(list(|n| Arc::new(StringArray::from(texts(n))), n)),
        ),
        (
            "list of lists",
            Arc::new(list(|n| Arc::new(list(|n| Arc::new(numbers(n)), n)), n)),
        ),
        (
            "list of structs",
            Arc::new(list(|n| Arc::new(structs(n)), n)),
        ),
        (
            "list of vectors",
            Arc::new(list(|n| Arc::new(vectors(n)), n)),
        ),
        ("large list", Arc::new(large)),
        ("fixed-size list", Arc::new(vectors(n))),
        ("fixed-size list of lists", Arc::new(of_lists)),
        ("struct", Arc::new(structs(n))),
        ("struct of nothing", Arc::new(empty)),
        ("sparse union", sparse_union(n)),
    ];
    columns.extend(others.map(|(name, array)| (name.to_owned(), array)));
    columns.extend(views(n));
    columns.push(("map".to_owned(), map(n)));
    columns.push(("dictionary".to_owned(), dictionary(n)));
    columns.push(("large dictionary".to_owned(), Arc::new(index)));
    columns.push(("list of keys".to_owned(), Arc::new(list(dictionary, n))));
    columns
}

/// Columns that are decoded as a whole.
pub(super) fn whole_columns(n: usize) -> Vec<Column> {
    let ends: Int32Array = (1..=n as i32).collect();
    let runs = RunArray::<Int32Type>::try_new(&ends, &StringArray::from(texts(n))).unwrap();
    let lists = list(|n| Arc::new(StringArray::from(texts(n))), n);
    let inside = StructArray::from(vec![
        (
            Arc::new(Field::new("u", dense_union(n).data_type().clone(), true)),
            dense_union(n),
        ),
        (
            Arc::new(Field::new("l", lists.data_type().clone(), true)),
            Arc::new(lists.clone()) as ArrayRef,
        ),
    ]);
    let columns: [(&str, ArrayRef); 4] = [
        ("list views", Arc::new(ListViewArray::from(lists))),
        ("dense union", dense_union(n)),
        ("dense union in structs", Arc::new(inside)),
        ("runs", Arc::new(runs)),
    ];
    columns.map(|(name, array)| (name.to_owned(), array)).into()
}

pub(super) fn table(columns: Vec<Column>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// A batch of one dictionary, with one value for each text.
pub(super) fn of_dictionary(texts: &[&str]) -> RecordBatch {
    let keys: DictionaryArray<Int16Type> = texts.iter().copied().collect();
    table(vec![("d".to_owned(), Arc::new(keys))])
}
