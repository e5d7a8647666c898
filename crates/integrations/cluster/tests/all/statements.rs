//! Statements over files and tables.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use datafusion::prelude::SessionContext;
use tarsia::io::OnBusy;
use tarsia::{Eraser, ErasureLevel, OpenOptions, RowSet, WriteOptions, Writer};
use tarsia_io::LocalStore;
use tarsia_table::{CommitInfo, Table, TableSpec};

use crate::cluster::Cluster;
use crate::tpch::{alone, lines};

const ROWS: i64 = 100_000;

fn rows(first: i64, n: i64) -> RecordBatch {
    let ids = first..first + n;
    let names = ids.clone().map(|id| format!("name {}", id * 7919 % 101));
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        (
            "n",
            Arc::new(Int64Array::from_iter_values(ids.map(|id| id * 7919 % 1000))),
        ),
        ("name", Arc::new(StringArray::from_iter_values(names))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn write(path: &Path, batch: &RecordBatch) {
    let options = WriteOptions::new().with_page_bytes(64 << 10);
    let mut writer = Writer::create(path, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

async fn run(ctx: &SessionContext, statement: &str) -> Vec<String> {
    match lines(ctx, statement).await {
        Ok(found) => found,
        Err(error) => panic!("{statement}: {error}"),
    }
}

/// The only number of an answer.
async fn number(ctx: &SessionContext, statement: &str) -> i64 {
    let found = run(ctx, statement).await;
    found[3].trim_matches(['|', ' ']).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_tables() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().display().to_string();
    let file = folder.path().join("one.tarsia");
    write(&file, &rows(0, ROWS));
    let cluster = Cluster::new(2);
    let there = cluster.client().unwrap();
    let here = {
        let ctx = alone(3);
        ctx.enable_url_table()
    };

    // Several tasks share a file, and no row comes twice.
    let file = file.display();
    for statement in [
        format!("SELECT count(*) AS n FROM '{file}'"),
        format!("SELECT count(*) AS n, sum(id) AS s FROM '{file}' WHERE name = 'name 7' OR n < 5"),
        format!(
            "SELECT name, count(*) AS n, max(id) AS m FROM '{file}' GROUP BY name ORDER BY name"
        ),
        // Two scans of one file with different conditions.
        format!(
            "SELECT a.id, b.name FROM '{file}' a JOIN '{file}' b ON a.id = b.n \
             WHERE a.id < 3 AND b.id >= {} ORDER BY a.id, b.name",
            ROWS - 2000
        ),
        format!("SELECT id FROM '{file}' ORDER BY n DESC, id LIMIT 5"),
        format!("SELECT 1 AS one WHERE EXISTS (SELECT * FROM '{file}' WHERE id = 77)"),
    ] {
        assert_eq!(
            run(&there, &statement).await,
            run(&here, &statement).await,
            "{statement}"
        );
    }
    assert_eq!(run(&there, "SELECT 1 + 1 AS two").await[3], "| 2   |");

    // Rows that are deleted, and rows that are erased.
    for (rows, level) in [
        (10..20_u64, ErasureLevel::Hide),
        (0..5_000, ErasureLevel::Hide),
    ] {
        let rows: RowSet = rows.collect();
        let path = folder.path().join("one.tarsia");
        let eraser = Eraser::open(path, OnBusy::Refuse, OpenOptions::new()).unwrap();
        let plan = eraser.plan(&rows, level).unwrap();
        eraser.commit(plan).unwrap();
    }
    let count = format!("SELECT count(*) AS n FROM '{file}'");
    assert_eq!(number(&there, &count).await, ROWS - 5_000);
    let least = format!("SELECT min(id) AS n FROM '{file}'");
    assert_eq!(number(&there, &least).await, 5_000);

    // The client writes what the cluster finds.
    let copy = format!("COPY (SELECT id, n FROM '{file}' WHERE n = 3) TO '{place}/few.tarsia'");
    let n_few = number(&there, &copy).await;
    assert!(n_few > 50, "{n_few}");
    let few = format!("SELECT count(*) AS n FROM '{place}/few.tarsia' WHERE n = 3");
    assert_eq!(number(&there, &few).await, n_few);

    // Parquet files, too.
    let copy = format!("COPY (SELECT id FROM '{place}/few.tarsia') TO '{place}/few.parquet'");
    alone_with_files(&copy).await;
    let mixed = format!(
        "SELECT count(*) AS n FROM '{place}/few.parquet' p JOIN '{place}/few.tarsia' t ON p.id = t.id"
    );
    assert_eq!(number(&there, &mixed).await, n_few);

    let wrong = there.sql(&format!("SELECT nothing FROM '{file}'")).await;
    assert!(wrong.unwrap_err().to_string().contains("nothing"));
}

async fn alone_with_files(statement: &str) {
    let ctx = alone(1).enable_url_table();
    run(&ctx, statement).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn states_of_tables() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ads");
    let info = CommitInfo::new("ada", "rows");
    let store = Arc::new(LocalStore::create(&place).unwrap());
    let spec = TableSpec::new(rows(0, 1).schema());
    let table = Table::create(store, &spec, &info).unwrap();
    for part in 0..5 {
        let batch = rows(part * 1000, 1000);
        let mut txn = table.begin("main", info.clone()).unwrap();
        let schema = batch.schema();
        txn.append(RecordBatchIterator::new([Ok(batch)], schema))
            .unwrap();
        txn.commit().unwrap();
    }
    let cluster = Cluster::new(2);
    let ctx = cluster.client().unwrap();
    let place = place.display();
    let count = format!("SELECT count(*) AS n FROM '{place}'");
    assert_eq!(number(&ctx, &count).await, 5000);
    let before = format!("SELECT sum(id) AS n FROM '{place}#main~2' WHERE n > 500");
    let expected = (0..3000).filter(|id| id * 7919 % 1000 > 500).sum::<i64>();
    assert_eq!(number(&ctx, &before).await, expected);

    // One commit, made by the client, of rows that the cluster finds.
    let n_commits = table.log("main").unwrap().len();
    let insert =
        format!("INSERT INTO '{place}' SELECT id + 5000, n, name FROM '{place}' WHERE id < 10");
    assert_eq!(number(&ctx, &insert).await, 10);
    assert_eq!(table.log("main").unwrap().len(), n_commits + 1);
    assert_eq!(number(&ctx, &count).await, 5010);
    let last = format!("SELECT max(id) AS n FROM '{place}'");
    assert_eq!(number(&ctx, &last).await, 5009);
}
