//! Tables of features, as recommenders have them: most columns are lists, hardly two are alike.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{
    BinaryBuilder, Float32Builder, Int64Builder, ListBuilder, PrimitiveBuilder, StringBuilder,
};
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray};
use arrow_schema::Field;

use super::random::Random;

/// Properties of a column's values.
struct Shape {
    /// Lists of the column have at most so many items.
    length_below: usize,
    /// Share of the lists that are empty.
    empty: f64,
    /// Identifiers are below this.
    ids_below: usize,
    /// Share of rows that have the value of the row before.
    repeated: f64,
}

impl Shape {
    fn any(r: &mut Random) -> Self {
        let exponent = 1.0 + 4.0 * r.unit();
        Self {
            length_below: 2 + r.below(8),
            empty: r.unit() * r.unit(),
            ids_below: 10.0_f64.powf(1.0 + 2.0 * exponent.sqrt() + r.unit() * 4.0) as usize,
            repeated: if r.below(4) == 0 { r.unit() } else { 0.0 },
        }
    }

    fn length(&self, r: &mut Random) -> usize {
        if r.unit() < self.empty {
            return 0;
        }
        1 + r.below(self.length_below)
    }

    /// Small identifiers are frequent.
    fn id(&self, r: &mut Random) -> i64 {
        let u = r.unit();
        (u * u * u * self.ids_below as f64) as i64
    }
}

/// `n_rows` rows of so many columns: mostly lists of identifiers, some of weights, structs of both, lists of lists and
/// of byte strings, few numbers and texts.
pub(super) fn batch(n_columns: usize, n_rows: usize) -> Result<RecordBatch> {
    let mut random = Random::new((n_columns * 31 + n_rows) as u64);
    let columns = (0..n_columns).map(|i| {
        let column = column(&mut random, n_rows);
        (format!("feature_{i:06}"), column)
    });
    let columns: Vec<(String, ArrayRef)> = columns.collect();
    Ok(RecordBatch::try_from_iter(columns)?)
}

fn column(r: &mut Random, rows: usize) -> ArrayRef {
    let shape = Shape::any(r);
    match r.below(100) {
        0..80 => ids(r, rows, &shape),
        80..86 => lists(r, rows, &shape, Float32Builder::new(), |r| r.unit() as f32),
        86..89 => nested(r, rows, &shape),
        89..93 => {
            let (ids, weights) = (
                ids(r, rows, &shape),
                lists(r, rows, &shape, Float32Builder::new(), |r| r.unit() as f32),
            );
            let field = |name, array: &ArrayRef| Field::new(name, array.data_type().clone(), true);
            let fields = vec![
                (Arc::new(field("ids", &ids)), ids),
                (Arc::new(field("weights", &weights)), weights),
            ];
            Arc::new(StructArray::from(fields))
        }
        93..96 => keys(r, rows, &shape),
        96..98 => Arc::new(Int64Array::from_iter((0..rows).map(|_| {
            let id = shape.id(r);
            (r.unit() >= shape.empty).then_some(id)
        }))),
        _ => {
            let mut texts = StringBuilder::new();
            for _ in 0..rows {
                let syllables = 1 + r.below(4);
                texts.append_value(super::generate::word(r, syllables));
            }
            Arc::new(texts.finish())
        }
    }
}

fn ids(r: &mut Random, rows: usize, shape: &Shape) -> ArrayRef {
    lists(r, rows, shape, Int64Builder::new(), |r| shape.id(r))
}

fn lists<T: ArrowPrimitiveType>(
    r: &mut Random,
    rows: usize,
    shape: &Shape,
    items: PrimitiveBuilder<T>,
    mut item: impl FnMut(&mut Random) -> T::Native,
) -> ArrayRef {
    let mut lists = ListBuilder::new(items);
    let mut list: Vec<T::Native> = Vec::new();
    for _ in 0..rows {
        if r.unit() >= shape.repeated {
            let length = shape.length(r);
            list = (0..length).map(|_| item(r)).collect();
        }
        lists.values().append_slice(&list);
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn nested(r: &mut Random, rows: usize, shape: &Shape) -> ArrayRef {
    let mut lists = ListBuilder::new(ListBuilder::new(Int64Builder::new()));
    for _ in 0..rows {
        for _ in 0..shape.length(r) / 2 {
            let length = shape.length(r);
            for _ in 0..length {
                let id = shape.id(r);
                lists.values().values().append_value(id);
            }
            lists.values().append(true);
        }
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn keys(r: &mut Random, rows: usize, shape: &Shape) -> ArrayRef {
    let mut lists = ListBuilder::new(BinaryBuilder::new());
    for _ in 0..rows {
        for _ in 0..shape.length(r) {
            let key = format!("{:x}", shape.id(r));
            lists.values().append_value(key);
        }
        lists.append(true);
    }
    Arc::new(lists.finish())
}
