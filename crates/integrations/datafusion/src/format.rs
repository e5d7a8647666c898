//! The format, as the engine lists, plans and writes tables of its files.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{GetExt, Result, Statistics, not_impl_err};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{FileFormat, FileFormatFactory};
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSinkConfig, FileSource,
};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;
use futures_util::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStore};

use crate::cache::MetadataCache;
use crate::engine::Engine;
use crate::files::{open, step};
use crate::options::TarsiaOptions;
use crate::schema::merged;
use crate::sink::TarsiaSink;
use crate::source::TarsiaSource;
use crate::statistics;
use crate::store::{Objects, error_of};

/// The end of the names of files, without the dot; in `STORED AS` it is the name of the format.
pub const EXTENSION: &str = "tarsia";

/// Makes [`TarsiaFormat`]s for tables. [`register`](crate::register) tells a session of it.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TarsiaFormatFactory;

impl GetExt for TarsiaFormatFactory {
    fn get_ext(&self) -> String {
        EXTENSION.to_owned()
    }
}

impl FileFormatFactory for TarsiaFormatFactory {
    fn create(
        &self,
        _: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        let options = TarsiaOptions::parse(format_options)?;
        Ok(Arc::new(TarsiaFormat::new(options)))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        Arc::new(TarsiaFormat::default())
    }
}

/// Tarsia files as a format of the engine.
#[derive(Default, Clone)]
pub struct TarsiaFormat {
    options: TarsiaOptions,
}

impl TarsiaFormat {
    /// The format, with options of a table.
    pub fn new(options: TarsiaOptions) -> Self {
        Self { options }
    }

    /// The options of the table.
    pub fn options(&self) -> &TarsiaOptions {
        &self.options
    }
}

impl fmt::Debug for TarsiaFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TarsiaFormat")
            .field("options", &self.options)
            .finish()
    }
}

/// The objects of a store, of whose metadata the session has what was read before.
fn objects_of(session: &dyn Session, store: &Arc<dyn ObjectStore>) -> Objects {
    Objects::new(Arc::clone(store)).with_cache(Some(MetadataCache::of(session)))
}

#[async_trait]
impl FileFormat for TarsiaFormat {
    fn get_ext(&self) -> String {
        EXTENSION.to_owned()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        match compression.is_compressed() {
            true => not_impl_err!("Tarsia files are not compressed as a whole"),
            false => Ok(self.get_ext()),
        }
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let at_once = state.config_options().execution.meta_fetch_concurrency;
        let store = objects_of(state, store);
        let schemas = objects.iter().cloned().map(|object| {
            let store = store.clone();
            async move {
                let name = store.name(&object.location);
                let file = open(store, object).await?;
                let schema = step(move || file.schema().map_err(error_of)).await?;
                Ok::<_, datafusion::error::DataFusionError>((name, schema))
            }
        });
        let schemas = futures_util::stream::iter(schemas);
        let mut schemas: Vec<_> = schemas
            .buffer_unordered(at_once.get())
            .try_collect()
            .await?;
        // Whatever order a store lists them in, the table has one schema.
        schemas.sort_by(|(one, _), (other, _)| one.cmp(other));
        merged(&schemas)
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let file = open(objects_of(state, store), object.clone()).await?;
        step(move || statistics::of_file(&file, &table_schema).map_err(error_of)).await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        conf: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let conf = match conf.file_source().downcast_ref::<TarsiaSource>() {
            None => conf,
            Some(source) => {
                let source = source.clone().with_engine(Engine::of(state));
                let conf = FileScanConfigBuilder::from(conf);
                conf.with_source(Arc::new(source)).build()
            }
        };
        Ok(DataSourceExec::from_data_source(conf))
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        _: &dyn Session,
        conf: FileSinkConfig,
        order_requirements: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if conf.insert_op != InsertOp::Append {
            return not_impl_err!("Tarsia files are added to a table, not written over others");
        }
        let sink = Arc::new(TarsiaSink::new(conf, &self.options));
        Ok(Arc::new(DataSinkExec::new(input, sink, order_requirements)))
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(TarsiaSource::new(table_schema, &self.options))
    }
}
