//! The 22 queries of TPC-H give the same on Tarsia files as in memory.

use std::sync::Arc;

use arrow_array::RecordBatch;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use crate::data::{create, lines, session, write};

const QUERIES: &str = include_str!("tpch.sql");
const SCALE_FACTOR: f64 = 0.01;

fn queries() -> Vec<&'static str> {
    let queries = QUERIES.split(';').map(str::trim);
    queries.filter(|query| !query.is_empty()).collect()
}

fn one(batches: impl Iterator<Item = RecordBatch>) -> RecordBatch {
    let batches: Vec<RecordBatch> = batches.collect();
    datafusion::arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn tables() -> [(&'static str, RecordBatch); 8] {
    let sf = SCALE_FACTOR;
    [
        (
            "customer",
            one(CustomerArrow::new(CustomerGenerator::new(sf, 1, 1))),
        ),
        (
            "lineitem",
            one(LineItemArrow::new(LineItemGenerator::new(sf, 1, 1))),
        ),
        (
            "nation",
            one(NationArrow::new(NationGenerator::new(sf, 1, 1))),
        ),
        (
            "orders",
            one(OrderArrow::new(OrderGenerator::new(sf, 1, 1))),
        ),
        ("part", one(PartArrow::new(PartGenerator::new(sf, 1, 1)))),
        (
            "partsupp",
            one(PartSuppArrow::new(PartSuppGenerator::new(sf, 1, 1))),
        ),
        (
            "region",
            one(RegionArrow::new(RegionGenerator::new(sf, 1, 1))),
        ),
        (
            "supplier",
            one(SupplierArrow::new(SupplierGenerator::new(sf, 1, 1))),
        ),
    ]
}

async fn answers(ctx: &SessionContext) -> Vec<Vec<String>> {
    let mut answers = Vec::new();
    for (number, query) in queries().into_iter().enumerate() {
        match lines(ctx, query).await {
            Ok(answer) => answers.push(answer),
            Err(error) => panic!("query {}: {error}", number + 1),
        }
    }
    answers
}

#[tokio::test]
async fn all_queries() {
    assert_eq!(queries().len(), 22);
    let folder = tempfile::tempdir().unwrap();
    let in_memory = session(1);
    let of_files = [session(1), session(7)];
    for (name, batch) in tables() {
        let path = folder.path().join(format!("{name}.tarsia"));
        write(&path, &batch);
        for ctx in &of_files {
            create(ctx, name, &path, "").await;
        }
        let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).unwrap();
        in_memory.register_table(name, Arc::new(table)).unwrap();
    }
    let expected = answers(&in_memory).await;
    for ctx in &of_files {
        for (number, (expected, found)) in expected.iter().zip(answers(ctx).await).enumerate() {
            assert_eq!(found, *expected, "query {}", number + 1);
        }
    }
    // Most of them have rows at this scale.
    assert!(expected.iter().filter(|answer| answer.len() > 4).count() >= 20);
}
