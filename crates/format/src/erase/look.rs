//! A look for values of erased rows in all that a column holds: blocks, what stands under null items, entries of
//! dictionaries, symbols and tokens.

use tarsia_compliance::{RowSet, Salts};

use super::pages::Erasing;
use crate::error::{ErrorKind, Result};
use crate::exec::OpenFile;
use crate::plan::PageNumber;
use crate::table::Column;
use crate::threads::in_order;

/// Findings of a look at a column at level 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Blocks that were decoded.
    pub(crate) blocks: u64,
    /// Entries of dictionaries that were compared with what blocks refer to.
    pub(crate) entries: u64,
    /// Blocks whose null items hold something that is no function of the block: perhaps a value of an erased row.
    pub(crate) foreign_filler: u64,
    /// Dictionaries with an entry that nothing refers to and that is not wiped.
    pub(crate) unwiped: u64,
    /// Shared buffers that are needed as a whole, and dictionaries that blocks refer to which this build does not
    /// decode: what they hold of erased rows is not known.
    pub(crate) not_looked_at: u64,
}

/// Looks at a column at level 2 of a file that was verified: its blocks hold the rows that they should, and zeros lie
/// behind them and where they were.
pub(crate) fn look(file: &OpenFile, column: &Column) -> Result<Look> {
    let none = RowSet::new();
    let erasing = Erasing {
        file,
        absent: &file.catalog.changes().erased,
        erase: &none,
        // Nothing is written.
        salts: &Salts::new([0; 32]),
    };
    let mut found = Look::default();
    for page in 0..column.pages.len() {
        let number = PageNumber::Data(page);
        let open = erasing.open(column, number)?;
        let all: Vec<u32> = (0..open.page.descriptor.n_blocks).collect();
        found.blocks += all.len() as u64;
        if !open.has_filler() {
            continue;
        }
        let is_own = |&block: &u32| {
            let filler = erasing.filler(&open, block);
            filler
                .map(|filler| filler.is_own)
                .map_err(|error| error.in_block(block.into()))
        };
        let looked = in_order(&file.session.threads, &all, is_own);
        let looked = looked.map_err(|error| column.at(error, page))?;
        found.foreign_filler += looked.iter().filter(|is_own| !**is_own).count() as u64;
    }
    for shared in 0..column.shared_pages.len() {
        let number = PageNumber::Shared(shared);
        found.blocks += u64::from(number.of(column)?.descriptor.n_blocks);
        match erasing.are_others_wiped(column, shared) {
            Ok(None) => found.not_looked_at += 1,
            Ok(Some((entries, are_wiped))) => {
                found.entries += entries;
                found.unwiped += u64::from(!are_wiped);
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => found.not_looked_at += 1,
            Err(error) => return Err(error.in_column(column.name())),
        }
    }
    Ok(found)
}
