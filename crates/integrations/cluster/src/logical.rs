//! Tables of statements, on their way from a client to the scheduler.

use std::sync::Arc;
use std::thread;

use ballista_core::serde::BallistaLogicalExtensionCodec;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference, internal_datafusion_err, plan_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use tarsia_datafusion::{TablePlace, TarsiaTable};

use crate::listing::{Files, table_of};
use crate::message::{Provider, ProviderNode, TableNode, get, put};

/// Ballista's codec, and Tarsia's files and tables beside it.
#[derive(Debug, Default)]
pub struct LogicalCodec {
    others: BallistaLogicalExtensionCodec,
}

impl LogicalExtensionCodec for LogicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[LogicalPlan],
        ctx: &TaskContext,
    ) -> Result<Extension> {
        self.others.try_decode(buf, inputs, ctx)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        self.others.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        table_ref: &TableReference,
        schema: SchemaRef,
        ctx: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        let Some(node) = get::<ProviderNode>(buf)? else {
            let others = &self.others;
            return others.try_decode_table_provider(buf, table_ref, schema, ctx);
        };
        match node.provider {
            Some(Provider::Files(node)) => table_of(&node, &schema),
            Some(Provider::Table(node)) => open(node),
            None => Err(internal_datafusion_err!("{table_ref}: a table of no kind")),
        }
    }

    fn try_encode_table_provider(
        &self,
        table_ref: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        let provider = if let Some(files) = node.downcast_ref::<Files>() {
            Provider::Files(files.node.clone())
        } else if let Some(table) = node.downcast_ref::<TarsiaTable>() {
            Provider::Table(table.place().into())
        } else {
            return self.others.try_encode_table_provider(table_ref, node, buf);
        };
        let provider = Some(provider);
        put(&ProviderNode { provider }, buf);
        Ok(())
    }

    fn try_decode_file_format(
        &self,
        buf: &[u8],
        ctx: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.others.try_decode_file_format(buf, ctx)
    }

    fn try_encode_file_format(
        &self,
        buf: &mut Vec<u8>,
        node: Arc<dyn FileFormatFactory>,
    ) -> Result<()> {
        if node.get_ext() == tarsia_datafusion::EXTENSION {
            return plan_err!("Tarsia files are written by the client, and not by the cluster");
        }
        self.others.try_encode_file_format(buf, node)
    }
}

/// Opens a commit of a table. That waits for its store, on a thread of its own: this one may be a runtime's.
fn open(node: TableNode) -> Result<Arc<dyn TableProvider>> {
    let TablePlace { place, commit, .. } = node.into();
    let opened = thread::spawn(move || TarsiaTable::open(&place, &commit)).join();
    let table = opened.map_err(|_| internal_datafusion_err!("opening a table panicked"))??;
    Ok(Arc::new(table))
}
