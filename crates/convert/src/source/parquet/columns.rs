//! Pages of a file whose footer is parsed, row group by row group. The footer is parsed once, however many columns are
//! read before their type is known.

use std::fs::File;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::ReaderProperties;
use parquet::file::serialized_reader::SerializedRowGroupReader;

/// The columns of a file.
pub(super) struct Columns<'a> {
    file: &'a Arc<File>,
    metadata: &'a ParquetMetaData,
}

impl<'a> Columns<'a> {
    pub(super) fn of(file: &'a Arc<File>, metadata: &'a ParquetMetaData) -> Self {
        Self { file, metadata }
    }

    pub(super) fn metadata(&self) -> &'a ParquetMetaData {
        self.metadata
    }

    /// A reader of the pages of a row group.
    ///
    /// # Errors
    /// The row group cannot be read.
    pub(super) fn row_group(
        &self,
        group: usize,
    ) -> Result<SerializedRowGroupReader<'a, File>, ParquetError> {
        let properties = Arc::new(ReaderProperties::builder().build());
        let metadata = self.metadata.row_group(group);
        SerializedRowGroupReader::new(Arc::clone(self.file), metadata, None, properties)
    }
}
