//! Single elements of nested rows: which columns a path leads to, and what of their lists is decoded.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use tarsia_arrow::{assemble, logical_type, reorder};
use tarsia_structure::Cut;

use crate::column::Column;
use crate::error::{Error, ErrorKind, Result, while_reading};
use crate::file::{Inner, Reads};
use crate::partial::{BlockBytes, Partial};
use crate::plan::{BlockPart, Plan};
use crate::projection::{n_leaves, narrow, retyped};
use crate::scan::{batch, rows_budget, too_many_values, with_scratch};
use crate::take::{Order, take_counted};

/// A path into a nested row: a column's name, then fields of structs and items of lists.
///
/// `frames[3]` is the fourth item of the list `frames`, `frames[2..5]` the list of three, `user.ids[0]` the first item of the field
/// `ids` of the struct `user`, `matrix[1][2]` an item of an item. Names end at `.` and `[`; items count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementPath {
    text: String,
    column: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(u32),
    Items(u32, u32),
}

impl FromStr for ElementPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |what: &str| {
            let what = format!("`{}` is no path into a row: {what}", text.escape_debug());
            Error::new(ErrorKind::InvalidInput, what)
        };
        let name_end = |rest: &str| rest.find(['.', '[']).unwrap_or(rest.len());
        let (column, mut rest) = text.split_at(name_end(text));
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(field) = rest.strip_prefix('.') {
                let (name, after) = field.split_at(name_end(field));
                steps.push(Step::Field(name.to_owned()));
                rest = after;
                continue;
            }
            let inside = rest
                .strip_prefix('[')
                .ok_or_else(|| bad("`.` or `[` after `]`"))?;
            let (inside, after) = inside
                .split_once(']')
                .ok_or_else(|| bad("`[` without `]`"))?;
            let number = |text: &str| {
                let parsed = text.trim().parse::<u32>();
                parsed.map_err(|_| bad("items are numbers from 0 to 4,294,967,295"))
            };
            steps.push(match inside.split_once("..") {
                None => Step::Item(number(inside)?),
                Some((start, end)) => match (number(start)?, number(end)?) {
                    (start, end) if start <= end => Step::Items(start, end),
                    _ => return Err(bad("items from a number to a smaller one")),
                },
            });
            rest = after;
        }
        match column.is_empty() {
            true => Err(bad("no column's name")),
            false => Ok(Self {
                text: text.to_owned(),
                column: column.to_owned(),
                steps,
            }),
        }
    }
}

/// What of a field is decoded.
struct Pruned {
    /// The type with only the fields on the way, and fixed-size lists cut.
    data_type: DataType,
    /// Its leaf columns among those of the whole field.
    first_leaf: usize,
    n_leaves: usize,
    cuts: Vec<(usize, Cut)>,
}

impl ElementPath {
    fn refused(&self, what: impl std::fmt::Display) -> Error {
        Error::new(ErrorKind::InvalidInput, format!("`{}`: {what}", self.text))
    }

    /// A column named like the path.
    fn batch(&self, element: ArrayRef, rows: usize) -> Result<RecordBatch> {
        let named = Field::new(&self.text, element.data_type().clone(), true);
        batch(&Arc::new(Schema::new(vec![named])), vec![element], rows)
    }

