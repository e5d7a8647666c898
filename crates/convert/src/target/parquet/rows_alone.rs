//! Parquet files of rows without columns. The library counts the rows of a file by those of its columns, and would say
//! that there are none.

use std::io::Write;

use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;

const MAGIC: &[u8; 4] = b"PAR1";

/// Writes a whole file of so many rows. The schema has no fields.
pub(super) fn write(
    file: &mut (impl Write + Send),
    schema: SchemaRef,
    properties: WriterProperties,
    rows: u64,
) -> Result<(), ParquetError> {
    // All but the rows is as in a file that the library wrote.
    let empty = ArrowWriter::try_new(Vec::new(), schema, Some(properties))?.close()?;
    let empty = empty.file_metadata();
    let rows =
        i64::try_from(rows).map_err(|_| ParquetError::General(format!("{rows} rows in a file")))?;
    let schema = empty.schema_descr_ptr();
    let row_group = RowGroupMetaData::builder(schema.clone())
        .set_num_rows(rows)
        .build()?;
    let of_file = FileMetaData::new(
        empty.version(),
        rows,
        empty.created_by().map(str::to_owned),
        empty.key_value_metadata().cloned(),
        schema,
        empty.column_orders().cloned(),
    );
    file.write_all(MAGIC)?;
    let metadata = ParquetMetaData::new(of_file, vec![row_group]);
    ParquetMetaDataWriter::new(file, &metadata).finish()
}
