//! Tables, conditions on their rows, and what is read of the rows that pass.

use std::sync::Arc;

use anyhow::{Context, Result};
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, SchemaRef};

use super::Arguments;
use crate::machine;
use crate::over_tables::batches;
use crate::types::lineitem;

/// Shares of the rows that pass.
const SHARES: [f64; 3] = [0.0001, 0.01, 0.5];

/// A table, and the conditions that are measured on it.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) schema: SchemaRef,
    pub(super) batches: Vec<RecordBatch>,
    pub(super) cases: Vec<Case>,
}

/// A condition, and the columns that are read of the rows that pass.
pub(super) struct Case {
    pub(super) name: String,
    /// All must hold.
    pub(super) tests: Vec<Test>,
    pub(super) columns: Vec<&'static str>,
}

/// A column's value is not null and lies between two others, both of which count.
pub(super) struct Test {
    pub(super) column: &'static str,
    /// One value.
    pub(super) low: Option<ArrayRef>,
    /// One value.
    pub(super) high: Option<ArrayRef>,
}

impl Test {
    fn equal(column: &'static str, value: ArrayRef) -> Self {
        Self {
            column,
            low: Some(value.clone()),
            high: Some(value),
        }
    }
}

pub(super) fn tables(arguments: &Arguments) -> Result<Vec<Table>> {
    let is_wanted = |name: &str| {
        arguments
            .table
            .as_ref()
            .is_none_or(|part| name.contains(part))
    };
    let mut tables = Vec::new();
    if is_wanted("lineitem") {
        tables.push(lineitem_table(arguments.scale_factor)?);
    }
    if is_wanted("flights") {
        let folder = machine::data_folder(arguments.folder.as_ref())?;
        tables.push(flights(batches(
            &folder.join("nycflights_flights.parquet"),
        )?)?);
    }
    Ok(tables)
}

fn lineitem_table(scale_factor: f64) -> Result<Table> {
    const COLUMNS: [&str; 3] = ["l_partkey", "l_extendedprice", "l_comment"];
    let (schema, rows) = lineitem::table(scale_factor, &DataType::Utf8);
    let batches = rows.collect::<Result<Vec<_>>>()?;
    let mut cases = Vec::new();
    for (column, what) in [
        ("l_orderkey", "sorted integer"),
        ("l_partkey", "integer"),
        ("l_extendedprice", "decimal"),
        ("l_shipdate", "date"),
    ] {
        for share in SHARES {
            cases.push(lowest(&batches, column, what, share, &COLUMNS)?);
        }
    }
    let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    cases.push(Case {
        name: String::from("l_shipmode = 'AIR'"),
        tests: vec![Test::equal("l_shipmode", text("AIR"))],
        columns: COLUMNS.to_vec(),
    });
    let decimal = |value: i128| -> Result<ArrayRef> {
        let array = Decimal128Array::from(vec![value]).with_precision_and_scale(15, 2)?;
        Ok(Arc::new(array))
    };
    let date = |days: i32| Arc::new(Date32Array::from(vec![days])) as ArrayRef;
    cases.push(Case {
        name: String::from("TPC-H Q6: three conditions"),
        tests: vec![
            // The year 1994.
            Test {
                column: "l_shipdate",
                low: Some(date(8_766)),
                high: Some(date(9_130)),
            },
            Test {
                column: "l_discount",
                low: Some(decimal(5)?),
                high: Some(decimal(7)?),
            },
            Test {
                column: "l_quantity",
                low: None,
                high: Some(decimal(2_399)?),
            },
        ],
        columns: vec!["l_extendedprice", "l_discount"],
    });
    Ok(Table {
        name: "lineitem",
        schema,
        batches,
        cases,
    })
}

fn flights(batches: Vec<RecordBatch>) -> Result<Table> {
    const COLUMNS: [&str; 3] = ["flight", "tailnum", "distance"];
    let schema = batches.first().context("no batch")?.schema();
    let mut cases = Vec::new();
    for (column, what) in [("month", "runs"), ("arr_delay", "number with nulls")] {
        for share in SHARES {
            cases.push(lowest(&batches, column, what, share, &COLUMNS)?);
        }
    }
    for carrier in ["OO", "UA"] {
        cases.push(Case {
            name: format!("carrier = '{carrier}'"),
            tests: vec![Test::equal(
                "carrier",
                arrow_cast::cast(
                    &StringArray::from(vec![carrier]),
                    schema.field_with_name("carrier")?.data_type(),
                )?,
            )],
            columns: COLUMNS.to_vec(),
        });
    }
    Ok(Table {
        name: "flights",
        schema,
        batches,
        cases,
    })
}

/// The rows with the lowest values of a column, about so many.
fn lowest(
    batches: &[RecordBatch],
    column: &'static str,
    what: &str,
    share: f64,
    columns: &[&'static str],
) -> Result<Case> {
    let arrays = batches
        .iter()
        .map(|batch| batch.column_by_name(column).context(column));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let arrays: Vec<_> = arrays.into_iter().map(|array| array.as_ref()).collect();
    let all = arrow_select::concat::concat(&arrays)?;
    let options = arrow_ord::sort::SortOptions {
        descending: false,
        nulls_first: false,
    };
    let order: UInt32Array = arrow_ord::sort::sort_to_indices(&all, Some(options), None)?;
    let n_valid = all.len() - all.null_count();
    let at = ((all.len() as f64 * share) as usize).min(n_valid.saturating_sub(1));
    let place = order.value(at) as usize;
    Ok(Case {
        name: format!("{column} ({what}), {} %", share * 100.0),
        tests: vec![Test {
            column,
            low: None,
            high: Some(all.slice(place, 1)),
        }],
        columns: columns.to_vec(),
    })
}
