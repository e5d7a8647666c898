//! Tables of `tarsia-table` in the engine.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
use arrow_schema::{Field, Schema};
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::SessionContext;
use futures_util::StreamExt;
use tarsia::filter::col;
use tarsia_datafusion::{TarsiaTable, enable_tables};
use tarsia_io::{LocalStore, MemoryStore};
use tarsia_table::{AlterField, CommitInfo, Table, TableSpec};

use crate::data::{ROWS, ROWS_OF_OLD_FILE, lines, number, session, small, table};
use crate::oracle::compare;

fn info(message: &str) -> CommitInfo {
    CommitInfo::new("ada", message)
}

fn append(table: &Table, branch: &str, batch: &RecordBatch) {
    let mut txn = table.begin(branch, info("rows")).unwrap();
    txn.append(RecordBatchIterator::new(
        [Ok(batch.clone())],
        batch.schema(),
    ))
    .unwrap();
    txn.commit().unwrap();
}

fn made(batch: &RecordBatch, partition_by: &[&str]) -> Table {
    let spec = TableSpec::new(batch.schema()).partition_by(partition_by.iter().copied());
    Table::create(Arc::new(MemoryStore::new()), &spec, &info("made")).unwrap()
}

/// The batch with other columns: name, and what it becomes.
fn with(
    batch: &RecordBatch,
    name: &str,
    new: &str,
    change: impl Fn(&ArrayRef) -> ArrayRef,
) -> RecordBatch {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| match field.name() == name {
        true => (Field::clone(field).with_name(new), change(column)),
        false => (Field::clone(field), Arc::clone(column)),
    });
    let (fields, columns): (Vec<_>, Vec<_>) = columns.unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// Numbers of which each bit is the other one: twice, and they are what they were.
fn inverted(numbers: &ArrayRef) -> ArrayRef {
    let numbers = numbers.as_primitive::<Int32Type>();
    Arc::new(numbers.unary::<_, Int32Type>(|number| !number)) as ArrayRef
}

/// The rows of the oracle, after a history: several files and partitions, deleted rows, a column that was renamed, one
/// that was added, and values that were wrong in some rows and in all.
fn with_a_history() -> Table {
    let wrong = |batch: &RecordBatch| {
        let batch = with(batch, "id", "id", |ids| {
            let ids = ids.as_primitive::<Int64Type>().values().iter();
            // Two are wrong: one at the end, one in the middle.
            let ids = ids.map(|id| {
                if [600, ROWS - 1].contains(id) {
                    id + 5_000_000
                } else {
                    *id
                }
            });
            Arc::new(ids.collect::<Int64Array>())
        });
        let batch = with(&batch, "n", "n", inverted);
        with(&batch, "y", "was_y", Arc::clone)
    };
    let all = table(0..ROWS);
    let m = all.schema_ref().index_of("m").unwrap();
    let without = |batch: &RecordBatch| {
        let places = (0..batch.num_columns())
            .filter(|it| *it != m)
            .collect::<Vec<_>>();
        batch.project(&places).unwrap()
    };
    let old = wrong(&without(&table(0..ROWS_OF_OLD_FILE)));
    let table_of = made(&old, &["c"]);
    append(&table_of, "main", &old);

    let mut txn = table_of.begin("main", info("columns")).unwrap();
    let field = Field::clone(all.schema_ref().field(m)).with_nullable(true);
    let place = u32::try_from(m).unwrap();
    txn.alter(&[
        AlterField::add(field),
        AlterField::move_to("m", Some(place)),
        AlterField::rename("was_y", "y"),
    ])
    .unwrap();
    txn.commit().unwrap();

    // After every third row, one that is none of the table.
    let rows = (ROWS_OF_OLD_FILE..ROWS).flat_map(|row| match row % 3 {
        0 => vec![row, ROWS + row],
        _ => vec![row],
    });
    let new = with(&wrong(&table(rows)), "was_y", "y", Arc::clone);
    append(&table_of, "main", &new);
    let mut txn = table_of.begin("main", info("deleted")).unwrap();
    let gone = col("id").gt_eq(ROWS).and(col("id").lt(5_000_000));
    assert!(txn.delete_where(&gone).unwrap() > 6_000);
    txn.commit().unwrap();

    let mut txn = table_of.begin("main", info("all")).unwrap();
    let right = txn.update_column("n", &["n"], |batch| Ok(inverted(batch.column(0))));
    assert_eq!(right.unwrap(), ROWS as u64);
    txn.commit().unwrap();

    for id in [600, ROWS - 1] {
        let mut txn = table_of.begin("main", info("some")).unwrap();
        let set = [("id", id.into())];
        assert_eq!(
            txn.update_where(&col("id").eq(id + 5_000_000), &set)
                .unwrap(),
            1
        );
        txn.commit().unwrap();
    }
    table_of
}

