//! Two files in one, as `cat` makes them. The footer at the end is that of the second file, and counts bytes from the
//! start of that file, so that the bytes of the first one would be read in their place.
//!
//! In a sound file the footer follows what it describes: the pages, their indexes, the filters. A second file leaves as
//! many bytes undescribed as the first one has. So it begins there, or before if it has padding of its own, behind a
//! footer and the marks of both files.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use super::footer::{Footer, MARK};

/// Padding of the second file that is looked through.
const PADDING_BYTES_MAX: u64 = 64 << 20;

/// Bytes that are looked through at a time.
const PIECE_BYTES: u64 = 64 << 10;

/// Places that have the marks of two files; more are values.
const PLACES_MAX: usize = 16;

/// The byte at which the second file begins, if there are two. `footer_start` is where the footer of the whole begins.
pub(super) fn second_start(
    mut file: &File,
    metadata: &ParquetMetaData,
    footer_start: u64,
) -> Option<u64> {
    let last = footer_start.checked_sub(described_end(metadata))?;
    let first = last.saturating_sub(PADDING_BYTES_MAX);
    let marks = [MARK, MARK].concat();
    let half = MARK.len() as u64;
    let mut n_places = 0;
    let mut piece = Vec::new();
    // The latest place first.
    let mut end = last.checked_add(half)?;
    while end > first + half {
        let start = end
            .saturating_sub(PIECE_BYTES)
            .max(first.saturating_sub(half));
        piece.clear();
        file.seek(SeekFrom::Start(start)).ok()?;
        file.take(end - start).read_to_end(&mut piece).ok()?;
        let places = piece.windows(marks.len()).enumerate().rev();
        for (at, _) in places.filter(|(_, bytes)| *bytes == marks) {
            let second = start + at as u64 + half;
            if is_whole_file(file, second) {
                return Some(second);
            }
            n_places += 1;
            if n_places == PLACES_MAX {
                return None;
            }
        }
        if start <= first.saturating_sub(half) {
            return None;
        }
        // Marks may lie across the start of the piece.
        end = start + marks.len() as u64 - 1;
    }
    None
}

/// Whether the bytes before byte `end` are a file of their own.
fn is_whole_file(file: &File, end: u64) -> bool {
    let Some(footer) = Footer::read(file, end) else {
        return false;
    };
    let metadata = footer.metadata();
    metadata.is_ok_and(|metadata| described_end(&metadata) <= footer.start)
}

/// The end of what a footer describes.
fn described_end(metadata: &ParquetMetaData) -> u64 {
    let groups = metadata.row_groups().iter();
    let columns = groups.flat_map(|group| group.columns());
    columns.map(end_of_column).fold(MARK.len() as u64, u64::max)
}

fn end_of_column(column: &ColumnChunkMetaData) -> u64 {
    let end = |offset: Option<i64>, length: Option<i64>| -> u64 {
        let offset = offset.and_then(|offset| u64::try_from(offset).ok());
        let length = length.and_then(|length| u64::try_from(length).ok());
        match (offset, length) {
            (Some(offset), Some(length)) => offset.saturating_add(length),
            _ => 0,
        }
    };
    let pages = column
        .dictionary_page_offset()
        .unwrap_or_else(|| column.data_page_offset());
    let ends = [
        end(Some(pages), Some(column.compressed_size())),
        end(
            column.column_index_offset(),
            column.column_index_length().map(i64::from),
        ),
        end(
            column.offset_index_offset(),
            column.offset_index_length().map(i64::from),
        ),
        end(
            column.bloom_filter_offset(),
            column.bloom_filter_length().map(i64::from),
        ),
    ];
    ends.into_iter().fold(0, u64::max)
}
