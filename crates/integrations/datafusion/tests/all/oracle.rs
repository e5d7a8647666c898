//! Statements on Tarsia files give what they give on a table in memory.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use tarsia::ErasureLevel;
use tokio::sync::OnceCell;

use crate::data::{
    ROWS, ROWS_OF_OLD_FILE, create, erase, lines, session, small, table, write, write_with,
};

/// One on each line. Those that begin with `!` say the order of all rows.
const STATEMENTS: &str = include_str!("statements.sql");

fn statements() -> impl Iterator<Item = (bool, &'static str)> {
    STATEMENTS.lines().map(|line| match line.strip_prefix('!') {
        Some(ordered) => (true, ordered),
        None => (false, line),
    })
}

static EXPECTED: OnceCell<Vec<Vec<String>>> = OnceCell::const_new();

/// The answers of a table in memory.
async fn expected() -> Vec<Vec<String>> {
    let ctx = session(1);
    for (name, batch) in [("t", table(0..ROWS)), ("k", small())] {
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap();
        ctx.register_table(name, Arc::new(table)).unwrap();
    }
    let answers = answers(&ctx).await;
    for (answer, (_, statement)) in answers.iter().zip(statements()) {
        assert!(!answer[0].starts_with("error"), "{statement}: {answer:?}");
    }
    answers
}

async fn answers(ctx: &SessionContext) -> Vec<Vec<String>> {
    let mut answers = Vec::new();
    for (is_ordered, statement) in statements() {
        let mut answer = match lines(ctx, statement).await {
            Ok(answer) => answer,
            Err(error) => vec![format!("error: {error}")],
        };
        if !is_ordered {
            answer.sort();
        }
        answers.push(answer);
    }
    answers
}

/// Compares the answers for tables at these places with those for tables in memory.
async fn check(t: &Path, k: &Path, partitions: usize, pushdown: bool) {
    let ctx = session(partitions);
    let options = format!("OPTIONS ('format.pushdown' '{pushdown}')");
    create(&ctx, "t", t, &options).await;
    create(&ctx, "k", k, &options).await;
    compare(
        &ctx,
        &format!("{partitions} partitions, pushdown {pushdown}"),
    )
    .await;
}

/// Compares the answers for the tables `t` and `k` of a session with those for tables in memory.
pub(crate) async fn compare(ctx: &SessionContext, what: &str) {
    let found = answers(ctx).await;
    let expected = EXPECTED.get_or_init(expected).await;
    let mut wrong = Vec::new();
    for (((_, statement), expected), found) in statements().zip(expected).zip(found) {
        if found != *expected {
            let differs = |(found, expected): &(&String, &String)| found != expected;
            let line = found.iter().zip(expected).find(differs);
            wrong.push(format!("{statement}: {line:?}"));
        }
    }
    let n_wrong = wrong.len();
    wrong.truncate(20);
    assert!(
        wrong.is_empty(),
        "{what}: {n_wrong} differ\n{}",
        wrong.join("\n")
    );
}

#[test]
fn there_are_many_statements() {
    assert!(statements().count() >= 200);
}

#[tokio::test]
async fn one_file() {
    let folder = tempfile::tempdir().unwrap();
    let (t, k) = (
        folder.path().join("t.tarsia"),
        folder.path().join("k.tarsia"),
    );
    write(&t, &table(0..ROWS));
    write(&k, &small());
    for partitions in [1, 7] {
        for pushdown in [true, false] {
            check(&t, &k, partitions, pushdown).await;
        }
    }
}

/// Rows between the others were hidden, and then others erased.
#[tokio::test]
async fn a_file_with_deleted_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (t, k) = (
        folder.path().join("t.tarsia"),
        folder.path().join("k.tarsia"),
    );
    // After every third row, one that is none of the table.
    let rows = (0..ROWS).flat_map(|row| match row % 3 {
        0 => vec![row, ROWS + row],
        _ => vec![row],
    });
    let all = table(rows);
    let options = tarsia::WriteOptions::new()
        .with_erasure(ErasureLevel::Erase)
        .with_page_bytes(64 << 10);
    write_with(&t, &all, options);
    write(&k, &small());
    let ids = all
        .column(0)
        .as_primitive::<arrow_array::types::Int64Type>();
    let gone = |of: i64| {
        let ids = ids.values().iter().enumerate();
        let gone = ids.filter(move |(_, id)| **id >= ROWS && **id % 2 == of);
        gone.map(|(row, _)| row as u64).collect::<Vec<_>>()
    };
    erase(&t, gone(0), ErasureLevel::Hide);
    erase(&t, gone(1), ErasureLevel::Erase);
    check(&t, &k, 7, true).await;
    check(&t, &k, 1, false).await;
}

/// Three files: the last is older, and has fewer columns, narrower ones, and another order.
#[tokio::test]
async fn several_files() {
    let folder = tempfile::tempdir().unwrap();
    let (t, k) = (folder.path().join("t"), folder.path().join("k.tarsia"));
    std::fs::create_dir(&t).unwrap();
    write(&t.join("9.tarsia"), &older(&table(0..ROWS_OF_OLD_FILE)));
    write(&t.join("2.tarsia"), &table(ROWS_OF_OLD_FILE..7_000));
    write(&t.join("3.tarsia"), &table(7_000..ROWS));
    write(&k, &small());
    check(&t, &k, 7, true).await;
    check(&t, &k, 1, true).await;
    check(&t, &k, 7, false).await;
}

/// The table without `m`, with a narrower `n` and `dec`, in the opposite order.
fn older(batch: &RecordBatch) -> RecordBatch {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    let columns = columns.rev().filter(|(field, _)| field.name() != "m");
    let (fields, columns): (Vec<_>, Vec<_>) = columns
        .map(|(field, column)| {
            let data_type = match field.name().as_str() {
                "n" => DataType::Int16,
                "id" => DataType::Int32,
                "dec" => DataType::Decimal128(7, 2),
                "y" => DataType::Float32,
                _ => field.data_type().clone(),
            };
            let column = cast(column, &data_type).unwrap();
            let field = Field::clone(field).with_data_type(data_type);
            (field, column)
        })
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// An empty file gives no rows.
#[tokio::test]
async fn files_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    let batch = table(0..10);
    let none = filter_record_batch(&batch, &vec![false; 10].into()).unwrap();
    write(&path, &none);
    let ctx = session(7);
    create(&ctx, "t", &path, "").await;
    for statement in [
        "SELECT * FROM t",
        "SELECT id FROM t WHERE n > 5 ORDER BY id LIMIT 3",
    ] {
        let batches = ctx.sql(statement).await.unwrap().collect().await.unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
    }
    assert_eq!(crate::data::number(&ctx, "SELECT count(*) FROM t").await, 0);
}
