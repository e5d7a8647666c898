//! Where tables are: local folders, and URLs of stores.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::provider::DefaultTableFactory;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::CreateExternalTable;
use tarsia_io::{LocalStore, Store, StoreError, SubStore};
use tarsia_store::{RemoteStore, StoreOptions, StoreUrl};
use tarsia_table::{ErrorKind, Table};

use crate::failure::failed;

/// The object that makes a folder a table.
const TABLE: &str = tarsia_table::meta::names::TABLE_KEY;

/// Ends of the names of files, which are no tables.
const FILE_ENDS: [&str; 11] = [
    "tarsia", "parquet", "csv", "json", "ndjson", "arrow", "gz", "bz2", "xz", "zst", "avro",
];

/// Opens the table at a place.
///
/// # Errors
/// A place without a table, a URL of a store that this build does not know, and errors of the store.
pub(crate) fn open(place: &str) -> Result<Table> {
    let store = store(place)?;
    Table::open(store).map_err(|error| failed(place, error))
}

/// Opens the table at a place, or says that there is none.
///
/// # Errors
/// A table that cannot be read.
pub(crate) fn find(place: &str) -> Result<Option<Table>> {
    if let Some(folder) = folder(place)? {
        return match folder.join(TABLE).is_file() {
            true => open(place).map(Some),
            false => Ok(None),
        };
    }
    let end = place.rsplit_once('.').map_or("", |(_, end)| end);
    if FILE_ENDS.contains(&end.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    let store = store(place)?;
    match Table::open(store) {
        Ok(table) => Ok(Some(table)),
        // Whoever may read files need not be allowed to ask for others: files report errors of their own.
        Err(error) => match error.kind() {
            ErrorKind::NotATable | ErrorKind::Store => Ok(None),
            _ => Err(failed(place, error)),
        },
    }
}

/// Whether a local folder is a table.
fn is_table(place: &str) -> bool {
    matches!(folder(place), Ok(Some(folder)) if folder.join(TABLE).is_file())
}

/// The path of a place that is no URL of a store.
fn folder(place: &str) -> Result<Option<PathBuf>> {
    if !place.contains("://") {
        return Ok(Some(Path::new(place).to_owned()));
    }
    Ok(url(place)?.local_path().map(Path::to_owned))
}

fn url(place: &str) -> Result<StoreUrl> {
    let url = place.strip_suffix('/').unwrap_or(place).parse();
    url.map_err(|error: StoreError| DataFusionError::Plan(error.to_string()))
}

fn store(place: &str) -> Result<Arc<dyn Store>> {
    let of_system = |error: std::io::Error| {
        let error = DataFusionError::from(error);
        error.context(place.to_owned())
    };
    if let Some(folder) = folder(place)? {
        return Ok(Arc::new(LocalStore::open(folder).map_err(of_system)?));
    }
    let url = url(place)?;
    let store = RemoteStore::new(&url, &StoreOptions::new());
    let store = store.map_err(|error| of_system(error.into()))?;
    Ok(Arc::new(SubStore::new(Arc::new(store), url.key())))
}

/// Makes external tables of folders of files; tables are refused, since their folder has no such files.
#[derive(Debug)]
pub(crate) struct Folders;

#[async_trait]
impl TableProviderFactory for Folders {
    async fn create(
        &self,
        state: &dyn Session,
        command: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        if let Some(place) = command.locations.iter().find(|place| is_table(place)) {
            return plan_err!(
                "{place} is a table: it is read by tarsia_table('{place}'), which a view may name"
            );
        }
        DefaultTableFactory::new().create(state, command).await
    }
}
