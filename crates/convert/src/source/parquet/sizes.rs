//! How much memory values take once they are decoded, as far as a footer says.

use std::ops::Range;

use parquet::basic::Type as Physical;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

/// The reader's words for more than 2 GiB in one array.
pub(super) const TOO_MANY_BYTES: &str = "index overflow decoding byte array";

/// Bytes of an offset, or of a length.
const OFFSET_BYTES: u64 = 4;

/// Bytes that all values of a file take.
pub(super) fn decoded_bytes(metadata: &ParquetMetaData) -> u64 {
    let groups = metadata.row_groups().iter();
    groups.map(decoded_bytes_of).fold(0, u64::saturating_add)
}

/// Bytes that all values of a row group take.
pub(super) fn decoded_bytes_of(group: &RowGroupMetaData) -> u64 {
    let columns = group.columns().iter().map(of_column);
    let stated = u64::try_from(group.total_byte_size()).unwrap_or(0);
    columns.fold(0, u64::saturating_add).max(stated)
}

/// Bytes that the values of some top-level fields of a row group take.
pub(super) fn decoded_bytes_of_fields(group: &RowGroupMetaData, fields: &Range<usize>) -> u64 {
    let schema = group.schema_descr();
    let columns = group.columns().iter().enumerate();
    let columns = columns.filter(|(leaf, _)| fields.contains(&schema.get_column_root_idx(*leaf)));
    columns
        .map(|(_, column)| of_column(column))
        .fold(0, u64::saturating_add)
}

/// At least what pages say before they are compressed, and what so many values of the type take: dictionaries and runs
/// make both short. Newer writers say how long the texts are that a dictionary makes short.
fn of_column(column: &ColumnChunkMetaData) -> u64 {
    let known = |n: i64| u64::try_from(n).unwrap_or(0);
    let values = known(column.num_values());
    let texts = column.unencoded_byte_array_data_bytes().map_or(0, known);
    let typed = match column.column_type() {
        Physical::BOOLEAN => values / 8,
        Physical::INT32 | Physical::FLOAT => values.saturating_mul(4),
        Physical::INT64 | Physical::DOUBLE => values.saturating_mul(8),
        Physical::INT96 => values.saturating_mul(12),
        Physical::BYTE_ARRAY => values.saturating_mul(OFFSET_BYTES).saturating_add(texts),
        Physical::FIXED_LEN_BYTE_ARRAY => {
            let length = column.column_descr().type_length();
            values.saturating_mul(u64::try_from(length).unwrap_or(0))
        }
    };
    known(column.uncompressed_size()).max(typed)
}
