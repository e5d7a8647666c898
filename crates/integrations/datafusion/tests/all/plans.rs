//! Plans, and the counts of their scans.

use std::sync::Arc;

use arrow_array::RecordBatch;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;

use crate::data::{create, key, session, table, write};

/// Rows of the table.
const ROWS: i64 = 200_000;

struct Tables {
    _folder: tempfile::TempDir,
    ctx: SessionContext,
}

async fn tables(partitions: usize) -> Tables {
    let folder = tempfile::tempdir().unwrap();
    let ctx = session(partitions);
    let path = folder.path().join("t.tarsia");
    let columns = ["id", "key", "n", "x", "t", "s"];
    let batch = table(0..ROWS);
    let places = columns.map(|name| batch.schema_ref().index_of(name).unwrap());
    write(&path, &batch.project(&places).unwrap());
    create(&ctx, "t", &path, "").await;
    Tables {
        _folder: folder,
        ctx,
    }
}

async fn plan(ctx: &SessionContext, statement: &str) -> Arc<dyn ExecutionPlan> {
    let planned = ctx.sql(statement).await.unwrap();
    planned.create_physical_plan().await.unwrap()
}

fn shown(plan: &Arc<dyn ExecutionPlan>) -> String {
    datafusion::physical_plan::displayable(plan.as_ref())
        .indent(false)
        .to_string()
}

/// A count of all scans of a plan.
fn count(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let here = plan.metrics().and_then(|metrics| metrics.sum_by_name(name));
    let here = here.map_or(0, |value| value.as_usize());
    here + plan
        .children()
        .iter()
        .map(|it| count(it, name))
        .sum::<usize>()
}

