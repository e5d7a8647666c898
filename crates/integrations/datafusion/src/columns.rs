//! The columns, and fields of structs, that expressions look at.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{DataType, Schema};
use datafusion::arrow::compute::nullif;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::PhysicalExpr;

use crate::filter::path_of;

/// The names of the columns of a file that expressions need, as a scan takes them: of a struct only the fields that
/// they look into. In the order of the schema.
pub(crate) fn needed<'a>(
    exprs: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>,
    schema: &Schema,
) -> Result<Vec<String>> {
    // Of each column the paths into it; the empty one is the whole.
    let mut paths: Vec<Vec<String>> = vec![Vec::new(); schema.fields().len()];
    for expr in exprs {
        expr.apply(|expr| {
            let Some((column, path)) = path_of(expr) else {
                return Ok(TreeNodeRecursion::Continue);
            };
            let place = schema.index_of(column.name())?;
            let name = match is_path(schema.field(place).data_type(), &path) {
                true => std::iter::once(column.name())
                    .chain(path)
                    .collect::<Vec<_>>()
                    .join("."),
                false => column.name().to_owned(),
            };
            if let Some(known) = paths.get_mut(place)
                && !known.contains(&name)
            {
                known.push(name);
            }
            Ok(TreeNodeRecursion::Jump)
        })?;
    }
    // Names with dots are not told apart from paths.
    let has_dots = schema
        .fields()
        .iter()
        .any(|field| field.name().contains('.'));
    let of_fields = schema.fields().iter().zip(paths);
    let names = of_fields.flat_map(|(field, paths)| {
        let is_whole = has_dots || paths.contains(field.name());
        match is_whole && !paths.is_empty() {
            true => vec![field.name().clone()],
            false => outermost(paths),
        }
    });
    Ok(names.collect())
}

/// Whether the names lead through structs, from a column of this type, without a dot in a name.
fn is_path(data_type: &DataType, path: &[&str]) -> bool {
    let Some((name, below)) = path.split_first() else {
        return true;
    };
    match data_type {
        DataType::Struct(fields) if !name.contains('.') => {
            let field = fields.find(name);
            field.is_some_and(|(_, field)| is_path(field.data_type(), below))
        }
        _ => false,
    }
}

/// The paths that do not lie below another one.
fn outermost(paths: Vec<String>) -> Vec<String> {
    let is_below = |path: &String| {
        let mut others = paths.iter();
        others.any(|other| {
            let below = path.strip_prefix(other.as_str());
            below.is_some_and(|below| below.starts_with('.'))
        })
    };
    let kept = paths.iter().filter(|path| !is_below(path));
    kept.cloned().collect()
}

/// The batch with fields of structs that are null where the struct is: the engine looks at the field alone.
pub(crate) fn with_nulls_below(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(nulls_below);
    let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = batch.schema();
    Ok(RecordBatch::try_new_with_options(
        schema, columns, &options,
    )?)
}

fn nulls_below(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(of) = array.as_struct_opt() else {
        return Ok(Arc::clone(array));
    };
    let nulls = of.nulls().filter(|nulls| nulls.null_count() > 0);
    let is_null = nulls.map(|nulls| BooleanArray::new(!nulls.inner(), None));
    let children = of.fields().iter().zip(of.columns()).map(|(field, child)| {
        let has_bits = !matches!(
            child.data_type(),
            DataType::Null | DataType::Union(..) | DataType::RunEndEncoded(..)
        );
        match &is_null {
            Some(is_null) if field.is_nullable() && has_bits => {
                nulls_below(&nullif(child, is_null)?)
            }
            _ => nulls_below(child),
        }
    });
    let children: Vec<ArrayRef> = children.collect::<Result<_>>()?;
    let (fields, nulls) = (of.fields().clone(), of.nulls().cloned());
    let made = StructArray::try_new_with_length(fields, children, nulls, of.len())?;
    Ok(Arc::new(made))
}