fn registered(partitions: usize, t: &Table, k: &Table, state: &str) -> SessionContext {
    let ctx = session(partitions);
    for (name, table, state) in [("t", t, state), ("k", k, "main")] {
        let provider = TarsiaTable::new(table, state).unwrap();
        ctx.register_table(name, Arc::new(provider)).unwrap();
    }
    ctx
}

#[tokio::test]
async fn a_table_with_a_history_answers_as_one_in_memory() {
    let t = with_a_history();
    let k = made(&small(), &[]);
    append(&k, "main", &small());
    compare(&registered(1, &t, &k, "main"), "1 partition").await;
    t.tag("right", "main", &info("")).unwrap();
    t.create_branch("exp", "main", &info("")).unwrap();
    let mut txn = t.begin("main", info("nothing left")).unwrap();
    txn.delete_where(&col("id").gt_eq(10)).unwrap();
    txn.commit().unwrap();
    compare(&registered(7, &t, &k, "exp"), "a branch").await;
    let tagged = registered(3, &t, &k, "tag:right");
    assert_eq!(number(&tagged, "SELECT count(*) FROM t").await, ROWS);
    let main = registered(3, &t, &k, "main");
    assert_eq!(number(&main, "SELECT count(*) FROM t").await, 10);
}

fn numbers(rows: std::ops::Range<i64>) -> RecordBatch {
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone()));
    let p: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.map(|it| it % 4)));
    RecordBatch::try_from_iter([("a", a), ("p", p)]).unwrap()
}

fn session_of(table: &Table) -> SessionContext {
    let ctx = session(2);
    let provider = TarsiaTable::new(table, "main").unwrap();
    ctx.register_table("t", Arc::new(provider)).unwrap();
    ctx
}

async fn shown(ctx: &SessionContext, statement: &str) -> String {
    let plan = ctx.sql(statement).await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    displayable(plan.as_ref()).indent(false).to_string()
}

#[tokio::test]
async fn plans_name_the_table_and_the_tasks_that_are_left() {
    let table = made(&numbers(0..0), &["p"]);
    append(&table, "main", &numbers(0..4_000));
    let ctx = session_of(&table);
    let text = shown(
        &ctx,
        "SELECT a FROM t WHERE p = 1 AND a > 5 AND abs(a) < 90",
    )
    .await;
    let commit = table.at("main").unwrap().id().to_string();
    let tasks = format!("commit={}, tasks=1, tasks_pruned=3", &commit[..12]);
    assert!(text.contains(&tasks), "{text}");
    assert!(!text.contains("FilterExec"), "{text}");
    let text = shown(&ctx, "SELECT count(*) FROM t").await;
    assert!(!text.contains("DataSourceExec: file_groups"), "{text}");
    let text = shown(&ctx, "SELECT a FROM t WHERE random() < 0.5").await;
    assert!(text.contains("FilterExec"), "{text}");
    let few = lines(&ctx, "SELECT a FROM t WHERE p = 1 LIMIT 7")
        .await
        .unwrap();
    assert_eq!(
        few.iter()
            .filter(|it| it.chars().any(char::is_numeric))
            .count(),
        7
    );
    let none = "SELECT count(*) FROM t WHERE p = 9";
    assert_eq!(number(&ctx, none).await, 0);
}

#[tokio::test]
async fn a_query_sees_its_state_while_others_commit() {
    let table = made(&numbers(0..0), &[]);
    append(&table, "main", &numbers(0..200_000));
    let ctx = session_of(&table);
    let mut rows = ctx.sql("SELECT a FROM t").await.unwrap();
    rows = rows
        .filter(datafusion::prelude::col("a").gt_eq(datafusion::prelude::lit(0)))
        .unwrap();
    let mut stream = rows.execute_stream().await.unwrap();
    let mut n_rows = stream.next().await.unwrap().unwrap().num_rows();
    let mut txn = table.begin("main", info("gone")).unwrap();
    txn.delete_where(&col("a").gt_eq(5)).unwrap();
    txn.commit().unwrap();
    while let Some(batch) = stream.next().await {
        n_rows += batch.unwrap().num_rows();
    }
    assert_eq!(n_rows, 200_000);
    assert_eq!(number(&ctx, "SELECT count(*) FROM t").await, 200_000);
    assert_eq!(
        number(&session_of(&table), "SELECT count(*) FROM t").await,
        5
    );
}

