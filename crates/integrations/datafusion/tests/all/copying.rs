//! Files that the engine writes.

use arrow_array::cast::AsArray;
use tarsia::File;

use crate::data::{ROWS, create, lines, number, session, table, write};

#[tokio::test]
async fn a_query_is_copied_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (
        folder.path().join("t.tarsia"),
        folder.path().join("copy.tarsia"),
    );
    write(&path, &table(0..ROWS));
    let ctx = session(4);
    create(&ctx, "t", &path, "").await;
    let statement = format!(
        "COPY (SELECT n, id, t, s, l FROM t WHERE n IS NOT NULL ORDER BY n, id DESC) TO '{}' \
         OPTIONS ('format.preset' 'compact')",
        copy.display()
    );
    let written = number_of_rows(&ctx, &statement).await;
    let file = File::open(&copy).unwrap();
    file.verify().unwrap();
    assert_eq!(file.num_rows(), written);
    assert_eq!(
        number(&ctx, "SELECT count(*) FROM t WHERE n IS NOT NULL").await as u64,
        written
    );
    let batches = file
        .scan()
        .columns(&["n", "id"])
        .build()
        .unwrap()
        .read_all()
        .unwrap();
    let mut last = (i32::MIN, i64::MAX);
    for batch in batches {
        let n = batch
            .column(0)
            .as_primitive::<arrow_array::types::Int32Type>();
        let id = batch
            .column(1)
            .as_primitive::<arrow_array::types::Int64Type>();
        for (n, id) in n.values().iter().zip(id.values()) {
            assert!(*n > last.0 || (*n == last.0 && *id < last.1));
            last = (*n, *id);
        }
    }
    // The same by its name alone.
    let by_url = format!("SELECT count(*) FROM '{}'", copy.display());
    assert_eq!(number(&ctx, &by_url).await as u64, written);
}

async fn number_of_rows(ctx: &datafusion::prelude::SessionContext, statement: &str) -> u64 {
    let batches = ctx.sql(statement).await.unwrap().collect().await.unwrap();
    let count = batches[0]
        .column(0)
        .as_primitive::<arrow_array::types::UInt64Type>();
    count.value(0)
}

#[tokio::test]
async fn a_query_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (
        folder.path().join("t.tarsia"),
        folder.path().join("copy.tarsia"),
    );
    write(&path, &table(0..ROWS));
    std::fs::write(&copy, "an older file").unwrap();
    let ctx = session(1);
    create(&ctx, "t", &path, "").await;
    let statement = format!(
        "COPY (SELECT 1 / (id - 15000) AS k FROM t) TO '{}'",
        copy.display()
    );
    let failed = lines(&ctx, &statement).await.unwrap_err().to_string();
    assert!(failed.contains("ivide by zero"), "{failed}");
    assert_eq!(std::fs::read(&copy).unwrap(), b"an older file");
    let names = std::fs::read_dir(folder.path()).unwrap();
    assert_eq!(names.count(), 2);
}

#[tokio::test]
async fn rows_are_inserted_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (first, into) = (folder.path().join("t.tarsia"), folder.path().join("into"));
    write(&first, &table(0..ROWS));
    std::fs::create_dir(&into).unwrap();
    let ctx = session(2);
    create(&ctx, "t", &first, "").await;
    let statement = format!(
        "CREATE EXTERNAL TABLE copy (id BIGINT, n INT, t VARCHAR) STORED AS TARSIA LOCATION '{}/'",
        into.display()
    );
    ctx.sql(&statement).await.unwrap().collect().await.unwrap();
    for _ in 0..2 {
        let insert = "INSERT INTO copy SELECT id, n, t FROM t WHERE id < 500";
        ctx.sql(insert).await.unwrap().collect().await.unwrap();
    }
    assert_eq!(number(&ctx, "SELECT count(*) FROM copy").await, 1_000);
    assert_eq!(
        number(&ctx, "SELECT count(DISTINCT id) FROM copy").await,
        500
    );
    let overwrite = "INSERT OVERWRITE copy SELECT id, n, t FROM t WHERE id < 5";
    let refused = lines(&ctx, overwrite).await.unwrap_err().to_string();
    assert!(refused.contains("not written over others"), "{refused}");
}

#[tokio::test]
async fn options_that_there_are_not_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = session(1);
    let statement = format!(
        "COPY (SELECT 1 AS a) TO '{}' OPTIONS ('format.level' '9')",
        folder.path().join("a.tarsia").display()
    );
    let refused = lines(&ctx, &statement).await.unwrap_err().to_string();
    assert!(refused.contains("no option `format.level`"), "{refused}");
}
