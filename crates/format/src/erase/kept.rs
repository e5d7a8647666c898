//! Values that an erasure does not reach.

use crate::error::Result;
use crate::exec::OpenFile;
use crate::plan::PageNumber;
use crate::table::Column;

/// The encodings of a column's pages whose parameters hold values of the page: ids, sorted, each once.
pub(crate) fn encodings_that_keep_values(file: &OpenFile, column: &Column) -> Result<Vec<String>> {
    let data = (0..column.pages.len()).map(PageNumber::Data);
    let shared = (0..column.shared_pages.len()).map(PageNumber::Shared);
    let mut keep = Vec::new();
    for number in data.chain(shared) {
        let page = number.of(column)?;
        for tree in page.description.meta()?.all_trees() {
            tree.visit(&mut |node| {
                let writers = file.session.registry.writers();
                let mut known = writers.iter().filter(|known| known.writer.id() == node.id);
                if known.any(|known| known.writer.keeps_values()) {
                    keep.push(node.id.clone());
                }
            });
        }
    }
    keep.sort_unstable();
    keep.dedup();
    Ok(keep)
}
