//! Tables of one column each: the eight data types of the random-access table of "Lance: Efficient Random Access in
//! Columnar Storage through Adaptive Structural Encodings", section 6.1, with its mean sizes. Values are random; a
//! tenth of the rows is null, and nothing below a row is. The paper has up to a billion rows, so that no page is read
//! twice. Tables here have as many rows as make about 150 MB, more than the caches of the processor hold.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Result, ensure};
use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, FixedSizeListArray, Float32Array, ListArray, RecordBatch, StringArray,
    StructArray, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use super::random::Random;

/// Beginning of the names of these tables.
pub(super) const PREFIX: &str = "random_access_";

const BATCH_ROWS: usize = 65_536;

/// One row of so many is null.
const NULL_EVERY: usize = 10;

/// Lists have 0 to so many items: five in the mean, as in the paper.
const ITEMS_MAX: usize = 10;

/// Bytes of a string, from and to; the mean is 16. The paper says no more than "random data", so each printable ASCII
/// character is as likely as any other.
const STRING_BYTES: (usize, usize) = (8, 24);

/// Bytes of an image: 20 KiB in the mean. Random bytes compress like a JPEG, which is not at all.
const IMAGE_BYTES: (usize, usize) = (12 << 10, 28 << 10);

const DIMENSIONS: usize = 768;

/// As many as the paper's figure on packing goes to.
const STRUCT_FIELDS: usize = 5;

/// A data type of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Scalar,
    String,
    ScalarList,
    StringList,
    Vector,
    VectorList,
    Image,
    ImageList,
    /// Not of that table, but of the section on packing (6.5): structs of five numbers.
    Struct,
    /// Structs, packed where a format can.
    PackedStruct,
}

impl Shape {
    /// In the order of the paper.
    pub(super) const ALL: [Self; 8] = [
        Self::Scalar,
        Self::String,
        Self::ScalarList,
        Self::StringList,
        Self::Vector,
        Self::VectorList,
        Self::Image,
        Self::ImageList,
    ];

    /// Beside those.
    pub(super) const STRUCTS: [Self; 2] = [Self::Struct, Self::PackedStruct];