#[tokio::test]
async fn inserts_are_one_commit_or_none() {
    let table = made(&numbers(0..0), &["p"]);
    let ctx = session_of(&table);
    let n_commits = || table.log("main").unwrap().len();
    let insert = "INSERT INTO t SELECT value, value % 4 FROM generate_series(1, 50000)";
    assert!(
        lines(&ctx, insert)
            .await
            .unwrap()
            .concat()
            .contains("50000")
    );
    assert_eq!(n_commits(), 2);
    let now = session_of(&table);
    assert_eq!(
        number(&now, "SELECT sum(a) FROM t").await,
        50_000 * 50_001 / 2
    );

    let fails = "INSERT INTO t SELECT value, 100 / (value - 40000) FROM generate_series(1, 50000)";
    lines(&ctx, fails).await.unwrap_err();
    let null = "INSERT INTO t SELECT value, CASE WHEN value < 900 THEN value END FROM generate_series(1, 1000)";
    let error = lines(&ctx, null).await.unwrap_err().to_string();
    assert!(error.contains("column `p` takes no nulls"), "{error}");
    assert_eq!(n_commits(), 2);
    lines(
        &ctx,
        "INSERT INTO t SELECT value, 1 FROM generate_series(1, 0)",
    )
    .await
    .unwrap();
    assert_eq!(n_commits(), 2);

    // A query that is given up while rows are written.
    let plan = ctx
        .sql("INSERT INTO t SELECT value, 1 FROM generate_series(1, 100000000)")
        .await
        .unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    assert_eq!(plan.output_partitioning().partition_count(), 1);
    let running = collect(plan, ctx.task_ctx());
    let waited = tokio::time::timeout(std::time::Duration::from_millis(100), running).await;
    assert!(waited.is_err());
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(n_commits(), 2);

    let provider = TarsiaTable::new(&table, "main~1").unwrap();
    ctx.register_table("old", Arc::new(provider)).unwrap();
    let error = lines(&ctx, "INSERT INTO old VALUES (1, 1)")
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("`main~1` is none"), "{error}");
}

#[tokio::test]
async fn places_and_states_are_found_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ads");
    let store = Arc::new(LocalStore::create(&path).unwrap());
    let spec = TableSpec::new(numbers(0..0).schema());
    let table = Table::create(store, &spec, &info("made")).unwrap();
    append(&table, "main", &numbers(0..10));
    table.create_branch("exp", "main", &info("")).unwrap();
    append(&table, "exp", &numbers(10..30));
    let first = table.at("main~1").unwrap().id().to_string();
    let plain = SessionContext::new();
    tarsia_datafusion::register(&plain).unwrap();
    let ctx = enable_tables(plain, info("INSERT INTO"));
    let path = path.display().to_string();
    for (from, rows) in [
        (format!("'{path}'"), 10),
        (format!("'{path}/'"), 10),
        (format!("'{path}#exp'"), 30),
        (format!("tarsia_table('{path}')"), 10),
        (format!("tarsia_table('{path}', 'exp')"), 30),
        (format!("tarsia_table('{path}', 'main~1')"), 0),
        (format!("tarsia_table('{path}', '{first}')"), 0),
        (
            format!("tarsia_table('{path}', 'exp@2100-01-01T00:00:00Z')"),
            30,
        ),
    ] {
        let count = format!("SELECT count(*) FROM {from}");
        assert_eq!(number(&ctx, &count).await, rows, "{from}");
    }
    let insert = format!("INSERT INTO '{path}#exp' VALUES (7, 7)");
    assert!(
        lines(&ctx, &insert)
            .await
            .unwrap()
            .concat()
            .contains("| 1 ")
    );
    assert_eq!(
        number(&ctx, &format!("SELECT count(*) FROM '{path}#exp'")).await,
        31
    );
    let fields = lines(&ctx, &format!("DESCRIBE '{path}'")).await.unwrap();
    assert!(
        fields.iter().any(|line| line.contains("Int64")),
        "{fields:?}"
    );

    let other = folder.path().display();
    let gone = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    for (statement, says) in [
        (
            format!("SELECT * FROM tarsia_table('{path}', 'nobody')"),
            "no branch `nobody`",
        ),
        (
            format!("SELECT * FROM '{path}#nobody'"),
            "no branch `nobody`",
        ),
        (
            format!("SELECT * FROM tarsia_table('{path}', 'tag:v1')"),
            "no tag `v1`",
        ),
        (
            format!("SELECT * FROM tarsia_table('{path}', '{gone}')"),
            "no commit",
        ),
        (
            format!("SELECT * FROM tarsia_table('{path}', 'main@2020-01-01')"),
            "did not exist",
        ),
        (
            format!("SELECT * FROM tarsia_table('{other}')"),
            "there is no table",
        ),
        (
            "SELECT * FROM tarsia_table(7)".to_owned(),
            "takes a folder or a URL",
        ),
        (
            format!("CREATE EXTERNAL TABLE x STORED AS TARSIA LOCATION '{path}/'"),
            "is a table",
        ),
        (
            format!("INSERT INTO '{path}#main~1' VALUES (1, 1)"),
            "`main~1` is none",
        ),
    ] {
        let error = lines(&ctx, &statement).await.unwrap_err().to_string();
        assert!(error.contains(says), "{statement}: {error}");
    }
    // The commit of a state is deleted.
    let digest = &first[..2];
    std::fs::remove_file(format!("{path}/meta/c/{digest}/{first}")).unwrap();
    let error = lines(
        &ctx,
        &format!("SELECT * FROM tarsia_table('{path}', 'main~1')"),
    )
    .await;
    assert!(error.unwrap_err().to_string().contains(&first[..12]));
}
