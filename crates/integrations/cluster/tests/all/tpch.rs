//! The 22 queries of TPC-H, on one machine and in a cluster that loses an executor.

use std::path::Path;
use std::time::Duration;

use arrow_array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use tarsia::{WriteOptions, Writer};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use crate::cluster::Cluster;

const QUERIES: &str = include_str!("../../../datafusion/tests/all/tpch.sql");
const SCALE_FACTOR: f64 = 0.01;
const TABLES: [&str; 8] = [
    "customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier",
];

fn write(folder: &Path, name: &str, batches: impl Iterator<Item = RecordBatch>) {
    let mut batches = batches.peekable();
    let schema = batches.peek().unwrap().schema();
    let path = folder.join(format!("{name}.tarsia"));
    // Pages are small, so that tasks begin at different ones.
    let options = WriteOptions::new().with_page_bytes(64 << 10);
    let mut writer = Writer::create(path, schema, options).unwrap();
    batches.for_each(|batch| writer.write(&batch).unwrap());
    writer.finish().unwrap();
}

pub(crate) fn write_tables(folder: &Path) {
    let sf = SCALE_FACTOR;
    write(
        folder,
        "customer",
        CustomerArrow::new(CustomerGenerator::new(sf, 1, 1)),
    );
    write(
        folder,
        "lineitem",
        LineItemArrow::new(LineItemGenerator::new(sf, 1, 1)),
    );
    write(
        folder,
        "nation",
        NationArrow::new(NationGenerator::new(sf, 1, 1)),
    );
    write(
        folder,
        "orders",
        OrderArrow::new(OrderGenerator::new(sf, 1, 1)),
    );
    write(folder, "part", PartArrow::new(PartGenerator::new(sf, 1, 1)));
    write(
        folder,
        "partsupp",
        PartSuppArrow::new(PartSuppGenerator::new(sf, 1, 1)),
    );
    write(
        folder,
        "region",
        RegionArrow::new(RegionGenerator::new(sf, 1, 1)),
    );
    write(
        folder,
        "supplier",
        SupplierArrow::new(SupplierGenerator::new(sf, 1, 1)),
    );
}

/// The session in which each file of the folder is a table.
pub(crate) async fn with_tables(ctx: SessionContext, folder: &Path) -> SessionContext {
    for name in TABLES {
        let path = folder.join(format!("{name}.tarsia"));
        let path = path.display();
        let made = format!("CREATE EXTERNAL TABLE {name} STORED AS TARSIA LOCATION '{path}'");
        ctx.sql(&made).await.unwrap().collect().await.unwrap();
    }
    ctx
}

/// One machine, with so many partitions.
pub(crate) fn alone(n_partitions: usize) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(n_partitions);
    let ctx = SessionContext::new_with_config(config);
    tarsia_datafusion::register(&ctx).unwrap();
    ctx
}

pub(crate) async fn lines(ctx: &SessionContext, statement: &str) -> Result<Vec<String>> {
    let batches = ctx.sql(statement).await?.collect().await?;
    let batches: Vec<_> = batches
        .into_iter()
        .filter(|batch| batch.num_rows() > 0)
        .collect();
    let text = pretty_format_batches(&batches)?.to_string();
    Ok(text.lines().map(str::to_owned).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn all_queries_and_the_death_of_an_executor() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let mut cluster = Cluster::new(2);
    let there = with_tables(cluster.client().unwrap(), folder.path()).await;
    let here = with_tables(alone(2), folder.path()).await;
    let queries: Vec<&str> = QUERIES.split(';').map(str::trim).collect();
    let queries = queries.into_iter().filter(|query| !query.is_empty());
    let mut n_queries = 0;
    for (number, query) in queries.enumerate() {
        let expected = lines(&here, query).await.unwrap();
        match lines(&there, query).await {
            Ok(found) => assert_eq!(found, expected, "query {}", number + 1),
            Err(error) => panic!("query {}: {error}", number + 1),
        }
        n_queries += 1;
    }
    assert_eq!(n_queries, 22);

    // Long enough for an executor to die in the middle.
    let long = "SELECT count(*), sum(a.l_quantity * b.l_extendedprice) FROM lineitem a \
        JOIN lineitem b ON a.l_suppkey = b.l_suppkey AND a.l_linenumber <= b.l_linenumber";
    let expected = lines(&here, long).await.unwrap();
    let found = tokio::spawn(async move { lines(&there, long).await });
    tokio::time::sleep(Duration::from_millis(700)).await;
    let was_running = !found.is_finished();
    cluster.kill_executor();
    assert_eq!(found.await.unwrap().unwrap(), expected);
    assert!(was_running, "the statement was too short");
}
