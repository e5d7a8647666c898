//! A session, and what runs statements in it.

use std::sync::Arc;

use datafusion::execution::cache::cache_manager::CacheManagerConfig;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::{DFParser, Statement};
use futures_util::StreamExt;
use tarsia_table::CommitInfo;

use crate::args::Format;
use crate::failure::Failure;
use crate::functions;
use crate::output::Output;
use crate::stores::Stores;

/// Caches without lists of files: otherwise a folder is listed once, and files that are added or replaced later are not
/// seen.
pub fn caches() -> CacheManagerConfig {
    CacheManagerConfig::default().with_list_files_cache_limit(0)
}

/// A session in which files are tables.
pub struct Session {
    ctx: SessionContext,
}

impl Session {
    /// A session with so many partitions; by default one for each processor.
    ///
    /// # Errors
    /// Settings of the environment that make no sense.
    pub fn new(partitions: Option<u16>) -> Result<Self, Failure> {
        let mut config = SessionConfig::from_env()?.with_information_schema(true);
        if let Some(partitions) = partitions {
            config = config.with_target_partitions(partitions.into());
        }
        let runtime = RuntimeEnvBuilder::new()
            .with_cache_manager(caches())
            .with_object_store_registry(Arc::new(Stores::default()))
            .build_arc()?;
        Self::of(SessionContext::new_with_config_rt(config, runtime))
    }

    /// A session of an engine that is set up already. It learns of Tarsia's files and tables.
    ///
    /// # Errors
    /// An engine that knows of them already.
    pub fn of(ctx: SessionContext) -> Result<Self, Failure> {
        let author = std::env::var("USER").or_else(|_| std::env::var("USERNAME"));
        let tool = concat!("tarsia-sql ", env!("CARGO_PKG_VERSION"));
        let info = CommitInfo::new(author.unwrap_or_default(), "INSERT INTO").tool(tool);
        let ctx = tarsia_datafusion::enable_tables(ctx, info);
        tarsia_datafusion::register(&ctx)?;
        functions::register(&ctx);
        Ok(Self { ctx })
    }

    /// The engine's own session.
    pub fn context(&self) -> &SessionContext {
        &self.ctx
    }

    /// Runs statements one after another, and writes their answers.
    ///
    /// # Errors
    /// The first statement that fails; those before it are done.
    pub async fn run(&self, text: &str, format: Format) -> Result<(), Failure> {
        for statement in DFParser::parse_sql(text)? {
            self.statement(statement, format).await?;
        }
        Ok(())
    }

    async fn statement(&self, statement: Statement, format: Format) -> Result<(), Failure> {
        let plan = self.ctx.state().statement_to_plan(statement).await?;
        let answer = self.ctx.execute_logical_plan(plan).await?;
        let has_rows = !answer.schema().fields().is_empty();
        let mut batches = answer.execute_stream().await?;
        let mut output = Output::new(format, batches.schema());
        while let Some(batch) = batches.next().await {
            output.write(batch?)?;
        }
        match has_rows {
            true => output.finish(),
            // A statement that makes a table, for instance.
            false => Ok(()),
        }
    }
}
