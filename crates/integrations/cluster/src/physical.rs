//! Scans, on their way from the scheduler to executors.

use std::sync::Arc;

use ballista_core::serde::BallistaPhysicalExtensionCodec;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::from_proto::{
    parse_protobuf_file_scan_config, parse_table_schema_from_proto,
};
use datafusion_proto::physical_plan::to_proto::serialize_file_scan_config;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalExprNode;
use tarsia_datafusion::{ScanParts, TarsiaSource};

use crate::message::{ScanNode, get, put};

/// Ballista's codec, and scans of Tarsia's files and tables beside it.
#[derive(Debug, Default)]
pub struct PhysicalCodec {
    others: BallistaPhysicalExtensionCodec,
}

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(node) = get::<ScanNode>(buf)? else {
            return self.others.try_decode(buf, inputs, ctx, converter);
        };
        let missing = || internal_datafusion_err!("a scan of Tarsia without its files");
        let config = node.config.as_ref().ok_or_else(missing)?;
        let context = PhysicalPlanDecodeContext::new(ctx, self);
        let schema = parse_table_schema_from_proto(config)?;
        let of_table = schema.table_schema();
        let filters = node.filters.iter();
        let filters =
            filters.map(|filter| converter.proto_to_physical_expr(filter, of_table, &context));
        let mut parts = ScanParts::new(filters.collect::<Result<_>>()?);
        parts.pushdown = node.pushdown;
        parts.table = node.table.map(Into::into);
        let source = TarsiaSource::of_parts(schema.clone(), parts);
        let config =
            parse_protobuf_file_scan_config(config, &context, converter, Arc::new(source))?;
        Ok(DataSourceExec::from_data_source(config))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let scan = node.downcast_ref::<DataSourceExec>();
        let scan = scan.and_then(DataSourceExec::downcast_to_file_source::<TarsiaSource>);
        let Some((config, source)) = scan else {
            return self.others.try_encode(node, buf, converter);
        };
        let parts = source.parts();
        let encoded = |filter: Arc<dyn PhysicalExpr>| -> Result<PhysicalExprNode> {
            // What changes while the statement runs does so in one process: others take it as it is now.
            let filter = snapshot_physical_expr(filter)?;
            converter.physical_expr_to_proto(&filter, self)
        };
        let filters = parts.filters.into_iter().map(encoded);
        let node = ScanNode {
            config: Some(serialize_file_scan_config(config, self, converter)?),
            filters: filters.collect::<Result<_>>()?,
            pushdown: parts.pushdown,
            table: parts.table.map(Into::into),
        };
        put(&node, buf);
        Ok(())
    }
}
