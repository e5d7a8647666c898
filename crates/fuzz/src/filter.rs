//! Conditions on rows as text: any characters, and words of conditions in any order. What is read is written, read
//! again and evaluated.

use std::sync::{Arc, OnceLock};

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float64Array, Int32Array, RecordBatch,
    StringArray, TimestampMicrosecondArray, UInt8Array,
};
use tarsia_filter::Expr;
use tarsia_testkit::fuzzing::accepted;

/// Words of conditions. Names are those of [`table`].
const WORDS: &[&str] = &[
    "n",
    "u",
    "f",
    "t",
    "b",
    "d",
    "z",
    "flag",
    "\"x y\"",
    ".",
    "0",
    "-1",
    "3.5",
    "300",
    "1e39",
    "''",
    "'a%'",
    "'_\\%'",
    "X'00ff'",
    "'2026-01-31'",
    "'1970-01-01T00:00:00Z'",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "(",
    ")",
    ",",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "IS",
    "NULL",
    "LIKE",
    "ESCAPE",
    "'!'",
    "TRUE",
    "FALSE",
    "DATE",
    "case",
    "interval",
    "::",
    "+",
    "\n",
];

/// Reads a condition: the bytes as text, or, after a byte below 128, as numbers of words.
///
/// # Panics
/// If a condition that was read is not written as the same condition, or is evaluated for another number of rows.
pub fn text(bytes: &[u8]) {
    let text = match bytes.split_first() {
        Some((0..128, words)) => {
            let words = words.iter().map(|it| WORDS[usize::from(*it) % WORDS.len()]);
            words.collect::<Vec<_>>().join(" ")
        }
        Some((_, rest)) => String::from_utf8_lossy(rest).into_owned(),
        None => return,
    };
    let Ok(expr) = text.parse::<Expr>() else {
        return;
    };
    accepted();
    let again = expr.to_string().parse::<Expr>();
    assert_eq!(again.as_ref(), Ok(&expr), "{text}: {expr}");
    let table = table();
    let bound = [
        expr.bind(&table.schema()),
        expr.bind_strict(&table.schema()),
    ];
    for filter in bound.into_iter().flatten() {
        let rows = filter.matches(table).expect("the schema that was bound");
        assert_eq!(rows.len(), table.num_rows(), "{expr}");
    }
}

/// A table with columns of many types.
fn table() -> &'static RecordBatch {
    static TABLE: OnceLock<RecordBatch> = OnceLock::new();
    TABLE.get_or_init(|| {
        let instants = TimestampMicrosecondArray::from(vec![Some(0), None, Some(1)]);
        let columns: [(&str, ArrayRef); 8] = [
            (
                "n",
                Arc::new(Int32Array::from(vec![Some(-1), None, Some(300)])),
            ),
            ("u", Arc::new(UInt8Array::from(vec![0, 3, 255]))),
            ("f", Arc::new(Float64Array::from(vec![-0.0, f64::NAN, 3.5]))),
            (
                "t",
                Arc::new(StringArray::from(vec![Some(""), None, Some("a%")])),
            ),
            (
                "b",
                Arc::new(BinaryArray::from(vec![&b"\0\xff"[..], b"", b"a"])),
            ),
            ("d", Arc::new(Date32Array::from(vec![0, 20_484, -1]))),
            ("z", Arc::new(instants.with_timezone("UTC"))),
            (
                "flag",
                Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            ),
        ];
        let columns = columns.into_iter().map(|(name, array)| (name, array, true));
        RecordBatch::try_from_iter_with_nullable(columns).expect("a table")
    })
}
