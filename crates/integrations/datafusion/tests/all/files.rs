//! Files that change, that are damaged, and that lie in stores.

use std::sync::Arc;

use datafusion::physical_plan::collect;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use tarsia::ErasureLevel;
use url::Url;

use crate::data::{ROWS, create, erase, lines, number, session, table, write, write_with};

#[tokio::test]
async fn a_file_that_is_replaced_after_planning_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    write(&path, &table(0..1_000));
    let ctx = session(1);
    create(&ctx, "t", &path, "").await;
    let statement = "SELECT id FROM t WHERE n > 0";
    let plan = ctx.sql(statement).await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    // Another file of the same rows, so that its time alone tells.
    std::thread::sleep(std::time::Duration::from_millis(20));
    write(&path, &table(0..1_000));
    let error = collect(plan, ctx.task_ctx()).await.unwrap_err().to_string();
    assert!(error.contains("t.tarsia was changed since"), "{error}");
    // Another plan sees the new file.
    assert!(
        !ctx.sql(statement)
            .await
            .unwrap()
            .collect()
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn statistics_follow_a_file_that_rows_are_erased_from() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    let options = tarsia::WriteOptions::new().with_erasure(ErasureLevel::Erase);
    write_with(&path, &table(0..1_000), options);
    let ctx = session(1);
    create(&ctx, "t", &path, "").await;
    assert_eq!(number(&ctx, "SELECT max(id) FROM t").await, 999);
    std::thread::sleep(std::time::Duration::from_millis(20));
    erase(&path, [999], ErasureLevel::Hide);
    assert_eq!(number(&ctx, "SELECT count(*) FROM t").await, 999);
    assert_eq!(number(&ctx, "SELECT max(id) FROM t").await, 998);
    std::thread::sleep(std::time::Duration::from_millis(20));
    erase(&path, [998], ErasureLevel::Erase);
    assert_eq!(number(&ctx, "SELECT count(*) FROM t").await, 998);
    assert_eq!(number(&ctx, "SELECT max(id) FROM t").await, 997);
}

#[tokio::test]
async fn damaged_files_are_errors_with_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = session(1);
    let text = folder.path().join("text.tarsia");
    std::fs::write(&text, "no file of this format").unwrap();
    let error = lines(&ctx, &format!("SELECT * FROM '{}'", text.display())).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("text.tarsia"), "{error}");

    let path = folder.path().join("t.tarsia");
    write(&path, &table(0..ROWS));
    let mut bytes = std::fs::read(&path).unwrap();
    // Blocks lie behind the header.
    for byte in bytes.iter_mut().skip(4_096).take(40_000) {
        *byte ^= 0x55;
    }
    std::fs::write(&path, bytes).unwrap();
    let error = lines(&ctx, &format!("SELECT * FROM '{}'", path.display())).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("t.tarsia"), "{error}");
}

#[tokio::test]
async fn files_in_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    write(&path, &table(0..ROWS));
    let store = Arc::new(InMemory::new());
    let key = Path::from("tables/t.tarsia");
    let bytes = std::fs::read(&path).unwrap();
    store.put(&key, bytes.into()).await.unwrap();
    let ctx = session(3);
    let url = Url::parse("memory://bucket").unwrap();
    ctx.register_object_store(&url, Arc::clone(&store) as Arc<dyn ObjectStore>);
    let statement = "CREATE EXTERNAL TABLE t STORED AS TARSIA LOCATION 'memory://bucket/tables/'";
    ctx.sql(statement).await.unwrap().collect().await.unwrap();
    let passing = number(
        &ctx,
        "SELECT count(*) FROM t WHERE n > 5 AND t LIKE 'name 1%'",
    )
    .await;
    let local = session(1);
    create(&local, "t", &path, "").await;
    let expected = number(
        &local,
        "SELECT count(*) FROM t WHERE n > 5 AND t LIKE 'name 1%'",
    )
    .await;
    assert_eq!(passing, expected);

    let copy =
        "COPY (SELECT id, t FROM t WHERE n > 5) TO 'memory://bucket/copy.tarsia' STORED AS TARSIA";
    ctx.sql(copy).await.unwrap().collect().await.unwrap();
    let statement =
        "CREATE EXTERNAL TABLE c STORED AS TARSIA LOCATION 'memory://bucket/copy.tarsia'";
    ctx.sql(statement).await.unwrap().collect().await.unwrap();
    assert_eq!(
        number(&ctx, "SELECT count(*) FROM c").await,
        number(&ctx, "SELECT count(*) FROM t WHERE n > 5").await
    );

    // An object that is replaced between planning and reading.
    let plan = ctx.sql("SELECT id FROM t WHERE n > 5").await.unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let shorter = folder.path().join("shorter.tarsia");
    write(&shorter, &table(0..1_000));
    let bytes = std::fs::read(&shorter).unwrap();
    store.put(&key, bytes.into()).await.unwrap();
    let error = collect(plan, ctx.task_ctx()).await.unwrap_err().to_string();
    assert!(error.contains("changed"), "{error}");
}

#[tokio::test]
async fn partition_columns_come_from_folders() {
    let folder = tempfile::tempdir().unwrap();
    for year in [2023, 2024] {
        let of_year = folder.path().join(format!("year={year}"));
        std::fs::create_dir(&of_year).unwrap();
        write(&of_year.join("t.tarsia"), &table(0..i64::from(year) / 2));
    }
    let ctx = session(2);
    let statement = format!(
        "CREATE EXTERNAL TABLE t STORED AS TARSIA PARTITIONED BY (year) LOCATION '{}/'",
        folder.path().display()
    );
    ctx.sql(&statement).await.unwrap().collect().await.unwrap();
    assert_eq!(
        number(&ctx, "SELECT count(*) FROM t WHERE year = '2023'").await,
        1_011
    );
    let both = "SELECT count(*) FROM t WHERE id > 1005 AND (year = '2024' OR n < 0)";
    let alone = "SELECT count(*) FROM t WHERE id > 1005 AND year = '2024'";
    let other = "SELECT count(*) FROM t WHERE id > 1005 AND year <> '2024' AND n < 0";
    assert_eq!(
        number(&ctx, both).await,
        number(&ctx, alone).await + number(&ctx, other).await
    );
    let years = lines(&ctx, "SELECT year, count(*), max(id) FROM t GROUP BY year")
        .await
        .unwrap();
    assert!(
        years
            .iter()
            .any(|line| line.contains("2024 | 1012     | 1011")),
        "{years:?}"
    );
}

#[tokio::test]
async fn a_stream_that_is_dropped_ends_its_scan() {
    use futures_util::StreamExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.tarsia");
    write(&path, &table(0..ROWS));
    let ctx = session(2);
    create(&ctx, "t", &path, "").await;
    let mut stream = ctx
        .sql("SELECT * FROM t")
        .await
        .unwrap()
        .execute_stream()
        .await
        .unwrap();
    assert!(stream.next().await.unwrap().unwrap().num_rows() > 0);
    drop(stream);
    // Readers are gone soon, so that rows can be erased.
    let plan = || {
        use tarsia::io::OnBusy;
        tarsia::Eraser::open(&path, OnBusy::Refuse, tarsia::OpenOptions::new()).map(drop)
    };
    let mut tries = 0;
    while let Err(error) = plan() {
        tries += 1;
        assert!(tries < 500, "{error}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
