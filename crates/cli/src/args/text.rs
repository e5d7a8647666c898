//! Options of commands that read CSV and JSON lines.

use std::str::FromStr;

use clap::Args;
use tarsia_convert::source::{Options, Types};

use super::of_columns::{ColumnType, parse_column_type};
use crate::failure::Failure;

/// The options of commands that read CSV and JSON lines.
#[derive(Debug, Clone, Default, Args)]
pub struct TextOptions {
    /// The type of a column of CSV or JSON lines, instead of what its first rows suggest: zip=utf8, user.id=uint64 (a
    /// field of objects; a list is named as its items). bool, int8 to int64, uint8 to uint64, float32, float64,
    /// decimal(PRECISION,SCALE), date32, utf8, timestamp-s, timestamp-ms, timestamp-us, timestamp-ns, the same with
    /// -utc where values have an offset; may be given for several columns
    #[arg(long = "types", value_name = "COLUMN=TYPE", value_parser = parse_column_type)]
    pub columns: Vec<ColumnType>,
    /// How many rows of CSV or JSON lines say the columns and types, from the first on; all reads the file twice, and
    /// then no later row can have a value or a key that does not fit; unless given 10000
    #[arg(long, value_name = "ROWS|all")]
    pub infer_rows: Option<InferRows>,
    /// The first line of CSV is a row; the columns are column_0, column_1 and so on
    #[arg(long)]
    pub no_header: bool,
}

/// How many rows say the types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InferRows(pub u64);

impl FromStr for InferRows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(InferRows(u64::MAX)),
            _ => match text.parse() {
                Ok(rows) if rows > 0 => Ok(InferRows(rows)),
                _ => Err("a number of rows, from 1 on, or all".to_owned()),
            },
        }
    }
}

impl TextOptions {
    /// As a source takes them.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a column that is named twice.
    pub fn options(&self) -> Result<Options, Failure> {
        let columns = self.columns.iter();
        let types = Types::new(columns.map(|asked| (asked.column.as_str(), &asked.data_type)))?;
        let usual = Options::default();
        Ok(Options {
            types,
            inference_rows: self.infer_rows.map_or(usual.inference_rows, |rows| rows.0),
            header: !self.no_header,
        })
    }
}