fn rows_of(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

#[tokio::test]
async fn conditions_are_evaluated_by_the_scan() {
    let tables = tables(1).await;
    let ctx = &tables.ctx;
    let filtered = plan(ctx, "SELECT id FROM t WHERE n > 5 AND abs(n) < 90").await;
    let text = shown(&filtered);
    assert!(!text.contains("FilterExec"), "{text}");
    assert!(text.contains("file_type=tarsia, predicate=n@"), "{text}");
    // One that may answer otherwise the next time stays where it is.
    let text = shown(&plan(ctx, "SELECT id FROM t WHERE random() < 0.5").await);
    assert!(text.contains("FilterExec"), "{text}");
}

#[tokio::test]
async fn zones_rule_rows_out_and_prove_others() {
    let tables = tables(1).await;
    let ctx = &tables.ctx;
    let task = ctx.task_ctx();
    let statement = format!("SELECT n FROM t WHERE key >= {}", key(ROWS - 150_000));
    let few = plan(ctx, &statement).await;
    let batches = collect(Arc::clone(&few), task.clone()).await.unwrap();
    assert_eq!(rows_of(&batches), 150_000);
    let (pruned, proved, evaluated) = (
        count(&few, "rows_pruned"),
        count(&few, "rows_proved"),
        count(&few, "rows_evaluated"),
    );
    assert!(
        pruned > 30_000 && proved > 50_000,
        "{pruned} {proved} {evaluated}"
    );
    assert_eq!(pruned + proved + evaluated, ROWS as usize);
    let by_engine = plan(ctx, "SELECT id FROM t WHERE abs(n) = 7").await;
    collect(Arc::clone(&by_engine), task).await.unwrap();
    assert_eq!(count(&by_engine, "rows_evaluated_by_engine"), ROWS as usize);
    assert_eq!(count(&by_engine, "rows_pruned"), 0);
}

#[tokio::test]
async fn a_file_that_its_statistics_rule_out_is_not_opened() {
    let tables = tables(1).await;
    let ctx = &tables.ctx;
    let none = plan(ctx, "SELECT n FROM t WHERE key < -1").await;
    let batches = collect(Arc::clone(&none), ctx.task_ctx()).await.unwrap();
    assert!(batches.iter().all(|batch| batch.num_rows() == 0));
    assert_eq!(count(&none, "rows_scanned"), 0);
}

#[tokio::test]
async fn files_are_cut_into_ranges_of_rows_that_meet() {
    let tables = tables(7).await;
    let ctx = &tables.ctx;
    let all = plan(ctx, "SELECT id FROM t WHERE n IS NULL OR n IS NOT NULL").await;
    assert!(shown(&all).contains("7 groups"), "{}", shown(&all));
    let batches = collect(Arc::clone(&all), ctx.task_ctx()).await.unwrap();
    assert_eq!(rows_of(&batches), ROWS as usize);
    assert_eq!(count(&all, "rows_scanned"), ROWS as usize);
}

#[tokio::test]
async fn counts_and_bounds_are_answered_without_reading() {
    let tables = tables(1).await;
    let statement = "SELECT count(*), min(key), max(key), count(key) FROM t";
    let text = shown(&plan(&tables.ctx, statement).await);
    assert!(!text.contains("DataSourceExec: file_groups"), "{text}");
    // NaN is above all numbers, and no statistics say whether there is one.
    let text = shown(&plan(&tables.ctx, "SELECT max(x) FROM t").await);
    assert!(text.contains("DataSourceExec: file_groups"), "{text}");
}

#[tokio::test]
async fn joins_tell_the_scan_what_they_look_for() {
    let tables = tables(1).await;
    let ctx = &tables.ctx;
    let few = format!("SELECT key FROM t WHERE n = 7 AND key < {}", key(5_000));
    let statement = format!("SELECT count(b.n) FROM ({few}) a JOIN t b ON a.key = b.key");
    let joined = plan(ctx, &statement).await;
    assert!(
        shown(&joined).contains("DynamicFilter"),
        "{}",
        shown(&joined)
    );
    collect(Arc::clone(&joined), ctx.task_ctx()).await.unwrap();
    // Both sides read few rows, one of them since the other found none behind.
    assert!(
        count(&joined, "rows_pruned") > 300_000,
        "{}",
        count(&joined, "rows_pruned")
    );
    assert!(count(&joined, "rows_scanned") < 50_000);
}

#[tokio::test]
async fn the_first_rows_of_an_order_rule_others_out() {
    let tables = tables(1).await;
    let ctx = &tables.ctx;
    let top = plan(ctx, "SELECT key, t FROM t ORDER BY key LIMIT 3").await;
    assert!(shown(&top).contains("DynamicFilter"), "{}", shown(&top));
    let batches = collect(Arc::clone(&top), ctx.task_ctx()).await.unwrap();
    assert_eq!(rows_of(&batches), 3);
    // All windows but the first begin when the third smallest number is known.
    assert!(
        count(&top, "rows_pruned") > 100_000,
        "{}",
        count(&top, "rows_pruned")
    );
    assert!(count(&top, "rows_scanned") < 100_000);
}

#[tokio::test]
async fn a_limit_ends_a_scan() {
    let tables = tables(1).await;
    let ctx = &tables.ctx;
    let few = plan(ctx, "SELECT id FROM t WHERE n > 0 LIMIT 5").await;
    assert!(shown(&few).contains("limit=5"), "{}", shown(&few));
    let batches = collect(Arc::clone(&few), ctx.task_ctx()).await.unwrap();
    assert_eq!(rows_of(&batches), 5);
    assert_eq!(count(&few, "rows_scanned"), 5);
}

#[tokio::test]
async fn fields_of_structs_are_read_alone() {
    let tables = tables(1).await;
    let ctx = &tables.ctx;
    let nested = plan(ctx, "SELECT s['c']['e'] FROM t WHERE s['a'] = 5").await;
    let text = shown(&nested);
    assert!(
        !text.contains("FilterExec") && !text.contains("ProjectionExec"),
        "{text}"
    );
    let batches = collect(Arc::clone(&nested), ctx.task_ctx()).await.unwrap();
    assert!(rows_of(&batches) > 0);
    // The file evaluated it.
    assert_eq!(count(&nested, "rows_evaluated_by_engine"), 0);
    assert!(count(&nested, "rows_evaluated") > 0);
}
