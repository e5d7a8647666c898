//! Tables by their places in statements.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{
    DynamicFileCatalog, TableFunctionArgs, TableFunctionImpl, TableProvider, UrlTableFactory,
};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::Expr;
use tarsia_table::{CommitInfo, MAIN};

use crate::files::step;
use crate::place;
use crate::table::TarsiaTable;

/// Makes places tables, as [`SessionContext::enable_url_table`] does, and tables of `tarsia-table` with them. A session
/// has one of the two.
///
/// | in a statement | is |
/// |---|---|
/// | `'PLACE'` | the newest state of `main`, if the folder or the URL has a table; else files |
/// | `'PLACE#STATE'` | that state; `INSERT INTO` takes a branch |
/// | `tarsia_table('PLACE')`, `tarsia_table('PLACE', 'STATE')` | the same, and never files |
///
/// A place has a table if an object `TABLE` lies in it. States are named as [`tarsia_table::Table::at`] takes them.
/// Each statement sees the states as they are when it is planned. Commits of `INSERT INTO` are made with `info`.
pub fn enable_tables(ctx: SessionContext, info: CommitInfo) -> SessionContext {
    let files = Arc::new(DynamicListTableFactory::default());
    let places = Places {
        files: Arc::clone(&files),
        info: info.clone(),
    };
    let catalogs = Arc::clone(ctx.state_ref().read().catalog_list());
    let catalogs = DynamicFileCatalog::new(catalogs, Arc::new(places));
    let id = ctx.session_id();
    let builder = ctx.into_state_builder().with_session_id(id);
    let ctx: SessionContext = builder.with_catalog_list(Arc::new(catalogs)).build().into();
    files.session_store().with_state(ctx.state_weak_ref());
    ctx.register_udtf("tarsia_table", Arc::new(TableAt { info }));
    ctx
}

/// Tables behind the names of places.
#[derive(Debug)]
struct Places {
    files: Arc<DynamicListTableFactory>,
    info: CommitInfo,
}

#[async_trait]
impl UrlTableFactory for Places {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let (name, info) = (url.to_owned(), self.info.clone());
        match step(move || found(&name, info)).await? {
            Some(table) => Ok(Some(Arc::new(table))),
            None => self.files.try_new(url).await,
        }
    }
}

/// The table that a name stands for: a place, or a place and a state.
fn found(name: &str, info: CommitInfo) -> Result<Option<TarsiaTable>> {
    let of = |place: &str, state: &str| {
        let Some(table) = place::find(place)? else {
            return Ok(None);
        };
        let table = TarsiaTable::of(&table, place, state)?;
        Ok(Some(table.with_commit_info(info.clone())))
    };
    match (of(name, MAIN)?, name.rsplit_once('#')) {
        (None, Some((place, state))) => of(place, state),
        (found, _) => Ok(found),
    }
}

/// The table function `tarsia_table`.
#[derive(Debug)]
struct TableAt {
    info: CommitInfo,
}

impl TableFunctionImpl for TableAt {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let texts = args.exprs().iter().map(|expr| match expr {
            Expr::Literal(value, _) => value.try_as_str().flatten(),
            _ => None,
        });
        let (place, state) = match texts.collect::<Vec<_>>().as_slice() {
            [Some(place)] => (*place, MAIN),
            [Some(place), Some(state)] => (*place, *state),
            _ => {
                return plan_err!(
                    "tarsia_table('PLACE', 'STATE') takes a folder or a URL, and a branch, tag:NAME, BRANCH@TIME or commit"
                );
            }
        };
        let table = TarsiaTable::open(place, state)?;
        Ok(Arc::new(table.with_commit_info(self.info.clone())))
    }
}