    /// The name of the table, behind the prefix.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::String => "string",
            Self::ScalarList => "scalar_list",
            Self::StringList => "string_list",
            Self::Vector => "vector",
            Self::VectorList => "vector_list",
            Self::Image => "image",
            Self::ImageList => "image_list",
            Self::Struct => "struct",
            Self::PackedStruct => "packed_struct",
        }
    }

    /// All eight tables together are a little more than 1 GiB as Arrow arrays.
    pub(super) fn rows(self) -> usize {
        match self {
            Self::Scalar => 16 << 20,
            Self::String => 8 << 20,
            Self::ScalarList => 7 << 19,
            Self::StringList => 3 << 19,
            Self::Vector => 48 << 10,
            Self::VectorList => 10 << 10,
            Self::Image => 8 << 10,
            Self::ImageList => 3 << 9,
            Self::Struct | Self::PackedStruct => 2 << 20,
        }
    }

    pub(super) fn schema(self) -> SchemaRef {
        let scalar = || Field::new("item", DataType::UInt64, true);
        let string = || Field::new("item", DataType::Utf8, true);
        let image = || Field::new("item", DataType::Binary, true);
        let list = |item| DataType::List(Arc::new(item));
        let data_type = match self {
            Self::Scalar => DataType::UInt64,
            Self::String => DataType::Utf8,
            Self::ScalarList => list(scalar()),
            Self::StringList => list(string()),
            Self::Vector => vector_type(),
            Self::VectorList => list(Field::new("item", vector_type(), true)),
            Self::Image => DataType::Binary,
            Self::ImageList => list(image()),
            Self::Struct | Self::PackedStruct => DataType::Struct(struct_fields()),
        };
        let value = Field::new("value", data_type, true);
        Arc::new(Schema::new(vec![match self {
            Self::PackedStruct => value.with_metadata(packed()),
            _ => value,
        }]))
    }

    /// The first `n_rows` rows.
    pub(super) fn batches(self, n_rows: usize) -> impl Iterator<Item = Result<RecordBatch>> {
        let mut random = Random::new(0x7261_6e64 + self as u64);
        (0..n_rows).step_by(BATCH_ROWS).map(move |start| {
            let rows = BATCH_ROWS.min(n_rows - start);
            let nulls: NullBuffer = (0..rows).map(|_| random.below(NULL_EVERY) > 0).collect();
            let column = self.column(&mut random, nulls)?;
            Ok(RecordBatch::try_new(self.schema(), vec![column])?)
        })
    }

    fn column(self, random: &mut Random, nulls: NullBuffer) -> Result<ArrayRef> {
        let n_rows = nulls.len();
        Ok(match self {
            Self::Scalar => Arc::new(UInt64Array::try_new(
                scalars(random, n_rows).values().clone(),
                Some(nulls),
            )?),
            Self::String => Arc::new(strings(random, n_rows, Some(nulls))?),
            Self::Image => Arc::new(images(random, n_rows, Some(nulls))?),
            Self::Vector => Arc::new(vectors(random, n_rows, Some(nulls))?),
            Self::ScalarList => list(random, nulls, |r, n| Ok(Arc::new(scalars(r, n))))?,
            Self::StringList => list(random, nulls, |r, n| Ok(Arc::new(strings(r, n, None)?)))?,
            Self::VectorList => list(random, nulls, |r, n| Ok(Arc::new(vectors(r, n, None)?)))?,
            Self::ImageList => list(random, nulls, |r, n| Ok(Arc::new(images(r, n, None)?)))?,
            Self::Struct | Self::PackedStruct => {
                let columns = (0..STRUCT_FIELDS).map(|_| Arc::new(scalars(random, n_rows)) as _);
                Arc::new(StructArray::try_new(
                    struct_fields(),
                    columns.collect(),
                    Some(nulls),
                )?)
            }
        })
    }
}

fn struct_fields() -> Fields {
    let field = |i| Field::new(format!("f{i}"), DataType::UInt64, true);
    (0..STRUCT_FIELDS).map(field).collect()
}

