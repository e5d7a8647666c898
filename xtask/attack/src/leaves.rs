//! The values of a table's leaf columns, as files store them before they are encoded.

use std::collections::HashSet;

use arrow_array::RecordBatch;
use tarsia::LAYOUT_KEY;
use tarsia_arrow::{LeafBuffer, Packing, leaf_paths};

use crate::walk::each_value;

/// The valid values of each leaf column, in the order of the leaves.
pub(crate) fn leaf_values(batch: &RecordBatch) -> Result<Vec<HashSet<Vec<u8>>>, String> {
    let mut leaves = Vec::new();
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let layout = field.metadata().get(LAYOUT_KEY);
        let packed = match layout.map(String::as_str) == Some("packed") {
            true => Some(Packing::of(field.data_type()).map_err(|error| error.to_string())?),
            false => None,
        };
        let column = match &packed {
            Some(packing) => packing
                .pack(column.as_ref())
                .map_err(|error| error.to_string())?,
            None => column.clone(),
        };
        let data_type = column.data_type();
        let paths = leaf_paths(data_type, field.is_nullable());
        for path in paths.map_err(|other| format!("{other} is not stored"))? {
            let mut buffer = LeafBuffer::new(data_type, path);
            buffer
                .push(column.as_ref())
                .map_err(|error| error.to_string())?;
            let mut values = HashSet::new();
            let page = buffer.page(0..buffer.rows());
            if let Some(page) = page.map_err(|error| error.to_string())? {
                let is_valid = |i| page.validity.is_none_or(|validity| validity.get(i));
                each_value(page.values, &mut |i, value| {
                    if is_valid(i) {
                        values.insert(value.to_vec());
                    }
                });
            }
            leaves.push(values);
        }
    }
    Ok(leaves)
}
