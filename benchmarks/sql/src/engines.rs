//! DataFusion with one format each.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use arrow_array::RecordBatch;
use datafusion::common::GetExt as _;
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use vortex_datafusion::{VortexFormatFactory, VortexTableOptions};

use crate::tables;

/// How the engine reads its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Tarsia,
    /// Rows are filtered behind the scan.
    Parquet,
    /// Conditions are evaluated by the reader.
    ParquetPushdown,
    Vortex,
}

impl Source {
    pub(crate) const ALL: [Self; 4] = [
        Self::Tarsia,
        Self::Parquet,
        Self::ParquetPushdown,
        Self::Vortex,
    ];

    /// The name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tarsia => "Tarsia",
            Self::Parquet => "Parquet",
            Self::ParquetPushdown => "Parquet with pushdown",
            Self::Vortex => "Vortex",
        }
    }

    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Tarsia => "tarsia",
            Self::Parquet | Self::ParquetPushdown => "parquet",
            Self::Vortex => "vortex",
        }
    }
}

/// A session in which the tables of a folder are known.
pub(crate) struct Engine {
    ctx: SessionContext,
}

impl Engine {
    /// Opens the tables of a folder, with so many partitions.
    pub(crate) async fn new(source: Source, folder: &Path, n_partitions: usize) -> Result<Self> {
        let place = folder.display().to_string();
        Self::at(source, &place, n_partitions, |_| ()).await
    }

    /// Opens the tables of a place, of which `prepare` tells the session.
    pub(crate) async fn at(
        source: Source,
        place: &str,
        n_partitions: usize,
        prepare: impl FnOnce(&SessionContext),
    ) -> Result<Self> {
        let ctx = session(source, n_partitions)?;
        prepare(&ctx);
        for name in tables::NAMES {
            let extension = source.extension();
            let format = extension.to_ascii_uppercase();
            let made = format!(
                "CREATE EXTERNAL TABLE {name} STORED AS {format} LOCATION '{place}/{name}.{extension}'"
            );
            ctx.sql(&made).await?.collect().await?;
        }
        Ok(Self { ctx })
    }

    /// The rows of a statement, and the seconds that it took from its text to the last row.
    pub(crate) async fn run(&self, statement: &str) -> Result<(Vec<RecordBatch>, f64)> {
        let begin = Instant::now();
        let rows = self.ctx.sql(statement).await?.collect().await?;
        Ok((rows, begin.elapsed().as_secs_f64()))
    }

    /// The plan of a statement, with the counts of one run.
    pub(crate) async fn explain(&self, statement: &str) -> Result<String> {
        let plan = self
            .ctx
            .sql(statement)
            .await?
            .create_physical_plan()
            .await?;
        datafusion::physical_plan::collect(plan.clone(), self.ctx.task_ctx()).await?;
        let shown = DisplayableExecutionPlan::with_metrics(plan.as_ref());
        Ok(shown.indent(false).to_string())
    }
}

fn session(source: Source, n_partitions: usize) -> Result<SessionContext> {
    let mut config = SessionConfig::new().with_target_partitions(n_partitions);
    if source == Source::ParquetPushdown {
        let parquet = &mut config.options_mut().execution.parquet;
        parquet.pushdown_filters = true;
        parquet.reorder_filters = true;
    }
    if source != Source::Vortex {
        let ctx = SessionContext::new_with_config(config);
        tarsia_datafusion::register(&ctx)?;
        return Ok(ctx);
    }
    // Projections in the scan are what its own benchmarks of TPC-H ask for.
    let mut options = VortexTableOptions::default();
    options.projection_pushdown = true;
    let factory = Arc::new(VortexFormatFactory::new().with_options(options));
    let name = factory.get_ext().to_uppercase();
    let mut builder = SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_table_factory(name, Arc::new(DefaultTableFactory::new()));
    if let Some(formats) = builder.file_formats() {
        formats.push(factory as _);
    }
    Ok(SessionContext::new_with_state(builder.build()))
}

/// Writes the tables that are not there yet as Vortex files, from those of Parquet.
pub(crate) async fn make_vortex(folder: &Path) -> Result<()> {
    let ctx = session(Source::Vortex, 1)?;
    for name in tables::NAMES {
        let made = tables::path(folder, name, "vortex");
        if made.exists() {
            continue;
        }
        let (from, to) = (tables::path(folder, name, "parquet"), made.display());
        let from = from.display();
        let table = format!("CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{from}'");
        ctx.sql(&table).await?.collect().await?;
        let copy = format!("COPY {name} TO '{to}' STORED AS VORTEX");
        ctx.sql(&copy).await?.collect().await?;
    }
    Ok(())
}
