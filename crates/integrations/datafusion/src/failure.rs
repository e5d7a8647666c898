//! Errors about tables, as the engine's.

use datafusion::error::DataFusionError;
use tarsia_table::ErrorKind;

/// An error about a table: a state or a column that is not there is the caller's mistake.
pub(crate) fn failed(name: &str, error: tarsia_table::Error) -> DataFusionError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::Exists => {
            DataFusionError::Plan(format!("{name}: {error}"))
        }
        _ => DataFusionError::External(Box::new(error)).context(name),
    }
}