    fn prune(&self, data_type: &DataType, steps: &[Step], level: usize) -> Result<Pruned> {
        let Some((step, steps)) = steps.split_first() else {
            return Ok(Pruned {
                data_type: data_type.clone(),
                first_leaf: 0,
                n_leaves: n_leaves(data_type),
                cuts: Vec::new(),
            });
        };
        let cut = match step {
            Step::Field(name) => {
                let DataType::Struct(fields) = data_type else {
                    return Err(self.refused(format!("{data_type} has no field `{name}`")));
                };
                let mut first_leaf = 0;
                for field in fields {
                    if field.name() == name {
                        let pruned = self.prune(field.data_type(), steps, level + 1)?;
                        let of = Fields::from(vec![retyped(field, pruned.data_type)]);
                        return Ok(Pruned {
                            data_type: DataType::Struct(of),
                            first_leaf: first_leaf + pruned.first_leaf,
                            ..pruned
                        });
                    }
                    first_leaf += n_leaves(field.data_type());
                }
                return Err(self.refused(format!("no field `{name}`")));
            }
            Step::Item(item) => Cut {
                start: *item,
                end: item.saturating_add(1),
            },
            Step::Items(start, end) => Cut {
                start: *start,
                end: *end,
            },
        };
        let of_items = |item: &FieldRef| -> Result<(FieldRef, Pruned)> {
            let mut pruned = self.prune(item.data_type(), steps, level + 2)?;
            pruned.cuts.push((level + 1, cut));
            Ok((retyped(item, pruned.data_type.clone()), pruned))
        };
        let (data_type, pruned) = match data_type {
            DataType::List(item) => {
                let (item, pruned) = of_items(item)?;
                (DataType::List(item), pruned)
            }
            DataType::LargeList(item) => {
                let (item, pruned) = of_items(item)?;
                (DataType::LargeList(item), pruned)
            }
            DataType::ListView(item) => {
                let (item, pruned) = of_items(item)?;
                (DataType::List(item), pruned)
            }
            DataType::LargeListView(item) => {
                let (item, pruned) = of_items(item)?;
                (DataType::LargeList(item), pruned)
            }
            DataType::FixedSizeList(item, length) => {
                let (item, pruned) = of_items(item)?;
                let length = cut.length_of(u32::try_from(*length).unwrap_or(0));
                // At most what it was.
                (DataType::FixedSizeList(item, length as i32), pruned)
            }
            other => return Err(self.refused(format!("{other} is no list"))),
        };
        Ok(Pruned {
            data_type,
            ..pruned
        })
    }

    /// The element of each row, of arrays that were decoded by [`Pruned`].
    fn element(&self, array: ArrayRef, steps: &[Step]) -> Result<ArrayRef> {
        let Some((step, steps)) = steps.split_first() else {
            return Ok(array);
        };
        let picked = |array: &ArrayRef, places: &dyn Fn(usize) -> Option<usize>, rows: usize| {
            let places = (0..rows).map(|row| places(row).map(|place| place as u64));
            let places: UInt64Array = places.collect();
            reorder(array.as_ref(), &places)
                .map_err(|error| Error::new(ErrorKind::LimitExceeded, error.to_string()))
        };
        let rows = array.len();
        match (step, array.data_type()) {
            (Step::Field(_), _) => {
                let parent = array.as_struct();
                let child = parent.column(0);
                let child = match parent.null_count() {
                    0 => child.clone(),
                    _ => picked(child, &|row| parent.is_valid(row).then_some(row), rows)?,
                };
                self.element(child, steps)
            }
            (Step::Items(..), _) if steps.is_empty() => Ok(array),
            (Step::Items(..), _) => Err(self.refused("a range of items is the last of a path")),
            (Step::Item(_), DataType::List(_)) => {
                let list = array.as_list::<i32>();
                let ends = list.value_offsets();
                let first = |row: usize| {
                    let there = list.is_valid(row) && ends[row] < ends[row + 1];
                    there.then(|| ends[row] as usize)
                };
                self.element(picked(list.values(), &first, rows)?, steps)
            }
            (Step::Item(_), DataType::LargeList(_)) => {
                let list = array.as_list::<i64>();
                let ends = list.value_offsets();
                let first = |row: usize| {
                    let there = list.is_valid(row) && ends[row] < ends[row + 1];
                    there.then(|| ends[row] as usize)
                };
                self.element(picked(list.values(), &first, rows)?, steps)
            }
            (Step::Item(_), _) => {
                let list = array.as_fixed_size_list();
                let first = |row: usize| {
                    let there = list.is_valid(row) && list.value_length() > 0;
                    there.then_some(row)
                };
                self.element(picked(list.values(), &first, rows)?, steps)
            }
        }
    }
}

/// The blocks of plans: of long rows the front, which says where their items lie.
fn fetch<'f>(
    inner: &'f Inner,
    columns: &[Arc<Column>],
    plans: &[Plan],
) -> Result<Vec<Vec<BlockBytes<'f>>>> {
    let is_long = |part: &BlockPart| Partial::front_place(part).is_some();
    let parts = || plans.iter().flat_map(|plan| &plan.parts);
    let fronts: Vec<_> = parts().filter_map(Partial::front_place).collect();
    inner.prefetch(&fronts);
    let others: Vec<Plan> = plans
        .iter()
        .map(|plan| Plan {
            parts: plan
                .parts
                .iter()
                .filter(|part| !is_long(part))
                .cloned()
                .collect(),
            ..Plan::default()
        })
        .collect();
    let others = inner.fetch_all(&others)?;
    let fetched = columns.iter().zip(plans.iter().zip(others));
    let fetched = fetched.map(|(column, (plan, others))| {
        let mut others = others.into_iter();
        let parts = plan.parts.iter().filter_map(|part| match is_long(part) {
            true => Some(column.fetch_front(inner, part)),
            false => others.next().map(|bytes| Ok(BlockBytes::Whole(bytes))),
        });
        parts.collect()
    });
    fetched.collect()
}