/// Returns what Tarsia and Lance want to be told; the others have no such thing.
fn packed() -> HashMap<String, String> {
    [
        ("tarsia.layout", "packed"),
        ("lance-encoding:packed", "true"),
        ("packed", "true"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

fn vector_type() -> DataType {
    let item = Field::new("item", DataType::Float32, true);
    DataType::FixedSizeList(Arc::new(item), DIMENSIONS as i32)
}

/// Null lists are empty below.
fn list(
    random: &mut Random,
    nulls: NullBuffer,
    items: impl FnOnce(&mut Random, usize) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    let lengths = nulls.iter().map(|is_valid| match is_valid {
        true => random.below(ITEMS_MAX + 1),
        false => 0,
    });
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths.collect::<Vec<_>>());
    let n_items = usize::try_from(offsets.last().copied().unwrap_or(0))?;
    let items = items(random, n_items)?;
    let field = Arc::new(Field::new("item", items.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        items,
        Some(nulls),
    )?))
}

fn scalars(random: &mut Random, n: usize) -> UInt64Array {
    UInt64Array::from_iter_values((0..n).map(|_| random.next()))
}

/// Between the two, both included.
fn between(random: &mut Random, (least, most): (usize, usize)) -> usize {
    least + random.below(most - least + 1)
}

fn is_valid(nulls: &Option<NullBuffer>, row: usize) -> bool {
    nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
}

fn strings(random: &mut Random, n: usize, nulls: Option<NullBuffer>) -> Result<StringArray> {
    let mut strings = StringBuilder::new();
    let mut value = String::new();
    for row in 0..n {
        if !is_valid(&nulls, row) {
            strings.append_null();
            continue;
        }
        value.clear();
        for _ in 0..between(random, STRING_BYTES) {
            let printable = usize::from(b'~' - b' ') + 1;
            value.push(char::from(b' ' + u8::try_from(random.below(printable))?));
        }
        strings.append_value(&value);
    }
    Ok(strings.finish())
}

fn images(random: &mut Random, n: usize, nulls: Option<NullBuffer>) -> Result<BinaryArray> {
    let mut images = BinaryBuilder::new();
    let mut image = Vec::new();
    for row in 0..n {
        if !is_valid(&nulls, row) {
            images.append_null();
            continue;
        }
        let len = between(random, IMAGE_BYTES);
        image.clear();
        while image.len() < len {
            image.extend_from_slice(&random.next().to_le_bytes());
        }
        image.truncate(len);
        images.append_value(&image);
    }
    Ok(images.finish())
}

/// Components from -1 to 1. Arrow wants vectors under nulls too: zeros.
fn vectors(random: &mut Random, n: usize, nulls: Option<NullBuffer>) -> Result<FixedSizeListArray> {
    let mut components = Vec::with_capacity(n * DIMENSIONS);
    for row in 0..n {
        match is_valid(&nulls, row) {
            true => components.extend((0..DIMENSIONS).map(|_| (random.unit() * 2.0 - 1.0) as f32)),
            false => components.extend([0.0; DIMENSIONS]),
        }
    }
    let components = Arc::new(Float32Array::from(components));
    let DataType::FixedSizeList(field, size) = vector_type() else {
        unreachable!("a vector is a list of fixed size");
    };
    ensure!(components.len() == n * DIMENSIONS, "components are missing");
    Ok(FixedSizeListArray::try_new(field, size, components, nulls)?)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;

    use super::*;

    /// Bytes of the paper's table, which are those of rows that are not null.
    fn mean_bytes(shape: Shape) -> f64 {
        match shape {
            Shape::Scalar => 8.0,
            Shape::String => 16.0,
            Shape::ScalarList => 40.0,
            Shape::StringList => 80.0,
            Shape::Vector => 3072.0,
            Shape::VectorList => 15_360.0,
            Shape::Image => 20_480.0,
            Shape::ImageList => 102_400.0,
            Shape::Struct | Shape::PackedStruct => 40.0,
        }
    }

    #[test]
    fn tables_have_the_sizes_of_the_paper() {
        let mut total = 0.0;
        for shape in Shape::ALL {
            // As many rows as fit into 16 MB.
            let n_rows = (shape.rows() / 8).min(1 << 16);
            let batches: Vec<_> = shape.batches(n_rows).collect::<Result<_>>().unwrap();
            let [batch] = batches.as_slice() else {
                panic!("one batch")
            };
            assert_eq!(batch.num_rows(), n_rows);
            assert_eq!(batch.schema(), shape.schema());
            let nulls = batch.column(0).null_count() as f64 / n_rows as f64;
            assert!((nulls - 0.1).abs() < 0.06, "{shape:?}: {nulls}");
            let bytes = batch.column(0).to_data().get_slice_memory_size().unwrap() as f64;
            let bytes = bytes / n_rows as f64;
            total += bytes * shape.rows() as f64;
            // Offsets and validity, and vectors under nulls, are more; null rows otherwise less.
            let expected = mean_bytes(shape);
            assert!(
                bytes > expected * 0.75 && bytes < expected * 1.4,
                "{shape:?}: {bytes}"
            );
        }
        assert!(total > f64::from(1 << 30), "{total}");
    }

    #[test]
    fn tables_are_the_same_each_time() {
        for shape in Shape::ALL {
            let [a, b] = [shape, shape].map(|shape| shape.batches(20).next().unwrap().unwrap());
            assert_eq!(a, b);
        }
    }
}
