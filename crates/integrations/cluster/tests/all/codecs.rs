//! Scans as they are sent to executors.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::common::Result;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::SessionContext;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use tarsia_cluster::PhysicalCodec;

use crate::tpch::alone;

fn write(path: &Path, n_rows: i64) {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n_rows));
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let mut writer = tarsia::Writer::create(path, batch.schema(), Default::default()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

/// The plan as another process has it.
fn sent(ctx: &SessionContext, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let codec = PhysicalCodec::default();
    let node = PhysicalPlanNode::try_from_physical_plan(plan, &codec)?;
    let mut bytes = Vec::new();
    node.try_encode(&mut bytes)?;
    PhysicalPlanNode::try_decode(&bytes)?.try_into_physical_plan(&ctx.task_ctx(), &codec)
}

#[tokio::test]
async fn a_scan_is_the_same_elsewhere_and_a_changed_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tarsia");
    write(&path, 20_000);
    let ctx = alone(3).enable_url_table();
    let statement = format!(
        "SELECT id % 7 AS r, id FROM '{}' WHERE id > 100 AND id % 3 = 1",
        path.display()
    );
    let frame = ctx.sql(&statement).await.unwrap();
    let plan = frame.create_physical_plan().await.unwrap();
    let copy = sent(&ctx, Arc::clone(&plan)).unwrap();
    let text = |plan: &dyn ExecutionPlan| displayable(plan).indent(false).to_string();
    assert_eq!(text(&*copy), text(&*plan));
    assert!(text(&*copy).contains("predicate="), "{}", text(&*copy));
    let rows = |batches: Vec<RecordBatch>| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    let found = collect(Arc::clone(&copy), ctx.task_ctx()).await.unwrap();
    assert_eq!(rows(found), (101..20_000).filter(|id| id % 3 == 1).count());

    write(&path, 20_001);
    let copy = sent(&ctx, plan).unwrap();
    let error = collect(copy, ctx.task_ctx()).await.unwrap_err();
    assert!(error.to_string().contains("was changed since"), "{error}");
}
