//! Where the rows of a column are cut into pages: a function of the rows and the page size alone, not of the batches.

use std::ops::Range;

use tarsia_arrow::{LeafPath, RowsHeld};
use tarsia_codec::{ValueType, limits};
use tarsia_structure::LevelForm;

/// Pages hold multiples of this many rows if they are long enough, so that blocks of different columns align.
const PAGE_ROWS_MULTIPLE: usize = 1024;

/// A page's strings stay below this unless it is one row, so that offsets and lengths fit 32 bits.
pub(super) const PAGE_DATA_BYTES_MAX: usize = limits::ARROW_OFFSET_MAX as usize;

/// A page has at most so many rows, which are counted in 32 bits.
pub(super) const PAGE_ROWS_MAX: usize = 1 << 30;

/// Rows held by a buffer that fill a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FullPage {
    /// Rows of the page.
    pub(super) rows: Range<usize>,
    /// Rows that the buffer had to hold before the page could end.
    pub(super) known_at: usize,
}

/// The pages that are full, one behind the other from the buffer's first row on. A page is full at the first row at
/// which its rows take `page_bytes`, wherever batches end.
pub(super) fn full_pages(buffer: &RowsHeld, page_bytes: u64) -> Vec<FullPage> {
    let mut pages = Vec::new();
    let mut start = 0;
    loop {
        let full = match buffer.rows_that_reach(start, page_bytes) {
            Some(rows) => rows.min(PAGE_ROWS_MAX),
            None if buffer.rows() - start >= PAGE_ROWS_MAX => PAGE_ROWS_MAX,
            None => return pages,
        };
        // One string may be as long as a page's all may be together.
        let data_bytes = buffer.data_bytes_of(start..start + full);
        let rows = match full {
            2.. if data_bytes > PAGE_DATA_BYTES_MAX as u64 => full - 1,
            _ => full,
        };
        let end = start + whole_rows(rows);
        pages.push(FullPage {
            rows: start..end,
            known_at: start + full,
        });
        start = end;
    }
}

/// Cuts pages where values do not count: each page has `page_rows` rows.
pub(super) fn full_pages_of(held: usize, page_rows: usize) -> Vec<FullPage> {
    let page = |number: usize| {
        let rows = number * page_rows..(number + 1) * page_rows;
        FullPage {
            known_at: rows.end,
            rows,
        }
    };
    (0..held / page_rows.max(1)).map(page).collect()
}

/// Rows of the pages of a strict column: so many take `page_bytes` if none is null.
pub(super) fn strict_page_rows(path: &LeafPath, page_bytes: u64) -> usize {
    let items = path.forms().iter().fold(1u64, |items, form| match form {
        LevelForm::ConstantLength(n) => items.saturating_mul((*n).into()),
        LevelForm::Validity | LevelForm::Lengths => items,
    });
    let row_bits = match path.value_type() {
        Some(ValueType::Fixed(width)) => items.saturating_mul(u64::from(width) * 8),
        _ => items,
    };
    let rows = page_bytes.saturating_mul(8) / row_bits.max(1);
    whole_rows(rows.clamp(1, PAGE_ROWS_MAX as u64) as usize)
}

/// Rows of a page that could end at row `rows`: fewer, so that they are a multiple, if there are enough.
pub(super) fn whole_rows(rows: usize) -> usize {
    match rows - rows % PAGE_ROWS_MULTIPLE {
        0 => rows,
        whole => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Array, StringArray};
    use tarsia_arrow::leaf_paths;

    #[test]
    fn a_page_ends_with_the_row_that_fills_it() {
        let check = |text_bytes: usize, rows: usize, page_bytes: u64, expect: &[(usize, usize)]| {
            let array =
                StringArray::from_iter_values((0..rows).map(|i| format!("{i:0text_bytes$}")));
            let mut buffer = RowsHeld::new(
                array.data_type(),
                leaf_paths(array.data_type(), true).unwrap().remove(0),
            );
            buffer.push(&array).unwrap();
            let pages = full_pages(&buffer, page_bytes);
            let found: Vec<_> = pages
                .iter()
                .map(|page| (page.rows.end, page.known_at))
                .collect();
            assert_eq!(found, expect);
            let starts = std::iter::once(0).chain(found.iter().map(|(end, _)| *end));
            assert!(
                pages
                    .iter()
                    .map(|page| page.rows.start)
                    .eq(starts.take(found.len()))
            );
        };
        // 100 bytes of text and 4 of length for each row, and a byte of validity for each eight.
        check(100, 300, 105 * 104 + 14, &[(105, 105), (210, 210)]);
        check(100, 300, 105 * 104 + 15, &[(106, 106), (212, 212)]);
        check(100, 105, 105 * 104 + 15, &[]);
        // Longer pages end at multiples of 1,024 rows, and the rows behind belong to the next.
        check(
            10,
            5000,
            1500 * 14 + 188,
            &[(1024, 1500), (2048, 2524), (3072, 3548), (4096, 4572)],
        );
        check(10, 5000, 2500 * 14 + 313, &[(2048, 2500), (4096, 4548)]);
        check(50_000, 3, 40_000, &[(1, 1), (2, 2), (3, 3)]);
    }
}