/// What was read of the file: whole blocks, neighbours together, and parts of others.
fn reads_of(inner: &Inner, mut plans: Vec<Plan>, fetched: &[Vec<BlockBytes<'_>>]) -> Reads {
    for (plan, blocks) in plans.iter_mut().zip(fetched) {
        let mut blocks = blocks.iter();
        let is_whole = |_: &BlockPart| blocks.next().is_some_and(|block| !block.is_partial());
        plan.parts.retain(is_whole);
    }
    let mut reads = inner.reads(&plans);
    for block in fetched.iter().flatten() {
        if let BlockBytes::Partial(partial) = block {
            reads.requests += partial.requests;
            reads.bytes += partial.read_bytes;
        }
    }
    reads
}

/// Whether there is a type without values, of which Arrow cannot make a null.
fn has_empty_union(data_type: &DataType) -> bool {
    let logical = logical_type(data_type);
    let is_one = matches!(logical, DataType::Union(fields, _) if fields.is_empty());
    let mut children = tarsia_metadata::children(data_type).into_iter();
    is_one || children.any(|field| has_empty_union(field.data_type()))
}

/// The elements of the rows of a packed struct, which are read whole.
fn take_packed(
    inner: &Arc<Inner>,
    rows: &[u64],
    path: &ElementPath,
    pruned: &DataType,
) -> Result<(RecordBatch, Reads)> {
    let columns = [path.column.clone()];
    let (whole, reads) = take_counted(inner, rows, Some(&columns))?;
    let starts = path.steps.iter().filter_map(|step| match step {
        Step::Field(_) => None,
        Step::Item(start) | Step::Items(start, _) => Some(*start),
    });
    let starts: Vec<u32> = starts.collect();
    let array = narrow(whole.column(0), pruned, &starts)?;
    let element = path.element(array, &path.steps)?;
    Ok((path.batch(element, rows.len())?, reads))
}

/// The elements of rows, in the order asked for, as a column named like the path.
pub(crate) fn take(
    inner: &Arc<Inner>,
    rows: &[u64],
    path: &ElementPath,
) -> Result<(RecordBatch, Reads)> {
    let order = Order::of(inner, rows)?;
    let before = inner.reads(&[]);
    let field = inner.field(&path.column)?;
    let pruned = path.prune(field.field.data_type(), &path.steps, 0)?;
    if field.columns.iter().any(|column| column.packing.is_some()) {
        return take_packed(inner, rows, path, &pruned.data_type);
    }
    let range = pruned.first_leaf..pruned.first_leaf + pruned.n_leaves;
    let columns: &[Arc<Column>] = field.columns.get(range).unwrap_or_default();
    if field.is_flat() {
        return Err(path.refused("the column is not nested"));
    }
    if has_empty_union(&pruned.data_type) {
        return Err(
            path.refused("there is a union without fields, which is never anything, nor null")
        );
    }
    inner.prefetch_tables(columns, &order.sorted);
    let plans: Vec<Plan> = columns
        .iter()
        .map(|column| column.plan_indices(inner, &order.sorted))
        .collect::<Result<_>>()?;
    let with_plans = || columns.iter().zip(&plans);
    let mut fetched = fetch(inner, columns, &plans)?;
    let budget = rows_budget(columns, &plans, &fetched);
    let leaves = with_plans()
        .zip(&mut fetched)
        .map(|((column, plan), blocks)| {
            with_scratch(|scratch| {
                column.decode_elements(inner, plan, blocks, &pruned.cuts, &budget, scratch)
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let mut reads = reads_of(inner, plans, &fetched);
    let of_field = retyped(&field.field, pruned.data_type);
    let array = assemble(&of_field, leaves, rows.len(), &inner.pool, &budget)
        .map_err(|error| while_reading(error).in_column(&path.column))?
        .ok_or_else(too_many_values)?;
    let element = order.restore(path.element(array, &path.steps)?)?;
    inner.check_unchanged()?;
    let after = inner.reads(&[]);
    reads.metadata_requests = after.metadata_requests - before.metadata_requests;
    reads.metadata_bytes = after.metadata_bytes - before.metadata_bytes;
    Ok((path.batch(element, rows.len())?, reads))
}
